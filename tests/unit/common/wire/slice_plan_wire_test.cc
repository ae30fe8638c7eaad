#include "common/wire/slice_plan_wire.h"

#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tangram/v1/plan.pb.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/common/wire/random_values.h"

namespace tangram {
namespace {

using ::testing::HasSubstr;
using testing::IsOkAndHolds;
using testing::RandomValues;
using testing::StatusIs;

TEST(SlicePlanWireTest, PlanSetsSurviveTheRoundTrip) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    const SlicePlanSet set = RandomValues(seed).PlanSet();
    EXPECT_THAT(FromProto(ToProto(set)), IsOkAndHolds(set));
  }
}

SlicePlanSet OnePlan() {
  return {.plans = {{.stages = {{.plan = {.end = {2, 0}}, .time_s = 1}},
                     .made_by = "test"}}};
}

TEST(SlicePlanWireTest, BadStagesAreRefusedByFieldPath) {
  v1::SlicePlanSet message = ToProto(OnePlan());
  v1::SliceStage& stage = *message.mutable_plans(0)->mutable_stages(0);
  stage.set_time_s(std::numeric_limits<double>::infinity());
  EXPECT_THAT(FromProto(message),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("plans[0].stages[0].time_s: inf")));
  stage.set_time_s(1);
  stage.mutable_plan()->mutable_parallelism()->set_zero_stage(4);
  EXPECT_THAT(FromProto(message),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("stages[0].plan.parallelism.zero_stage: 4")));
}

TEST(SlicePlanWireTest, OffloadIsAFraction) {
  v1::SlicePlanSet message = ToProto(OnePlan());
  message.mutable_plans(0)
      ->mutable_stages(0)
      ->mutable_plan()
      ->mutable_offload()
      ->set_gradients(1.5);
  EXPECT_THAT(FromProto(message),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("stages[0].plan.offload.gradients: 1.5; "
                                 "expected a fraction from 0 to 1")));
}

TEST(SlicePlanWireTest, DegreesWhoseProductOverflowsAreRefused) {
  v1::SlicePlanSet message = ToProto(OnePlan());
  v1::StageParallelism& parallelism = *message.mutable_plans(0)
                                           ->mutable_stages(0)
                                           ->mutable_plan()
                                           ->mutable_parallelism();
  parallelism.set_tp_degree(1 << 20);
  parallelism.set_cp_degree(1 << 20);
  parallelism.set_dp_degree(1 << 20);
  EXPECT_THAT(FromProto(message), StatusIs(absl::StatusCode::kInvalidArgument,
                                           HasSubstr("tp_degree * cp_degree")));
  parallelism.set_cp_degree(1);
  EXPECT_THAT(FromProto(message),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("tp_degree * cp_degree * dp_degree")));
}

TEST(SlicePlanWireTest, APlanWithoutStagesIsRefused) {
  v1::SlicePlanSet message = ToProto(OnePlan());
  message.mutable_plans(0)->clear_stages();
  EXPECT_THAT(FromProto(message),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("plans[0].stages: 0; expected a positive")));
}

}  // namespace
}  // namespace tangram
