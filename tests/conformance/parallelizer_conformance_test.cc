#include "tests/conformance/parallelizer_conformance.h"

#include "worker/adapters/aceso/aceso_adapter.h"
#include "worker/adapters/alpa/alpa_adapter.h"
#include "worker/adapters/builtin_parallelizers.h"
#include "worker/adapters/galvatron/galvatron_adapter.h"
#include "worker/adapters/hypertron/hypertron_adapter.h"
#include "worker/adapters/mist/mist_adapter.h"
#include "worker/adapters/uniform/uniform_adapter.h"

namespace tangram::testing {
namespace {

ConformanceSubject Builtin(const std::string& name) {
  return {.name = name,
          .create = [name] { return *CreateBuiltinParallelizer(name); }};
}

INSTANTIATE_TEST_SUITE_P(
    Bare, ParallelizerConformanceTest,
    ::testing::Values(ConformanceSubject{.name = "aceso",
                                         .create = CreateAcesoParallelizer,
                                         .validates_arguments = false},
                      ConformanceSubject{.name = "alpa",
                                         .create = CreateAlpaParallelizer,
                                         .validates_arguments = false},
                      ConformanceSubject{.name = "galvatron",
                                         .create = CreateGalvatronParallelizer,
                                         .validates_arguments = false},
                      ConformanceSubject{.name = "hypertron",
                                         .create = CreateHypertronParallelizer,
                                         .validates_arguments = false},
                      ConformanceSubject{.name = "mist",
                                         .create = CreateMistParallelizer,
                                         .validates_arguments = false},
                      ConformanceSubject{.name = "uniform",
                                         .create = CreateUniformParallelizer,
                                         .validates_arguments = false}),
    ConformanceName);

INSTANTIATE_TEST_SUITE_P(Validating, ParallelizerConformanceTest,
                         ::testing::Values(Builtin("aceso"), Builtin("alpa"),
                                           Builtin("galvatron"),
                                           Builtin("hypertron"),
                                           Builtin("mist"), Builtin("uniform")),
                         ConformanceName);

// Frontiers share the answers to questions that differ in their steps.
TEST(BuiltinParallelizersTest, ThoseThatIgnoreStepsSayTheSame) {
  int num_ignoring = 0;
  for (const std::string& name : BuiltinParallelizerNames()) {
    if (ReadsSearchSteps(name)) continue;
    SCOPED_TRACE(name);
    ++num_ignoring;
    const auto parallelizer = *CreateBuiltinParallelizer(name);
    const ModelSlice slice = WholeSlice(TestModel(6));
    ParallelizeOptions options{.training = TestTraining(16),
                               .pipeline_microbatch_size = 4,
                               .max_search_steps = 1};
    ASSERT_OK_AND_ASSIGN(
        const SlicePlanSet few,
        parallelizer->Parallelize(slice, TestIsland(2, 4), options));
    options.max_search_steps = 1024;
    EXPECT_THAT(parallelizer->Parallelize(slice, TestIsland(2, 4), options),
                IsOkAndHolds(few));
    EXPECT_FALSE(few.plans.empty());
  }
  EXPECT_EQ(num_ignoring, 3);
}

TEST(BuiltinParallelizersTest, EachHasAConformanceTest) {
  EXPECT_THAT(BuiltinParallelizerNames(),
              ::testing::ElementsAre("aceso", "alpa", "galvatron", "hypertron",
                                     "mist", "uniform"));
}

}  // namespace
}  // namespace tangram::testing
