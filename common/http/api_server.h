#ifndef TANGRAM_COMMON_HTTP_API_SERVER_H_
#define TANGRAM_COMMON_HTTP_API_SERVER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/http/http_server.h"

namespace tangram {

// A request with a body.
struct ApiRequest {
  std::string method;  // E.g. "POST".
  std::string path;    // Decoded, without query, e.g. "/v1/jobs".
  std::vector<std::pair<std::string, std::string>> query;  // Decoded.
  std::string host;           // Host header; empty: none.
  std::string authorization;  // Authorization header; empty: none.
  std::string content_type;
  std::string body;
  // Whether the client has closed the connection. Only until the answer.
  std::function<bool()> is_gone;
};

// Takes the answer to a request. Call it once, from any thread.
using ApiReply = std::function<void(HttpResponse)>;
// Called from several threads. Must not block: an answer may come later.
using ApiHandler = std::function<void(ApiRequest, ApiReply)>;

struct ApiServerOptions {
  int num_threads = 2;
  // A larger body gets status 413; bodies beyond the second limit, of all
  // requests together, 503.
  int64_t max_body_bytes = int64_t{32} << 20;
  int64_t max_bodies_bytes = int64_t{128} << 20;
  // PEM texts of a certificate and its key, for TLS. Empty: plain HTTP.
  std::string certificate;
  std::string key;
};

// Answers requests of any method over HTTP. Requests take a connection while
// they come and while they wait for their answer, but no thread. Limits on
// silent connections are those of HttpServer.
class ApiServer {
 public:
  // Listens like HttpServer. Serves until it is destroyed, before which every
  // request must have been answered.
  static absl::StatusOr<std::unique_ptr<ApiServer>> Start(
      const std::string& address, ApiServerOptions options, ApiHandler handler);

  virtual ~ApiServer() = default;
  virtual int port() const = 0;
};

}  // namespace tangram

#endif  // TANGRAM_COMMON_HTTP_API_SERVER_H_
