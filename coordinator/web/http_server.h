#ifndef TANGRAM_COORDINATOR_WEB_HTTP_SERVER_H_
#define TANGRAM_COORDINATOR_WEB_HTTP_SERVER_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace tangram {

// A GET or HEAD.
struct HttpRequest {
  std::string path;           // Decoded, without a query: "/api/jobs".
  std::string host;           // Of the header; empty: none.
  std::string authorization;  // Likewise.
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
};

// From several threads.
using HttpHandler = std::function<HttpResponse(const HttpRequest&)>;

// Answers GET requests in plain text; nothing else, and nothing is ever read
// from disk.
class HttpServer {
 public:
  // On `address`, "127.0.0.1:8080"; port 0 takes any free one. kUnavailable if
  // it cannot be had. Serves until it is destroyed.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(
      const std::string& address, HttpHandler handler);

  virtual ~HttpServer() = default;
  virtual int port() const = 0;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_WEB_HTTP_SERVER_H_
