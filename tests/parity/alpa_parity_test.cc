#include <algorithm>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/parity/alpa_fixtures.h"
#include "tests/parity/reference_data.h"
#include "worker/adapters/alpa/alpa_inter_operator.h"
#include "worker/adapters/alpa/alpa_sharding_elimination.h"
#include "worker/adapters/alpa/alpa_sharding_ilp.h"

namespace tangram::testing {
namespace {

constexpr double kTolerance = 1e-6;  // Relative.

// Both of upstream's dynamic programs returned this cost; upstream computes in
// fp32.
TEST(AlpaParityTest, InterOperatorPlansCostWhatUpstreamsDo) {
  const auto data = ReadReferenceData("alpa/inter_op_dp_fixtures.json.gz");
  if (!data) GTEST_SKIP() << kNoReferenceData;
  ASSERT_EQ((*data)["fixtures"].size(), 5);
  for (const auto& fixture : (*data)["fixtures"]) {
    SCOPED_TRACE(fixture["seed"].dump());
    const int microbatches = fixture["microbatches"];
    double least = 1e300;
    for (const alpa::ChosenPipeline& pipeline :
         alpa::SolveInterOperator(InterOperatorFixture(fixture),
                                  {.num_microbatches = microbatches})
             .pipelines) {
      least = std::min(
          least, pipeline.latency_s + (microbatches - 1) * pipeline.slowest_s);
    }

    for (const char* program : {"training_dp", "training_dp_2"}) {
      const double want = fixture[program]["cost"];
      EXPECT_NEAR(least, want, kTolerance * want) << program;
    }
  }
}

void ExpectOptimal(const std::optional<alpa::Sharding>& sharding,
                   const alpa::ShardingProblem& problem, double want) {
  ASSERT_TRUE(sharding.has_value());
  EXPECT_NEAR(sharding->cost, want, kTolerance * want);
  EXPECT_EQ(sharding->cost, CostOf(problem, sharding->strategies));
  EXPECT_TRUE(FitsLiveBytes(problem, sharding->strategies));
}

TEST(AlpaParityTest, ShardingsCostWhatUpstreamsDo) {
  const auto data =
      ReadReferenceData("alpa/auto_sharding_ilp_instances.json.gz");
  if (!data) GTEST_SKIP() << kNoReferenceData;
  ASSERT_EQ((*data)["instances"].size(), 31);
  for (const auto& instance : (*data)["instances"]) {
    SCOPED_TRACE(instance["test"].get<std::string>());
    const alpa::ShardingProblem problem = ShardingFixture(instance);
    const double want = instance["optimal_objective"];

    ExpectOptimal(alpa::SolveShardingIlp(problem), problem, want);
    ExpectOptimal(alpa::SolveSharding(problem), problem, want);
  }
}

TEST(AlpaParityTest, ShardingsAreRightFromFourThreadsAtOnce) {
  const auto data =
      ReadReferenceData("alpa/auto_sharding_ilp_instances.json.gz");
  if (!data) GTEST_SKIP() << kNoReferenceData;
  const auto solve_all = [&] {
    for (const auto& instance : (*data)["instances"]) {
      const alpa::ShardingProblem problem = ShardingFixture(instance);
      ExpectOptimal(alpa::SolveShardingIlp(problem), problem,
                    instance["optimal_objective"]);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(solve_all);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace tangram::testing
