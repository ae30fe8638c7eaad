#ifndef TANGRAM_COMMON_HTTP_API_SERVER_H_
#define TANGRAM_COMMON_HTTP_API_SERVER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
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
  std::string peer;  // As gRPC writes it: "ipv4:10.0.0.7:41234".
  std::string body;
  // Three quarters of the connections are taken by whole requests: calls that
  // wait for long should end.
  bool is_crowded = false;
  // Whether the client has closed the connection. Only until the answer.
  std::function<bool()> is_gone;
};

// The treatment of a request, by its headers.
struct ApiAdmission {
  // The answer to a request that is refused; its body takes no memory.
  std::optional<HttpResponse> refusal;
  // The account that pays for the memory of the body and for the connection,
  // e.g. "tenant team-a".
  std::string account;
};

// Takes the answer to a request. Call it once, from any thread.
using ApiReply = std::function<void(HttpResponse)>;

// Counts the bytes of an answer until the handle is dropped. `end` ends the
// connection; it may be called once before that, from any thread.
using HoldAnswer = std::function<std::shared_ptr<void>(
    int64_t bytes, std::function<void()> end)>;

// All are called from several threads and must not block.
struct ApiHandlers {
  // Called before the body is read, with a request without it.
  std::function<ApiAdmission(const ApiRequest&)> admit;
  // Called with the whole of a request that was admitted. The answer may come
  // later.
  std::function<void(ApiRequest, ApiReply)> handle;
  // Returns the answer to a request that the server refuses: with the HTTP
  // status 400, 413, 429 or 503, and why.
  std::function<HttpResponse(int status, const std::string& why)> refuse;
  // Called with each answer of `handle`, which is held until the connection has
  // taken all of it or has ended. Null: nobody counts.
  HoldAnswer hold_answer;
};

struct ApiServerOptions {
  int num_threads = 2;
  // An account may have whole requests on a quarter of them. Others get 429.
  int max_connections = 1 << 11;
  // A larger body gets status 413. One by which the bodies of its account, or
  // of all, pass their limit gets 503.
  int64_t max_body_bytes = int64_t{32} << 20;
  int64_t max_account_bytes = int64_t{64} << 20;
  int64_t max_bodies_bytes = int64_t{128} << 20;
  // PEM texts of a certificate and its key, for TLS. Empty: plain HTTP.
  std::string certificate;
  std::string key;
};

// Answers requests of any method over HTTP. A path or query with an escape that
// PercentDecoded refuses gets status 400. Requests take a connection while
// they come and while they wait for their answer, but no thread. Limits on
// silent connections are those of HttpServer.
class ApiServer {
 public:
  // Listens like HttpServer. Serves until it is destroyed, before which every
  // request must have been answered; answers are sent first, within a second.
  static absl::StatusOr<std::unique_ptr<ApiServer>> Start(
      const std::string& address, ApiServerOptions options,
      ApiHandlers handlers);

  virtual ~ApiServer() = default;
  virtual int port() const = 0;
};

}  // namespace tangram

#endif  // TANGRAM_COMMON_HTTP_API_SERVER_H_
