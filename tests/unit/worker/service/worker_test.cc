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
#include "common/base/heartbeat.h"
#include "gtest/gtest.h"
#include "tangram/v1/worker_pool_service.grpc.pb.h"
#include "tests/testing/status_matchers.h"
#include "worker/adapters/builtin_parallelizers.h"

namespace tangram {
namespace {

using Stream =
    grpc::ServerReaderWriter<v1::CoordinatorMessage, v1::WorkerMessage>;

// A coordinator that never ends a stream by itself.
class FakeCoordinator : public v1::WorkerPool::Service {
 public:
  FakeCoordinator() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                             &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~FakeCoordinator() override { server_->Shutdown(); }

  // Starts a worker that dials it. `options` need only say what is unusual.
  std::unique_ptr<Worker> StartWorker(WorkerOptions options) {
    options.coordinators = {{.address = absl::StrCat("127.0.0.1:", port_)}};
    options.name = "w";
    options.parallelizers.push_back(*CreateBuiltinParallelizer("uniform"));
    auto worker = Worker::Start(std::move(options), metrics_);
    EXPECT_THAT(worker, testing::IsOk());
    return *std::move(worker);
  }

 private:
  virtual void Serve(Stream& stream) = 0;

  grpc::Status Work(grpc::ServerContext* context, Stream* stream) override {
    Serve(*stream);
    while (!context->IsCancelled()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return grpc::Status::OK;
  }

  int port_ = 0;
  Metrics metrics_;
  std::unique_ptr<grpc::Server> server_;
};

// Reads everything that a worker sends.
class ClingingCoordinator : public FakeCoordinator {
 public:
  void AwaitAnswer() { answered_.get_future().wait(); }
  bool was_told() const { return was_told_; }

 private:
  void Serve(Stream& stream) override {
    v1::CoordinatorMessage question;
    question.add_leases()->set_adapter("unknown");
    stream.Write(question);
    v1::WorkerMessage message;
    while (stream.Read(&message)) {
      if (message.answers_size() > 0) answered_.set_value();
      if (message.draining()) was_told_ = true;
    }
  }

  std::promise<void> answered_;
  std::atomic<bool> was_told_ = false;
};

TEST(WorkerTest, LeavesACoordinatorThatDoesNotEndTheStream) {
  ClingingCoordinator coordinator;
  const auto worker = coordinator.StartWorker({.goodbye_s = 0.5});
  coordinator.AwaitAnswer();
  worker->Drain(/*timeout_s=*/0);  // Returns.
  EXPECT_TRUE(coordinator.was_told());
}

// Allows a silence of minutes, and takes it back when it is told to.
class QuietCoordinator : public FakeCoordinator {
 public:
  void TakeBack() { taken_back_.set_value(); }
  void AwaitHeartbeat() { heard_.get_future().wait(); }
  bool was_left() const { return was_left_; }

 private:
  void Serve(Stream& stream) override {
    v1::WorkerMessage hello;
    stream.Read(&hello);
    v1::CoordinatorMessage message;
    message.set_silence_s(kMaxSilenceS);
    stream.Write(message);
    taken_back_.get_future().wait();
    stream.Write({});
    v1::WorkerMessage heartbeat;
    was_left_ = !stream.Read(&heartbeat);
    heard_.set_value();
  }

  std::promise<void> taken_back_;
  std::promise<void> heard_;
  std::atomic<bool> was_left_ = false;
};

// It owes no answer, so it may be silent for long too.
TEST(WorkerTest, SendsAMessageAtOnceWhenAnAllowedSilenceEnds) {
  QuietCoordinator coordinator;
  const auto worker = coordinator.StartWorker(
      {.heartbeat_s = 0.1, .silence_limit_s = 0.1, .goodbye_s = 0.1});
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  coordinator.TakeBack();
  coordinator.AwaitHeartbeat();
  EXPECT_FALSE(coordinator.was_left());
}

// Answers nothing.
class DeafCoordinator : public FakeCoordinator {
 public:
  void AwaitStreams(int count) {
    while (num_streams_ < count) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

 private:
  void Serve(Stream&) override { ++num_streams_; }

  std::atomic<int> num_streams_ = 0;
};

TEST(WorkerTest, DialsAgainIfNothingIsAnswered) {
  DeafCoordinator coordinator;
  const auto worker = coordinator.StartWorker({.heartbeat_s = 100,
                                               .silence_limit_s = 0.1,
                                               .goodbye_s = 0.1,
                                               .min_backoff_s = 0.01});
  coordinator.AwaitStreams(3);  // Returns.
}

}  // namespace
}  // namespace tangram
