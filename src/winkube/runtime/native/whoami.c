/* whoami, printed as Windows prints it: the domain of container accounts is "user manager". */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include <stdio.h>
#include <wchar.h>

static int is_container_account(const WCHAR *name)
{
    return !_wcsicmp(name, L"ContainerAdministrator") || !_wcsicmp(name, L"ContainerUser");
}

static int usage(const WCHAR *option)
{
    wprintf(L"ERROR: Invalid argument/option - '%ls'.\nType \"WHOAMI /?\" for usage.\n", option);
    return 1;
}

int wmain(int argc, WCHAR **argv)
{
    WCHAR name[256] = L"", domain[256] = L"User Manager";
    DWORD size = 256;
    if (!GetUserNameW(name, &size)) {
        wprintf(L"ERROR: Unable to get user name.\n");
        return 1;
    }
    if (!is_container_account(name)) {
        size = 256;
        GetComputerNameW(domain, &size);
    }
    _wcslwr(name);
    _wcslwr(domain);
    if (argc == 1) {
        wprintf(L"%ls\\%ls\n", domain, name);
        return 0;
    }
    if (argc == 2 && !_wcsicmp(argv[1], L"/upn")) {
        wprintf(L"ERROR: Unable to get User Principal Name (UPN) as the current logged-on user\n"
                L"       is not a domain user.\n");
        return 1;
    }
    if (argc == 2 && !_wcsicmp(argv[1], L"/user")) {
        const WCHAR *sid = wcscmp(name, L"containeruser") ? L"S-1-5-93-2-1" : L"S-1-5-93-2-2";
        wprintf(L"\nUSER INFORMATION\n----------------\n\n"
                L"User Name                           SID         \n"
                L"=================================== ============\n%ls\\%ls %ls\n",
                domain, name, sid);
        return 0;
    }
    return usage(argv[1]);
}
