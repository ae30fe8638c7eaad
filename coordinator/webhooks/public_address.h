#ifndef TANGRAM_COORDINATOR_WEBHOOKS_PUBLIC_ADDRESS_H_
#define TANGRAM_COORDINATOR_WEBHOOKS_PUBLIC_ADDRESS_H_

struct sockaddr;

namespace tangram {

// Returns whether an IP address is one of the Internet: neither of this
// machine, nor of a private or link-local network, nor reserved (RFC 6890). An
// IPv6 address that stands for an IPv4 one counts as that one.
bool IsPublicAddress(const sockaddr& address);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_WEBHOOKS_PUBLIC_ADDRESS_H_
