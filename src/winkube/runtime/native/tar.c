/* tar: Windows has had one since build 17063, and kubectl cp needs it.

   Creates, extracts and lists uncompressed archives: ustar, with pax headers for names that do not
   fit (POSIX.1-2001), and GNU long names when reading. Files and folders only; what else an archive
   holds is left out with a word about it. A name never leaves the folder it is extracted into. */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include <fcntl.h>
#include <io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 512
#define ROOM 4096 /* bytes of a name, and characters of a path */
#define EPOCH 116444736000000000ULL

struct header {
    char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], sum[8], type;
    char link[100], magic[6], version[2], owner[32], group[32], major[8], minor[8], prefix[155];
    char padding[12];
};
_Static_assert(sizeof(struct header) == BLOCK, "a header is one block");

struct options {
    char mode; /* c, x or t */
    int verbose, keep_time;
    const WCHAR *archive, *folder;
};

static FILE *archive;
static int failures;

static void complain(const char *what, const char *about)
{
    fprintf(stderr, "tar: %s%s%s\n", what, about ? ": " : "", about ? about : "");
    failures++;
}

static void fail(const char *what, const char *about)
{
    complain(what, about);
    fprintf(stderr, "tar: Error exit delayed from previous errors.\n");
    exit(1);
}

static void to_utf8(const WCHAR *from, char *to)
{
    if (!WideCharToMultiByte(CP_UTF8, 0, from, -1, to, ROOM, NULL, NULL)) fail("Name too long", NULL);
}

static void to_wide(const char *from, WCHAR *to)
{
    if (!MultiByteToWideChar(CP_UTF8, 0, from, -1, to, ROOM)) fail("Name too long", NULL);
}

/* --- reading ------------------------------------------------------------------------------- */

static unsigned long long number(const char *field, size_t length)
{
    unsigned long long value = 0;
    size_t i;
    if ((unsigned char)field[0] & 0x80) { /* GNU: a big-endian number */
        for (i = 1; i < length; i++) value = value << 8 | (unsigned char)field[i];
        return value;
    }
    for (i = 0; i < length && field[i]; i++)
        if (field[i] >= '0' && field[i] <= '7') value = value * 8 + (unsigned)(field[i] - '0');
    return value;
}

static unsigned checksum(const struct header *header)
{
    const unsigned char *bytes = (const unsigned char *)header;
    size_t from = offsetof(struct header, sum), i;
    unsigned sum = 8 * ' ';
    for (i = 0; i < BLOCK; i++)
        if (i < from || i >= from + 8) sum += bytes[i];
    return sum;
}

static size_t padded(unsigned long long size)
{
    return (size_t)((BLOCK - size % BLOCK) % BLOCK);
}

static void skip(unsigned long long size)
{
    char waste[BLOCK];
    unsigned long long left = size + padded(size);
    while (left) {
        size_t part = left > BLOCK ? BLOCK : (size_t)left;
        if (fread(waste, 1, part, archive) != part) fail("Truncated input file", NULL);
        left -= part;
    }
}

/* The content of a header that speaks about the next entry. */
static char *read_text(unsigned long long size)
{
    char *text;
    if (size > 1 << 20) fail("Damaged archive", "an extended header is too large");
    text = malloc((size_t)size + 1);
    if (!text || fread(text, 1, (size_t)size, archive) != size) fail("Truncated input file", NULL);
    text[size] = 0;
    if (padded(size)) {
        char waste[BLOCK];
        if (fread(waste, 1, padded(size), archive) != padded(size))
            fail("Truncated input file", NULL);
    }
    return text;
}

/* pax records: "<length> <key>=<value>\n" */
static void read_pax(char *text, size_t length, char *name, unsigned long long *size, int *sized)
{
    char *at = text, *end = text + length;
    while (at < end) {
        char *space, *equals, *value;
        unsigned long record = strtoul(at, &space, 10);
        if (!record || record > (size_t)(end - at) || *space != ' ') return;
        at[record - 1] = 0;
        equals = strchr(space, '=');
        if (!equals) return;
        *equals = 0;
        value = equals + 1;
        if (!strcmp(space + 1, "path") && strlen(value) < ROOM) strcpy(name, value);
        if (!strcmp(space + 1, "size")) {
            *size = strtoull(value, NULL, 10);
            *sized = 1;
        }
        at += record;
    }
}

static int is_zero(const struct header *header)
{
    const char *bytes = (const char *)header;
    size_t i;
    for (i = 0; i < BLOCK; i++)
        if (bytes[i]) return 0;
    return 1;
}

struct entry {
    char name[ROOM], type;
    unsigned long long size, mtime;
};

/* The next entry with its real name; 0 at the end of the archive. */
static int next_entry(struct entry *entry)
{
    struct header header;
    int sized = 0;
    unsigned long long size = 0;
    entry->name[0] = 0;
    for (;;) {
        unsigned long long stated;
        size_t got = fread(&header, 1, BLOCK, archive);
        if (!got || (got == BLOCK && is_zero(&header))) return 0;
        if (got != BLOCK) fail("Truncated input file", NULL);
        if (number(header.sum, 8) != checksum(&header)) fail("Unrecognized archive format", NULL);
        stated = number(header.size, 12);
        if (header.type == 'x' || header.type == 'L') {
            char *text = read_text(stated);
            if (header.type == 'x') read_pax(text, (size_t)stated, entry->name, &size, &sized);
            else if (stated < ROOM) strcpy(entry->name, text);
            free(text);
            continue;
        }
        if (header.type == 'g') {
            skip(stated);
            continue;
        }
        if (!entry->name[0]) {
            int ustar = !memcmp(header.magic, "ustar", 5) && !header.magic[5] && header.prefix[0];
            snprintf(entry->name, ROOM, "%.155s%s%.100s", ustar ? header.prefix : "",
                     ustar ? "/" : "", header.name);
        }
        entry->type = header.type ? header.type : '0';
        entry->size = sized ? size : stated;
        entry->mtime = number(header.mtime, 12);
        return 1;
    }
}

/* Turn the name into a path below the current folder; 0 when it leads elsewhere. */
static int local_path(const char *name, WCHAR *path)
{
    WCHAR *at;
    while (*name == '/' || *name == '\\') name++;
    to_wide(*name ? name : ".", path);
    if (wcschr(path, ':')) return 0;
    for (at = path; *at; at++)
        if (*at == '/') *at = '\\';
    for (at = path; at; at = wcschr(at, '\\')) {
        if (*at == '\\') at++;
        if (!wcsncmp(at, L"..", 2) && (!at[2] || at[2] == '\\')) return 0;
    }
    return 1;
}

static void make_folders(WCHAR *path, int all)
{
    WCHAR *at;
    for (at = wcschr(path, '\\'); at; at = wcschr(at + 1, '\\')) {
        *at = 0;
        CreateDirectoryW(path, NULL);
        *at = '\\';
    }
    if (all) CreateDirectoryW(path, NULL);
}

static void extract_file(struct entry *entry, WCHAR *path, int keep_time)
{
    char buffer[65536];
    unsigned long long left = entry->size;
    HANDLE file;
    make_folders(path, 0);
    file = CreateFileW(path, GENERIC_WRITE, 0, NULL, CREATE_ALWAYS, FILE_ATTRIBUTE_NORMAL, NULL);
    if (file == INVALID_HANDLE_VALUE) {
        complain("Can't create", entry->name);
        skip(entry->size);
        return;
    }
    while (left) {
        size_t part = left > sizeof(buffer) ? sizeof(buffer) : (size_t)left;
        DWORD written;
        if (fread(buffer, 1, part, archive) != part) fail("Truncated input file", NULL);
        if (!WriteFile(file, buffer, (DWORD)part, &written, NULL) || written != part)
            fail("Write failed", entry->name);
        left -= part;
    }
    if (!keep_time) {
        unsigned long long ticks = entry->mtime * 10000000ULL + EPOCH;
        FILETIME time = {(DWORD)ticks, (DWORD)(ticks >> 32)};
        SetFileTime(file, NULL, NULL, &time);
    }
    CloseHandle(file);
    if (padded(entry->size)) {
        size_t rest = padded(entry->size);
        if (fread(buffer, 1, rest, archive) != rest) fail("Truncated input file", NULL);
    }
}

static void extract_entry(struct entry *entry, const struct options *options)
{
    WCHAR path[ROOM];
    size_t length = strlen(entry->name);
    int folder = entry->type == '5' || (length && entry->name[length - 1] == '/');
    if (options->verbose) fprintf(stderr, "x %s\n", entry->name);
    if (!local_path(entry->name, path)) {
        complain("Path leads out of the folder", entry->name);
        skip(entry->size);
    } else if (folder) {
        while ((length = wcslen(path)) > 1 && path[length - 1] == '\\') path[length - 1] = 0;
        make_folders(path, 1);
        skip(entry->size);
    } else if (entry->type == '0' || entry->type == '7') {
        extract_file(entry, path, options->keep_time);
    } else {
        complain("Neither a file nor a folder, left out", entry->name);
        skip(entry->size);
    }
}

static void read_archive(const struct options *options)
{
    static struct entry entry;
    while (next_entry(&entry)) {
        if (options->mode == 'x') {
            extract_entry(&entry, options);
        } else {
            printf("%s\n", entry.name);
            skip(entry.size);
        }
    }
}

/* --- writing ------------------------------------------------------------------------------- */

static void put(const void *data, size_t length)
{
    if (fwrite(data, 1, length, archive) != length) fail("Write error", NULL);
}

static void pad(unsigned long long size)
{
    static const char zeros[BLOCK];
    put(zeros, padded(size));
}

static void put_number(char *field, size_t room, unsigned long long value)
{
    snprintf(field, room, "%0*llo", (int)room - 1, value);
}

static void put_header(const char *name, char type, unsigned long long size, unsigned long long mtime)
{
    struct header header;
    memset(&header, 0, sizeof(header));
    memcpy(header.name, name, strlen(name) < 100 ? strlen(name) : 100);
    put_number(header.mode, 8, type == '5' ? 0755 : 0644);
    put_number(header.uid, 8, 0);
    put_number(header.gid, 8, 0);
    put_number(header.size, 12, size);
    put_number(header.mtime, 12, mtime);
    header.type = type;
    memcpy(header.magic, "ustar", 6);
    memcpy(header.version, "00", 2);
    snprintf(header.sum, 8, "%06o", checksum(&header));
    header.sum[7] = ' ';
    put(&header, BLOCK);
}

/* A pax record counts its own length, digits included. */
static size_t put_record(char *to, size_t room, const char *key, const char *value)
{
    size_t rest = strlen(key) + strlen(value) + 3, length = rest + 1;
    char digits[24];
    while ((size_t)snprintf(digits, sizeof(digits), "%zu", length) + rest != length)
        length = rest + strlen(digits);
    return (size_t)snprintf(to, room, "%zu %s=%s\n", length, key, value);
}

static void put_entry(const char *name, char type, unsigned long long size, unsigned long long mtime)
{
    static char records[2 * ROOM];
    char text[24];
    size_t used = 0, i;
    int plain = strlen(name) <= 100;
    for (i = 0; name[i]; i++)
        if ((unsigned char)name[i] > 126) plain = 0;
    if (!plain) used += put_record(records, sizeof(records), "path", name);
    if (size > 077777777777ULL) {
        snprintf(text, sizeof(text), "%llu", size);
        used += put_record(records + used, sizeof(records) - used, "size", text);
    }
    if (used) {
        put_header("PaxHeader", 'x', used, mtime);
        put(records, used);
        pad(used);
    }
    put_header(name, type, size > 077777777777ULL ? 0 : size, mtime);
}

static unsigned long long unix_time(FILETIME time)
{
    unsigned long long ticks = (unsigned long long)time.dwHighDateTime << 32 | time.dwLowDateTime;
    return ticks > EPOCH ? (ticks - EPOCH) / 10000000ULL : 0;
}

static void add(const WCHAR *path, const struct options *options);

static void add_file(const WCHAR *path, const char *name, unsigned long long mtime)
{
    char buffer[65536];
    LARGE_INTEGER size;
    unsigned long long left;
    HANDLE file = CreateFileW(path, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                              NULL, OPEN_EXISTING, 0, NULL);
    if (file == INVALID_HANDLE_VALUE || !GetFileSizeEx(file, &size)) {
        complain("Couldn't open", name);
        return;
    }
    left = (unsigned long long)size.QuadPart;
    put_entry(name, '0', left, mtime);
    while (left) {
        DWORD part = left > sizeof(buffer) ? sizeof(buffer) : (DWORD)left, got = 0;
        if (!ReadFile(file, buffer, part, &got, NULL) || !got) {
            memset(buffer, 0, part); /* it shrank: the size is promised already */
            complain("File shrank while it was read", name);
            got = part;
        }
        put(buffer, got);
        left -= got;
    }
    pad((unsigned long long)size.QuadPart);
    CloseHandle(file);
}

static void add_folder(const WCHAR *path, const struct options *options)
{
    WCHAR *inner = malloc(ROOM * sizeof(WCHAR));
    WIN32_FIND_DATAW found;
    HANDLE search;
    if (!inner || _snwprintf(inner, ROOM, L"%ls/*", path) < 0) fail("Name too long", NULL);
    search = FindFirstFileW(inner, &found);
    if (search != INVALID_HANDLE_VALUE) {
        do {
            if (!wcscmp(found.cFileName, L".") || !wcscmp(found.cFileName, L"..")) continue;
            if (_snwprintf(inner, ROOM, L"%ls/%ls", path, found.cFileName) < 0)
                fail("Name too long", NULL);
            add(inner, options);
        } while (FindNextFileW(search, &found));
        FindClose(search);
    }
    free(inner);
}

static void add(const WCHAR *path, const struct options *options)
{
    char text[ROOM], *name = text, *at;
    WIN32_FILE_ATTRIBUTE_DATA data;
    to_utf8(path, text);
    for (at = text; *at; at++)
        if (*at == '\\') *at = '/';
    if (!GetFileAttributesExW(path, GetFileExInfoStandard, &data)) {
        complain("Couldn't find file", text);
        return;
    }
    if (name[0] && name[1] == ':') name += 2;
    while (*name == '/') name++;
    if (options->verbose) fprintf(stderr, "a %s\n", name);
    if (data.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) {
        if (*name && strlen(text) + 1 < ROOM) {
            size_t length = strlen(name);
            if (name[length - 1] != '/') strcpy(name + length, "/");
            put_entry(name, '5', 0, unix_time(data.ftLastWriteTime));
        }
        add_folder(path, options);
    } else {
        add_file(path, name, unix_time(data.ftLastWriteTime));
    }
}

static void end_archive(void)
{
    static const char zeros[2 * BLOCK];
    put(zeros, sizeof(zeros));
    if (fflush(archive)) fail("Write error", NULL);
}

/* --- the command line ---------------------------------------------------------------------- */

static int usage(void)
{
    fprintf(stderr, "tar: Must specify one of -c, -r, -t, -u, -x\n"
                    "Usage: tar -c|-t|-x [-mv] [-f <archive>] [-C <folder>] [<file> ...]\n");
    return 1;
}

/* One word of flags; how many following words it used, or -1. */
static int read_flags(const WCHAR *flags, WCHAR **rest, struct options *options)
{
    int used = 0;
    for (; *flags; flags++) {
        switch (*flags) {
        case 'c': case 'x': case 't': options->mode = (char)*flags; break;
        case 'v': options->verbose = 1; break;
        case 'm': options->keep_time = 1; break;
        case 'p': case 'o': case 'k': break;
        case 'f': case 'C': {
            const WCHAR *value = flags[1] ? flags + 1 : rest[used];
            if (!value) return -1;
            if (!flags[1]) used++;
            if (*flags == 'f') options->archive = value;
            else options->folder = value;
            return used;
        }
        default:
            fprintf(stderr, "tar: Option -%lc is not supported\n", *flags);
            return -1;
        }
    }
    return used;
}

static void enter(const WCHAR *folder)
{
    char text[ROOM];
    if (!folder || SetCurrentDirectoryW(folder)) return;
    to_utf8(folder, text);
    fprintf(stderr, "tar: could not chdir to '%s'\n", text);
    exit(1);
}

int wmain(int argc, WCHAR **argv)
{
    struct options options = {0, 0, 0, L"-", NULL};
    int at, used, files = 0, standard;
    if (argc > 1 && !wcscmp(argv[1], L"--version")) {
        printf("bsdtar 3.5.2 - libarchive 3.5.2 (emulated)\n");
        return 0;
    }
    for (at = 1; at < argc; at++) {
        if (!wcscmp(argv[at], L"--")) continue;
        if (!wcsncmp(argv[at], L"--no-same-", 10)) continue; /* there are no owners to keep */
        if (at > 1 && argv[at][0] != '-') {
            argv[++files] = argv[at];
            continue;
        }
        used = read_flags(argv[at] + (argv[at][0] == '-'), argv + at + 1, &options);
        if (used < 0) return usage();
        at += used;
    }
    if (!options.mode) return usage();
    standard = !wcscmp(options.archive, L"-");
    archive = options.mode == 'c' ? stdout : stdin;
    if (standard) _setmode(_fileno(archive), _O_BINARY);
    else archive = _wfopen(options.archive, options.mode == 'c' ? L"wb" : L"rb");
    if (!archive) fail("Error opening archive", NULL);
    enter(options.folder);
    if (options.mode != 'c') {
        read_archive(&options);
    } else {
        if (!files) fail("no files or directories specified", NULL);
        for (at = 1; at <= files; at++) add(argv[at], &options);
        end_archive();
    }
    if (!standard) fclose(archive);
    if (failures) fprintf(stderr, "tar: Error exit delayed from previous errors.\n");
    return failures ? 1 : 0;
}
