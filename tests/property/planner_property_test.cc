// Properties of whole plans, over random small clusters and all adapters.

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/statusor.h"
#include "formats/config/device_catalogue.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/number_from_environment.h"
#include "tests/testing/planning/planning.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::IsEmpty;
using testing::PlanLocally;
using ::testing::SizeIs;
using testing::TestGroup;
using testing::TestRequest;

// Returns the number of random clusters; TANGRAM_PLANNER_SEEDS changes it.
uint32_t NumSeeds() {
  return testing::NumberFromEnvironment("TANGRAM_PLANNER_SEEDS", 30);
}

// Returns the options for a seed. Polishing takes ten times as long as
// composing, so a third of the plans are polished.
TangramOptions OptionsFor(uint32_t seed) { return {.polish = seed % 3 == 0}; }

// The relative difference of two times that counts as rounding.
constexpr double kTolerance = 1e-9;

// Polished plans of small clusters are annealed, which finds nearly the best.
constexpr double kSearchNoise = 0.005;

double ToleranceOf(const TangramOptions& options) {
  return options.polish ? kSearchNoise : kTolerance;
}

// Returns two or three random groups of nodes with GPUs of the catalogue.
std::vector<TestGroup> RandomGroups(std::mt19937& rng) {
  const std::vector<std::string> types = {"T4", "V100-16", "V100-32", "A100-40",
                                          "L4"};
  std::vector<TestGroup> groups;
  const int num_groups = 2 + static_cast<int>(rng() % 2);
  for (int g = 0; g < num_groups; ++g) {
    const DeviceSpec& device =
        FindDevice(types[(rng() + g) % types.size()])->device;
    groups.push_back({.name = "g" + std::to_string(g),
                      .num_nodes = 1 + static_cast<int>(rng() % 2),
                      .gpus_per_node = 2 << (rng() % 2),
                      .device = device});
  }
  return groups;
}

// Returns the request that a seed stands for.
PlanRequest RequestOf(uint32_t seed) {
  std::mt19937 rng(seed);
  return TestRequest(RandomGroups(rng));
}

// Returns the plan of RequestOf(seed). Several properties compare others with
// it, so it is made once a process.
const absl::StatusOr<PlanResult>& PlanOf(uint32_t seed,
                                         const std::string& parallelizers,
                                         bool polish, bool early_stop = true) {
  using Key = std::tuple<uint32_t, std::string, bool, bool>;
  static auto& plans = *new std::map<Key, absl::StatusOr<PlanResult>>;
  const Key key = {seed, parallelizers, polish, early_stop};
  auto known = plans.find(key);
  if (known == plans.end()) {
    const TangramOptions options = {.pruning = {.early_stop = early_stop},
                                    .polish = polish};
    known =
        plans.emplace(key, PlanLocally(RequestOf(seed), parallelizers, options))
            .first;
  }
  return known->second;
}

class PlannerPropertyTest : public ::testing::TestWithParam<std::string> {
 protected:
  // The plan that others are compared with, as RequestOf(seed) gives it.
  PlanResult Known(uint32_t seed, bool polish, bool early_stop = true) {
    return Checked(PlanOf(seed, GetParam(), polish, early_stop));
  }
  PlanResult Plan(const PlanRequest& request,
                  const TangramOptions& options = {}, int num_threads = 1) {
    return Checked(PlanLocally(request, GetParam(), options, num_threads));
  }

 private:
  static PlanResult Checked(absl::StatusOr<PlanResult> result) {
    EXPECT_THAT(result, testing::IsOk());
    EXPECT_TRUE(result->plan.has_value());
    EXPECT_THAT(result->evaluation.violations, IsEmpty());
    return *std::move(result);
  }
};

// A group of nodes is an island of its own, or joins one of the same GPUs.
TEST_P(PlannerPropertyTest, AddingAnIslandNeverMakesItSlower) {
  for (uint32_t seed = 0; seed < NumSeeds(); ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937 rng(seed);
    std::vector<TestGroup> groups = RandomGroups(rng);
    const TangramOptions options = OptionsFor(seed);
    const double all_s =
        Known(seed, options.polish).evaluation.iteration_time_s;
    groups.pop_back();
    const double fewer_s =
        Plan(TestRequest(groups), options).evaluation.iteration_time_s;
    EXPECT_LE(all_s, fewer_s * (1 + ToleranceOf(options)));
  }
}

// Polishing may make fewer islands nearly as fast, which are then chosen.
TEST_P(PlannerPropertyTest, PolishingNeverMakesItSlower) {
  for (uint32_t seed = 0; seed < NumSeeds(); seed += 3) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    const double plain_s = Known(seed, false).evaluation.iteration_time_s;
    EXPECT_LE(Known(seed, true).evaluation.iteration_time_s,
              plain_s * (1 + TangramOptions().min_island_gain));
  }
}

TEST_P(PlannerPropertyTest, DoublingComputeNeverSlowsThePlan) {
  for (uint32_t seed = 0; seed < NumSeeds(); ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937 rng(seed);
    std::vector<TestGroup> groups = RandomGroups(rng);
    const TangramOptions options = OptionsFor(seed);
    const double before_s =
        Known(seed, options.polish).evaluation.iteration_time_s;
    for (TestGroup& group : groups) {
      PeakFlops& peak = group.device.peak_flops;
      peak = {2 * peak.fp32, 2 * peak.fp16, 2 * peak.bf16, 2 * peak.fp8};
    }
    const double after_s =
        Plan(TestRequest(groups), options).evaluation.iteration_time_s;
    EXPECT_LE(after_s, before_s * (1 + ToleranceOf(options)));
  }
}

TEST_P(PlannerPropertyTest, MoreMemoryNeverMakesItWorse) {
  for (uint32_t seed = 0; seed < NumSeeds(); ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937 rng(seed);
    std::vector<TestGroup> groups = RandomGroups(rng);
    const TangramOptions options = OptionsFor(seed);
    const double before_s =
        Known(seed, options.polish).evaluation.iteration_time_s;
    for (TestGroup& group : groups) group.device.memory_bytes *= 2;
    const double after_s =
        Plan(TestRequest(groups), options).evaluation.iteration_time_s;
    EXPECT_LE(after_s, before_s * (1 + ToleranceOf(options)));
  }
}

TEST_P(PlannerPropertyTest, NumberOfThreadsChangesNothing) {
  std::mt19937 rng(1);
  const PlanRequest request = TestRequest(RandomGroups(rng));
  const PlanResult one = Plan(request, {}, 1);
  const PlanResult three = Plan(request, {}, 3);
  EXPECT_EQ(one.plan, three.plan);
  EXPECT_EQ(one.evaluation.iteration_time_s, three.evaluation.iteration_time_s);
  EXPECT_EQ(one.stats.queries, three.stats.queries);
}

TEST(PlannerThreadsTest, ChangeNothingForFrameworks) {
  std::mt19937 rng(1);
  for (const char* runtime : {"auto", "flagscale"}) {
    PlanRequest request = TestRequest(RandomGroups(rng));
    request.constraints.runtime = runtime;
    const auto plan = [&](int num_threads) {
      return *PlanLocally(request, "uniform,galvatron,mist", {}, num_threads);
    };
    const PlanResult one = plan(1);
    ASSERT_TRUE(one.plan.has_value()) << runtime;
    for (const int num_threads : {2, 5}) {
      const PlanResult many = plan(num_threads);
      EXPECT_EQ(one.plan, many.plan) << runtime;
      EXPECT_EQ(one.evaluation.iteration_time_s,
                many.evaluation.iteration_time_s);
      EXPECT_EQ(one.stats.queries, many.stats.queries);
      EXPECT_EQ(one.notes, many.notes);
    }
  }
}

// Returns the GPUs of each stage by node name, so that plans on permuted
// clusters can be compared.
std::vector<std::vector<std::string>> NodesOfStages(const Cluster& cluster,
                                                    const PipelinePlan& plan) {
  std::vector<std::vector<std::string>> stages;
  for (const PlacedStage& stage : plan.stages) {
    std::vector<std::string>& gpus = stages.emplace_back();
    for (const GpuId& gpu : stage.gpus) {
      gpus.push_back(cluster.nodes[gpu.node].name + "/" +
                     std::to_string(gpu.index));
    }
  }
  return stages;
}

TEST_P(PlannerPropertyTest, OrderOfNodesChangesNothing) {
  for (uint32_t seed = 0; seed < NumSeeds(); ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937 rng(seed);
    PlanRequest request = TestRequest(RandomGroups(rng));
    const PlanResult before = Known(seed, OptionsFor(seed).polish);
    const Cluster original = request.cluster;
    std::vector<Node>& nodes = request.cluster.MakeOwn().nodes;
    std::shuffle(nodes.begin(), nodes.end(), rng);
    const PlanResult after = Plan(request, OptionsFor(seed));
    EXPECT_EQ(NodesOfStages(original, *before.plan),
              NodesOfStages(request.cluster, *after.plan));
    EXPECT_EQ(before.evaluation.iteration_time_s,
              after.evaluation.iteration_time_s);
  }
}

// Early stop is off on both sides, because it reduces search effort and so may
// change the plan. The compositions are compared, as polishing could hide a
// difference.
TEST_P(PlannerPropertyTest, NoPruningPolicyChangesThePlan) {
  for (uint32_t seed = 0; seed < NumSeeds(); ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    const PlanResult pruned = Known(seed, false, /*early_stop=*/false);
    const PlanResult naive =
        Plan(RequestOf(seed), {.pruning = {.redundancy = false,
                                           .imbalance = false,
                                           .infeasibility = false,
                                           .incompatibility = false,
                                           .early_stop = false},
                               .polish = false});
    EXPECT_EQ(pruned.plan, naive.plan);
    EXPECT_LT(pruned.stats.queries, naive.stats.queries);
  }
}

TEST_P(PlannerPropertyTest, EarlyStopSavesStepsAndCostsLittle) {
  for (uint32_t seed = 0; seed < NumSeeds(); ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    const PlanResult stopped = Known(seed, false);
    const PlanResult full = Known(seed, false, /*early_stop=*/false);
    EXPECT_LE(stopped.stats.search_steps, full.stats.search_steps);
    EXPECT_LE(stopped.evaluation.iteration_time_s,
              1.05 * full.evaluation.iteration_time_s);
  }
}

TEST_P(PlannerPropertyTest, OneIslandAsksOnlyForTheWholeModel) {
  const PlanResult result =
      Plan(TestRequest({{.name = "only",
                         .num_nodes = 2,
                         .gpus_per_node = 4,
                         .device = FindDevice("V100-32")->device}}),
           {.polish = false});
  EXPECT_THAT(result.islands, SizeIs(1));
  // One query for the whole model at each microbatch size: 1, 2, 4, 8, 16.
  EXPECT_EQ(result.stats.queries, 5);
}

TEST(SeveralParallelizersTest, AreNeverWorseThanTheBestOfThem) {
  for (uint32_t seed = 0; seed < NumSeeds(); ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    // Each seed has five plans, so fewer of them are polished.
    const auto seconds = [&](const std::string& parallelizers) {
      const auto& result = PlanOf(seed, parallelizers, seed % 6 == 0);
      EXPECT_THAT(result, testing::IsOk());
      EXPECT_THAT(result->evaluation.violations, IsEmpty());
      return result->evaluation.iteration_time_s;
    };
    const double together_s = seconds("aceso,galvatron,mist,uniform");
    double best_s = seconds("aceso");
    for (const char* one : {"galvatron", "mist", "uniform"}) {
      best_s = std::min(best_s, seconds(one));
    }
    // Polishing anneals whole plans, from what the parallelizers bring on.
    const double noise = seed % 6 == 0 ? kSearchNoise : 0;
    EXPECT_LE(together_s, best_s * (1 + noise));
  }
}

INSTANTIATE_TEST_SUITE_P(Adapters, PlannerPropertyTest,
                         ::testing::Values("aceso", "alpa", "galvatron",
                                           "hypertron", "mist", "uniform"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace tangram
