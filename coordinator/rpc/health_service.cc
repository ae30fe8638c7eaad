#include "coordinator/rpc/health_service.h"

#include <google/protobuf/wrappers.pb.h>
#include <grpcpp/impl/codegen/server_callback_handlers.h>
#include <grpcpp/impl/rpc_service_method.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "common/base/printable_text.h"
#include "common/base/status_macros.h"
#include "common/security/peer_host.h"
#include "common/wire/grpc_status.h"
#include "coordinator/rpc/received_message.h"

namespace tangram {
namespace {

// HealthCheckResponse.ServingStatus of grpc.health.v1.
enum class Serving { kServing = 1, kNotServing = 2, kServiceUnknown = 3 };

constexpr size_t kMaxNameBytes = 200;

grpc::Status ShutsDown() {
  return {grpc::StatusCode::UNAVAILABLE, "the coordinator shuts down"};
}

grpc::Status TooManyWatches() {
  return {grpc::StatusCode::RESOURCE_EXHAUSTED,
          "too many calls of grpc.health.v1.Health/Watch at once"};
}

Serving Named(bool serving) {
  return serving ? Serving::kServing : Serving::kNotServing;
}

// Debian has no generated code of the protocol. A HealthCheckRequest has the
// encoding of a StringValue, a HealthCheckResponse that of an Int32Value.
absl::StatusOr<std::string> ServiceOf(const grpc::ByteBuffer& request) {
  TANGRAM_RETURN_IF_ERROR(CheckSmall(request, "HealthCheckRequest"));
  google::protobuf::StringValue name;
  TANGRAM_RETURN_IF_ERROR(ParseMessage(request, name));
  return name.value();
}

grpc::ByteBuffer ResponseOf(Serving serving) {
  google::protobuf::Int32Value value;
  value.set_value(static_cast<int>(serving));
  return SerializeMessage(value);
}

}  // namespace

// A call that watches. gRPC owns it until OnDone.
class HealthWatch : public grpc::ServerWriteReactor<grpc::ByteBuffer> {
 public:
  HealthWatch(Health& health, const std::string& host)
      : health_(health), call_(health.calls_.Begin(host)) {}

  void Start(const absl::StatusOr<std::string>& service) {
    if (call_ == nullptr) {
      Take(std::nullopt, TooManyWatches());
    } else if (!service.ok()) {
      Take(std::nullopt, ToGrpc(service.status()));
    } else if (!service->empty()) {
      Take(Serving::kServiceUnknown, std::nullopt);
    } else {
      health_.Add(*this);
    }
  }
  void Tell(Serving serving) { Take(serving, std::nullopt); }
  void End(const grpc::Status& status) { Take(std::nullopt, status); }

  void OnWriteDone(bool ok) override {
    {
      const MutexLock lock(mutex_);
      is_writing_ = false;
    }
    if (ok) {
      Take(std::nullopt, std::nullopt);
    } else {
      Leave();
    }
  }
  void OnCancel() override { Leave(); }
  void OnDone() override {
    health_.Remove(*this);
    delete this;
  }

 private:
  // The caller is gone, and nothing can be written.
  void Leave() {
    {
      const MutexLock lock(mutex_);
      is_gone_ = true;
    }
    End(grpc::Status::CANCELLED);
  }

  // Notes what to write or how to end, and begins it if no write is under way.
  // Writes come before the end, which is without the lock: it may delete this.
  void Take(std::optional<Serving> serving, std::optional<grpc::Status> end) {
    std::optional<grpc::Status> finish;
    {
      const MutexLock lock(mutex_);
      if (serving.has_value()) next_ = serving;
      if (end.has_value() && !end_.has_value()) end_ = end;
      if (is_writing_ || is_finished_) return;
      if (next_.has_value() && next_ != last_ && !is_gone_) {
        is_writing_ = true;
        last_ = next_;
        response_ = ResponseOf(*next_);
        StartWrite(&response_);
      } else if (end_.has_value()) {
        is_finished_ = true;
        finish = end_;
      }
    }
    if (finish.has_value()) Finish(*finish);
  }

  Health& health_;
  const std::shared_ptr<void> call_;  // Null if there are too many.
  Mutex mutex_;
  std::optional<Serving> next_ ABSL_GUARDED_BY(mutex_);
  std::optional<Serving> last_ ABSL_GUARDED_BY(mutex_);
  std::optional<grpc::Status> end_ ABSL_GUARDED_BY(mutex_);
  grpc::ByteBuffer response_ ABSL_GUARDED_BY(mutex_);
  bool is_gone_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_finished_ ABSL_GUARDED_BY(mutex_) = false;
};

// In the place of generated code. Takes requests as bytes.
class HealthService : public grpc::Service {
 public:
  explicit HealthService(Health& health) : health_(health) {
    using grpc::internal::RpcMethod;
    using grpc::internal::RpcServiceMethod;
    AddMethod(new RpcServiceMethod("/grpc.health.v1.Health/Check",
                                   RpcMethod::NORMAL_RPC, nullptr));
    MarkMethodRawCallback(
        0, new grpc::internal::CallbackUnaryHandler<grpc::ByteBuffer,
                                                    grpc::ByteBuffer>(
               [this](grpc::CallbackServerContext* context,
                      const grpc::ByteBuffer* request,
                      grpc::ByteBuffer* response) {
                 grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
                 reactor->Finish(ToGrpc(Check(*request, *response)));
                 return reactor;
               }));
    AddMethod(new RpcServiceMethod("/grpc.health.v1.Health/Watch",
                                   RpcMethod::SERVER_STREAMING, nullptr));
    MarkMethodRawCallback(
        1, new grpc::internal::CallbackServerStreamingHandler<grpc::ByteBuffer,
                                                              grpc::ByteBuffer>(
               [this](grpc::CallbackServerContext* context,
                      const grpc::ByteBuffer* request) {
                 auto* watch =
                     new HealthWatch(health_, PeerHost(context->peer()));
                 watch->Start(ServiceOf(*request));
                 return watch;
               }));
  }

 private:
  absl::Status Check(const grpc::ByteBuffer& request,
                     grpc::ByteBuffer& response) {
    TANGRAM_ASSIGN_OR_RETURN(const std::string service, ServiceOf(request));
    if (!service.empty()) {
      return absl::NotFoundError(
          absl::StrCat("service: \"", PrintableText(service, kMaxNameBytes),
                       "\" is unknown; expected no name"));
    }
    response = ResponseOf(Named(health_.is_serving()));
    return absl::OkStatus();
  }

  Health& health_;
};

void Health::SetServing(bool serving) {
  const MutexLock lock(mutex_);
  is_serving_ = serving;
  for (HealthWatch* watch : watches_) watch->Tell(Named(serving));
}

void Health::End() {
  const MutexLock lock(mutex_);
  has_ended_ = true;
  for (HealthWatch* watch : watches_) watch->End(ShutsDown());
}

std::unique_ptr<grpc::Service> Health::CreateService() {
  return std::make_unique<HealthService>(*this);
}

bool Health::is_serving() const {
  const MutexLock lock(mutex_);
  return is_serving_;
}

void Health::Add(HealthWatch& watch) {
  const MutexLock lock(mutex_);
  watches_.insert(&watch);
  watch.Tell(Named(is_serving_));
  if (has_ended_) watch.End(ShutsDown());
}

void Health::Remove(HealthWatch& watch) {
  const MutexLock lock(mutex_);
  watches_.erase(&watch);
}

}  // namespace tangram
