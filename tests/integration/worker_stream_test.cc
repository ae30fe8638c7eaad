// The answers of a coordinator to the messages of a worker.
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <chrono>
#include <future>
#include <memory>

#include "common/base/heartbeat.h"
#include "common/wire/grpc_settings.h"
#include "common/wire/parallelizer_wire.h"
#include "gtest/gtest.h"
#include "tangram/v1/worker_pool_service.grpc.pb.h"
#include "tests/testing/service/test_service.h"

namespace tangram::testing {
namespace {

// A worker that does only what a test tells it to.
class WorkerStreamTest : public ::testing::Test {
 protected:
  WorkerStreamTest() {
    context_.set_deadline(std::chrono::system_clock::now() +
                          std::chrono::seconds(60));
    stream_ = stub_->Work(&context_);
    v1::WorkerMessage message;
    message.mutable_hello()->set_name("w");
    message.mutable_hello()->set_capacity(1);
    *message.mutable_hello()->add_adapters() =
        ToProto(AdapterInfo{.id = {"uniform", VersionOf("uniform")}});
    stream_->Write(message);
  }

  v1::CoordinatorMessage Read() {
    v1::CoordinatorMessage message;
    EXPECT_TRUE(stream_->Read(&message));
    return message;
  }
  // Asks for a plan and returns the message that the worker gets then.
  v1::CoordinatorMessage ReadLease() {
    plan_ = std::async(std::launch::async, [this] {
      return CallPlan(service_.address(), Encode(SmallRequest(), "uniform"),
                      plan_context_);
    });
    return Read();
  }
  void End() {
    plan_context_.TryCancel();
    context_.TryCancel();
    plan_.wait();
  }

  // One worker may be silent for 100 s.
  TestService service_{{.queue = {.max_idle_beats_per_s = 0.01}}};
  const std::unique_ptr<v1::WorkerPool::Stub> stub_ =
      v1::WorkerPool::NewStub(OpenChannel(service_.address()));
  grpc::ClientContext context_;
  std::unique_ptr<
      grpc::ClientReaderWriter<v1::WorkerMessage, v1::CoordinatorMessage>>
      stream_;
  grpc::ClientContext plan_context_;
  std::future<absl::StatusOr<PlanFile>> plan_;
};

TEST_F(WorkerStreamTest, AWorkerWithoutLeasesMayBeSilent) {
  EXPECT_EQ(Read().silence_s(), 100);
  stream_->Write({});
  EXPECT_EQ(Read().silence_s(), 100);

  const v1::CoordinatorMessage leased = ReadLease();
  ASSERT_EQ(leased.leases_size(), 1);
  EXPECT_EQ(leased.silence_s(), 0);
  stream_->Write({});
  EXPECT_EQ(Read().silence_s(), 0);
  End();
}

// A lease that was sent before tells the worker nothing about now.
TEST_F(WorkerStreamTest, AHeartbeatAfterALeaseIsAnswered) {
  Read();
  ASSERT_EQ(ReadLease().leases_size(), 1);
  for (int i = 0; i < 3; ++i) {
    stream_->Write({});
    Read();  // Returns.
  }
  End();
}

}  // namespace
}  // namespace tangram::testing
