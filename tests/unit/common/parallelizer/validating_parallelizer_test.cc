#include "common/parallelizer/validating_parallelizer.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/canned_parallelizer.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::tangram::testing::CannedAnswers;
using ::tangram::testing::CannedParallelizer;
using ::tangram::testing::IsOk;
using ::tangram::testing::StatusIs;
using ::tangram::testing::TestIsland;
using ::tangram::testing::TestModel;
using ::tangram::testing::TestTraining;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::unique_ptr<Parallelizer> Validating(CannedAnswers answers = {}) {
  return CreateValidatingParallelizer(
      std::make_unique<CannedParallelizer>(std::move(answers)));
}

ModelSlice MiddleSlice() { return MakeSlice({2, 4}, TestModel(2).layers); }

ParallelizeOptions Options() {
  return {.training = TestTraining(), .pipeline_microbatch_size = 4};
}

TEST(ValidatingParallelizerTest, HasTheIdentityOfTheWrappedOne) {
  EXPECT_EQ(Validating()->name(), "canned");
  EXPECT_EQ(Validating()->version(), "7");
  EXPECT_TRUE(Validating()->features().context_parallel);
}

TEST(ValidatingParallelizerTest, PassesGoodAnswersOn) {
  const SlicePlanSet plans{.infeasible = Infeasible{.reason = "too big"}};
  const PerformanceProfile profile{.min_gpu_seconds = 3};
  const auto validating = Validating({.profile = profile, .plans = plans});
  const std::vector<ModelSlice> atoms = SliceByLayer(TestModel(2));

  EXPECT_THAT(validating->SliceModel(TestModel(2)),
              testing::IsOkAndHolds(atoms));
  EXPECT_THAT(validating->Concatenate(atoms[0], atoms[1]),
              testing::IsOkAndHolds(JoinSlices(atoms[0], atoms[1])));
  EXPECT_THAT(validating->Profile(MiddleSlice(), TestIsland(1, 2),
                                  {.training = TestTraining()}),
              testing::IsOkAndHolds(profile));
  EXPECT_THAT(
      validating->Parallelize(MiddleSlice(), TestIsland(1, 2), Options()),
      testing::IsOkAndHolds(plans));
}

TEST(ValidatingParallelizerTest, PassesErrorsOn) {
  const auto validating =
      Validating({.plans = absl::UnimplementedError("no such model")});

  EXPECT_THAT(
      validating->Parallelize(MiddleSlice(), TestIsland(1, 2), Options()),
      StatusIs(absl::StatusCode::kUnimplemented, "no such model"));
}

TEST(ValidatingParallelizerTest, BlamesTheCallerForBadArguments) {
  constexpr absl::StatusCode kBad = absl::StatusCode::kInvalidArgument;
  const auto validating = Validating();
  const std::vector<ModelSlice> atoms = SliceByLayer(TestModel(2));
  ParallelizeOptions options = Options();
  options.trailing_stages = -1;

  EXPECT_THAT(validating->SliceModel({}), StatusIs(kBad, HasSubstr("model.")));
  EXPECT_THAT(validating->Concatenate(atoms[0], atoms[2]),
              StatusIs(kBad, HasSubstr("tail.atoms.begin")));
  EXPECT_THAT(
      validating->Profile({}, TestIsland(1, 1), {.training = TestTraining()}),
      StatusIs(kBad, HasSubstr("slice.atoms")));
  EXPECT_THAT(
      validating->Parallelize(MiddleSlice(), TestIsland(0, 1), Options()),
      StatusIs(kBad, HasSubstr("island.num_nodes: 0")));
  EXPECT_THAT(validating->Parallelize(MiddleSlice(), TestIsland(1, 1), options),
              StatusIs(kBad, HasSubstr("options.trailing_stages: -1")));
}

TEST(ValidatingParallelizerTest, BlamesTheAdapterForBadAnswers) {
  constexpr absl::StatusCode kBad = absl::StatusCode::kInternal;
  const auto validating =
      Validating({.atoms = std::vector<ModelSlice>(),
                  .joined = ModelSlice(),
                  .profile = PerformanceProfile{.min_gpu_seconds = -1},
                  .plans = SlicePlanSet()});
  const std::vector<ModelSlice> atoms = SliceByLayer(TestModel(2));

  EXPECT_THAT(validating->SliceModel(TestModel(2)),
              StatusIs(kBad, HasSubstr("canned: SliceModel(test-dense): ")));
  EXPECT_THAT(validating->Concatenate(atoms[0], atoms[1]),
              StatusIs(kBad, HasSubstr("canned: Concatenate(atoms [0, 1) and "
                                       "[1, 2)): ")));
  EXPECT_THAT(validating->Profile(MiddleSlice(), TestIsland(1, 2),
                                  {.training = TestTraining()}),
              StatusIs(kBad, AllOf(HasSubstr("canned: Profile("),
                                   HasSubstr("min_gpu_seconds: -1"))));
  EXPECT_THAT(
      validating->Parallelize(MiddleSlice(), TestIsland(2, 4), Options()),
      StatusIs(kBad,
               "canned: Parallelize(atoms [2, 4) on 2 x 4 TEST, microbatch 4, "
               "trailing stages 0): infeasible.reason: empty; expected a "
               "reason, as there is no plan"));
}

}  // namespace
}  // namespace tangram
