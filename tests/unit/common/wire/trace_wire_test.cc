#include "common/wire/trace_wire.h"

#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tangram/v1/trace.pb.h"
#include "tests/unit/common/wire/every_field.h"

namespace tangram {
namespace {

Trace ASmallTrace() {
  return {.name = "job nightly-7",
          .began_unix_ns = 1'700'000'000'000'000'000,
          .spans = {{.id = 1,
                     .name = "plan",
                     .lane = "planner",
                     .end_s = 2.5,
                     .error = "CANCELLED"},
                    {.id = 2,
                     .parent = 1,
                     .name = "pair",
                     .lane = "worker-3",
                     .start_s = 0.5,
                     .end_s = 1,
                     .attributes = {{"adapter", "aceso"},
                                    {"island", int64_t{3}},
                                    {"wait_s", 0.25},
                                    {"cached", true}}}},
          .num_dropped = 4};
}

TEST(TraceWireTest, TracesSurviveTheRoundTrip) {
  EXPECT_EQ(FromProto(ToProto(ASmallTrace())), ASmallTrace());
  EXPECT_EQ(FromProto(ToProto(Trace())), Trace());
}

TEST(TraceWireTest, NoFieldIsLost) {
  EXPECT_THAT(testing::LostFields<v1::Trace>(
                  [](uint32_t) { return ToProto(ASmallTrace()); },
                  [](const v1::Trace& message) -> absl::StatusOr<v1::Trace> {
                    return ToProto(FromProto(message));
                  }),
              ::testing::IsEmpty());
}

}  // namespace
}  // namespace tangram
