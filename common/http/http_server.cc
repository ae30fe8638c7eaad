#include "common/http/http_server.h"

#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/http/listening_socket.h"
#include "common/http/micro_http.h"
#include "common/http/open_connections.h"

namespace tangram {
namespace {

// Open connections. Beyond three quarters of them, the oldest end.
constexpr unsigned kMaxConnections = 1 << 12;
constexpr size_t kManyConnections = kMaxConnections / 4 * 3;
// Seconds without a byte after which a connection ends.
constexpr unsigned kSilenceS = 10;
// A connection that has been open for longer ends when others need room. It may
// send a byte now and then.
constexpr std::chrono::seconds kLongestS(30);
// Memory of a connection: a request line and headers, among them a token.
constexpr size_t kConnectionBytes = 1 << 14;

MHD_Result Send(MHD_Connection* connection, const HttpResponse& response) {
  // No other site may frame pages.
  HttpHeaders headers = {{"X-Frame-Options", "DENY"},
                         {"Referrer-Policy", "no-referrer"}};
  if (response.status == MHD_HTTP_METHOD_NOT_ALLOWED) {
    headers.emplace_back("Allow", "GET, HEAD");
  }
  return SendResponse(connection, response, headers);
}

// Called once the headers have come. Answers at once, so no body is read.
MHD_Result Handle(void* handler, MHD_Connection* connection, const char* path,
                  const char* method, const char* /*version*/,
                  const char* /*body*/, size_t* /*body_bytes*/,
                  void** /*state*/) {
  const absl::string_view verb = method;
  if (verb != MHD_HTTP_METHOD_GET && verb != MHD_HTTP_METHOD_HEAD) {
    return Send(connection, {.status = MHD_HTTP_METHOD_NOT_ALLOWED,
                             .content_type = "text/plain",
                             .body = "expected GET\n"});
  }
  return Send(
      connection,
      (*static_cast<HttpHandler*>(handler))(
          {.path = path,
           .host = HeaderOf(connection, MHD_HTTP_HEADER_HOST),
           .authorization = HeaderOf(connection, MHD_HTTP_HEADER_AUTHORIZATION),
           .peer = PeerOf(connection)}));
}

void NoteConnection(void* open, MHD_Connection* connection, void** /*state*/,
                    MHD_ConnectionNotificationCode what) {
  const int socket = SocketOf(connection);
  auto& connections = *static_cast<OpenConnections*>(open);
  if (what == MHD_CONNECTION_NOTIFY_STARTED) {
    connections.Add(socket);
  } else {
    connections.Remove(socket);
  }
}

class MicroServer : public HttpServer {
 public:
  explicit MicroServer(HttpHandler handler) : handler_(std::move(handler)) {}
  ~MicroServer() override {
    if (daemon_ != nullptr) MHD_stop_daemon(daemon_);
  }

  absl::Status Listen(const std::string& address, int num_threads) {
    absl::StatusOr<ListeningSocket> listening = OpenListeningSocket(address);
    if (!listening.ok()) return listening.status();
    port_ = listening->port;
    daemon_ = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ERROR_LOG, /*port=*/0,
        /*apc=*/nullptr, nullptr, Handle, &handler_,
        // First, so that it counts for the others.
        MHD_OPTION_EXTERNAL_LOGGER, IgnoreMicroError, nullptr,
        MHD_OPTION_LISTEN_SOCKET, listening->socket,
        MHD_OPTION_THREAD_POOL_SIZE, static_cast<unsigned>(num_threads),
        MHD_OPTION_CONNECTION_LIMIT, kMaxConnections,
        MHD_OPTION_CONNECTION_TIMEOUT, kSilenceS,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, kConnectionBytes,
        MHD_OPTION_NOTIFY_CONNECTION, NoteConnection, &open_, MHD_OPTION_END);
    if (daemon_ != nullptr) return absl::OkStatus();
    close(listening->socket);
    return absl::UnavailableError("no server can be started");
  }

  int port() const override { return port_; }

 private:
  HttpHandler handler_;
  OpenConnections open_{kManyConnections, kLongestS};
  MHD_Daemon* daemon_ = nullptr;
  int port_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(
    const std::string& address, int num_threads, HttpHandler handler) {
  auto server = std::make_unique<MicroServer>(std::move(handler));
  const absl::Status status = server->Listen(address, num_threads);
  if (status.ok()) return server;
  return absl::UnavailableError(
      absl::StrCat("cannot listen on ", address, ": ", status.message()));
}

}  // namespace tangram
