#include "common/http/api_server.h"

#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "common/http/listening_socket.h"
#include "common/http/micro_http.h"
#include "common/http/open_connections.h"
#include "common/sync/mutex.h"

namespace tangram {
namespace {

constexpr unsigned kMaxApiConnections = 1 << 11;
constexpr unsigned kApiSilenceS = 10;
constexpr std::chrono::seconds kLongestApiRequestS(60);
constexpr size_t kApiConnectionBytes = 1 << 15;

// One request, from its headers to its answer.
struct ApiCall {
  MHD_Connection* connection = nullptr;
  ApiRequest request;
  int64_t counted_bytes = 0;  // Of the body, in the sum of all.
  int refusal = 0;            // Status of a body that is refused; 0: none.
  bool is_handled = false;

  Mutex mutex;
  std::optional<HttpResponse> response ABSL_GUARDED_BY(mutex);
  bool is_suspended ABSL_GUARDED_BY(mutex) = false;
};

MHD_Result AddArgument(void* query, MHD_ValueKind /*kind*/, const char* name,
                       const char* value) {
  static_cast<std::vector<std::pair<std::string, std::string>>*>(query)
      ->emplace_back(name, value == nullptr ? "" : value);
  return MHD_YES;
}

class MicroApiServer : public ApiServer {
 public:
  MicroApiServer(ApiServerOptions options, ApiHandler handler)
      : options_(std::move(options)), handler_(std::move(handler)) {}
  ~MicroApiServer() override {
    if (daemon_ != nullptr) MHD_stop_daemon(daemon_);
  }

  absl::Status Listen(const std::string& address) {
    absl::StatusOr<ListeningSocket> listening = OpenListeningSocket(address);
    if (!listening.ok()) return listening.status();
    port_ = listening->port;
    const bool has_tls = !options_.certificate.empty();
    MHD_OptionItem tls[] = {
        {MHD_OPTION_HTTPS_MEM_CERT, 0, options_.certificate.data()},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, options_.key.data()},
        {MHD_OPTION_END, 0, nullptr}};
    MHD_OptionItem none[] = {{MHD_OPTION_END, 0, nullptr}};
    const unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ERROR_LOG |
                           MHD_ALLOW_SUSPEND_RESUME |
                           (has_tls ? MHD_USE_TLS : MHD_NO_FLAG);
    daemon_ = MHD_start_daemon(
        flags, /*port=*/0, /*apc=*/nullptr, nullptr, HandleApi, this,
        // First, so that it counts for the others.
        MHD_OPTION_EXTERNAL_LOGGER, IgnoreMicroError, nullptr,
        MHD_OPTION_LISTEN_SOCKET, listening->socket,
        MHD_OPTION_THREAD_POOL_SIZE,
        static_cast<unsigned>(options_.num_threads),
        MHD_OPTION_CONNECTION_LIMIT, kMaxApiConnections,
        MHD_OPTION_CONNECTION_TIMEOUT, kApiSilenceS,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, kApiConnectionBytes,
        MHD_OPTION_NOTIFY_CONNECTION, NoteApiConnection, this,
        MHD_OPTION_NOTIFY_COMPLETED, EndApiCall, this, MHD_OPTION_ARRAY,
        has_tls ? tls : none, MHD_OPTION_END);
    if (daemon_ != nullptr) return absl::OkStatus();
    close(listening->socket);
    return absl::UnavailableError("no server can be started");
  }

  int port() const override { return port_; }

 private:
  static MHD_Result HandleApi(void* server, MHD_Connection* connection,
                              const char* path, const char* method,
                              const char* /*version*/, const char* body,
                              size_t* body_bytes, void** state) {
    return static_cast<MicroApiServer*>(server)->Handle(
        connection, path, method, body, body_bytes, state);
  }
  static void EndApiCall(void* server, MHD_Connection* /*connection*/,
                         void** state, MHD_RequestTerminationCode /*why*/) {
    // A reply that comes later holds the call, too.
    auto* call = static_cast<std::shared_ptr<ApiCall>*>(*state);
    if (call == nullptr) return;
    static_cast<MicroApiServer*>(server)->bodies_bytes_ -=
        (*call)->counted_bytes;
    delete call;
    *state = nullptr;
  }
  static void NoteApiConnection(void* server, MHD_Connection* connection,
                                void** /*state*/,
                                MHD_ConnectionNotificationCode what) {
    OpenConnections& open = static_cast<MicroApiServer*>(server)->open_;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
      open.Add(SocketOf(connection));
    } else {
      open.Remove(SocketOf(connection));
    }
  }

  // Called with the headers, then with each part of the body, then at its end,
  // and again when an answer has come.
  MHD_Result Handle(MHD_Connection* connection, const char* path,
                    const char* method, const char* body, size_t* body_bytes,
                    void** state) {
    if (*state == nullptr) {
      *state = new std::shared_ptr<ApiCall>(Begin(connection, path, method));
      return MHD_YES;
    }
    const std::shared_ptr<ApiCall> call =
        *static_cast<std::shared_ptr<ApiCall>*>(*state);
    if (*body_bytes > 0) {
      Take(*call, body, *body_bytes);
      *body_bytes = 0;
      return MHD_YES;
    }
    if (call->refusal != 0) {
      return SendResponse(connection,
                          {.status = call->refusal,
                           .content_type = "text/plain",
                           .body = call->refusal == MHD_HTTP_SERVICE_UNAVAILABLE
                                       ? "too many requests at once\n"
                                       : "the body is too large\n"},
                          {});
    }
    if (!call->is_handled) Dispatch(call);
    std::optional<HttpResponse> response;
    {
      const MutexLock lock(call->mutex);
      response = std::move(call->response);
      if (!response.has_value()) {
        call->is_suspended = true;
        MHD_suspend_connection(connection);
        return MHD_YES;
      }
    }
    return SendResponse(connection, *response, {});
  }

  static std::shared_ptr<ApiCall> Begin(MHD_Connection* connection,
                                        const char* path, const char* method) {
    auto call = std::make_shared<ApiCall>();
    call->connection = connection;
    ApiRequest& request = call->request;
    request.method = method;
    request.path = path;
    MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, AddArgument,
                              &request.query);
    request.host = HeaderOf(connection, MHD_HTTP_HEADER_HOST);
    request.authorization = HeaderOf(connection, MHD_HTTP_HEADER_AUTHORIZATION);
    request.content_type = HeaderOf(connection, MHD_HTTP_HEADER_CONTENT_TYPE);
    return call;
  }

  void Take(ApiCall& call, const char* body, size_t bytes) {
    if (call.refusal != 0) return;
    const auto more = static_cast<int64_t>(bytes);
    if (call.counted_bytes + more > options_.max_body_bytes) {
      call.refusal = MHD_HTTP_CONTENT_TOO_LARGE;
    } else if (bodies_bytes_ + more > options_.max_bodies_bytes) {
      call.refusal = MHD_HTTP_SERVICE_UNAVAILABLE;
    }
    if (call.refusal != 0) {
      call.request.body = std::string();
      return;
    }
    call.counted_bytes += more;
    bodies_bytes_ += more;
    call.request.body.append(body, bytes);
  }

  void Dispatch(const std::shared_ptr<ApiCall>& call) {
    call->is_handled = true;
    const int socket = SocketOf(call->connection);
    // It is whole, and may wait for its answer for long.
    open_.Remove(socket);
    call->request.is_gone = [socket] {
      pollfd closed = {.fd = socket, .events = POLLRDHUP};
      return poll(&closed, 1, /*timeout=*/0) > 0;
    };
    handler_(std::move(call->request), [call](HttpResponse response) {
      const MutexLock lock(call->mutex);
      call->response = std::move(response);
      if (call->is_suspended) MHD_resume_connection(call->connection);
      call->is_suspended = false;
    });
  }

  ApiServerOptions options_;
  const ApiHandler handler_;
  OpenConnections open_{kMaxApiConnections / 4 * 3, kLongestApiRequestS};
  std::atomic<int64_t> bodies_bytes_ = 0;
  MHD_Daemon* daemon_ = nullptr;
  int port_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ApiServer>> ApiServer::Start(
    const std::string& address, ApiServerOptions options, ApiHandler handler) {
  auto server =
      std::make_unique<MicroApiServer>(std::move(options), std::move(handler));
  const absl::Status status = server->Listen(address);
  if (status.ok()) return server;
  return absl::UnavailableError(
      absl::StrCat("cannot listen on ", address, ": ", status.message()));
}

}  // namespace tangram
