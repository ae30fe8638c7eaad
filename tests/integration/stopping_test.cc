#include <grpcpp/client_context.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tangram/v1/planner_service.pb.h"
#include "tests/integration/blocking_parallelizer.h"
#include "tests/testing/service/test_service.h"
#include "tests/testing/status_matchers.h"

namespace tangram::testing {
namespace {

using ::testing::_;
using ::testing::HasSubstr;

// A plan whose searches wait at a gate.
class StoppingTest : public ::testing::Test {
 protected:
  explicit StoppingTest(const CoordinatorOptions& options = {})
      : service_(options) {}

  void AddWorker(int num_threads = 1) {
    worker_ = &service_.AddWorker(std::make_unique<BlockingParallelizer>(gate_),
                                  num_threads);
  }

  std::future<absl::StatusOr<PlanFile>> StartPlan(
      grpc::ClientContext& context) {
    return std::async(std::launch::async, [this, &context] {
      return CallPlan(service_.address(), Encode(SmallRequest(), "uniform"),
                      context, [this](const v1::PlanProgress& progress) {
                        if (progress.phase() == v1::PlanProgress::QUEUED) {
                          ++num_queued_;
                        }
                      });
    });
  }

  bool AwaitSearches(int count) {
    return Eventually([&] { return gate_.num_waiting == count; });
  }
  bool AwaitNoLeases() {
    return Eventually([this] {
      const WorkerPoolCounts counts = service_.server().pool().Counts();
      return counts.pending == 0 && counts.leased == 0;
    });
  }

  Gate gate_;
  std::atomic<int> num_queued_ = 0;
  TestService service_;
  Worker* worker_ = nullptr;
  grpc::ClientContext context_;
};

TEST_F(StoppingTest, ACancelReachesTheSearchesWithinASecond) {
  AddWorker(/*num_threads=*/2);
  auto plan = StartPlan(context_);
  ASSERT_TRUE(AwaitSearches(2));

  const auto cancelled = std::chrono::steady_clock::now();
  context_.TryCancel();
  EXPECT_TRUE(Eventually([this] { return gate_.num_waiting == 0; }));
  EXPECT_LT(std::chrono::steady_clock::now() - cancelled,
            std::chrono::seconds(1));
  EXPECT_GE(gate_.num_stopped, 2);
  EXPECT_THAT(plan.get(), StatusIs(absl::StatusCode::kCancelled, _));
  EXPECT_TRUE(AwaitNoLeases());
}

TEST_F(StoppingTest, ADeadlineReachesTheSearches) {
  AddWorker();
  context_.set_deadline(std::chrono::system_clock::now() +
                        std::chrono::milliseconds(300));
  auto plan = StartPlan(context_);
  EXPECT_THAT(plan.get(), StatusIs(absl::StatusCode::kDeadlineExceeded, _));
  EXPECT_TRUE(Eventually([this] { return gate_.num_waiting == 0; }));
  EXPECT_TRUE(AwaitNoLeases());
}

TEST_F(StoppingTest, ADrainingWorkerHandsItsWorkToAnother) {
  AddWorker();
  Worker& leaving = *worker_;
  auto plan = StartPlan(context_);
  ASSERT_TRUE(AwaitSearches(1));
  service_.AddWorker("uniform");
  leaving.Drain(/*timeout_s=*/0);
  EXPECT_EQ(gate_.num_stopped, 1);
  ASSERT_OK_AND_ASSIGN(const PlanFile file, plan.get());
  EXPECT_EQ(Essence(file), LocalEssence(SmallRequest(), "uniform"));
}

TEST_F(StoppingTest, ADrainingWorkerFinishesWhatItHasBegun) {
  AddWorker();
  Worker& leaving = *worker_;
  auto plan = StartPlan(context_);
  ASSERT_TRUE(AwaitSearches(1));
  service_.AddWorker("uniform");
  auto drain =
      std::async(std::launch::async, [&] { leaving.Drain(/*timeout_s=*/60); });
  EXPECT_TRUE(Eventually(
      [this] { return service_.server().pool().Counts().draining == 1; }));
  gate_.is_open = true;
  drain.get();
  EXPECT_EQ(gate_.num_stopped, 0);
  EXPECT_THAT(plan.get(), IsOk());
}

TEST_F(StoppingTest, ADrainingCoordinatorFinishesItsPlans) {
  AddWorker();
  auto plan = StartPlan(context_);
  ASSERT_TRUE(AwaitSearches(1));
  auto drain = std::async(std::launch::async,
                          [this] { return service_.server().Drain(60); });
  // The coordinator refuses plans as soon as it drains.
  EXPECT_TRUE(Eventually([this] {
    v1::PlanRequest unknown = Encode(SmallRequest(), "unknown");
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::milliseconds(200));
    return absl::IsUnavailable(
        CallPlan(service_.address(), unknown, context).status());
  }));
  gate_.is_open = true;
  EXPECT_TRUE(drain.get());
  EXPECT_THAT(plan.get(), IsOk());
}

TEST_F(StoppingTest, ADrainingCoordinatorEndsWhatTakesTooLong) {
  AddWorker();
  auto plan = StartPlan(context_);
  ASSERT_TRUE(AwaitSearches(1));
  EXPECT_FALSE(service_.server().Drain(/*timeout_s=*/0));
  EXPECT_THAT(plan.get(), StatusIs(absl::StatusCode::kUnavailable,
                                   HasSubstr("shutting down")));
}

class BusyCoordinatorTest : public StoppingTest {
 protected:
  BusyCoordinatorTest()
      : StoppingTest({.max_concurrent_plans = 1, .max_queued_plans = 1}) {}
};

TEST_F(BusyCoordinatorTest, TooManyPlansAreRefused) {
  AddWorker();
  auto first = StartPlan(context_);
  ASSERT_TRUE(AwaitSearches(1));
  ASSERT_TRUE(Eventually([this] { return num_queued_ == 1; }));
  grpc::ClientContext second_context;
  auto second = StartPlan(second_context);
  ASSERT_TRUE(Eventually([this] { return num_queued_ == 2; }));
  EXPECT_THAT(CallPlan(service_.address(), Encode(SmallRequest(), "uniform")),
              StatusIs(absl::StatusCode::kResourceExhausted, _));

  // A waiting plan makes room as soon as it is cancelled.
  second_context.TryCancel();
  EXPECT_THAT(second.get(), StatusIs(absl::StatusCode::kCancelled, _));
  gate_.is_open = true;
  EXPECT_THAT(first.get(), IsOk());
}

}  // namespace
}  // namespace tangram::testing
