/* powershell: there is none. Wine's own ends without a word, and a pod would seem to fail for nothing. */
#include <stdio.h>

int wmain(void)
{
    fprintf(stderr, "powershell: this Windows is emulated and has no PowerShell. Use cmd, or a program of"
                    " your image.\n");
    return 1;
}
