#include "common/wire/constraints_wire.h"

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tangram/v1/plan.pb.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/common/wire/every_field.h"

namespace tangram {
namespace {

using ::testing::HasSubstr;
using testing::IsOkAndHolds;
using testing::StatusIs;

PlanConstraints AllConstraints() {
  return {.exclude_nodes = {"t4-0", "t4-1"},
          .exclude_islands = {"v100"},
          .tp_degrees = {{.island = "t4", .value = 2}},
          .dp_degrees = {{.value = 4}, {.island = "a100", .value = 8}},
          .cp_degrees = {{.value = 2}},
          .max_stages = {{.value = 3}},
          .pins = {{.first_layer = 1, .last_layer = 4, .island = "a100"}},
          .runtime = "megatron",
          .recompute = LayerRecompute::kAttentionCore,
          .pp_degree = 4,
          .schedule = PipelineSchedule::kZeroBubbleH1,
          .virtual_stages = 1,
          .ep_degree = 8,
          .zero_stage = 0,
          .zero_degree = 8};
}

TEST(ConstraintsWireTest, ConstraintsSurviveTheRoundTrip) {
  EXPECT_THAT(FromProto(ToProto(AllConstraints())),
              IsOkAndHolds(AllConstraints()));
  EXPECT_THAT(FromProto(ToProto(PlanConstraints())),
              IsOkAndHolds(PlanConstraints()));
}

TEST(ConstraintsWireTest, NoFieldIsLost) {
  EXPECT_THAT(testing::LostFields<v1::PlanConstraints>(
                  [](uint32_t) { return ToProto(AllConstraints()); },
                  [](const v1::PlanConstraints& message)
                      -> absl::StatusOr<v1::PlanConstraints> {
                    auto decoded = FromProto(message);
                    if (!decoded.ok()) return decoded.status();
                    return ToProto(*decoded);
                  }),
              ::testing::IsEmpty());
}

TEST(ConstraintsWireTest, BadConstraintsAreRefusedByFieldPath) {
  v1::PlanConstraints message = ToProto(AllConstraints());
  message.mutable_dp_degrees(1)->set_value(0);
  EXPECT_THAT(
      FromProto(message),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("dp_degrees[1].value: 0; expected a positive")));
  message = ToProto(AllConstraints());
  message.set_schedule("dapple");
  EXPECT_THAT(FromProto(message),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("schedule: \"dapple\"; expected gpipe or")));
  message = ToProto(AllConstraints());
  message.set_zero_stage(4);
  EXPECT_THAT(FromProto(message),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("zero_stage: 4; expected")));
}

}  // namespace
}  // namespace tangram
