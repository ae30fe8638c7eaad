#ifndef TANGRAM_COMMON_HTTP_LISTENING_SOCKET_H_
#define TANGRAM_COMMON_HTTP_LISTENING_SOCKET_H_

#include <string>

#include "absl/status/statusor.h"

namespace tangram {

struct ListeningSocket {
  int socket = -1;  // Owned by the caller.
  int port = 0;
};

// Opens a socket that listens on `address`: "HOST:PORT", "[IPv6]:PORT", ":PORT"
// or "PORT". Without a host, on all addresses. Port 0 takes any free one.
// Errors: kUnavailable with the reason.
absl::StatusOr<ListeningSocket> OpenListeningSocket(const std::string& address);

}  // namespace tangram

#endif  // TANGRAM_COMMON_HTTP_LISTENING_SOCKET_H_
