#include "coordinator/rest/rest_gateway.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <iterator>
#include <list>
#include <memory>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/base/thread_annotations.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/field_error.h"
#include "common/base/status_macros.h"
#include "common/http/api_server.h"
#include "common/obs/clocks.h"
#include "common/security/channel.h"
#include "common/security/peer_host.h"
#include "common/sync/mutex.h"
#include "common/wire/error_details.h"
#include "common/wire/grpc_status.h"
#include "coordinator/auth/call_gate.h"
#include "coordinator/dispatch/fair_executor.h"
#include "coordinator/rest/http_rules.h"
#include "coordinator/rest/transcode.h"
#include "tangram/v1/job_service.pb.h"

namespace tangram {
namespace {

// Clients that have closed their connection are noticed within this time.
constexpr std::chrono::seconds kLookInterval(1);
// Longer than any plan call takes.
constexpr std::chrono::hours kLongestRestCall(24);
// Larger bodies are parsed aside, at some 0.3 s a MB: the threads of the server
// serve other callers.
constexpr size_t kSmallBodyBytes = 64 << 10;
constexpr int kParsedAtOnce = 2;
// Callers of whom nothing is parsed do not wait for those.
constexpr int kMoreParsedAtOnce = 6;
// Parsing takes some five times the bytes of a body, beside it.
constexpr size_t kMediumBodyBytes = 1 << 20;
constexpr int kLargeParsedAtOnce = 2;
// Waiting for the last of them as the coordinator stops.
constexpr double kLongestParseS = 60;
constexpr int kMethodNotAllowed = 405;
constexpr int kServiceUnavailable = 503;
constexpr int kTooManyRequests = 429;
constexpr double kTooManyRequestsDelayS = 5;
constexpr char kWaitMethod[] = "tangram.v1.Jobs.WaitJob";
constexpr char kLookMethod[] = "tangram.v1.Jobs.GetJob";

std::string BytesIn(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string bytes;
  if (!buffer.Dump(&slices).ok()) return bytes;
  bytes.reserve(buffer.Length());
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return bytes;
}

absl::StatusOr<std::string> ReadPem(const char* flag, const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (file && !text.empty()) return text;
  return FieldError(flag, path, "a readable file");
}

absl::Status IsShuttingDown() {
  return absl::UnavailableError("the coordinator is shutting down");
}

HttpResponse ErrorOfThisProcess(const absl::Status& status) {
  return ErrorResponse(status, SerializedDetails(status));
}

// Returns the request that asks for the job of a request to wait for it.
std::string LookRequest(const std::string& wait_request) {
  v1::WaitJobRequest wait;
  if (!wait.ParseFromString(wait_request)) return "";
  v1::GetJobRequest look;
  look.set_job_id(wait.job_id());
  if (wait.has_read_mask()) *look.mutable_read_mask() = wait.read_mask();
  return look.SerializeAsString();
}

// A request and where its answer goes.
struct RestOrder {
  std::string request;  // Serialised.
  std::string authorization;
  std::string peer;
  std::function<bool()> is_gone;
  ApiReply reply;
};

// One call of a service. Sends the request, keeps the last message, and replies
// once. gRPC owns it until OnDone.
class RestCall
    : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  RestCall(const HttpRule& rule, RestOrder order,
           std::function<void(RestCall*, const grpc::Status&)> on_done)
      : rule_(rule),
        mask_(ReadMaskOf(rule, order.request)),
        order_(std::move(order)),
        on_done_(std::move(on_done)) {
    const grpc::Slice slice(order_.request);
    request_ = grpc::ByteBuffer(&slice, 1);
    order_.request = IsWait() ? LookRequest(order_.request) : "";
  }

  bool IsWait() const { return rule_.selector == kWaitMethod; }

  void Start(grpc::GenericStub& stub) {
    if (!order_.authorization.empty()) {
      context_.AddMetadata("authorization", order_.authorization);
    }
    context_.AddMetadata(kPassedOnPeer, order_.peer);
    context_.set_deadline(std::chrono::system_clock::now() + kLongestRestCall);
    stub.PrepareBidiStreamingCall(&context_, rule_.grpc_method(), {}, this);
    StartWriteLast(&request_, grpc::WriteOptions());
    StartRead(&incoming_);
    StartCall();
  }

  void Cancel() { context_.TryCancel(); }
  // As the coordinator stops, of which the service that is cancelled knows
  // nothing.
  void Stop() {
    is_stopped_ = true;
    Cancel();
  }
  bool IsGone() const { return order_.is_gone(); }
  // Ends a call that waits for a job, so that it is answered as it is.
  void Shorten() {
    is_shortened_ = true;
    Cancel();
  }
  // Whether the job must be asked for, by order(), instead of Reply.
  bool WasShortened(const grpc::Status& status) const {
    return is_shortened_ && !is_stopped_ &&
           status.error_code() == grpc::StatusCode::CANCELLED;
  }
  const RestOrder& order() const { return order_; }
  void Reply(const grpc::Status& status) { order_.reply(Answer(status)); }

  void OnReadDone(bool ok) override {
    if (!ok) return;
    last_.Swap(&incoming_);
    StartRead(&incoming_);
  }

  void OnDone(const grpc::Status& status) override {
    on_done_(this, status);  // Deletes this.
  }

 private:
  HttpResponse Answer(const grpc::Status& status) const {
    if (status.error_code() == grpc::StatusCode::CANCELLED && is_stopped_) {
      return ErrorOfThisProcess(IsShuttingDown());
    }
    if (!status.ok()) {
      return ErrorResponse(FromGrpc(status), status.error_details());
    }
    absl::StatusOr<std::string> json = AnswerOf(rule_, BytesIn(last_), mask_);
    if (!json.ok()) return ErrorOfThisProcess(json.status());
    return {.body = *std::move(json)};
  }

  const HttpRule& rule_;
  const AnswerMask mask_;
  // Its request asks for the job, if this waits for it. Unchanged once the call
  // has started: IsGone reads it in another thread.
  RestOrder order_;
  const std::function<void(RestCall*, const grpc::Status&)> on_done_;
  std::atomic<bool> is_stopped_ = false;
  std::atomic<bool> is_shortened_ = false;
  grpc::ClientContext context_;
  grpc::ByteBuffer request_;
  grpc::ByteBuffer incoming_;
  grpc::ByteBuffer last_;
};

// Answers for the server, which knows no codes of gRPC.
HttpResponse RefusalOfServer(int http_status, const std::string& why) {
  if (http_status == kTooManyRequests) {
    return ErrorOfThisProcess(WithRetryDelay(absl::ResourceExhaustedError(why),
                                             kTooManyRequestsDelayS));
  }
  return ErrorResponse(absl::Status(http_status == kServiceUnavailable
                                        ? absl::StatusCode::kUnavailable
                                        : absl::StatusCode::kInvalidArgument,
                                    why),
                       http_status);
}

// Whether a Content-Type is that of JSON, perhaps with parameters.
bool IsJson(absl::string_view content_type) {
  return absl::EqualsIgnoreCase(absl::StripAsciiWhitespace(content_type.substr(
                                    0, content_type.find(';'))),
                                "application/json");
}

class Gateway : public RestGateway {
 public:
  Gateway(const RestGatewayOptions& options,
          std::shared_ptr<grpc::Channel> channel, Authenticator& authenticator,
          std::vector<HttpRule> rules)
      : options_(options),
        authenticator_(authenticator),
        rules_(std::move(rules)),
        look_rule_(*absl::c_find_if(
            rules_,
            [](const HttpRule& rule) { return rule.selector == kLookMethod; })),
        stub_(std::move(channel)),
        parser_({.max_of_key = 1,
                 .num_places = kParsedAtOnce,
                 .num_extra_places = kMoreParsedAtOnce,
                 .now_s = SteadySeconds}),
        large_parser_({.max_of_key = 1,
                       .num_places = kLargeParsedAtOnce,
                       .num_extra_places = 0,
                       .now_s = SteadySeconds}) {}

  ~Gateway() override {
    looker_.request_stop();
    {
      const MutexLock lock(mutex_);
      is_stopping_ = true;
      for (RestCall* call : calls_) call->Stop();
    }
    parser_.Close();
    large_parser_.Close();
    parser_.WaitUntilIdle(kLongestParseS);
    large_parser_.WaitUntilIdle(kLongestParseS);
    {
      const MutexLock lock(mutex_);
      changed_.Wait(mutex_, [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return calls_.empty();
      });
    }
    server_.reset();
  }

  absl::Status Listen() {
    ApiServerOptions server;
    if (!options_.cert_file.empty()) {
      TANGRAM_ASSIGN_OR_RETURN(server.certificate,
                               ReadPem("--tls_cert_file", options_.cert_file));
      TANGRAM_ASSIGN_OR_RETURN(server.key,
                               ReadPem("--tls_key_file", options_.key_file));
    }
    TANGRAM_ASSIGN_OR_RETURN(
        server_,
        ApiServer::Start(
            options_.address, std::move(server),
            {.admit =
                 [this](const ApiRequest& request) { return Admit(request); },
             .handle =
                 [this](ApiRequest request, ApiReply reply) {
                   Handle(std::move(request), std::move(reply));
                 },
             .refuse = RefusalOfServer,
             .hold_answer = options_.hold_answer}));
    looker_ = std::jthread([this](const std::stop_token& stop) { Look(stop); });
    return absl::OkStatus();
  }

  int port() const override { return server_->port(); }

 private:
  // Before the body is read: a caller who may not call takes no memory.
  ApiAdmission Admit(const ApiRequest& request) const {
    const HttpMatch match = FindHttpRule(rules_, request.method, request.path);
    if (match.rule == nullptr && match.path_exists) {
      return {.refusal = MethodNotAllowed(request)};
    }
    if (const absl::Status status = Check(match, request); !status.ok()) {
      return {.refusal = ErrorOfThisProcess(status)};
    }
    return {.account = AccountOf(request)};
  }

  void Handle(ApiRequest request, ApiReply reply) {
    if (request.is_crowded) ShortenLongestWait();
    if (request.body.size() <= kSmallBodyBytes) {
      return Call(std::move(request), reply);
    }
    const std::string account = AccountOf(request);
    FairExecutor& parser =
        request.body.size() <= kMediumBodyBytes ? parser_ : large_parser_;
    const auto waiting = std::make_shared<ApiRequest>(std::move(request));
    const auto id = parser.Submit(
        account, [this, waiting, reply] { Call(std::move(*waiting), reply); });
    if (!id.has_value()) {
      reply(ErrorOfThisProcess(
          absl::ResourceExhaustedError("too many large requests at once")));
    }
  }

  void Call(ApiRequest request, const ApiReply& reply) {
    const HttpMatch match = FindHttpRule(rules_, request.method, request.path);
    absl::StatusOr<std::string> bytes = RequestOf(match, request);
    if (!bytes.ok()) return reply(ErrorOfThisProcess(bytes.status()));
    Begin(*match.rule, {.request = *std::move(bytes),
                        .authorization = std::move(request.authorization),
                        .peer = std::move(request.peer),
                        .is_gone = std::move(request.is_gone),
                        .reply = reply});
  }

  void Begin(const HttpRule& rule, RestOrder order) {
    const ApiReply reply = order.reply;
    auto* call =
        new RestCall(rule, std::move(order),
                     [this](RestCall* ended, const grpc::Status& status) {
                       if (ended->WasShortened(status)) {
                         Begin(look_rule_, ended->order());
                       } else {
                         ended->Reply(status);
                       }
                       Forget(ended);
                     });
    bool is_stopping = false;
    {
      const MutexLock lock(mutex_);
      is_stopping = is_stopping_;
      if (!is_stopping) calls_.insert(call);
      if (!is_stopping && call->IsWait()) waits_.push_back(call);
    }
    // Without the lock: the call may end at once.
    if (!is_stopping) return call->Start(stub_);
    delete call;
    reply(ErrorOfThisProcess(IsShuttingDown()));
  }

  // Waits have no end of their own: those of a few tenants would take all
  // connections.
  void ShortenLongestWait() {
    const MutexLock lock(mutex_);
    if (waits_.empty()) return;
    waits_.front()->Shorten();
    waits_.pop_front();
  }

  absl::Status Check(const HttpMatch& match, const ApiRequest& request) const {
    if (options_.only_as_this_machine && !IsLoopback(request.host)) {
      return absl::PermissionDeniedError(
          absl::StrCat("Host: ", request.host.substr(0, 100),
                       "; expected localhost or 127.0.0.1"));
    }
    if (match.rule == nullptr) {
      return absl::NotFoundError(
          absl::StrCat(request.method, " ", request.path.substr(0, 200),
                       ": no such method; see docs/openapi.json"));
    }
    // Pages of other sites may not send this type without asking first.
    if (request.method != "GET" && !IsJson(request.content_type)) {
      return FieldError(
          "Content-Type",
          absl::StrCat("\"", request.content_type.substr(0, 100), "\""),
          "application/json");
    }
    // gRPC aborts on metadata of other characters.
    if (!absl::c_all_of(request.authorization, absl::ascii_isprint)) {
      return absl::UnauthenticatedError(
          "authorization: expected printable ASCII characters");
    }
    const std::string method = match.rule->grpc_method();
    const Credentials credentials{.authorization = request.authorization};
    const absl::Status status =
        CheckMayCall(authenticator_, method, credentials);
    if (!status.ok()) {
      options_.on_refused(AuditedCallOf(authenticator_, method, credentials,
                                        request.peer, status));
    }
    return status;
  }

  HttpResponse MethodNotAllowed(const ApiRequest& request) const {
    std::vector<std::string> methods;
    for (const char* method : {"GET", "POST", "PATCH", "DELETE"}) {
      if (FindHttpRule(rules_, method, request.path).rule != nullptr) {
        methods.emplace_back(method);
      }
    }
    HttpResponse response =
        ErrorResponse(absl::UnimplementedError(absl::StrCat(
                          request.method, " ", request.path.substr(0, 200),
                          "; expected ", absl::StrJoin(methods, " or "))),
                      kMethodNotAllowed);
    response.headers.emplace_back("Allow", absl::StrJoin(methods, ", "));
    return response;
  }

  // Tenants share the memory of bodies or, where none are named, machines.
  std::string AccountOf(const ApiRequest& request) const {
    const absl::StatusOr<Caller> caller =
        authenticator_.Identify({.authorization = request.authorization});
    if (!caller.ok() || caller->name.empty()) {
      return absl::StrCat("peer ", PeerHost(request.peer));
    }
    return caller->tenant.empty() ? absl::StrCat("caller ", caller->name)
                                  : absl::StrCat("tenant ", caller->tenant);
  }

  void Forget(RestCall* call) {
    const MutexLock lock(mutex_);
    calls_.erase(call);
    if (call->IsWait()) waits_.remove(call);
    delete call;
    changed_.NotifyAll();
  }

  // Ends the calls whose clients are gone.
  void Look(const std::stop_token& stop) {
    Mutex mutex;
    StoppableConditionVariable wake;
    const MutexLock lock(mutex);
    while (!stop.stop_requested()) {
      wake.WaitFor(mutex, stop, kLookInterval, [] { return false; });
      const MutexLock calls_lock(mutex_);
      for (RestCall* call : calls_) {
        if (call->IsGone()) call->Cancel();
      }
    }
  }

  const RestGatewayOptions options_;
  Authenticator& authenticator_;
  const std::vector<HttpRule> rules_;
  const HttpRule& look_rule_;
  grpc::GenericStub stub_;
  Mutex mutex_;
  ConditionVariable changed_;
  bool is_stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::set<RestCall*> calls_ ABSL_GUARDED_BY(mutex_);
  // Those of them that wait for jobs and are not shortened; the oldest first.
  std::list<RestCall*> waits_ ABSL_GUARDED_BY(mutex_);
  FairExecutor parser_;
  FairExecutor large_parser_;
  std::unique_ptr<ApiServer> server_;
  std::jthread looker_;
};

}  // namespace

absl::Status CheckRestAddress(const std::string& address, const TlsFiles& tls,
                              const AuthenticatorOptions& auth) {
  if (address.empty()) return absl::OkStatus();
  if (!tls.ca_file.empty() && auth.IsOpen()) {
    return FieldError("--rest", address,
                      "--auth_tokens_file or --jwt_keys_file beside "
                      "--tls_ca_file: it asks for no certificates");
  }
  if (!tls.cert_file.empty() || auth.IsOpen() || IsLoopback(address)) {
    return absl::OkStatus();
  }
  return FieldError("--rest", address,
                    "--tls_cert_file, or an address of this machine alone: "
                    "tokens would travel in plain text");
}

absl::StatusOr<std::unique_ptr<RestGateway>> RestGateway::Start(
    const RestGatewayOptions& options, std::shared_ptr<grpc::Channel> channel,
    Authenticator& authenticator) {
  TANGRAM_ASSIGN_OR_RETURN(std::vector<HttpRule> rules,
                           ParseHttpRules(HttpRulesText()));
  auto gateway = std::make_unique<Gateway>(options, std::move(channel),
                                           authenticator, std::move(rules));
  TANGRAM_RETURN_IF_ERROR(gateway->Listen());
  return gateway;
}

}  // namespace tangram
