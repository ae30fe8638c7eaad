#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/byte_buffer.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/wire/grpc_settings.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tangram/v1/planner_service.pb.h"
#include "tests/integration/child_process.h"
#include "tests/testing/builders.h"
#include "tests/testing/http_get.h"
#include "tests/testing/service/test_service.h"
#include "tests/testing/status_matchers.h"

namespace tangram::testing {
namespace {

using ::testing::HasSubstr;

// A real coordinator process on free ports.
class DaemonsTest : public ::testing::Test {
 protected:
  DaemonsTest()
      : coordinator_("tangram-coordinator",
                     {"--listen=127.0.0.1:0", "--metrics=127.0.0.1:0",
                      "--state_dir=none", "--reflection"}) {
    const std::string line = coordinator_.AwaitLine("coordinator ready");
    address_ = absl::StrCat("127.0.0.1:", ChildProcess::ValueIn(line, "port"));
    metrics_port_ = std::stoi(ChildProcess::ValueIn(line, "metrics_port"));
  }

  // Starts a worker and returns once it is connected.
  std::unique_ptr<ChildProcess> StartWorker() {
    auto worker = std::make_unique<ChildProcess>(
        "tangram-worker",
        std::vector<std::string>{absl::StrCat("--coordinator=", address_),
                                 "--metrics=", "--threads=1"});
    EXPECT_THAT(worker->AwaitLine(" connected"), HasSubstr(address_));
    return worker;
  }

  std::string address_;
  int metrics_port_ = 0;
  ChildProcess coordinator_;
};

// Search steps that take long enough to kill a daemon in the middle.
constexpr int64_t kLongerSearchSteps = 20'000;
PlanRequest LongerRequest() {
  PlanRequest request = SmallRequest();
  request.model = TestModel(24, 2048);
  return request;
}

TEST_F(DaemonsTest, AKilledWorkerChangesNothing) {
  std::vector<std::unique_ptr<ChildProcess>> workers;
  for (int i = 0; i < 3; ++i) workers.push_back(StartWorker());

  v1::PlanRequest request = Encode(LongerRequest(), "aceso");
  request.mutable_options()->set_max_search_steps(kLongerSearchSteps);
  int pairs_left = 0;
  grpc::ClientContext context;
  ASSERT_OK_AND_ASSIGN(
      const PlanFile file,
      CallPlan(address_, request, context,
               [&](const v1::PlanProgress& progress) {
                 if (progress.pairs_done() == 0 || pairs_left > 0) return;
                 pairs_left = progress.pairs_total() - progress.pairs_done();
                 workers[1]->Signal(SIGKILL);
               }));
  EXPECT_GT(pairs_left, 0) << "the plan was over before the worker was killed";
  EXPECT_EQ(Essence(file),
            LocalEssence(LongerRequest(), "aceso",
                         {.max_search_steps = kLongerSearchSteps}));
}

TEST_F(DaemonsTest, WorkersFindACoordinatorThatCameBack) {
  const auto worker = StartWorker();
  coordinator_.Signal(SIGKILL);
  coordinator_.Wait();
  EXPECT_THAT(worker->AwaitLine("disconnected"), HasSubstr(address_));
  ChildProcess successor(
      "tangram-coordinator",
      {absl::StrCat("--listen=", address_), "--metrics=", "--state_dir=none"});
  EXPECT_THAT(worker->AwaitLine(" connected"), HasSubstr(address_));
}

TEST_F(DaemonsTest, BothEndCleanlyWhenTold) {
  const auto worker = StartWorker();
  worker->Signal(SIGTERM);
  EXPECT_EQ(worker->Wait(), 0);
  coordinator_.Signal(SIGTERM);
  EXPECT_EQ(coordinator_.Wait(), 0);
}

TEST_F(DaemonsTest, AWorkerWithoutACoordinatorEndsWhenTold) {
  ChildProcess worker("tangram-worker",
                      {"--coordinator=127.0.0.1:1", "--metrics="});
  EXPECT_THAT(worker.NextLine(), HasSubstr("worker ready"));
  worker.Signal(SIGTERM);
  EXPECT_EQ(worker.Wait(), 0);
}

TEST_F(DaemonsTest, APortInUseIsAnError) {
  ChildProcess second(
      "tangram-coordinator",
      {absl::StrCat("--listen=", address_), "--metrics=", "--state_dir=none"});
  EXPECT_EQ(second.Wait(), 1);
}

TEST_F(DaemonsTest, BadFlagsAreNamed) {
  ChildProcess coordinator("tangram-coordinator", {"--log_format=xml"});
  EXPECT_THAT(coordinator.NextLine(),
              HasSubstr("log format: \"xml\"; expected text or json"));
  EXPECT_EQ(coordinator.Wait(), 2);
  ChildProcess worker("tangram-worker", {"--adapters=aceso,apollo"});
  EXPECT_THAT(worker.NextLine(), HasSubstr("parallelizer: \"apollo\""));
  EXPECT_EQ(worker.Wait(), 2);
}

TEST_F(DaemonsTest, MetricsTellWhatHappened) {
  const auto worker = StartWorker();
  ASSERT_THAT(CallPlan(address_, Encode(SmallRequest(), "uniform")), IsOk());
  EXPECT_TRUE(Eventually([this] {
    return HttpGet(metrics_port_, "/metrics")
               .find(
                   "tangram_workers{state=\"ready\""
                   "} 1") != std::string::npos;
  }));
  const std::string metrics = HttpGet(metrics_port_, "/metrics");
  for (const char* sample :
       {"tangram_build_info{version=", "tangram_plans_total{code=\"ok\"} 1",
        "tangram_planning_duration_seconds_count{phase=\"total\"} 1",
        "tangram_planning_duration_seconds_count{phase=\"composition\"} 1",
        "tangram_pairs_total{outcome=\"queried\"}",
        "tangram_queries_total{adapter=\"uniform\",state=\"answered\"}",
        "tangram_cache_misses_total", "tangram_leases_lost_total 0"}) {
    EXPECT_THAT(metrics, HasSubstr(sample));
  }
}

std::string ToString(grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string text;
  if (!buffer.Dump(&slices).ok()) return text;
  for (const grpc::Slice& slice : slices) {
    text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return text;
}

// Sends one encoded message to `method` and returns the first reply. Debian
// ships no generated code for health and reflection.
std::string Exchange(const std::string& address, const std::string& method,
                     const std::string& message) {
  grpc::CompletionQueue queue;
  const auto wait = [&queue] {
    void* tag = nullptr;
    bool ok = false;
    return queue.Next(&tag, &ok) && ok;
  };
  grpc::GenericStub stub(OpenChannel(address));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::seconds(30));
  const auto call = stub.PrepareCall(&context, method, &queue);
  call->StartCall(nullptr);
  EXPECT_TRUE(wait());
  const grpc::Slice slice(message);
  call->WriteLast(grpc::ByteBuffer(&slice, 1), grpc::WriteOptions(), nullptr);
  EXPECT_TRUE(wait());
  grpc::ByteBuffer response;
  call->Read(&response, nullptr);
  EXPECT_TRUE(wait());
  grpc::Status status;
  call->Finish(&status, nullptr);
  wait();
  return ToString(response);
}

TEST_F(DaemonsTest, HealthAnswers) {
  EXPECT_EQ(Exchange(address_, "/grpc.health.v1.Health/Check", ""),
            "\x08\x01");  // status: SERVING
}

TEST_F(DaemonsTest, ReflectionListsTheServices) {
  const std::string services =
      Exchange(address_,
               "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
               "\x3a\x01*");  // list_services: "*"
  EXPECT_THAT(services, HasSubstr("tangram.v1.Planner"));
  EXPECT_THAT(services, HasSubstr("tangram.v1.WorkerPool"));
}

}  // namespace
}  // namespace tangram::testing
