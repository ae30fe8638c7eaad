#include "common/wire/training_wire.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tangram/v1/training.pb.h"
#include "tests/testing/builders.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/common/wire/every_field.h"
#include "tests/unit/common/wire/random_values.h"

namespace tangram {
namespace {

using ::testing::HasSubstr;
using testing::IsOkAndHolds;
using testing::StatusIs;

TEST(TrainingWireTest, OptionsSurviveTheRoundTrip) {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    const TrainingOptions training = testing::RandomValues(seed).Training();
    EXPECT_THAT(FromProto(ToProto(training)), IsOkAndHolds(training));
  }
}

TEST(TrainingWireTest, NoFieldIsLost) {
  EXPECT_THAT(testing::LostFields<v1::TrainingOptions>(
                  [](uint32_t seed) {
                    return ToProto(testing::RandomValues(seed).Training());
                  },
                  [](const v1::TrainingOptions& message)
                      -> absl::StatusOr<v1::TrainingOptions> {
                    auto decoded = FromProto(message);
                    if (!decoded.ok()) return decoded.status();
                    return ToProto(*decoded);
                  }),
              ::testing::IsEmpty());
}

TEST(TrainingWireTest, AMissingOptimizerOrPrecisionIsRefused) {
  v1::TrainingOptions message = ToProto(testing::TestTraining());
  message.clear_optimizer();
  EXPECT_THAT(FromProto(message),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("optimizer: 0; expected ADAM or SGD")));
  message.clear_precision();
  EXPECT_THAT(FromProto(message), StatusIs(absl::StatusCode::kInvalidArgument,
                                           HasSubstr("precision: 0")));
  message.clear_global_batch_size();
  EXPECT_THAT(FromProto(message),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("global_batch_size: 0; expected a positive")));
}

}  // namespace
}  // namespace tangram
