#include "tests/testing/service/worker_proxy.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_context.h>

#include <chrono>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "common/wire/grpc_settings.h"
#include "tangram/v1/worker_pool_service.grpc.pb.h"

namespace tangram::testing {
namespace {

class Proxy : public WorkerProxy, public v1::WorkerPool::Service {
 public:
  Proxy(const std::string& coordinator, Tamper tamper)
      : stub_(v1::WorkerPool::NewStub(OpenChannel(coordinator))),
        tamper_(std::move(tamper)) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                             &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    TANGRAM_CHECK(server_ != nullptr);
  }
  ~Proxy() override { server_->Shutdown(std::chrono::system_clock::now()); }

  std::string address() const override {
    return absl::StrCat("127.0.0.1:", port_);
  }

  grpc::Status Work(
      grpc::ServerContext* context,
      grpc::ServerReaderWriter<v1::CoordinatorMessage, v1::WorkerMessage>*
          worker) override {
    grpc::ClientContext up;
    // The coordinator must see the worker's token.
    const auto& metadata = context->client_metadata();
    if (const auto token = metadata.find("authorization");
        token != metadata.end()) {
      up.AddMetadata("authorization",
                     {token->second.data(), token->second.size()});
    }
    const auto coordinator = stub_->Work(&up);
    std::thread down([&] {
      v1::CoordinatorMessage message;
      while (coordinator->Read(&message)) worker->Write(message);
      context->TryCancel();
    });
    v1::WorkerMessage message;
    while (worker->Read(&message)) {
      for (v1::Answer& answer : *message.mutable_answers()) tamper_(answer);
      if (!coordinator->Write(message)) break;
    }
    coordinator->WritesDone();
    down.join();
    return coordinator->Finish();
  }

 private:
  const std::unique_ptr<v1::WorkerPool::Stub> stub_;
  const Tamper tamper_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace

std::unique_ptr<WorkerProxy> WorkerProxy::Start(const std::string& coordinator,
                                                Tamper tamper) {
  return std::make_unique<Proxy>(coordinator, std::move(tamper));
}

}  // namespace tangram::testing
