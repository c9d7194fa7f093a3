/* A small curl for plain HTTP, since Windows Server has one: the common options, curl's own words
 * and exit codes for what goes wrong.
 *
 *   curl [-s] [-S] [-v] [-i] [-I] [-f] [-L] [-k] [-g] [-4] [-6] [-o FILE] [-O] [-X METHOD] [-d DATA]
 *        [-H HEADER] [-A AGENT] [-u USER:PASSWORD] [-m SECONDS] [--connect-timeout SECONDS]
 *        [-w FORMAT] URL...
 */
#define WIN32_LEAN_AND_MEAN
#define _WIN32_WINNT 0x0a00
#include <winsock2.h>
#include <ws2tcpip.h>
#include <windows.h>
#include <fcntl.h>
#include <io.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_HEADERS 64
#define MAX_REDIRECTS 50
#define HEAD_LIMIT 131072

enum { E_PROTOCOL = 1, E_USAGE = 2, E_URL = 3, E_RESOLVE = 6, E_CONNECT = 7, E_HTTP = 22,
       E_WRITE = 23, E_PARTIAL = 18, E_TIMEOUT = 28, E_REDIRECTS = 47, E_EMPTY = 52, E_RECV = 56 };

static struct {
    int silent, show_error, verbose, include, head, fail, follow, remote_name, family;
    const char *output, *method, *agent, *user, *format;
    char *data;
    const char *headers[MAX_HEADERS];
    int header_count;
    DWORD connect_ms, total_ms;
} opt;

struct url {
    char host[256], port[8], path[8192];
};

struct stream {
    SOCKET socket;
    char buffer[16384];
    int used, filled;
};

static DWORD began;
static int last_status;
static long long received;

static int complain(int code, const char *format, ...)
{
    va_list args;
    if (opt.silent && !opt.show_error) return code;
    fprintf(stderr, "curl: (%d) ", code);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, "\n");
    return code;
}

static int parse_url(const char *text, struct url *url)
{
    const char *scheme = strstr(text, "://"), *slash, *colon, *at;
    size_t length;
    if (scheme) {
        if (_strnicmp(text, "http://", 7)) {
            int size = (int)(scheme - text);
            return complain(E_PROTOCOL, "Protocol \"%.*s\" not supported or disabled in libcurl", size, text);
        }
        text = scheme + 3;
    }
    slash = text + strcspn(text, "/?#");
    at = memchr(text, '@', slash - text);
    if (at) text = at + 1;
    if (*text == '[') {
        const char *close = strchr(text, ']');
        if (!close || close > slash) return complain(E_URL, "URL using bad/illegal format or missing URL");
        length = close - text - 1;
        snprintf(url->host, sizeof(url->host), "%.*s", (int)length, text + 1);
        colon = close[1] == ':' ? close + 1 : NULL;
    } else {
        colon = memchr(text, ':', slash - text);
        length = (colon ? colon : slash) - text;
        snprintf(url->host, sizeof(url->host), "%.*s", (int)length, text);
    }
    if (!url->host[0]) return complain(E_URL, "URL using bad/illegal format or missing URL");
    if (colon) snprintf(url->port, sizeof(url->port), "%.*s", (int)(slash - colon - 1), colon + 1);
    else strcpy(url->port, "80");
    snprintf(url->path, sizeof(url->path), "%s%s", *slash == '/' ? "" : "/", slash);
    url->path[strcspn(url->path, "#")] = 0;
    return 0;
}

static DWORD time_left(DWORD limit)
{
    DWORD spent = GetTickCount() - began;
    return spent >= limit ? 1 : limit - spent;
}

static int connect_one(SOCKET s, const struct addrinfo *address)
{
    u_long on = 1, off = 0;
    DWORD limit = opt.connect_ms ? opt.connect_ms : 120000;
    struct timeval wait;
    fd_set writable, failed;
    int error = 0, size = sizeof(error);
    if (opt.total_ms && opt.total_ms < limit) limit = opt.total_ms;
    limit = time_left(limit);
    ioctlsocket(s, FIONBIO, &on);
    if (connect(s, address->ai_addr, (int)address->ai_addrlen) && WSAGetLastError() != WSAEWOULDBLOCK)
        return WSAGetLastError();
    wait.tv_sec = limit / 1000;
    wait.tv_usec = (limit % 1000) * 1000;
    FD_ZERO(&writable);
    FD_ZERO(&failed);
    FD_SET(s, &writable);
    FD_SET(s, &failed);
    if (select(0, NULL, &writable, &failed, &wait) <= 0) return WSAETIMEDOUT;
    getsockopt(s, SOL_SOCKET, SO_ERROR, (char *)&error, &size);
    ioctlsocket(s, FIONBIO, &off);
    if (!error && FD_ISSET(s, &failed)) error = WSAECONNREFUSED;
    return error;
}

static const char *connect_words(int error)
{
    switch (error) {
    case WSAECONNREFUSED: return "Connection refused";
    case WSAEHOSTUNREACH: return "No route to host";
    case WSAENETUNREACH: return "Network is unreachable";
    default: return "Couldn't connect to server";
    }
}

static int open_connection(const struct url *url, struct stream *stream)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_family = opt.family}, *list, *item;
    int error = 0;
    if (getaddrinfo(url->host, url->port, &hints, &list))
        return complain(E_RESOLVE, "Could not resolve host: %s", url->host);
    for (item = list; item; item = item->ai_next) {
        char text[64] = "";
        stream->socket = socket(item->ai_family, SOCK_STREAM, IPPROTO_TCP);
        getnameinfo(item->ai_addr, (int)item->ai_addrlen, text, sizeof(text), NULL, 0, NI_NUMERICHOST);
        if (opt.verbose) fprintf(stderr, "*   Trying %s:%s...\n", text, url->port);
        error = connect_one(stream->socket, item);
        if (!error) {
            if (opt.verbose) fprintf(stderr, "* Connected to %s (%s) port %s (#0)\n", url->host, text, url->port);
            freeaddrinfo(list);
            return 0;
        }
        closesocket(stream->socket);
    }
    freeaddrinfo(list);
    if (error == WSAETIMEDOUT)
        return complain(E_TIMEOUT, "Connection timed out after %lu milliseconds", (unsigned long)(GetTickCount() - began));
    return complain(E_CONNECT, "Failed to connect to %s port %s: %s", url->host, url->port, connect_words(error));
}

static int fill(struct stream *stream)
{
    DWORD left;
    if (opt.total_ms) {
        left = time_left(opt.total_ms);
        setsockopt(stream->socket, SOL_SOCKET, SO_RCVTIMEO, (char *)&left, sizeof(left));
    }
    stream->used = 0;
    stream->filled = recv(stream->socket, stream->buffer, sizeof(stream->buffer), 0);
    if (stream->filled > 0) return 0;
    if (stream->filled == 0) return -1;
    stream->filled = 0;
    if (WSAGetLastError() == WSAETIMEDOUT)
        return complain(E_TIMEOUT, "Operation timed out after %lu milliseconds with %lld bytes received",
                        (unsigned long)(GetTickCount() - began), received);
    return complain(E_RECV, "Recv failure: Connection was reset");
}

/* One line without its end; 0, -1 at the end of the stream, else a curl error. */
static int read_line(struct stream *stream, char *line, size_t room)
{
    size_t used = 0;
    for (;;) {
        char c;
        if (stream->used == stream->filled) {
            int error = fill(stream);
            if (error) return error;
        }
        c = stream->buffer[stream->used++];
        if (c == '\n') break;
        if (used + 1 < room) line[used++] = c;
    }
    if (used && line[used - 1] == '\r') used--;
    line[used] = 0;
    return 0;
}

static int copy_body(struct stream *stream, FILE *out, long long size)
{
    while (size) {
        int have = stream->filled - stream->used;
        if (!have) {
            int error = fill(stream);
            if (error == -1 && size < 0) return 0;
            if (error == -1) return complain(E_PARTIAL, "transfer closed with %lld bytes remaining to read", size);
            if (error) return error;
            continue;
        }
        if (size > 0 && have > size) have = (int)size;
        if (fwrite(stream->buffer + stream->used, 1, have, out) != (size_t)have)
            return complain(E_WRITE, "Failed writing body");
        stream->used += have;
        received += have;
        if (size > 0) size -= have;
    }
    return 0;
}

static int copy_chunks(struct stream *stream, FILE *out)
{
    char line[1024];
    for (;;) {
        long long size;
        int error = read_line(stream, line, sizeof(line));
        if (error) return error == -1 ? complain(E_PARTIAL, "transfer closed with outstanding read data remaining") : error;
        size = strtoll(line, NULL, 16);
        if (size <= 0) break;
        error = copy_body(stream, out, size);
        if (error) return error;
        read_line(stream, line, sizeof(line));
    }
    while (!read_line(stream, line, sizeof(line)) && line[0]) continue;
    return 0;
}

static void append(char *head, const char *format, ...)
{
    size_t used = strlen(head);
    va_list args;
    va_start(args, format);
    vsnprintf(head + used, HEAD_LIMIT - used, format, args);
    va_end(args);
}

static int has_header(const char *name)
{
    int i;
    for (i = 0; i < opt.header_count; i++)
        if (!_strnicmp(opt.headers[i], name, strlen(name)) && opt.headers[i][strlen(name)] == ':') return 1;
    return 0;
}

static void append_basic(char *head, const char *user)
{
    static const char table[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t i, length = strlen(user);
    append(head, "Authorization: Basic ");
    for (i = 0; i < length; i += 3) {
        unsigned long bits = (unsigned char)user[i] << 16;
        if (i + 1 < length) bits |= (unsigned char)user[i + 1] << 8;
        if (i + 2 < length) bits |= (unsigned char)user[i + 2];
        append(head, "%c%c%c%c", table[bits >> 18], table[bits >> 12 & 63],
               i + 1 < length ? table[bits >> 6 & 63] : '=', i + 2 < length ? table[bits & 63] : '=');
    }
    append(head, "\r\n");
}

static int send_request(struct stream *stream, const struct url *url, const char *method)
{
    char *head = calloc(1, HEAD_LIMIT), *line;
    size_t size, done = 0;
    int i, colon = strchr(url->host, ':') != NULL;
    append(head, "%s %s HTTP/1.1\r\n", method, url->path);
    if (!has_header("Host")) {
        append(head, colon ? "Host: [%s]" : "Host: %s", url->host);
        append(head, strcmp(url->port, "80") ? ":%s\r\n" : "\r\n", url->port);
    }
    if (opt.user) append_basic(head, opt.user);
    if (!has_header("User-Agent")) append(head, "User-Agent: %s\r\n", opt.agent ? opt.agent : "curl/7.83.1");
    if (!has_header("Accept")) append(head, "Accept: */*\r\n");
    for (i = 0; i < opt.header_count; i++) append(head, "%s\r\n", opt.headers[i]);
    if (opt.data) {
        append(head, "Content-Length: %u\r\n", (unsigned)strlen(opt.data));
        if (!has_header("Content-Type")) append(head, "Content-Type: application/x-www-form-urlencoded\r\n");
    }
    append(head, "\r\n");
    if (opt.verbose)
        for (line = head; *line; line = strstr(line, "\r\n") + 2)
            fprintf(stderr, "> %.*s\n", (int)strcspn(line, "\r"), line);
    if (opt.data) append(head, "%s", opt.data);
    for (size = strlen(head); done < size;) {
        int sent = send(stream->socket, head + done, (int)(size - done), 0);
        if (sent <= 0) break;
        done += sent;
    }
    free(head);
    return done == size ? 0 : complain(55, "Send failure: Connection was reset");
}

struct answer {
    char location[8192];
    long long size;
    int chunked;
};

static void take_header(struct answer *answer, const char *line)
{
    if (!_strnicmp(line, "content-length:", 15)) answer->size = strtoll(line + 15, NULL, 10);
    else if (!_strnicmp(line, "transfer-encoding:", 18)) answer->chunked = strstr(line, "chunked") != NULL;
    else if (!_strnicmp(line, "location:", 9))
        snprintf(answer->location, sizeof(answer->location), "%s", line + 9 + strspn(line + 9, " "));
}

static int read_head(struct stream *stream, struct answer *answer, FILE *out)
{
    static char line[65536];
    int first = 1, error;
    do {
        memset(answer, 0, sizeof(*answer));
        answer->size = -1;
        for (first = 1;; first = 0) {
            error = read_line(stream, line, sizeof(line));
            if (error == -1) return complain(E_EMPTY, "Empty reply from server");
            if (error) return error;
            if (first && strncmp(line, "HTTP/", 5)) return complain(1, "Received HTTP/0.9 when not allowed");
            if (first) last_status = atoi(line + strcspn(line, " "));
            if (opt.verbose) fprintf(stderr, "< %s\n", line);
            if (opt.include || opt.head) fprintf(out, "%s\r\n", line);
            if (!line[0]) break;
            take_header(answer, line);
        }
    } while (last_status / 100 == 1);
    return 0;
}

/* One exchange; `next` gets the address to go on with, when the server names one. */
static int exchange(const struct url *url, const char *method, FILE *out, char *next)
{
    static struct stream stream;
    struct answer answer;
    int error = open_connection(url, &stream);
    stream.used = stream.filled = 0;
    if (error) return error;
    error = send_request(&stream, url, method);
    if (!error) error = read_head(&stream, &answer, out);
    if (!error && last_status >= 400 && opt.fail)
        error = complain(E_HTTP, "The requested URL returned error: %d", last_status);
    if (!error && opt.follow && last_status / 100 == 3 && answer.location[0]) strcpy(next, answer.location);
    else if (!error && strcmp(method, "HEAD") && last_status != 204 && last_status != 304)
        error = answer.chunked ? copy_chunks(&stream, out) : copy_body(&stream, out, answer.size);
    if (opt.verbose) fprintf(stderr, "* Closing connection 0\n");
    closesocket(stream.socket);
    return error;
}

static void write_out(const char *format)
{
    const char *p;
    for (p = format; *p; p++) {
        if (p[0] == '\\' && p[1]) {
            p++;
            putchar(*p == 'n' ? '\n' : *p == 't' ? '\t' : *p == 'r' ? '\r' : *p);
        } else if (p[0] == '%' && p[1] == '{') {
            const char *end = strchr(p, '}');
            if (!end) break;
            if (!strncmp(p + 2, "http_code", 9) || !strncmp(p + 2, "response_code", 13)) printf("%03d", last_status);
            else if (!strncmp(p + 2, "size_download", 13)) printf("%lld", received);
            else if (!strncmp(p + 2, "time_total", 10)) printf("%.6f", (GetTickCount() - began) / 1000.0);
            p = end;
        } else {
            putchar(*p);
        }
    }
}

static int fetch(const char *text)
{
    struct url url;
    char next[8192] = "";
    const char *method = opt.method ? opt.method : opt.head ? "HEAD" : opt.data ? "POST" : "GET";
    FILE *out = stdout;
    int error, hops = 0;
    began = GetTickCount();
    received = 0;
    error = parse_url(text, &url);
    if (error) return error;
    if (opt.remote_name) {
        const char *slash = strrchr(url.path, '/');
        opt.output = slash[1] ? slash + 1 : NULL;
        if (!opt.output) return complain(E_WRITE, "Remote file name has no length!");
    }
    if (opt.output && strcmp(opt.output, "-") && !(out = fopen(opt.output, "wb")))
        return complain(E_WRITE, "Failure writing output to destination");
    while (!(error = exchange(&url, method, out, next)) && next[0]) {
        if (++hops > MAX_REDIRECTS) {
            error = complain(E_REDIRECTS, "Maximum (%d) redirects followed", MAX_REDIRECTS);
            break;
        }
        if (strstr(next, "://")) {
            error = parse_url(next, &url);
            if (error) break;
        } else if (next[0] == '/') {
            snprintf(url.path, sizeof(url.path), "%s", next);
        } else {
            char *slash = strrchr(url.path, '/');
            snprintf(slash + 1, sizeof(url.path) - (slash + 1 - url.path), "%s", next);
        }
        if (last_status == 303 || ((last_status == 301 || last_status == 302) && opt.data && !opt.method)) {
            method = opt.head ? "HEAD" : "GET";
            opt.data = NULL;
        }
        next[0] = 0;
    }
    if (opt.format) write_out(opt.format);
    fflush(stdout);
    if (out != stdout) fclose(out);
    return error;
}

static char *load_data(const char *value)
{
    FILE *file;
    char *data;
    size_t used;
    if (value[0] != '@') return strdup(value);
    file = strcmp(value, "@-") ? fopen(value + 1, "rb") : stdin;
    if (!file) return strdup("");
    data = calloc(1, HEAD_LIMIT / 2);
    used = fread(data, 1, HEAD_LIMIT / 2 - 1, file);
    data[used] = 0;
    return data;
}

static void add_data(const char *value)
{
    char *more = load_data(value), *joined;
    if (!opt.data) {
        opt.data = more;
        return;
    }
    joined = malloc(strlen(opt.data) + strlen(more) + 2);
    sprintf(joined, "%s&%s", opt.data, more);
    opt.data = joined;
}

/* Options with a value. Returns 0 when `name` is none of them. */
static int set_value(char name, const char *value)
{
    switch (name) {
    case 'o': opt.output = value; return 1;
    case 'X': opt.method = value; return 1;
    case 'A': opt.agent = value; return 1;
    case 'u': opt.user = value; return 1;
    case 'w': opt.format = value; return 1;
    case 'd': add_data(value); return 1;
    case 'm': opt.total_ms = (DWORD)(atof(value) * 1000); return 1;
    case 'T': opt.connect_ms = (DWORD)(atof(value) * 1000); return 1;
    case 'H':
        if (opt.header_count < MAX_HEADERS) opt.headers[opt.header_count++] = value;
        return 1;
    default: return 0;
    }
}

static int set_flag(char name)
{
    switch (name) {
    case 's': opt.silent = 1; return 1;
    case 'S': opt.show_error = 1; return 1;
    case 'v': opt.verbose = 1; return 1;
    case 'i': opt.include = 1; return 1;
    case 'I': opt.head = 1; return 1;
    case 'f': opt.fail = 1; return 1;
    case 'L': opt.follow = 1; return 1;
    case 'O': opt.remote_name = 1; return 1;
    case '4': opt.family = AF_INET; return 1;
    case '6': opt.family = AF_INET6; return 1;
    case 'k': case 'g': case 'q': case '#': case 'N': return 1;
    default: return 0;
    }
}

static const struct { const char *word; char letter; int value; } WORDS[] = {
    {"silent", 's', 0},      {"show-error", 'S', 0}, {"verbose", 'v', 0},  {"include", 'i', 0},
    {"head", 'I', 0},        {"fail", 'f', 0},       {"location", 'L', 0}, {"remote-name", 'O', 0},
    {"insecure", 'k', 0},    {"globoff", 'g', 0},    {"ipv4", '4', 0},     {"ipv6", '6', 0},
    {"output", 'o', 1},      {"request", 'X', 1},    {"data", 'd', 1},     {"data-raw", 'd', 1},
    {"header", 'H', 1},      {"user-agent", 'A', 1}, {"user", 'u', 1},     {"max-time", 'm', 1},
    {"data-binary", 'd', 1}, {"write-out", 'w', 1},  {"connect-timeout", 'T', 1}, {"url", 'U', 1},
    {"no-buffer", 'N', 0},   {"disable", 'q', 0},
};

static int unknown(const char *name)
{
    fprintf(stderr, "curl: option %s: is unknown\ncurl: try 'curl --help' for more information\n", name);
    return E_USAGE;
}

static const char *urls[64];
static int url_count;

static int take_word(const char *arg, const char *value, int *used)
{
    size_t i;
    for (i = 0; i < sizeof(WORDS) / sizeof(WORDS[0]); i++) {
        if (strcmp(arg + 2, WORDS[i].word)) continue;
        if (!WORDS[i].value) return set_flag(WORDS[i].letter) ? 0 : E_USAGE;
        if (!value) return unknown(arg);
        *used = 1;
        if (WORDS[i].letter == 'U') urls[url_count++] = value;
        else set_value(WORDS[i].letter, value);
        return 0;
    }
    return unknown(arg);
}

static int take_letters(const char *arg, const char *value, int *used)
{
    const char *p;
    for (p = arg + 1; *p; p++) {
        if (set_flag(*p)) continue;
        if (*p == 'T' || !strchr("oXAuwdmH", *p)) return unknown(arg);
        if (p[1]) return set_value(*p, p + 1) ? 0 : unknown(arg);
        if (!value) {
            fprintf(stderr, "curl: option %s: requires parameter\n", arg);
            return E_USAGE;
        }
        *used = 1;
        set_value(*p, value);
        return 0;
    }
    return 0;
}

static char *narrow(const WCHAR *text)
{
    int size = WideCharToMultiByte(CP_UTF8, 0, text, -1, NULL, 0, NULL, NULL);
    char *out = malloc(size);
    WideCharToMultiByte(CP_UTF8, 0, text, -1, out, size, NULL, NULL);
    return out;
}

int wmain(int argc, WCHAR **argv)
{
    WSADATA wsa;
    int i, error = 0;
    WSAStartup(MAKEWORD(2, 2), &wsa);
    _setmode(_fileno(stdout), _O_BINARY);
    for (i = 1; i < argc && !error; i++) {
        const char *arg = narrow(argv[i]), *value = i + 1 < argc ? narrow(argv[i + 1]) : NULL;
        int used = 0;
        if (!strcmp(arg, "--version") || !strcmp(arg, "-V")) {
            printf("curl 7.83.1 (Windows) winkube\r\nProtocols: http\r\n");
            return 0;
        }
        if (!strncmp(arg, "--", 2)) error = take_word(arg, value, &used);
        else if (arg[0] == '-' && arg[1]) error = take_letters(arg, value, &used);
        else if (url_count < 63) urls[url_count++] = arg;
        i += used;
    }
    if (error) return error;
    if (!url_count) {
        fprintf(stderr, "curl: try 'curl --help' for more information\n");
        return E_USAGE;
    }
    for (i = 0; i < url_count; i++) error = fetch(urls[i]);
    return error;
}
