#include "coordinator/planners/portfolio/preferred_precision.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/silent_observer.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Answers with a plan on the first node that is left, of the time that is set
// for the precision.
class FakePlanner : public ClusterPlanner {
 public:
  explicit FakePlanner(std::vector<PlanRequest>& asked) : asked_(asked) {}

  std::optional<double> fp16_s = 2;
  std::optional<double> bf16_s = 2;
  int fp16_node = 0;

  absl::StatusOr<PlanResult> Plan(const PlanRequest& request,
                                  PlanObserver&) override {
    asked_.push_back(request);
    const bool is_fp16 = request.training.precision == Precision::kFp16;
    const std::optional<double> seconds = is_fp16 ? fp16_s : bf16_s;
    PlanResult result;
    if (!seconds.has_value()) {
      result.infeasible = Infeasible{.reason = "does not fit"};
      return result;
    }
    PipelinePlan& plan = result.plan.emplace();
    plan.stages.push_back({.gpus = {{is_fp16 ? fp16_node : 1, 0}}});
    result.evaluation.iteration_time_s = *seconds;
    return result;
  }

 private:
  std::vector<PlanRequest>& asked_;
};

class PreferredPrecisionTest : public ::testing::Test {
 protected:
  // A node of V100, without units for bf16, and one of A100.
  PreferredPrecisionTest() {
    DeviceSpec v100 = testing::TestDevice("V100");
    v100.peak_flops.bf16 = 0;
    DeviceSpec a100 = testing::TestDevice("A100");
    a100.peak_flops.bf16 = a100.peak_flops.fp16;
    request_ = {.cluster = testing::TestCluster(
                    {{.name = "v", .num_nodes = 1, .device = v100},
                     {.name = "a", .num_nodes = 1, .device = a100}}),
                .model = testing::TestModel(2),
                .training = testing::TestTraining(),
                .preferred_precision = Precision::kBf16};
    fake_ = std::make_unique<FakePlanner>(asked_);
  }

  PlanResult Plan(double min_island_gain = 0) {
    testing::SilentObserver observer;
    auto result =
        CreateEitherPrecisionPlanner(std::move(fake_), min_island_gain)
            ->Plan(request_, observer);
    EXPECT_TRUE(result.ok()) << result.status();
    return *std::move(result);
  }

  PlanRequest request_;
  std::vector<PlanRequest> asked_;
  std::unique_ptr<FakePlanner> fake_;
};

TEST_F(PreferredPrecisionTest,
       GpusWithoutUnitsThatMakeThePlanSlowerAreLeftOut) {
  fake_->bf16_s = 1.5;
  const PlanResult result = Plan();
  EXPECT_EQ(result.iteration_time_s(), 1.5);
  ASSERT_TRUE(result.training.has_value());
  EXPECT_EQ(result.training->precision, Precision::kBf16);
  ASSERT_EQ(asked_.size(), 2);
  EXPECT_THAT(asked_[1].constraints.exclude_nodes,
              ElementsAre(request_.cluster->nodes[0].name));
  EXPECT_THAT(
      result.notes,
      ElementsAre(
          "precision: bf16 without V100, as fp16 on all GPUs takes 2.00 s"));
}

TEST_F(PreferredPrecisionTest, GpusWithoutUnitsThatMakeThePlanFasterStay) {
  fake_->bf16_s = 2.5;
  const PlanResult result = Plan();
  EXPECT_EQ(result.iteration_time_s(), 2);
  EXPECT_FALSE(result.training.has_value());
  EXPECT_THAT(
      result.notes,
      ElementsAre(
          "precision: fp16 on all GPUs, as bf16 without V100 takes 2.50 s"));
}

TEST_F(PreferredPrecisionTest, GpusWithoutUnitsMustGainAsAnIslandMust) {
  fake_->bf16_s = 2.02;
  EXPECT_EQ(Plan(/*min_island_gain=*/0.02).iteration_time_s(), 2.02);
}

TEST_F(PreferredPrecisionTest, AnyPlanBeatsNone) {
  fake_->bf16_s.reset();
  EXPECT_THAT(Plan().notes,
              ElementsAre("precision: fp16 on all GPUs, as bf16 without V100 "
                          "has no plan"));
}

TEST_F(PreferredPrecisionTest, WithUnitsOnAllGpusThePreferredOneIsPlanned) {
  request_.constraints.exclude_nodes = {"v"};
  const PlanResult result = Plan();
  ASSERT_EQ(asked_.size(), 1);
  EXPECT_EQ(asked_[0].training.precision, Precision::kBf16);
  EXPECT_EQ(result.training, asked_[0].training);
}

TEST_F(PreferredPrecisionTest, WithoutUnitsOnAnyGpuThereIsOnePlan) {
  request_.constraints.exclude_nodes = {"a"};
  EXPECT_THAT(Plan().notes, IsEmpty());
  ASSERT_EQ(asked_.size(), 1);
  EXPECT_EQ(asked_[0].training.precision, Precision::kFp16);
}

TEST_F(PreferredPrecisionTest, NoSecondPlanIsLookedForThatCannotBeFaster) {
  fake_->fp16_s = 1e-9;
  EXPECT_EQ(Plan().iteration_time_s(), 1e-9);
  EXPECT_EQ(asked_.size(), 1);
}

}  // namespace
}  // namespace tangram
