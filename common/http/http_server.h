#ifndef TANGRAM_COMMON_HTTP_HTTP_SERVER_H_
#define TANGRAM_COMMON_HTTP_HTTP_SERVER_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace tangram {

// A GET or HEAD request.
struct HttpRequest {
  std::string path;           // Decoded path without query, e.g. "/api/jobs".
  std::string host;           // Host header; empty: none.
  std::string authorization;  // Authorization header; empty: none.
  std::string peer;           // Address of the client; empty: not known.
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  // Beside those that every response has: names and values.
  std::vector<std::pair<std::string, std::string>> headers;
};

// Called from several threads.
using HttpHandler = std::function<HttpResponse(const HttpRequest&)>;

// Answers GET and HEAD requests in plain HTTP. Reads nothing from disk.
//
// A connection takes a file descriptor and some kilobytes, but no thread, so
// clients that connect and stay silent, or send a byte now and then, keep
// nobody out. A connection ends after 10 s without a byte. If many are open,
// those that have been open for longest end first.
class HttpServer {
 public:
  // Listens on `address`, e.g. "127.0.0.1:8080", "[::1]:8080" or ":8080". Port
  // 0 takes any free one. Returns kUnavailable if the address cannot be used.
  // Serves until it is destroyed. The handler runs in `num_threads` threads,
  // each of which serves many connections: one that takes long makes those of
  // its thread wait.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(
      const std::string& address, int num_threads, HttpHandler handler);

  virtual ~HttpServer() = default;
  virtual int port() const = 0;
};

}  // namespace tangram

#endif  // TANGRAM_COMMON_HTTP_HTTP_SERVER_H_
