#include "common/http/api_server.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/http/listening_socket.h"
#include "common/http/micro_http.h"
#include "common/http/open_connections.h"
#include "common/http/percent_decode.h"
#include "common/sync/mutex.h"

namespace tangram {
namespace {

constexpr unsigned kApiSilenceS = 10;
constexpr std::chrono::seconds kLongestApiRequestS(60);
constexpr size_t kApiConnectionBytes = 1 << 15;
// As the port of gRPC has it: TLS 1.2 or later, with keys for each connection.
constexpr char kTlsVersions[] =
    "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-RSA";
// Clients that do not take their answers hold up the end for no longer.
constexpr std::chrono::seconds kSendingGrace(1);

// One request, from its headers to its answer.
struct ApiCall {
  MHD_Connection* connection = nullptr;
  ApiRequest request;
  std::string account;
  int64_t counted_bytes = 0;  // The body's, in the sums.
  bool is_refused = false;    // The response is set, and the body is not read.
  bool is_handled = false;

  Mutex mutex;
  std::optional<HttpResponse> response ABSL_GUARDED_BY(mutex);
  std::shared_ptr<void> held ABSL_GUARDED_BY(mutex);  // While it counts.
  bool is_suspended ABSL_GUARDED_BY(mutex) = false;
};

MHD_Result AddArgument(void* query, MHD_ValueKind /*kind*/, const char* name,
                       const char* value) {
  static_cast<std::vector<std::pair<std::string, std::string>>*>(query)
      ->emplace_back(name, value == nullptr ? "" : value);
  return MHD_YES;
}

// Leaves the escapes in a path or query, which the library would decode to a
// text that ends at the first 0, and whatever follows a % that is none.
size_t LeaveEscaped(void* /*nothing*/, MHD_Connection* /*connection*/,
                    char* text) {
  return std::strlen(text);
}

bool Decode(std::string& text) {
  std::optional<std::string> decoded = PercentDecoded(text);
  if (!decoded.has_value()) return false;
  text = *std::move(decoded);
  return true;
}

// Returns whether all escapes are good.
bool Decode(ApiRequest& request) {
  bool is_good = Decode(request.path);
  for (auto& [name, value] : request.query) {
    is_good = is_good && Decode(name) && Decode(value);
  }
  return is_good;
}

// The bytes of bodies in memory, by account. Thread-safe.
class BodyBytes {
 public:
  BodyBytes(int64_t max_of_account, int64_t max_of_all)
      : max_of_account_(max_of_account), max_of_all_(max_of_all) {}

  // Returns false, and adds nothing, if a limit would be passed.
  bool Add(const std::string& account, int64_t bytes) {
    const MutexLock lock(mutex_);
    const auto it = by_account_.find(account);
    const int64_t of_account = it == by_account_.end() ? 0 : it->second;
    if (sum_ + bytes > max_of_all_ || of_account + bytes > max_of_account_) {
      return false;
    }
    by_account_[account] = of_account + bytes;
    sum_ += bytes;
    return true;
  }
  void Remove(const std::string& account, int64_t bytes) {
    if (bytes == 0) return;
    const MutexLock lock(mutex_);
    sum_ -= bytes;
    const auto it = by_account_.find(account);
    if ((it->second -= bytes) == 0) by_account_.erase(it);
  }

 private:
  const int64_t max_of_account_;
  const int64_t max_of_all_;
  Mutex mutex_;
  int64_t sum_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::string, int64_t> by_account_ ABSL_GUARDED_BY(mutex_);
};

class MicroApiServer : public ApiServer {
 public:
  MicroApiServer(ApiServerOptions options, ApiHandlers handlers)
      : options_(std::move(options)), handlers_(std::move(handlers)) {}
  ~MicroApiServer() override {
    if (daemon_ == nullptr) return;
    WaitUntilSent();
    MHD_stop_daemon(daemon_);
  }

  absl::Status Listen(const std::string& address) {
    absl::StatusOr<ListeningSocket> listening = OpenListeningSocket(address);
    if (!listening.ok()) return listening.status();
    port_ = listening->port;
    const bool has_tls = !options_.certificate.empty();
    MHD_OptionItem tls[] = {
        {MHD_OPTION_HTTPS_MEM_CERT, 0, options_.certificate.data()},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, options_.key.data()},
        {MHD_OPTION_HTTPS_PRIORITIES, 0, const_cast<char*>(kTlsVersions)},
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
        MHD_OPTION_CONNECTION_LIMIT,
        static_cast<unsigned>(options_.max_connections),
        MHD_OPTION_CONNECTION_TIMEOUT, kApiSilenceS,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, kApiConnectionBytes,
        MHD_OPTION_UNESCAPE_CALLBACK, LeaveEscaped, nullptr,
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
    static_cast<MicroApiServer*>(server)->End(**call);
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
    if (!call->is_handled && !call->is_refused) Dispatch(call);
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

  std::shared_ptr<ApiCall> Begin(MHD_Connection* connection, const char* path,
                                 const char* method) {
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
    const std::string peer = PeerOf(connection);
    request.peer = absl::StrCat(
        absl::StrContains(peer.substr(0, peer.rfind(':')), ':') ? "ipv6:"
                                                                : "ipv4:",
        peer);
    if (!Decode(request)) {
      Refuse(*call,
             handlers_.refuse(MHD_HTTP_BAD_REQUEST,
                              "path or query: a bad escape; expected UTF-8 "
                              "without the character 0, escaped as in %2F"));
      return call;
    }
    ApiAdmission admission = handlers_.admit(request);
    call->account = std::move(admission.account);
    if (admission.refusal.has_value()) {
      Refuse(*call, *std::move(admission.refusal));
    }
    return call;
  }

  // The rest of the body is thrown away as it comes: a client that is
  // answered before it has sent all often sees no answer.
  void Refuse(ApiCall& call, HttpResponse response) {
    call.request.body = std::string();
    bodies_.Remove(call.account, call.counted_bytes);
    call.counted_bytes = 0;
    call.is_refused = true;
    const MutexLock lock(call.mutex);
    call.response = std::move(response);
  }

  void Take(ApiCall& call, const char* body, size_t bytes) {
    if (call.is_refused) return;
    const auto more = static_cast<int64_t>(bytes);
    if (call.counted_bytes + more > options_.max_body_bytes) {
      return Refuse(call, handlers_.refuse(
                              MHD_HTTP_CONTENT_TOO_LARGE,
                              absl::StrCat("body: too large; expected at most ",
                                           options_.max_body_bytes, " bytes")));
    }
    if (!bodies_.Add(call.account, more)) {
      return Refuse(call, handlers_.refuse(MHD_HTTP_SERVICE_UNAVAILABLE,
                                           "too many large requests at once; "
                                           "ask again later"));
    }
    call.counted_bytes += more;
    call.request.body.append(body, bytes);
  }

  // The socket is still open.
  void End(ApiCall& call) {
    bodies_.Remove(call.account, call.counted_bytes);
    {
      const MutexLock lock(call.mutex);
      call.held.reset();
    }
    if (!call.is_handled) return;
    const MutexLock lock(mutex_);
    --num_handled_;
    const auto it = handled_of_account_.find(call.account);
    if (--it->second == 0) handled_of_account_.erase(it);
    sent_.NotifyAll();
  }

  // The daemon closes connections without the answers that it has not sent.
  void WaitUntilSent() {
    const MutexLock lock(mutex_);
    sent_.WaitFor(mutex_, kSendingGrace,
                  [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
                    return num_handled_ == 0;
                  });
  }

  // Returns false if its account has too many.
  bool CountHandled(ApiCall& call) {
    const MutexLock lock(mutex_);
    int& of_account = handled_of_account_[call.account];
    if (of_account >= max_of_account_) return false;
    ++of_account;
    ++num_handled_;
    call.is_handled = true;
    call.request.is_crowded = num_handled_ > many_;
    return true;
  }

  void Dispatch(const std::shared_ptr<ApiCall>& call) {
    if (!CountHandled(*call)) {
      return Refuse(*call,
                    handlers_.refuse(
                        MHD_HTTP_TOO_MANY_REQUESTS,
                        absl::StrCat(call->account, " has ", max_of_account_,
                                     " requests under way, a quarter of the ",
                                     options_.max_connections,
                                     " connections and as many as it may; ask "
                                     "again when one has ended")));
    }
    const int socket = SocketOf(call->connection);
    // It is whole, and may wait for its answer for long.
    open_.KeepWhole(socket);
    call->request.is_gone = [socket] {
      pollfd closed = {.fd = socket, .events = POLLRDHUP};
      return poll(&closed, 1, /*timeout=*/0) > 0;
    };
    handlers_.handle(std::move(call->request), [this, call,
                                                socket](HttpResponse response) {
      std::shared_ptr<void> held;
      if (handlers_.hold_answer) {
        // The library sees the end and lets go of the answer.
        held = handlers_.hold_answer(static_cast<int64_t>(response.body.size()),
                                     [socket] { shutdown(socket, SHUT_RDWR); });
      }
      const MutexLock lock(call->mutex);
      call->held = std::move(held);
      call->response = std::move(response);
      if (call->is_suspended) MHD_resume_connection(call->connection);
      call->is_suspended = false;
    });
  }

  ApiServerOptions options_;
  const ApiHandlers handlers_;
  const int many_ = options_.max_connections / 4 * 3;
  const int max_of_account_ = options_.max_connections / 4;
  OpenConnections open_{static_cast<size_t>(many_), kLongestApiRequestS};
  BodyBytes bodies_{options_.max_account_bytes, options_.max_bodies_bytes};
  MHD_Daemon* daemon_ = nullptr;
  int port_ = 0;
  Mutex mutex_;
  ConditionVariable sent_;
  // Calls that handlers have had, and whose answers are not sent whole.
  int num_handled_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::string, int> handled_of_account_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

absl::StatusOr<std::unique_ptr<ApiServer>> ApiServer::Start(
    const std::string& address, ApiServerOptions options,
    ApiHandlers handlers) {
  auto server =
      std::make_unique<MicroApiServer>(std::move(options), std::move(handlers));
  const absl::Status status = server->Listen(address);
  if (status.ok()) return server;
  return absl::UnavailableError(
      absl::StrCat("cannot listen on ", address, ": ", status.message()));
}

}  // namespace tangram
