#include "common/security/peer_host.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"

namespace tangram {
namespace {

constexpr char kUnknown[] = "unknown";
// Bytes of an IPv6 address that name its network.
constexpr int kNetworkBytes = 8;

// `address` is "[2001:db8::7%eth0]", with or without the zone.
std::string Ipv6Host(absl::string_view address) {
  absl::ConsumePrefix(&address, "[");
  absl::ConsumeSuffix(&address, "]");
  address = address.substr(0, address.find('%'));
  in6_addr parsed;
  if (inet_pton(AF_INET6, std::string(address).c_str(), &parsed) != 1) {
    return kUnknown;
  }
  char text[INET6_ADDRSTRLEN];
  if (IN6_IS_ADDR_V4MAPPED(&parsed)) {
    return inet_ntop(AF_INET, parsed.s6_addr + 12, text, sizeof(text));
  }
  std::fill(parsed.s6_addr + kNetworkBytes, std::end(parsed.s6_addr), 0);
  return absl::StrCat(inet_ntop(AF_INET6, &parsed, text, sizeof(text)), "/64");
}

}  // namespace

std::string PeerHost(absl::string_view peer) {
  if (absl::ConsumePrefix(&peer, "unix")) return "unix";
  // Newer versions of gRPC encode the brackets and the zone.
  const std::string decoded =
      absl::StrReplaceAll(peer, {{"%5B", "["}, {"%5D", "]"}, {"%25", "%"}});
  absl::string_view address = decoded;
  const bool is_ipv6 = absl::ConsumePrefix(&address, "ipv6:");
  if (!is_ipv6 && !absl::ConsumePrefix(&address, "ipv4:")) return kUnknown;
  // The port follows the last colon.
  address = address.substr(0, address.rfind(':'));
  return is_ipv6 ? Ipv6Host(address) : std::string(address);
}

}  // namespace tangram
