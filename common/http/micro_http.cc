#include "common/http/micro_http.h"

namespace tangram {

std::string HeaderOf(MHD_Connection* connection, const char* name) {
  const char* value =
      MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
  return value == nullptr ? "" : value;
}

int SocketOf(MHD_Connection* connection) {
  return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)
      ->connect_fd;
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
