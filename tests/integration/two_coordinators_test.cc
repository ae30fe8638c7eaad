#include <algorithm>
#include <atomic>
#include <future>
#include <memory>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/forwarding_parallelizer.h"
#include "tests/testing/service/test_service.h"
#include "tests/testing/status_matchers.h"
#include "worker/adapters/builtin_parallelizers.h"
#include "worker/service/worker.h"

namespace tangram::testing {
namespace {

// Counts the running searches.
class BusyParallelizer : public ForwardingParallelizer {
 public:
  explicit BusyParallelizer(std::atomic<int>& most) : most_(most) {}

  absl::StatusOr<SlicePlanSet> Parallelize(
      const ModelSlice& slice, const IslandSpec& island,
      const ParallelizeOptions& options) const override {
    most_ = std::max(most_.load(), ++under_way_);
    auto plans = ForwardingParallelizer::Parallelize(slice, island, options);
    --under_way_;
    return plans;
  }

 private:
  const Parallelizer& target() const override { return *plans_; }

  std::atomic<int>& most_;
  mutable std::atomic<int> under_way_ = 0;
  const std::unique_ptr<Parallelizer> plans_ =
      *CreateBuiltinParallelizer("uniform");
};

TEST(TwoCoordinatorsTest, AWorkerServesBothWithItsThreads) {
  TestService services[2];
  std::atomic<int> most = 0;
  WorkerOptions options{.coordinators = {{.address = services[0].address()},
                                         {.address = services[1].address()}},
                        .name = "shared"};
  options.parallelizers.push_back(std::make_unique<BusyParallelizer>(most));
  Metrics metrics;
  ASSERT_OK_AND_ASSIGN(const auto worker,
                       Worker::Start(std::move(options), metrics));

  const v1::PlanRequest request = Encode(SmallRequest(), "uniform");
  std::future<absl::StatusOr<PlanFile>> plans[2];
  for (int i = 0; i < 2; ++i) {
    plans[i] = std::async(std::launch::async, [&, i] {
      return CallPlan(services[i].address(), request);
    });
  }
  for (auto& plan : plans) {
    const auto file = plan.get();
    ASSERT_THAT(file, IsOk());
    EXPECT_EQ(Essence(*file), LocalEssence(SmallRequest(), "uniform"));
  }
  EXPECT_EQ(most, 1);
}

}  // namespace
}  // namespace tangram::testing
