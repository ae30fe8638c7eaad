#include "coordinator/web/http_server.h"

#include <civetweb.h>

#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace tangram {
namespace {

std::string Header(const mg_connection* connection, const char* name) {
  const char* value = mg_get_header(connection, name);
  return value == nullptr ? "" : value;
}

// No other site may frame or cache pages, and their content may change.
constexpr char kHeaders[] =
    "Cache-Control: no-store\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "X-Frame-Options: DENY\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Connection: close\r\n";

void Write(mg_connection* connection, const HttpResponse& response,
           bool with_body) {
  const std::string head = absl::StrCat(
      "HTTP/1.1 ", response.status, " ",
      mg_get_response_code_text(connection, response.status),
      "\r\nContent-Type: ", response.content_type,
      "\r\nContent-Length: ", response.body.size(), "\r\n",
      response.status == 401 ? "WWW-Authenticate: Bearer\r\n" : "",
      response.status == 405 ? "Allow: GET, HEAD\r\n" : "", kHeaders, "\r\n");
  mg_write(connection, head.data(), head.size());
  if (with_body) {
    mg_write(connection, response.body.data(), response.body.size());
  }
}

int Handle(mg_connection* connection, void* handler) {
  const mg_request_info* info = mg_get_request_info(connection);
  const bool is_head = std::strcmp(info->request_method, "HEAD") == 0;
  HttpResponse response;
  if (is_head || std::strcmp(info->request_method, "GET") == 0) {
    response = (*static_cast<HttpHandler*>(handler))(
        {.path = info->local_uri == nullptr ? "" : info->local_uri,
         .host = Header(connection, "Host"),
         .authorization = Header(connection, "Authorization")});
  } else {
    response = {
        .status = 405, .content_type = "text/plain", .body = "expected GET\n"};
  }
  Write(connection, response, !is_head);
  return response.status;
}

class CivetServer : public HttpServer {
 public:
  explicit CivetServer(HttpHandler handler) : handler_(std::move(handler)) {}
  ~CivetServer() override {
    if (context_ != nullptr) mg_stop(context_);
  }

  bool Listen(const std::string& address) {
    // Two requests at once are enough for people. Idle connections end after 10
    // s.
    const char* options[] = {
        "listening_ports",    address.c_str(), "num_threads", "2",
        "request_timeout_ms", "10000",         nullptr};
    const mg_callbacks callbacks = {};
    context_ = mg_start(&callbacks, nullptr, options);
    if (context_ == nullptr) return false;
    mg_set_request_handler(context_, "**", Handle, &handler_);
    mg_server_port ports[1];
    if (mg_get_server_ports(context_, 1, ports) != 1) return false;
    port_ = ports[0].port;
    return true;
  }

  int port() const override { return port_; }

 private:
  HttpHandler handler_;
  mg_context* context_ = nullptr;
  int port_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(
    const std::string& address, HttpHandler handler) {
  auto server = std::make_unique<CivetServer>(std::move(handler));
  if (!server->Listen(address)) {
    return absl::UnavailableError(absl::StrCat("cannot listen on ", address));
  }
  return server;
}

}  // namespace tangram
