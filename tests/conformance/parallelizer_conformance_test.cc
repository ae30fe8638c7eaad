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

TEST(BuiltinParallelizersTest, EachHasAConformanceTest) {
  EXPECT_THAT(BuiltinParallelizerNames(),
              ::testing::ElementsAre("aceso", "alpa", "galvatron", "hypertron",
                                     "mist", "uniform"));
}

}  // namespace
}  // namespace tangram::testing
