#ifndef TANGRAM_COMMON_SECURITY_PEER_HOST_H_
#define TANGRAM_COMMON_SECURITY_PEER_HOST_H_

#include <string>

#include "absl/strings/string_view.h"

namespace tangram {

// Returns the host in a peer as gRPC writes it: "10.0.0.7" from
// "ipv4:10.0.0.7:41234". An IPv6 host is its network, "2001:db8::/64", because
// one machine may use all addresses of it. A peer on a Unix socket is "unix".
// Anything else is "unknown".
std::string PeerHost(absl::string_view peer);

}  // namespace tangram

#endif  // TANGRAM_COMMON_SECURITY_PEER_HOST_H_
