#include "common/http/micro_http.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tangram {

std::string HeaderOf(MHD_Connection* connection, const char* name) {
  struct Search {
    const char* name;
    std::vector<std::string> values;
  } search{.name = name};
  MHD_get_connection_values(
      connection, MHD_HEADER_KIND,
      [](void* found, MHD_ValueKind, const char* key, const char* value) {
        auto& [wanted, values] = *static_cast<Search*>(found);
        if (absl::EqualsIgnoreCase(key, wanted)) {
          values.emplace_back(value == nullptr ? "" : value);
        }
        return MHD_YES;
      },
      &search);
  return absl::StrJoin(search.values, ", ");
}

int SocketOf(MHD_Connection* connection) {
  return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)
      ->connect_fd;
}

std::string PeerOf(MHD_Connection* connection) {
  const MHD_ConnectionInfo* info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
  if (info == nullptr || info->client_addr == nullptr) return "";
  const sockaddr* address = info->client_addr;
  char host[NI_MAXHOST];
  char port[NI_MAXSERV];
  const socklen_t length = address->sa_family == AF_INET6 ? sizeof(sockaddr_in6)
                                                          : sizeof(sockaddr_in);
  if (getnameinfo(address, length, host, sizeof(host), port, sizeof(port),
                  NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return "";
  }
  return absl::StrCat(host, ":", port);
}

MHD_Result SendResponse(MHD_Connection* connection,
                        const HttpResponse& response,
                        const HttpHeaders& headers) {
  MHD_Response* sent = MHD_create_response_from_buffer(
      response.body.size(), const_cast<char*>(response.body.data()),
      MHD_RESPMEM_MUST_COPY);
  if (sent == nullptr) return MHD_NO;
  for (const auto& [name, value] : headers) {
    MHD_add_response_header(sent, name, value);
  }
  for (const auto& [name, value] : response.headers) {
    MHD_add_response_header(sent, name.c_str(), value.c_str());
  }
  MHD_add_response_header(sent, "Content-Type", response.content_type.c_str());
  // The content may change.
  MHD_add_response_header(sent, "Cache-Control", "no-store");
  MHD_add_response_header(sent, "X-Content-Type-Options", "nosniff");
  MHD_add_response_header(sent, "Connection", "close");
  if (response.status == MHD_HTTP_UNAUTHORIZED) {
    MHD_add_response_header(sent, "WWW-Authenticate", "Bearer");
  }
  const MHD_Result result = MHD_queue_response(
      connection, static_cast<unsigned>(response.status), sent);
  MHD_destroy_response(sent);
  return result;
}

void IgnoreMicroError(void* /*nothing*/, const char* /*format*/,
                      va_list /*arguments*/) {}

}  // namespace tangram
