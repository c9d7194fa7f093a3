/* nslookup: one name or address, asked of the container's first DNS server or of the one named.
 *
 *   nslookup [-type=A|AAAA|SRV|PTR|CNAME|TXT] NAME [SERVER]
 */
#define WIN32_LEAN_AND_MEAN
#define _WIN32_WINNT 0x0a00
#include <winsock2.h>
#include <ws2tcpip.h>
#include <windows.h>
#include <iphlpapi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TYPE_A 1
#define TYPE_CNAME 5
#define TYPE_PTR 12
#define TYPE_TXT 16
#define TYPE_AAAA 28
#define TYPE_SRV 33
#define WAIT_MS 2000

static unsigned char packet[4096];
static int packet_size;
static char server[64], server_name[256] = "UnKnown", suffix[256];

static void load_settings(void)
{
    ULONG size = 0, room = 65536;
    FIXED_INFO *info;
    IP_ADAPTER_ADDRESSES *adapters = calloc(1, room), *item;
    GetNetworkParams(NULL, &size);
    info = calloc(1, size + sizeof(*info));
    if (info && !GetNetworkParams(info, &size))
        snprintf(server, sizeof(server), "%s", info->DnsServerList.IpAddress.String);
    /* The suffix belongs to the connection: a pod has no primary one. */
    if (!adapters || GetAdaptersAddresses(AF_UNSPEC, 0, NULL, adapters, &room)) return;
    for (item = adapters; item && !suffix[0]; item = item->Next)
        if (item->DnsSuffix) snprintf(suffix, sizeof(suffix), "%ls", item->DnsSuffix);
}

static int put_name(unsigned char *at, const char *name)
{
    int used = 0;
    while (*name) {
        size_t label = strcspn(name, ".");
        if (label == 0 || label > 63) return 0;
        at[used++] = (unsigned char)label;
        memcpy(at + used, name, label);
        used += (int)label;
        name += label + (name[label] == '.');
    }
    at[used++] = 0;
    return used;
}

/* Read a possibly compressed name; returns the offset after it, or -1. */
static int get_name(int at, char *out, size_t room)
{
    int after = -1, jumps = 0;
    size_t used = 0;
    out[0] = 0;
    while (at < packet_size && packet[at]) {
        int length = packet[at];
        if (length >= 0xc0) {
            if (at + 1 >= packet_size || ++jumps > 32) return -1;
            if (after < 0) after = at + 2;
            at = (length & 0x3f) << 8 | packet[at + 1];
            continue;
        }
        if (at + length >= packet_size || used + length + 2 > room) return -1;
        if (used) out[used++] = '.';
        memcpy(out + used, packet + at + 1, length);
        used += length;
        out[used] = 0;
        at += length + 1;
    }
    return after < 0 ? at + 1 : after;
}

static int word_at(int at) { return at + 1 < packet_size ? packet[at] << 8 | packet[at + 1] : 0; }

/* Ask; the response code, or -1 when nobody answers. */
static int ask(const char *name, int type)
{
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_DGRAM}, *to;
    unsigned char query[512] = {0x57, 0x4b, 1, 0, 0, 1};
    DWORD wait = WAIT_MS;
    SOCKET s;
    int size = put_name(query + 12, name), tries;
    if (!size || getaddrinfo(server, "53", &hints, &to)) return -1;
    size += 12;
    query[size++] = 0;
    query[size++] = (unsigned char)type;
    query[size++] = 0;
    query[size++] = 1;
    s = socket(to->ai_family, SOCK_DGRAM, IPPROTO_UDP);
    setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, (char *)&wait, sizeof(wait));
    packet_size = -1;
    for (tries = 0; tries < 2 && packet_size < 12; tries++) {
        sendto(s, (char *)query, size, 0, to->ai_addr, (int)to->ai_addrlen);
        packet_size = recv(s, (char *)packet, sizeof(packet), 0);
    }
    closesocket(s);
    freeaddrinfo(to);
    return packet_size < 12 ? -1 : packet[3] & 15;
}

struct results {
    char owner[256], addresses[64][64], text[16][512];
    int address_count, text_count;
};

static void take_record(struct results *r, const char *owner, int type, int at, int length)
{
    char name[256];
    char *text = r->text[r->text_count];
    if ((type == TYPE_A && length == 4) || (type == TYPE_AAAA && length == 16)) {
        if (r->address_count == 64) return;
        snprintf(r->owner, sizeof(r->owner), "%s", owner);
        inet_ntop(type == TYPE_A ? AF_INET : AF_INET6, packet + at, r->addresses[r->address_count++], 64);
        return;
    }
    if (r->text_count == 16) return;
    if (type == TYPE_PTR && get_name(at, name, sizeof(name)) > 0)
        snprintf(text, 512, "%s\tname = %s", owner, name);
    else if (type == TYPE_CNAME && get_name(at, name, sizeof(name)) > 0)
        snprintf(text, 512, "%s\tcanonical name = %s", owner, name);
    else if (type == TYPE_SRV && get_name(at + 6, name, sizeof(name)) > 0)
        snprintf(text, 512, "%s\tSRV service location:\n\t  priority       = %d\n\t  weight         = %d\n"
                 "\t  port           = %d\n\t  svr hostname   = %s",
                 owner, word_at(at), word_at(at + 2), word_at(at + 4), name);
    else if (type == TYPE_TXT && length > 1)
        snprintf(text, 512, "%s\ttext =\n\n\t\"%.*s\"", owner, packet[at], (char *)packet + at + 1);
    else return;
    r->text_count++;
}

static void collect(struct results *r)
{
    int at = 12, i, questions = word_at(4), answers = word_at(6);
    char owner[256];
    for (i = 0; i < questions && at > 0; i++) at = get_name(at, owner, sizeof(owner)) + 4;
    for (i = 0; i < answers && at > 0; i++) {
        int type, length;
        at = get_name(at, owner, sizeof(owner));
        if (at < 0 || at + 10 > packet_size) return;
        type = word_at(at);
        length = word_at(at + 8);
        if (at + 10 + length > packet_size) return;
        take_record(r, owner, type, at + 10, length);
        at += 10 + length;
    }
}

static int reverse_name(const char *address, char *out, size_t room)
{
    unsigned char b[4];
    if (inet_pton(AF_INET, address, b) != 1) return 0;
    snprintf(out, room, "%d.%d.%d.%d.in-addr.arpa", b[3], b[2], b[1], b[0]);
    return 1;
}

static void print_server(void)
{
    struct results r = {0};
    char name[300], *equals;
    if (reverse_name(server, name, sizeof(name)) && ask(name, TYPE_PTR) == 0) {
        collect(&r);
        equals = r.text_count ? strstr(r.text[0], "name = ") : NULL;
        if (equals) snprintf(server_name, sizeof(server_name), "%s", equals + 7);
    }
    printf("Server:  %s\nAddress:  %s\n\n", server_name, server);
    fflush(stdout);
}

static int type_number(const char *word)
{
    static const struct { const char *word; int type; } types[] = {
        {"A", TYPE_A}, {"AAAA", TYPE_AAAA}, {"SRV", TYPE_SRV}, {"PTR", TYPE_PTR},
        {"CNAME", TYPE_CNAME}, {"TXT", TYPE_TXT},
    };
    size_t i;
    for (i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (!_stricmp(word, types[i].word)) return types[i].type;
    return 0;
}

/* Ask for the name with the suffix first, then as it is. Windows' own resolver spares names with a
 * dot that, its nslookup only those that end with one. */
static int look_up(const char *name, int whole, int type, struct results *r)
{
    char full[512];
    int code, first = type ? type : TYPE_A;
    if (!whole && suffix[0]) {
        snprintf(full, sizeof(full), "%s.%s", name, suffix);
        code = ask(full, first);
        if (code == 0) {
            collect(r);
            if (r->address_count || r->text_count) return 0;
        }
    }
    code = ask(name, first);
    if (code == 0) collect(r);
    if (code == 0 && !type && ask(name, TYPE_AAAA) == 0) collect(r);
    return code;
}

static void print_results(const struct results *r)
{
    int i;
    for (i = 0; i < r->text_count; i++) printf("%s\n", r->text[i]);
    if (!r->address_count) return;
    printf("Name:    %s\n%s%s\n", r->owner, r->address_count > 1 ? "Addresses:  " : "Address:  ",
           r->addresses[0]);
    for (i = 1; i < r->address_count; i++) printf("\t  %s\n", r->addresses[i]);
    printf("\n");
}

int wmain(int argc, WCHAR **argv)
{
    WSADATA wsa;
    struct results r = {0};
    char name[300] = "", arpa[300], address[300] = "";
    int i, code, type = 0, whole = 0;
    WSAStartup(MAKEWORD(2, 2), &wsa);
    load_settings();
    for (i = 1; i < argc; i++) {
        char arg[256];
        snprintf(arg, sizeof(arg), "%ls", argv[i]);
        if (!_strnicmp(arg, "-type=", 6) || !_strnicmp(arg, "-q=", 3)) type = type_number(strchr(arg, '=') + 1);
        else if (arg[0] == '-') continue;
        else if (!name[0]) strcpy(name, arg);
        else snprintf(server, sizeof(server), "%s", arg);
    }
    if (!name[0]) {
        fprintf(stderr, "Usage:\n   nslookup [-opt ...] host          # just look up 'host' using default server\n");
        return 1;
    }
    if (!server[0]) {
        fprintf(stderr, "*** Default servers are not available\n");
        return 1;
    }
    if (name[strlen(name) - 1] == '.') {
        name[strlen(name) - 1] = 0;
        whole = 1;
    }
    print_server();
    if (reverse_name(name, arpa, sizeof(arpa))) {
        strcpy(address, name);
        strcpy(name, arpa);
        type = TYPE_PTR;
        whole = 1;
    }
    code = look_up(name, whole, type, &r);
    if (code == -1) {
        fprintf(stderr, "*** Request to %s timed-out\n", server_name);
        return 1;
    }
    if (code || !(r.address_count || r.text_count)) {
        fprintf(stderr, "*** %s can't find %s: %s\n", server_name, address[0] ? address : name,
                code == 3 ? "Non-existent domain" : code == 2 ? "Server failed" : "No response from server");
        return 1;
    }
    if (address[0]) printf("Name:    %s\nAddress:  %s\n\n", strstr(r.text[0], "name = ") + 7, address);
    else print_results(&r);
    return 0;
}
