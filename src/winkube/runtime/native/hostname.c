/* hostname: the name as it was given, not the upper-case NetBIOS form. */
#define WIN32_LEAN_AND_MEAN
#include <winsock2.h>
#include <windows.h>
#include <stdio.h>

int wmain(int argc, WCHAR **argv)
{
    WSADATA wsa;
    char name[256];
    (void)argv;
    if (argc > 1) {
        fprintf(stderr, "sethostname: Use the Network Control Panel Applet to set hostname.\n"
                        "hostname -s is not supported.\n");
        return 1;
    }
    if (WSAStartup(MAKEWORD(2, 2), &wsa) || gethostname(name, sizeof(name))) return 1;
    printf("%s\n", name);
    return 0;
}
