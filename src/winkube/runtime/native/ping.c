/* ping with Windows' words: -n count, -w milliseconds, -l size, -4, -6 accepted and ignored, -t. */
#define WIN32_LEAN_AND_MEAN
#define _WIN32_WINNT 0x0a00
#include <winsock2.h>
#include <ws2tcpip.h>
#include <windows.h>
#include <iphlpapi.h>
#include <icmpapi.h>
#include <stdio.h>
#include <stdlib.h>

static const char *status_words(ULONG status)
{
    switch (status) {
    case IP_DEST_NET_UNREACHABLE: return "Destination net unreachable.";
    case IP_DEST_HOST_UNREACHABLE: return "Destination host unreachable.";
    case IP_DEST_PORT_UNREACHABLE: return "Destination port unreachable.";
    case IP_TTL_EXPIRED_TRANSIT: return "TTL expired in transit.";
    case IP_REQ_TIMED_OUT: return "Request timed out.";
    default: return "General failure.";
    }
}

struct totals {
    int sent, got;
    ULONG least, most, sum;
};

static void ping_once(HANDLE icmp, struct in_addr to, int size, DWORD wait, struct totals *totals)
{
    char data[65536], *reply = malloc(sizeof(ICMP_ECHO_REPLY) + size + 64), name[32];
    ICMP_ECHO_REPLY *echo = (ICMP_ECHO_REPLY *)reply;
    int i;
    for (i = 0; i < size; i++) data[i] = (char)('a' + i % 23);
    totals->sent++;
    if (!IcmpSendEcho(icmp, to.s_addr, data, (WORD)size, NULL, reply, sizeof(*echo) + size + 64, wait)) {
        DWORD error = GetLastError();
        printf("%s\n", status_words(error ? error : IP_REQ_TIMED_OUT));
    } else {
        struct in_addr from = {.s_addr = echo->Address};
        ULONG took = echo->RoundTripTime;
        inet_ntop(AF_INET, &from, name, sizeof(name));
        if (echo->Status) {
            printf("Reply from %s: %s\n", name, status_words(echo->Status));
        } else {
            printf(took ? "Reply from %s: bytes=%d time=%lums TTL=%d\n"
                        : "Reply from %s: bytes=%d time<%lums TTL=%d\n",
                   name, size, took ? took : 1, echo->Options.Ttl);
            if (!totals->got || took < totals->least) totals->least = took;
            if (took > totals->most) totals->most = took;
            totals->got++;
            totals->sum += took;
        }
    }
    fflush(stdout);
    free(reply);
}

static void print_totals(const struct totals *t, const char *address)
{
    int lost = t->sent - t->got;
    printf("\nPing statistics for %s:\n    Packets: Sent = %d, Received = %d, Lost = %d (%d%% loss),\n",
           address, t->sent, t->got, lost, t->sent ? lost * 100 / t->sent : 0);
    if (t->got)
        printf("Approximate round trip times in milli-seconds:\n"
               "    Minimum = %lums, Maximum = %lums, Average = %lums\n",
               t->least, t->most, t->sum / t->got);
}

int wmain(int argc, WCHAR **argv)
{
    WSADATA wsa;
    struct addrinfo hints = {.ai_family = AF_INET}, *found;
    struct totals totals = {0};
    struct in_addr to;
    char host[256] = "", address[32];
    int i, count = 4, size = 32, endless = 0;
    DWORD wait = 4000;
    HANDLE icmp;
    WSAStartup(MAKEWORD(2, 2), &wsa);
    for (i = 1; i < argc; i++) {
        const WCHAR *arg = argv[i];
        int more = i + 1 < argc;
        if ((arg[0] == '-' || arg[0] == '/') && arg[1]) {
            if (arg[1] == 't') endless = 1;
            else if (arg[1] == 'n' && more) count = _wtoi(argv[++i]);
            else if (arg[1] == 'w' && more) wait = _wtoi(argv[++i]);
            else if (arg[1] == 'l' && more) size = _wtoi(argv[++i]);
            else if (!wcschr(L"46a", arg[1])) {
                printf("Bad option %ls.\n", arg);
                return 1;
            }
        } else {
            snprintf(host, sizeof(host), "%ls", arg);
        }
    }
    if (!host[0] || size < 0 || size > 65500 || count < 1) {
        printf("\nUsage: ping [-t] [-n count] [-l size] [-w timeout] [-4] target_name\n");
        return 1;
    }
    if (getaddrinfo(host, NULL, &hints, &found)) {
        printf("Ping request could not find host %s. Please check the name and try again.\n", host);
        return 1;
    }
    to = ((struct sockaddr_in *)found->ai_addr)->sin_addr;
    inet_ntop(AF_INET, &to, address, sizeof(address));
    if (strcmp(host, address)) printf("\nPinging %s [%s] with %d bytes of data:\n", host, address, size);
    else printf("\nPinging %s with %d bytes of data:\n", address, size);
    icmp = IcmpCreateFile();
    for (i = 0; endless || i < count; i++) {
        if (i) Sleep(1000);
        ping_once(icmp, to, size, wait, &totals);
    }
    print_totals(&totals, address);
    return totals.got ? 0 : 1;
}
