#include "coordinator/planners/constraints/microbatch_sizes.h"

#include <limits>

#include "common/domain/limits.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::IsOkAndHolds;
using ::testing::SizeIs;
using testing::StatusIs;

PlanRequest BatchOf(int batch, int microbatch = 0) {
  return {.training = testing::TestTraining(batch),
          .pipeline_microbatch_size = microbatch};
}

TEST(MicrobatchSizesTest, DivisorsAreAscendingAndComplete) {
  EXPECT_THAT(DivisorsOf(1), ElementsAre(1));
  EXPECT_THAT(DivisorsOf(12), ElementsAre(1, 2, 3, 4, 6, 12));
  EXPECT_THAT(DivisorsOf(36), ElementsAre(1, 2, 3, 4, 6, 9, 12, 18, 36));
  // 2^31 − 1 is prime.
  constexpr int kLargest = std::numeric_limits<int>::max();
  EXPECT_THAT(DivisorsOf(kLargest), ElementsAre(1, kLargest));
}

TEST(MicrobatchSizesTest, NoBatchHasMoreDivisorsThanTheLimitSays) {
  EXPECT_THAT(DivisorsOf(14'414'400), SizeIs(504));  // The most below 2^24.
}

TEST(MicrobatchSizesTest, TriesOneSizeOrEveryDivisor) {
  EXPECT_THAT(MicrobatchSizes(BatchOf(8)),
              IsOkAndHolds(ElementsAre(1, 2, 4, 8)));
  EXPECT_THAT(MicrobatchSizes(BatchOf(8, 4)), IsOkAndHolds(ElementsAre(4)));
  EXPECT_THAT(MicrobatchSizes(BatchOf(kMaxBatch)), IsOkAndHolds(SizeIs(25)));
}

TEST(MicrobatchSizesTest, NamesTheFieldThatIsBeyondItsLimits) {
  for (const int batch :
       {-1, 0, kMaxBatch + 1, std::numeric_limits<int>::max()}) {
    EXPECT_THAT(MicrobatchSizes(BatchOf(batch)),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("training.global_batch_size: ")));
  }
  EXPECT_THAT(
      MicrobatchSizes(BatchOf(8, 3)),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("pipeline_microbatch_size: 3; expected a divisor")));
}

}  // namespace
}  // namespace tangram
