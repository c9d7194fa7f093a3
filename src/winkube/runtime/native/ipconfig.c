/* ipconfig: the pod's adapters in Windows' layout. Supports no option, /all and /flushdns. */
#define WIN32_LEAN_AND_MEAN
#define _WIN32_WINNT 0x0a00
#include <winsock2.h>
#include <ws2tcpip.h>
#include <windows.h>
#include <iphlpapi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLUMN 36

static void line(const char *label, const char *value)
{
    /* Labels are filled up with " ." to one column; the dots stand in the odd ones. */
    char text[64];
    size_t used = snprintf(text, sizeof(text), "   %s", label);
    while (used < COLUMN) {
        text[used] = used % 2 ? '.' : ' ';
        used++;
    }
    text[used] = 0;
    printf("%s : %s\n", text, value);
}

static void address_text(const SOCKET_ADDRESS *address, char *out, DWORD room)
{
    char *scope;
    out[0] = 0;
    getnameinfo(address->lpSockaddr, address->iSockaddrLength, out, room, NULL, 0, NI_NUMERICHOST);
    /* Windows has numbers for scopes, Wine the host's names. */
    scope = strchr(out, '%');
    if (scope)
        snprintf(scope, room - (scope - out), "%%%lu",
                 ((const struct sockaddr_in6 *)address->lpSockaddr)->sin6_scope_id);
}

static void print_mask(UINT8 prefix)
{
    ULONG mask = 0;
    char text[32];
    ConvertLengthToIpv4Mask(prefix, &mask);
    snprintf(text, sizeof(text), "%lu.%lu.%lu.%lu", mask & 255, mask >> 8 & 255, mask >> 16 & 255,
             mask >> 24);
    line("Subnet Mask", text);
}

static void print_addresses(const IP_ADAPTER_ADDRESSES *adapter, int all)
{
    const IP_ADAPTER_UNICAST_ADDRESS *item;
    const IP_ADAPTER_GATEWAY_ADDRESS *gateway;
    char text[128];
    for (item = adapter->FirstUnicastAddress; item; item = item->Next) {
        const struct sockaddr *address = item->Address.lpSockaddr;
        address_text(&item->Address, text, sizeof(text) - 16);
        if (all) strcat(text, "(Preferred)");
        if (address->sa_family == AF_INET6) {
            const struct in6_addr *v6 = &((const struct sockaddr_in6 *)address)->sin6_addr;
            line(IN6_IS_ADDR_LINKLOCAL(v6) ? "Link-local IPv6 Address" : "IPv6 Address", text);
        } else {
            line("IPv4 Address", text);
            print_mask(item->OnLinkPrefixLength);
        }
    }
    text[0] = 0;
    gateway = adapter->FirstGatewayAddress;
    if (gateway) address_text(&gateway->Address, text, sizeof(text));
    line("Default Gateway", text);
}

static void print_dns(const IP_ADAPTER_ADDRESSES *adapter)
{
    const IP_ADAPTER_DNS_SERVER_ADDRESS *item;
    char text[128];
    int first = 1;
    for (item = adapter->FirstDnsServerAddress; item; item = item->Next, first = 0) {
        address_text(&item->Address, text, sizeof(text));
        if (first) line("DNS Servers", text);
        else printf("%*s%s\n", COLUMN + 3, "", text);
    }
    line("NetBIOS over Tcpip", "Disabled");
}

static void print_adapter(const IP_ADAPTER_ADDRESSES *adapter, int all)
{
    char text[256], mac[32] = "";
    ULONG i;
    printf("\nEthernet adapter vEthernet (%ls):\n\n", adapter->FriendlyName);
    snprintf(text, sizeof(text), "%ls", adapter->DnsSuffix ? adapter->DnsSuffix : L"");
    line("Connection-specific DNS Suffix ", text);
    if (all) {
        line("Description", "Hyper-V Virtual Ethernet Container Adapter");
        for (i = 0; i < adapter->PhysicalAddressLength && i < 8; i++)
            sprintf(mac + strlen(mac), i ? "-%02X" : "%02X", adapter->PhysicalAddress[i]);
        line("Physical Address", mac);
        line("DHCP Enabled", "No");
        line("Autoconfiguration Enabled", "Yes");
    }
    print_addresses(adapter, all);
    if (all) print_dns(adapter);
}

static void print_host(const IP_ADAPTER_ADDRESSES *adapters)
{
    char name[256] = "", suffix[300] = "";
    const IP_ADAPTER_ADDRESSES *item;
    gethostname(name, sizeof(name));
    for (item = adapters; item && !suffix[0]; item = item->Next)
        if (item->DnsSuffix) snprintf(suffix, sizeof(suffix), "%ls", item->DnsSuffix);
    line("Host Name", name);
    line("Primary Dns Suffix ", "");
    line("Node Type", "Hybrid");
    line("IP Routing Enabled", "No");
    line("WINS Proxy Enabled", "No");
    if (suffix[0]) line("DNS Suffix Search List", suffix);
}

int wmain(int argc, WCHAR **argv)
{
    WSADATA wsa;
    ULONG size = 65536, error;
    IP_ADAPTER_ADDRESSES *list = malloc(size), *item;
    int all = argc == 2 && (!_wcsicmp(argv[1], L"/all") || !_wcsicmp(argv[1], L"-all"));
    WSAStartup(MAKEWORD(2, 2), &wsa);
    printf("\nWindows IP Configuration\n\n");
    if (argc == 2 && !_wcsicmp(argv[1], L"/flushdns")) {
        printf("Successfully flushed the DNS Resolver Cache.\n");
        return 0;
    }
    if (argc > 1 && !all) {
        printf("Error: unrecognized or incomplete command line.\n");
        return 1;
    }
    error = GetAdaptersAddresses(AF_UNSPEC, GAA_FLAG_INCLUDE_GATEWAYS, NULL, list, &size);
    if (error) {
        printf("An internal error occurred: %lu\n", error);
        return 1;
    }
    if (all) print_host(list);
    for (item = list; item; item = item->Next)
        if (item->IfType != IF_TYPE_SOFTWARE_LOOPBACK) print_adapter(item, all);
    return 0;
}
