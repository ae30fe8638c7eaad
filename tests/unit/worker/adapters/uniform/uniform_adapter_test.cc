#include "worker/adapters/uniform/uniform_adapter.h"

#include "common/parallelizer/validating_parallelizer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/status_matchers.h"
#include "worker/adapters/search/lower_bounds.h"
#include "worker/adapters/uniform/uniform_search.h"

namespace tangram {
namespace {

using ::tangram::testing::IsOkAndHolds;
using ::tangram::testing::TestIsland;
using ::tangram::testing::TestModel;
using ::tangram::testing::TestTraining;

TEST(UniformParallelizerTest, SaysWhatItIs) {
  const auto uniform = CreateUniformParallelizer();

  EXPECT_EQ(uniform->name(), "uniform");
  EXPECT_FALSE(uniform->version().empty());
  EXPECT_TRUE(uniform->features().moe_models);
  EXPECT_FALSE(uniform->features().context_parallel);
}

TEST(UniformParallelizerTest, AtomsAreLayers) {
  const auto uniform = CreateUniformParallelizer();
  const std::vector<ModelSlice> atoms = SliceByLayer(TestModel(2));

  EXPECT_THAT(uniform->SliceModel(TestModel(2)), IsOkAndHolds(atoms));
  EXPECT_THAT(uniform->Concatenate(atoms[0], atoms[1]),
              IsOkAndHolds(JoinSlices(atoms[0], atoms[1])));
}

TEST(UniformParallelizerTest, AnswersPassValidation) {
  const auto uniform =
      CreateValidatingParallelizer(CreateUniformParallelizer());
  const ModelSlice slice = MakeSlice({0, 4}, TestModel(2).layers);
  const IslandSpec island = TestIsland(2, 4);
  const ParallelizeOptions options{.training = TestTraining(),
                                   .pipeline_microbatch_size = 4};
  const ProfileOptions profile_options{.training = TestTraining(),
                                       .pipeline_microbatch_size = 4};

  EXPECT_THAT(uniform->Parallelize(slice, island, options),
              IsOkAndHolds(SearchUniform(slice, island, options)));
  EXPECT_THAT(uniform->Profile(slice, island, profile_options),
              IsOkAndHolds(LayerwiseLowerBounds(slice, island, profile_options,
                                                kUniformDegrees)));
}

}  // namespace
}  // namespace tangram
