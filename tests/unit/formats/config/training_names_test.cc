#include "formats/config/training_names.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::tangram::testing::IsOkAndHolds;
using ::tangram::testing::StatusIs;

TEST(TrainingNamesTest, ReadWhatTheyWrite) {
  for (const Precision precision : {Precision::kFp32, Precision::kFp16,
                                    Precision::kBf16, Precision::kFp8}) {
    EXPECT_THAT(ParsePrecision(PrecisionName(precision)),
                IsOkAndHolds(precision));
  }
  for (const Optimizer optimizer : {Optimizer::kAdam, Optimizer::kSgd}) {
    EXPECT_THAT(ParseOptimizer(OptimizerName(optimizer)),
                IsOkAndHolds(optimizer));
  }
}

TEST(TrainingNamesTest, IgnoreCase) {
  EXPECT_THAT(ParsePrecision("BF16"), IsOkAndHolds(Precision::kBf16));
  EXPECT_THAT(ParseOptimizer("AdamW"), IsOkAndHolds(Optimizer::kAdam));
}

TEST(TrainingNamesTest, SayWhatTheyExpected) {
  EXPECT_THAT(ParsePrecision("fp12"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "precision: fp12; expected fp32, fp16, bf16 or fp8"));
  EXPECT_THAT(ParseOptimizer("lion"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "optimizer: lion; expected adam or sgd"));
}

}  // namespace
}  // namespace tangram
