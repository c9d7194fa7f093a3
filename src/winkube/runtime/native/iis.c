/* The emulated IIS: a static web server for C:\inetpub\wwwroot under the name ServiceMonitor.exe.
 *
 * One thread per connection, HTTP/1.0 and 1.1 with keep-alive, GET, HEAD and OPTIONS, default
 * documents, validators, and one W3C line per request on standard output. Paths are decoded once
 * and every name is checked, so no request leaves the site's folder.
 */
#define WIN32_LEAN_AND_MEAN
#define _WIN32_WINNT 0x0a00
#include <winsock2.h>
#include <ws2tcpip.h>
#include <windows.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#define PORT 80
#define HEAD_LIMIT 16384
#define MAX_CLIENTS 512
#define IDLE_MS 120000 /* IIS' own connection timeout */
#define SITE L"C:\\inetpub\\wwwroot"

struct request {
    char method[16], target[4096], query[2048], agent[512], etag[64];
    int minor, keep_alive;
    long long body;
};

struct reply {
    int status;
    const char *type, *extra;
    char validator[64], modified[64];
    char *data;
    long long size;
};

static SOCKET listener;
static volatile LONG clients;
static CRITICAL_SECTION log_lock;

static const struct { const char *suffix, *type; } TYPES[] = {
    {".htm", "text/html"},        {".html", "text/html"},         {".txt", "text/plain"},
    {".css", "text/css"},         {".js", "application/javascript"}, {".json", "application/json"},
    {".xml", "text/xml"},         {".png", "image/png"},          {".jpg", "image/jpeg"},
    {".jpeg", "image/jpeg"},      {".gif", "image/gif"},          {".svg", "image/svg+xml"},
    {".ico", "image/x-icon"},     {".woff", "font/x-woff"},       {".woff2", "application/font-woff2"},
    {".pdf", "application/pdf"},  {".zip", "application/x-zip-compressed"},
    {".wasm", "application/wasm"}, {".mp4", "video/mp4"},         {".exe", "application/octet-stream"},
};
static const WCHAR *const DEFAULTS[] = {
    L"Default.htm", L"Default.asp", L"index.htm", L"index.html", L"iisstart.htm", L"default.aspx",
};

static const char *reason(int status)
{
    switch (status) {
    case 200: return "OK";
    case 301: return "Moved Permanently";
    case 304: return "Not Modified";
    case 400: return "Bad Request";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 413: return "Request Entity Too Large";
    case 414: return "Request-URI Too Long";
    case 431: return "Request Header Fields Too Large";
    default: return "Internal Server Error";
    }
}

static const char *error_title(int status)
{
    switch (status) {
    case 403: return "403 - Forbidden: Access is denied.";
    case 404: return "404 - File or directory not found.";
    case 405: return "405 - HTTP verb used to access this page is not allowed.";
    default: return "400 - Bad Request.";
    }
}

static void http_date(const FILETIME *time, char *out, size_t room)
{
    static const char *const days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    SYSTEMTIME t;
    FileTimeToSystemTime(time, &t);
    snprintf(out, room, "%s, %02d %s %04d %02d:%02d:%02d GMT", days[t.wDayOfWeek % 7], t.wDay,
             months[(t.wMonth + 11) % 12], t.wYear, t.wHour, t.wMinute, t.wSecond);
}

static int hex(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

static int decode(const char *from, char *to, size_t room)
{
    size_t used = 0;
    for (; *from; from++) {
        int c = (unsigned char)*from;
        if (c == '%') {
            int high = hex(from[1]), low = high < 0 ? -1 : hex(from[2]);
            if (low < 0) return 0;
            c = high * 16 + low;
            from += 2;
        }
        if (c < 32 || used + 1 >= room) return 0;
        to[used++] = (char)c;
    }
    to[used] = 0;
    return 1;
}

/* A name no request may use: it would leave the folder or mean something else to Windows. */
static int bad_name(const WCHAR *name)
{
    static const WCHAR *const devices[] = {L"con", L"prn", L"aux", L"nul", L"com", L"lpt"};
    size_t length = wcslen(name), i;
    if (!wcscmp(name, L"..") || !wcscmp(name, L".")) return 1;
    if (wcspbrk(name, L":*?\"<>|")) return 1;
    if (length && (name[length - 1] == '.' || name[length - 1] == ' ')) return 1;
    if (!_wcsicmp(name, L"web.config")) return 1;
    for (i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
        size_t stem = wcslen(devices[i]);
        if (_wcsnicmp(name, devices[i], stem)) continue;
        if (i >= 4 && name[stem] >= '0' && name[stem] <= '9') stem++;
        if (!name[stem] || name[stem] == '.') return 1;
    }
    return 0;
}

/* The file a decoded URL path means; 0 on success, else an HTTP status. */
static int find_file(const char *path, WCHAR *out, size_t room)
{
    WCHAR wide[4096], *name, *next;
    if (!MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, wide, 4096)) return 400;
    wcscpy(out, SITE);
    for (name = wide; name; name = next) {
        WCHAR *end = wcspbrk(name, L"/\\");
        next = end ? end + 1 : NULL;
        if (end) *end = 0;
        if (!*name) continue;
        if (bad_name(name)) return 404;
        if (wcslen(out) + wcslen(name) + 2 > room) return 404;
        wcscat(out, L"\\");
        wcscat(out, name);
    }
    return 0;
}

static const char *type_of(const WCHAR *path)
{
    const WCHAR *dot = wcsrchr(path, '.');
    char suffix[16];
    size_t i;
    if (!dot || !WideCharToMultiByte(CP_UTF8, 0, dot, -1, suffix, sizeof(suffix), NULL, NULL))
        return NULL;
    for (i = 0; i < sizeof(TYPES) / sizeof(TYPES[0]); i++)
        if (!_stricmp(suffix, TYPES[i].suffix)) return TYPES[i].type;
    return NULL;
}

static int load_file(const WCHAR *path, struct reply *reply)
{
    BY_HANDLE_FILE_INFORMATION info;
    DWORD got, want;
    long long total = 0;
    HANDLE file = CreateFileW(path, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                              NULL, OPEN_EXISTING, 0, NULL);
    if (file == INVALID_HANDLE_VALUE) return GetLastError() == ERROR_ACCESS_DENIED ? 403 : 404;
    if (!GetFileInformationByHandle(file, &info)) goto failed;
    reply->size = ((long long)info.nFileSizeHigh << 32) | info.nFileSizeLow;
    reply->data = malloc(reply->size + 1);
    if (!reply->data) goto failed;
    while (total < reply->size) {
        want = reply->size - total > 1 << 20 ? 1 << 20 : (DWORD)(reply->size - total);
        if (!ReadFile(file, reply->data + total, want, &got, NULL) || !got) goto failed;
        total += got;
    }
    CloseHandle(file);
    http_date(&info.ftLastWriteTime, reply->modified, sizeof(reply->modified));
    snprintf(reply->validator, sizeof(reply->validator), "\"%lx%08lx:0\"",
             (unsigned long)info.ftLastWriteTime.dwHighDateTime,
             (unsigned long)info.ftLastWriteTime.dwLowDateTime);
    return 200;
failed:
    CloseHandle(file);
    return 500;
}

static void set_error(struct reply *reply, int status)
{
    char *page = malloc(512);
    if (!page) ExitProcess(ERROR_NOT_ENOUGH_MEMORY);
    free(reply->data);
    reply->status = status;
    reply->type = "text/html";
    reply->size = snprintf(page, 512,
                           "<!DOCTYPE html>\r\n<html><head><title>%s</title></head>\r\n"
                           "<body><h1>Server Error</h1><h2>%s</h2></body></html>\r\n",
                           error_title(status), error_title(status));
    reply->data = page;
    reply->validator[0] = 0;
}

static int serve_folder(const struct request *request, const char *path, WCHAR *file,
                        struct reply *reply, char *location, size_t room)
{
    size_t i, length = strlen(path), base = wcslen(file);
    if (!length || path[length - 1] != '/') {
        snprintf(location, room, "Location: %s/%s%s\r\n", request->target,
                 request->query[0] ? "?" : "", request->query);
        reply->extra = location;
        reply->type = "text/html";
        reply->data = calloc(1, 1);
        return 301;
    }
    for (i = 0; i < sizeof(DEFAULTS) / sizeof(DEFAULTS[0]); i++) {
        file[base] = 0;
        wcscat(file, L"\\");
        wcscat(file, DEFAULTS[i]);
        if (GetFileAttributesW(file) != INVALID_FILE_ATTRIBUTES) {
            reply->type = type_of(file);
            return load_file(file, reply);
        }
    }
    return 403; /* no default document, and listing a folder is not allowed */
}

static int answer(const struct request *request, struct reply *reply, char *location, size_t room)
{
    char path[4096];
    WCHAR file[8192];
    DWORD attributes;
    int status;
    if (!strcmp(request->method, "OPTIONS")) {
        reply->extra = "Allow: OPTIONS, TRACE, GET, HEAD, POST\r\nPublic: OPTIONS, TRACE, GET, HEAD, POST\r\n";
        reply->data = calloc(1, 1);
        return 200;
    }
    if (strcmp(request->method, "GET") && strcmp(request->method, "HEAD")) {
        reply->extra = "Allow: GET, HEAD, OPTIONS, TRACE\r\n";
        return 405;
    }
    if (request->target[0] != '/' || !decode(request->target, path, sizeof(path))) return 400;
    status = find_file(path, file, 4096);
    if (status) return status;
    attributes = GetFileAttributesW(file);
    if (attributes == INVALID_FILE_ATTRIBUTES) return 404;
    if (attributes & FILE_ATTRIBUTE_DIRECTORY)
        return serve_folder(request, path, file, reply, location, room);
    reply->type = type_of(file);
    if (!reply->type) return 404; /* IIS serves no file whose type it does not know */
    return load_file(file, reply);
}

static int send_all(SOCKET socket, const char *data, long long size)
{
    while (size > 0) {
        int sent = send(socket, data, size > 1 << 20 ? 1 << 20 : (int)size, 0);
        if (sent <= 0) return 0;
        data += sent;
        size -= sent;
    }
    return 1;
}

static int send_reply(SOCKET socket, const struct request *request, const struct reply *reply)
{
    char head[2048], date[64], type[96] = "", validators[192] = "";
    FILETIME now;
    int length, bodiless = reply->status == 304;
    GetSystemTimeAsFileTime(&now);
    http_date(&now, date, sizeof(date));
    if (reply->type && !bodiless) snprintf(type, sizeof(type), "Content-Type: %s\r\n", reply->type);
    if (reply->validator[0])
        snprintf(validators, sizeof(validators),
                 "Last-Modified: %s\r\nAccept-Ranges: bytes\r\nETag: %s\r\n", reply->modified,
                 reply->validator);
    length = snprintf(head, sizeof(head),
                      "HTTP/1.1 %d %s\r\n%s%sServer: Microsoft-IIS/10.0\r\nDate: %s\r\n%s"
                      "Content-Length: %lld\r\n%s\r\n",
                      reply->status, reason(reply->status), type, validators, date,
                      reply->extra ? reply->extra : "", bodiless ? 0 : reply->size,
                      request->keep_alive ? "" : "Connection: close\r\n");
    if (!send_all(socket, head, length)) return 0;
    if (bodiless || !strcmp(request->method, "HEAD")) return 1;
    return send_all(socket, reply->data, reply->size);
}

static void address_text(SOCKET socket, int remote, char *out, DWORD room)
{
    struct sockaddr_storage address;
    int size = sizeof(address);
    out[0] = 0;
    if ((remote ? getpeername : getsockname)(socket, (struct sockaddr *)&address, &size)) return;
    getnameinfo((struct sockaddr *)&address, size, out, room, NULL, 0, NI_NUMERICHOST);
    if (!strncmp(out, "::ffff:", 7)) memmove(out, out + 7, strlen(out + 7) + 1);
}

static void write_log(SOCKET socket, const struct request *request, int status, DWORD took)
{
    char line[9000], server[64], client[64], agent[512];
    SYSTEMTIME t;
    DWORD written;
    char *p;
    int length;
    GetSystemTime(&t);
    address_text(socket, 0, server, sizeof(server));
    address_text(socket, 1, client, sizeof(client));
    snprintf(agent, sizeof(agent), "%s", request->agent[0] ? request->agent : "-");
    for (p = agent; *p; p++)
        if (*p == ' ') *p = '+';
    length = snprintf(line, sizeof(line),
                      "%04d-%02d-%02d %02d:%02d:%02d %s %s %s %s %d - %s %s - %d 0 0 %lu\n", t.wYear,
                      t.wMonth, t.wDay, t.wHour, t.wMinute, t.wSecond, server, request->method,
                      request->target, request->query[0] ? request->query : "-", PORT, client, agent,
                      status, (unsigned long)took);
    EnterCriticalSection(&log_lock);
    WriteFile(GetStdHandle(STD_OUTPUT_HANDLE), line, length, &written, NULL);
    LeaveCriticalSection(&log_lock);
}

static void copy_printable(char *to, size_t room, const char *from, size_t length)
{
    size_t i, used = 0;
    for (i = 0; i < length && used + 1 < room; i++)
        if ((unsigned char)from[i] >= 32 && from[i] != 127) to[used++] = from[i];
    to[used] = 0;
}

static void take_header(struct request *request, const char *line, size_t length)
{
    const char *colon = memchr(line, ':', length), *value;
    size_t name, size;
    if (!colon) return;
    name = colon - line;
    value = colon + 1;
    while (value < line + length && (*value == ' ' || *value == '\t')) value++;
    size = line + length - value;
    if (name == 10 && !_strnicmp(line, "connection", 10)) {
        if (size == 5 && !_strnicmp(value, "close", 5)) request->keep_alive = 0;
        if (size == 10 && !_strnicmp(value, "keep-alive", 10)) request->keep_alive = 1;
    } else if (name == 10 && !_strnicmp(line, "user-agent", 10)) {
        copy_printable(request->agent, sizeof(request->agent), value, size);
    } else if (name == 13 && !_strnicmp(line, "if-none-match", 13)) {
        copy_printable(request->etag, sizeof(request->etag), value, size);
    } else if (name == 14 && !_strnicmp(line, "content-length", 14)) {
        request->body = strtoll(value, NULL, 10);
    } else if (name == 17 && !_strnicmp(line, "transfer-encoding", 17)) {
        request->body = -1;
    }
}

/* Read the head in `data`; 0 when it is not HTTP. */
static int parse_head(char *data, struct request *request)
{
    char *line = data, *end = strstr(data, "\r\n"), *target, *version, *query;
    memset(request, 0, sizeof(*request));
    if (!end) return 0;
    *end = 0;
    target = strchr(line, ' ');
    version = target ? strrchr(target + 1, ' ') : NULL;
    if (!version || target - line >= (int)sizeof(request->method)) return 0;
    *target++ = 0;
    *version++ = 0;
    if (strncmp(version, "HTTP/1.", 7) || (version[7] != '0' && version[7] != '1')) return 0;
    request->minor = version[7] - '0';
    request->keep_alive = request->minor == 1;
    if (!_strnicmp(target, "http://", 7)) {
        target = strchr(target + 7, '/');
        if (!target) return 0;
    }
    query = strchr(target, '?');
    if (query) *query++ = 0;
    if (strlen(target) >= sizeof(request->target)) return 0;
    copy_printable(request->method, sizeof(request->method), line, strlen(line));
    copy_printable(request->target, sizeof(request->target), target, strlen(target));
    if (query) copy_printable(request->query, sizeof(request->query), query, strlen(query));
    for (line = end + 2; *line; line = end + 2) {
        end = strstr(line, "\r\n");
        if (!end || end == line) break;
        take_header(request, line, end - line);
    }
    return 1;
}

/* Throw a request's body away; 0 when the connection cannot be used any more. */
static int skip_body(SOCKET socket, long long left)
{
    char sink[4096];
    while (left > 0) {
        int got = recv(socket, sink, left > (long long)sizeof(sink) ? (int)sizeof(sink) : (int)left, 0);
        if (got <= 0) return 0;
        left -= got;
    }
    return left == 0;
}

static int serve_one(SOCKET socket, const struct request *request)
{
    struct reply reply = {0};
    char location[8192];
    DWORD began = GetTickCount();
    int sent, status = answer(request, &reply, location, sizeof(location));
    reply.status = status;
    if (status >= 400) set_error(&reply, status);
    else if (status == 200 && reply.validator[0] && !strcmp(request->etag, reply.validator))
        reply.status = 304;
    sent = send_reply(socket, request, &reply);
    write_log(socket, request, reply.status, GetTickCount() - began);
    free(reply.data);
    return sent && request->keep_alive;
}

static void refuse(SOCKET socket, int status)
{
    struct request request = {.method = "-", .target = "-"};
    struct reply reply = {0};
    set_error(&reply, status);
    send_reply(socket, &request, &reply);
    free(reply.data);
}

static void serve_connection(SOCKET socket)
{
    char *data = malloc(HEAD_LIMIT + 1);
    size_t filled = 0;
    struct request request;
    while (data) {
        char *end;
        size_t head, rest;
        int got;
        data[filled] = 0;
        end = strstr(data, "\r\n\r\n");
        if (!end) {
            if (filled == HEAD_LIMIT) {
                refuse(socket, 431);
                break;
            }
            got = recv(socket, data + filled, (int)(HEAD_LIMIT - filled), 0);
            if (got <= 0) break;
            if (memchr(data + filled, 0, got)) {
                refuse(socket, 400);
                break;
            }
            filled += got;
            continue;
        }
        head = end + 4 - data;
        rest = filled - head;
        end[2] = 0; /* the headers stay whole lines; what follows is kept aside by its length */
        if (!parse_head(data, &request)) {
            refuse(socket, 400);
            break;
        }
        if (request.body < 0) request.keep_alive = 0;
        if (request.body > 0 && (long long)rest < request.body) {
            if (!skip_body(socket, request.body - rest)) request.keep_alive = 0;
            rest = 0;
        } else if (request.body > 0) {
            head += (size_t)request.body;
            rest -= (size_t)request.body;
        }
        if (!serve_one(socket, &request)) break;
        memmove(data, data + head, rest);
        filled = rest;
    }
    free(data);
}

static DWORD WINAPI connection_thread(void *arg)
{
    SOCKET socket = (SOCKET)(ULONG_PTR)arg;
    serve_connection(socket);
    shutdown(socket, SD_SEND);
    closesocket(socket);
    InterlockedDecrement(&clients);
    return 0;
}

static BOOL WINAPI on_control(DWORD event)
{
    (void)event;
    closesocket(listener);
    ExitProcess(0);
    return TRUE;
}

static SOCKET open_listener(void)
{
    struct sockaddr_in6 any6 = {.sin6_family = AF_INET6, .sin6_port = htons(PORT)};
    struct sockaddr_in any4 = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    DWORD off = 0;
    SOCKET s = socket(AF_INET6, SOCK_STREAM, IPPROTO_TCP);
    if (s != INVALID_SOCKET) {
        setsockopt(s, IPPROTO_IPV6, IPV6_V6ONLY, (char *)&off, sizeof(off));
        if (!bind(s, (struct sockaddr *)&any6, sizeof(any6)) && !listen(s, SOMAXCONN)) return s;
        closesocket(s);
    }
    s = socket(AF_INET, SOCK_STREAM, IPPROTO_TCP);
    if (!bind(s, (struct sockaddr *)&any4, sizeof(any4)) && !listen(s, SOMAXCONN)) return s;
    return INVALID_SOCKET;
}

int wmain(int argc, WCHAR **argv)
{
    WSADATA wsa;
    if (argc != 2 || _wcsicmp(argv[1], L"w3svc")) {
        fprintf(stderr, "\nUSAGE: ServiceMonitor.exe [windows service name]\n\n"
                        "Options:\n    windows service name    Name of the Windows service to monitor\n");
        return argc == 2 ? 1060 : 87; /* no such service; wrong parameter */
    }
    WSAStartup(MAKEWORD(2, 2), &wsa);
    InitializeCriticalSection(&log_lock);
    SetConsoleCtrlHandler(on_control, TRUE);
    listener = open_listener();
    if (listener == INVALID_SOCKET) {
        fprintf(stderr, "Service 'w3svc' cannot listen on port %d: error %d\n", PORT, WSAGetLastError());
        return 1;
    }
    for (;;) {
        DWORD idle = IDLE_MS, on = 1;
        SOCKET client = accept(listener, NULL, NULL);
        HANDLE thread;
        if (client == INVALID_SOCKET) continue;
        setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, (char *)&idle, sizeof(idle));
        setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, (char *)&idle, sizeof(idle));
        setsockopt(client, IPPROTO_TCP, TCP_NODELAY, (char *)&on, sizeof(on));
        if (InterlockedIncrement(&clients) > MAX_CLIENTS ||
            !(thread = CreateThread(NULL, 262144, connection_thread, (void *)(ULONG_PTR)client, 0,
                                    NULL))) {
            InterlockedDecrement(&clients);
            closesocket(client);
            continue;
        }
        CloseHandle(thread);
    }
}
