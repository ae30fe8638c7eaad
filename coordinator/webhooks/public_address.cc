#include "coordinator/webhooks/public_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace tangram {
namespace {

struct Network4 {
  uint32_t address;
  int bits;
};
// Special-purpose networks of RFC 6890, and multicast and later ones.
constexpr Network4 kSpecial4[] = {
    {0x00000000, 8},   // "This network".
    {0x0a000000, 8},   // Private.
    {0x64400000, 10},  // Shared by carriers.
    {0x7f000000, 8},   // This machine.
    {0xa9fe0000, 16},  // Link-local, with the metadata of clouds.
    {0xac100000, 12},  // Private.
    {0xc0000000, 24},  // Protocol assignments.
    {0xc0000200, 24},  // Documentation.
    {0xc0586300, 24},  // 6to4 relays.
    {0xc0a80000, 16},  // Private.
    {0xc6120000, 15},  // Benchmarks.
    {0xc6336400, 24},  // Documentation.
    {0xcb007100, 24},  // Documentation.
    {0xe0000000, 3}};  // Multicast and reserved.

bool IsPublic4(uint32_t address) {
  return std::none_of(std::begin(kSpecial4), std::end(kSpecial4),
                      [address](const Network4& network) {
                        const int shift = 32 - network.bits;
                        return address >> shift == network.address >> shift;
                      });
}

uint32_t Read4(const uint8_t* bytes) {
  return static_cast<uint32_t>(bytes[0]) << 24 |
         static_cast<uint32_t>(bytes[1]) << 16 |
         static_cast<uint32_t>(bytes[2]) << 8 | bytes[3];
}

bool IsPublic6(const in6_addr& address) {
  const uint8_t* bytes = address.s6_addr;
  if (IN6_IS_ADDR_V4MAPPED(&address)) return IsPublic4(Read4(bytes + 12));
  // NAT64 (RFC 6052).
  constexpr uint8_t kNat64[12] = {0x00, 0x64, 0xff, 0x9b};
  if (std::memcmp(bytes, kNat64, sizeof(kNat64)) == 0) {
    return IsPublic4(Read4(bytes + 12));
  }
  // 6to4 (RFC 3056).
  if (bytes[0] == 0x20 && bytes[1] == 0x02) return IsPublic4(Read4(bytes + 2));
  // Only 2000::/3 is given out. Teredo, the rest of 2001::/23, and
  // 2001:db8::/32 in it are special.
  if (bytes[0] >> 5 != 1) return false;
  if (bytes[0] == 0x20 && bytes[1] == 0x01) {
    if (bytes[2] < 2) return false;
    if (bytes[2] == 0x0d && bytes[3] == 0xb8) return false;
  }
  return true;
}

}  // namespace

bool IsPublicAddress(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    sockaddr_in in;
    std::memcpy(&in, &address, sizeof(in));
    return IsPublic4(ntohl(in.sin_addr.s_addr));
  }
  if (address.sa_family == AF_INET6) {
    sockaddr_in6 in;
    std::memcpy(&in, &address, sizeof(in));
    return IsPublic6(in.sin6_addr);
  }
  return false;
}

}  // namespace tangram
