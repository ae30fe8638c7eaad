#include "common/http/listening_socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/strip.h"

namespace tangram {
namespace {

// Connections that may wait until they are accepted. The kernel takes fewer if
// net.core.somaxconn says so.
constexpr int kBacklog = 4096;

absl::Status ErrorOfSystem() {
  return absl::UnavailableError(std::strerror(errno));
}

int PortOf(int socket) {
  sockaddr_storage bound = {};
  socklen_t length = sizeof(bound);
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&bound), &length) != 0) {
    return 0;
  }
  return ntohs(bound.ss_family == AF_INET6
                   ? reinterpret_cast<sockaddr_in6*>(&bound)->sin6_port
                   : reinterpret_cast<sockaddr_in*>(&bound)->sin_port);
}

absl::StatusOr<ListeningSocket> ListenOn(const addrinfo& info) {
  const int fd =
      socket(info.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return ErrorOfSystem();
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (bind(fd, info.ai_addr, info.ai_addrlen) == 0 &&
      listen(fd, kBacklog) == 0) {
    return ListeningSocket{.socket = fd, .port = PortOf(fd)};
  }
  absl::Status status = ErrorOfSystem();
  close(fd);
  return status;
}

}  // namespace

absl::StatusOr<ListeningSocket> OpenListeningSocket(
    const std::string& address) {
  const size_t colon = address.rfind(':');
  const std::string port =
      colon == std::string::npos ? address : address.substr(colon + 1);
  absl::string_view host = colon == std::string::npos
                               ? absl::string_view()
                               : absl::string_view(address).substr(0, colon);
  if (absl::ConsumePrefix(&host, "[")) absl::ConsumeSuffix(&host, "]");
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error =
      getaddrinfo(host.empty() ? nullptr : std::string(host).c_str(),
                  port.c_str(), &hints, &found);
  if (error != 0) return absl::UnavailableError(gai_strerror(error));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found,
                                                             freeaddrinfo);
  absl::StatusOr<ListeningSocket> listening =
      absl::UnavailableError("no such address");
  for (const addrinfo* info = found; info != nullptr && !listening.ok();
       info = info->ai_next) {
    listening = ListenOn(*info);
  }
  return listening;
}

}  // namespace tangram
