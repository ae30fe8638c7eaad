#include "worker/service/worker.h"

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_context.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tangram/v1/worker_pool_service.grpc.pb.h"
#include "tests/testing/status_matchers.h"
#include "worker/adapters/builtin_parallelizers.h"

namespace tangram {
namespace {

// Reads everything that a worker sends, and never ends a stream by itself.
class ClingingCoordinator : public v1::WorkerPool::Service {
 public:
  ClingingCoordinator() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                             &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~ClingingCoordinator() override { server_->Shutdown(); }

  std::string address() const { return absl::StrCat("127.0.0.1:", port_); }
  void AwaitAnswer() { answered_.get_future().wait(); }
  bool was_told() const { return was_told_; }

 private:
  using Stream =
      grpc::ServerReaderWriter<v1::CoordinatorMessage, v1::WorkerMessage>;

  grpc::Status Work(grpc::ServerContext* context, Stream* stream) override {
    v1::CoordinatorMessage question;
    question.add_leases()->set_adapter("unknown");
    stream->Write(question);
    v1::WorkerMessage message;
    while (stream->Read(&message)) {
      if (message.answers_size() > 0) answered_.set_value();
      if (message.draining()) was_told_ = true;
    }
    while (!context->IsCancelled()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return grpc::Status::OK;
  }

  int port_ = 0;
  std::promise<void> answered_;
  std::atomic<bool> was_told_ = false;
  std::unique_ptr<grpc::Server> server_;
};

TEST(WorkerTest, LeavesACoordinatorThatDoesNotEndTheStream) {
  ClingingCoordinator coordinator;
  WorkerOptions options{.coordinators = {{.address = coordinator.address()}},
                        .name = "w",
                        .goodbye_s = 0.5};
  options.parallelizers.push_back(*CreateBuiltinParallelizer("uniform"));
  Metrics metrics;
  ASSERT_OK_AND_ASSIGN(const auto worker,
                       Worker::Start(std::move(options), metrics));
  coordinator.AwaitAnswer();
  worker->Drain(/*timeout_s=*/0);  // Returns.
  EXPECT_TRUE(coordinator.was_told());
}

}  // namespace
}  // namespace tangram
