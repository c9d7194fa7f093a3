/* The entry process of a Windows container and of every exec.
 *
 *   launch.exe <orders>   run the program the orders file names, relay its streams, report
 *   launch.exe --stop     tell every program of the container that the system shuts down
 *
 * The orders file is UTF-8, each entry ended by a NUL byte: "command=", "cwd=", "report=", "stdin=1",
 * "tty=1", "tied=1" (the program ends when the launcher is killed), "env=NAME=VALUE". The report is a text file that gets one line per fact:
 * "started", "failed <code> <words>", "exited <code>". Programs get real Windows pipes, since a
 * Unix pipe as a standard handle is not what all of them can use.
 */
#define WIN32_LEAN_AND_MEAN
#define _WIN32_WINNT 0x0a00
#include <windows.h>
#include <tlhelp32.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#define DRAIN_MS 300
#define OWN_EXIT_MS 500
#define SHUTDOWN_EXIT 0xC000013Au /* STATUS_CONTROL_C_EXIT: what a program ended by a shutdown has */

struct orders {
    WCHAR *command, *cwd, *report;
    BOOL use_stdin, tty, tied;
};

struct relay {
    HANDLE from, to;
    BOOL close_to;
    HANDLE drain; /* the pipe's other end, when lines are to be handed over one at a time */
};

static WCHAR *widen(const char *text)
{
    int size = MultiByteToWideChar(CP_UTF8, 0, text, -1, NULL, 0);
    WCHAR *wide = malloc(size * sizeof(WCHAR));
    if (!wide) ExitProcess(ERROR_NOT_ENOUGH_MEMORY);
    MultiByteToWideChar(CP_UTF8, 0, text, -1, wide, size);
    return wide;
}

/* \\?\unix\run\x for /run/x: the container's own files need no drive letter. */
static WCHAR *unix_name(const WCHAR *path)
{
    static const WCHAR head[] = L"\\\\?\\unix";
    size_t length = wcslen(head) + wcslen(path) + 1;
    WCHAR *name = malloc(length * sizeof(WCHAR)), *p;
    if (!name) ExitProcess(ERROR_NOT_ENOUGH_MEMORY);
    wcscpy(name, head);
    wcscat(name, path);
    for (p = name + wcslen(head); *p; p++)
        if (*p == '/') *p = '\\';
    return name;
}

static void report(const struct orders *orders, const char *line)
{
    DWORD written;
    HANDLE file;
    if (!orders->report) return;
    file = CreateFileW(orders->report, FILE_APPEND_DATA, FILE_SHARE_READ | FILE_SHARE_WRITE, NULL,
                       OPEN_ALWAYS, 0, NULL);
    if (file == INVALID_HANDLE_VALUE) return;
    WriteFile(file, line, strlen(line), &written, NULL);
    CloseHandle(file);
}

static char *read_whole(const WCHAR *path, DWORD *size)
{
    char *data;
    DWORD got, total = 0;
    LARGE_INTEGER length;
    HANDLE file = CreateFileW(path, GENERIC_READ, FILE_SHARE_READ, NULL, OPEN_EXISTING, 0, NULL);
    if (file == INVALID_HANDLE_VALUE || !GetFileSizeEx(file, &length)) return NULL;
    data = malloc(length.QuadPart + 1);
    if (!data) ExitProcess(ERROR_NOT_ENOUGH_MEMORY);
    while (total < length.QuadPart &&
           ReadFile(file, data + total, length.QuadPart - total, &got, NULL) && got)
        total += got;
    data[total] = 0;
    CloseHandle(file);
    *size = total;
    return data;
}

static void set_variable(const char *pair)
{
    const char *equals = strchr(pair, '=');
    char *name;
    WCHAR *wide_name, *wide_value;
    if (!equals || equals == pair) return;
    name = strdup(pair);
    name[equals - pair] = 0;
    wide_name = widen(name);
    wide_value = widen(equals + 1);
    SetEnvironmentVariableW(wide_name, wide_value);
    free(wide_name);
    free(wide_value);
    free(name);
}

/* What describes the machine; every other variable of the program comes with the orders. */
static BOOL is_of_machine(const WCHAR *name)
{
    static const WCHAR *const names[] = {
        L"COMPUTERNAME",    L"NUMBER_OF_PROCESSORS", L"PROCESSOR_ARCHITECTURE",
        L"PROCESSOR_LEVEL", L"PROCESSOR_REVISION",   L"PROCESSOR_IDENTIFIER",
    };
    size_t i;
    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (!_wcsicmp(name, names[i])) return TRUE;
    return FALSE;
}

/* Take away what Wine has set for itself: the program inherits what is left, and the orders. */
static void clear_environment(void)
{
    WCHAR *block = GetEnvironmentStringsW(), *entry, *equals, count[16];
    SYSTEM_INFO machine;
    for (entry = block; entry && *entry; entry = equals + wcslen(equals) + 1) {
        /* A name may begin with the sign: those are the drives' current folders. */
        equals = wcschr(entry + 1, '=');
        if (!equals) break;
        *equals++ = 0;
        if (!is_of_machine(entry)) SetEnvironmentVariableW(entry, NULL);
    }
    FreeEnvironmentStringsW(block);
    GetSystemInfo(&machine);
    swprintf(count, 16, L"%lu", (unsigned long)machine.dwNumberOfProcessors);
    SetEnvironmentVariableW(L"NUMBER_OF_PROCESSORS", count);
}

static void take_order(struct orders *orders, const char *entry)
{
    if (!strncmp(entry, "command=", 8)) orders->command = widen(entry + 8);
    else if (!strncmp(entry, "cwd=", 4)) orders->cwd = widen(entry + 4);
    else if (!strncmp(entry, "report=", 7)) orders->report = unix_name(widen(entry + 7));
    else if (!strcmp(entry, "stdin=1")) orders->use_stdin = TRUE;
    else if (!strcmp(entry, "tty=1")) orders->tty = TRUE;
    else if (!strcmp(entry, "tied=1")) orders->tied = TRUE;
    else if (!strncmp(entry, "env=", 4)) set_variable(entry + 4);
}

static BOOL load_orders(struct orders *orders, const WCHAR *path)
{
    DWORD size;
    char *data = read_whole(unix_name(path), &size), *entry;
    if (!data) return FALSE;
    clear_environment();
    for (entry = data; entry < data + size; entry += strlen(entry) + 1) take_order(orders, entry);
    free(data);
    return orders->command != NULL;
}

/* Many programs write a line in pieces; waiting a moment keeps the line whole in the log. */
static DWORD read_rest(HANDLE from, char *buffer, DWORD filled, DWORD room)
{
    DWORD more, got, start = filled;
    int patience = 3;
    while (patience-- && filled < room && buffer[filled - 1] != '\n') {
        if (!PeekNamedPipe(from, NULL, 0, NULL, &more, NULL)) break;
        if (!more) {
            Sleep(1);
            continue;
        }
        if (more > room - filled) more = room - filled;
        if (!ReadFile(from, buffer + filled, more, &got, NULL) || !got) break;
        filled += got;
        patience = 3;
    }
    return filled - start;
}

/* Wine's command processor loses all but the first line of what it reads from a pipe at once. */
static BOOL is_shell(const WCHAR *command)
{
    WCHAR name[MAX_PATH];
    const WCHAR *end, *start;
    BOOL quoted = *command == '"';
    command += quoted;
    for (end = command; *end && (quoted ? *end != '"' : *end != ' ' && *end != '\t'); end++) continue;
    for (start = end; start > command && start[-1] != '\\' && start[-1] != '/'; start--) continue;
    if (end - start >= MAX_PATH) return FALSE;
    lstrcpynW(name, start, end - start + 1);
    return !_wcsicmp(name, L"cmd") || !_wcsicmp(name, L"cmd.exe");
}

static DWORD line_length(const char *text, DWORD size)
{
    const char *end = memchr(text, '\n', size);
    return end ? end - text + 1 : size;
}

static BOOL write_some(const struct relay *relay, const char *text, DWORD size, DWORD *put)
{
    DWORD waiting;
    if (relay->drain) {
        while (PeekNamedPipe(relay->drain, NULL, 0, NULL, &waiting, NULL) && waiting) Sleep(1);
        size = line_length(text, size);
    }
    return WriteFile(relay->to, text, size, put, NULL) && *put;
}

static DWORD WINAPI relay_thread(void *arg)
{
    struct relay *relay = arg;
    static const DWORD room = 65536;
    char *buffer = malloc(room);
    DWORD got, put, done;
    while (buffer && ReadFile(relay->from, buffer, room, &got, NULL) && got) {
        got += read_rest(relay->from, buffer, got, room);
        for (done = 0; done < got; done += put)
            if (!write_some(relay, buffer + done, got - done, &put)) goto out;
    }
out:
    free(buffer);
    if (relay->close_to) CloseHandle(relay->to);
    return 0;
}

/* One pipe; `ours` is the end that stays private to the launcher. */
static void make_pipe(HANDLE *read_end, HANDLE *write_end, const HANDLE *ours)
{
    SECURITY_ATTRIBUTES inherit = {sizeof(inherit), NULL, TRUE};
    CreatePipe(read_end, write_end, &inherit, 65536);
    SetHandleInformation(*ours, HANDLE_FLAG_INHERIT, 0);
}

static HANDLE open_nul(void)
{
    SECURITY_ATTRIBUTES inherit = {sizeof(inherit), NULL, TRUE};
    return CreateFileW(L"NUL", GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE, &inherit,
                       OPEN_EXISTING, 0, NULL);
}

static void fail(const struct orders *orders, DWORD code)
{
    WCHAR words[512] = L"";
    char narrow[1024] = "", line[1200];
    size_t length;
    FormatMessageW(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS, NULL, code,
                   MAKELANGID(LANG_ENGLISH, SUBLANG_ENGLISH_US), words, 512, NULL);
    WideCharToMultiByte(CP_UTF8, 0, words, -1, narrow, sizeof(narrow), NULL, NULL);
    for (length = strlen(narrow); length && strchr("\r\n ", narrow[length - 1]); length--)
        narrow[length - 1] = 0;
    snprintf(line, sizeof(line), "failed %lu %s\n", (unsigned long)code, narrow);
    report(orders, line);
    ExitProcess(127);
}

static HANDLE job;

/* A job that ends with its last handle, which is ours: whoever kills us ends the program too. */
static void set_tie(DWORD limits)
{
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION info = {0};
    info.BasicLimitInformation.LimitFlags = limits;
    SetInformationJobObject(job, JobObjectExtendedLimitInformation, &info, sizeof(info));
}

static void tie(HANDLE process)
{
    job = CreateJobObjectW(NULL, NULL);
    if (!job) return;
    set_tie(JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE);
    AssignProcessToJobObject(job, process);
}

static BOOL start(const struct orders *orders, STARTUPINFOW *info, PROCESS_INFORMATION *process)
{
    info->cb = sizeof(*info);
    /* The first process of a container begins with Ctrl+C switched on whatever we inherited. */
    SetConsoleCtrlHandler(NULL, FALSE);
    if (!CreateProcessW(NULL, orders->command, NULL, NULL, TRUE,
                        CREATE_UNICODE_ENVIRONMENT | CREATE_SUSPENDED, NULL, orders->cwd, info,
                        process))
        return FALSE;
    if (orders->tied) tie(process->hProcess);
    ResumeThread(process->hThread);
    CloseHandle(process->hThread);
    report(orders, "started\n");
    return TRUE;
}

/* Interrupts of the terminal are the program's to handle, not ours. */
static BOOL WINAPI ignore_control(DWORD event)
{
    return event == CTRL_C_EVENT || event == CTRL_BREAK_EVENT;
}

static DWORD run_on_terminal(const struct orders *orders)
{
    STARTUPINFOW info = {0};
    PROCESS_INFORMATION process;
    DWORD code = 1;
    if (!start(orders, &info, &process)) fail(orders, GetLastError());
    SetConsoleCtrlHandler(ignore_control, TRUE);
    WaitForSingleObject(process.hProcess, INFINITE);
    GetExitCodeProcess(process.hProcess, &code);
    return code;
}

static DWORD run_on_pipes(const struct orders *orders)
{
    STARTUPINFOW info = {0};
    PROCESS_INFORMATION process;
    HANDLE threads[2], in_write = NULL, out_read, err_read, drain = NULL;
    static struct relay in_relay, out_relay, err_relay;
    DWORD code = 1, error;

    make_pipe(&out_read, &info.hStdOutput, &out_read);
    make_pipe(&err_read, &info.hStdError, &err_read);
    if (orders->use_stdin) make_pipe(&info.hStdInput, &in_write, &in_write);
    else info.hStdInput = open_nul();
    info.dwFlags = STARTF_USESTDHANDLES;
    if (orders->use_stdin && is_shell(orders->command))
        DuplicateHandle(GetCurrentProcess(), info.hStdInput, GetCurrentProcess(), &drain, 0, FALSE,
                        DUPLICATE_SAME_ACCESS);

    if (!start(orders, &info, &process)) {
        error = GetLastError();
        fail(orders, error);
    }
    CloseHandle(info.hStdOutput);
    CloseHandle(info.hStdError);
    CloseHandle(info.hStdInput);

    out_relay = (struct relay){out_read, GetStdHandle(STD_OUTPUT_HANDLE), FALSE, NULL};
    err_relay = (struct relay){err_read, GetStdHandle(STD_ERROR_HANDLE), FALSE, NULL};
    threads[0] = CreateThread(NULL, 0, relay_thread, &out_relay, 0, NULL);
    threads[1] = CreateThread(NULL, 0, relay_thread, &err_relay, 0, NULL);
    if (orders->use_stdin) {
        in_relay = (struct relay){GetStdHandle(STD_INPUT_HANDLE), in_write, TRUE, drain};
        CloseHandle(CreateThread(NULL, 0, relay_thread, &in_relay, 0, NULL));
    }
    WaitForSingleObject(process.hProcess, INFINITE);
    GetExitCodeProcess(process.hProcess, &code);
    /* Programs it left behind may hold the pipes; what the program itself wrote is there already. */
    WaitForMultipleObjects(2, threads, TRUE, DRAIN_MS);
    return code;
}

static BOOL is_system_process(const WCHAR *name)
{
    static const WCHAR *const names[] = {
        L"services.exe", L"winedevice.exe", L"plugplay.exe", L"svchost.exe", L"rpcss.exe",
        L"explorer.exe", L"conhost.exe",    L"wineboot.exe", L"launch.exe",  L"wineserver",
    };
    size_t i;
    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (!_wcsicmp(name, names[i])) return TRUE;
    return FALSE;
}

static HANDLE send_shutdown(DWORD id)
{
    /* Control events reach a program as a thread in this routine; no call sends this event. */
    void *routine = GetProcAddress(GetModuleHandleW(L"kernelbase.dll"), "CtrlRoutine");
    HANDLE process = OpenProcess(PROCESS_ALL_ACCESS, FALSE, id);
    HANDLE thread;
    if (!process || !routine) return NULL;
    thread = CreateRemoteThread(process, NULL, 0, (LPTHREAD_START_ROUTINE)routine,
                                (void *)(ULONG_PTR)CTRL_SHUTDOWN_EVENT, 0, NULL);
    if (thread) {
        /* When its handlers are done the system ends the program. A program that ends itself takes
         * this thread down first, so it gets a moment to finish with an exit code of its own. */
        WaitForSingleObject(thread, INFINITE);
        CloseHandle(thread);
        if (WaitForSingleObject(process, OWN_EXIT_MS) == WAIT_TIMEOUT)
            TerminateProcess(process, SHUTDOWN_EXIT);
    }
    return process;
}

static DWORD WINAPI shutdown_thread(void *arg)
{
    HANDLE process = send_shutdown((DWORD)(ULONG_PTR)arg);
    if (process) CloseHandle(process);
    return 0;
}

static int stop_all(void)
{
    PROCESSENTRY32W entry = {.dwSize = sizeof(entry)};
    HANDLE snapshot = CreateToolhelp32Snapshot(TH32CS_SNAPPROCESS, 0);
    HANDLE threads[MAXIMUM_WAIT_OBJECTS];
    DWORD count = 0;
    BOOL more;
    for (more = Process32FirstW(snapshot, &entry); more; more = Process32NextW(snapshot, &entry)) {
        if (is_system_process(entry.szExeFile) || entry.th32ProcessID == GetCurrentProcessId())
            continue;
        if (count == MAXIMUM_WAIT_OBJECTS) break;
        threads[count++] = CreateThread(NULL, 0, shutdown_thread,
                                        (void *)(ULONG_PTR)entry.th32ProcessID, 0, NULL);
    }
    CloseHandle(snapshot);
    if (count) WaitForMultipleObjects(count, threads, TRUE, INFINITE);
    return 0;
}

int wmain(int argc, WCHAR **argv)
{
    struct orders orders = {0};
    char line[64];
    DWORD code;
    if (argc == 2 && !wcscmp(argv[1], L"--stop")) return stop_all();
    if (argc != 2 || !load_orders(&orders, argv[1])) {
        fprintf(stderr, "launch: no orders\n");
        return 126;
    }
    code = orders.tty ? run_on_terminal(&orders) : run_on_pipes(&orders);
    if (job) set_tie(0); /* what the program left running may go on */
    snprintf(line, sizeof(line), "exited %lu\n", (unsigned long)code);
    report(&orders, line);
    /* Unix keeps eight bits: a failure must not become a success on the way. */
    ExitProcess(code && !(code & 0xff) ? 1 : code & 0xff);
}
