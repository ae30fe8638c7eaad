#include "coordinator/planners/rivals/sailor/sailor_search.h"

#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/coordinator/planners/rivals/sailor/test_input.h"

namespace tangram::sailor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Found SearchFor(const Input& input, const Settings& settings = {}) {
  const absl::StatusOr<Found> found =
      Search(input, settings, [] { return false; });
  EXPECT_THAT(found, testing::IsOk());
  return found.ok() ? *found : Found();
}

Settings Upstream() {
  Settings settings;
  settings.rules = UpstreamRules();
  return settings;
}

// Two GPUs of 1 $/s and 0.1 $/s.
Input Priced() {
  Input input = TestInput(2, {1, 1}, 4);
  input.types[0].dollars_per_hour = 3600;
  input.types[1].dollars_per_hour = 360;
  return input;
}

TEST(SailorSearchTest, TwoReplicasOfOneStage) {
  // M = 2 passes of 2 s, then half of 2 GB twice at 10 GB/s.
  const Found found = SearchFor(TestInput(2, {2}, 4));
  ASSERT_FALSE(found.plans.empty());
  const Plan& best = found.plans.front();
  EXPECT_DOUBLE_EQ(best.iteration_s, 2 * 2 + 0.2);
  EXPECT_EQ(best.dp, 2);
  EXPECT_THAT(best.stages, ElementsAre(Stage{0, 2, {{0, 0, 1, 2}}}));
}

TEST(SailorSearchTest, TwoStagesIfMemoryNeedsThem) {
  Input input = TestInput(2, {2}, 4);
  input.types[0].memory_bytes = 3.5e9;
  const Found found = SearchFor(input);
  ASSERT_THAT(found.plans, SizeIs(1));
  // Three more microbatches of 1 s and a transfer of 0.1 s, two passes, and
  // the transfer both ways.
  EXPECT_DOUBLE_EQ(found.plans[0].iteration_s, 3 * 1.1 + 2 + 0.2);
  EXPECT_THAT(found.plans[0].stages, ElementsAre(Stage{0, 1, {{0, 0, 1, 1}}},
                                                 Stage{1, 1, {{0, 0, 1, 1}}}));
}

TEST(SailorSearchTest, AStageIsAsSlowAsItsSlowestType) {
  const Found found = SearchFor(TestInput(1, {1, 1}, 2));
  ASSERT_THAT(found.plans, SizeIs(2));
  EXPECT_DOUBLE_EQ(found.plans[0].iteration_s, 2);
  EXPECT_THAT(found.plans[0].stages, ElementsAre(Stage{0, 1, {{0, 0, 1, 1}}}));
  // Both types take a microbatch each, then reduce 1 GB.
  EXPECT_DOUBLE_EQ(found.plans[1].iteration_s, 2 + 0.1);
  EXPECT_THAT(found.plans[1].stages,
              ElementsAre(Stage{0, 1, {{0, 0, 1, 1}, {0, 1, 1, 1}}}));
}

TEST(SailorSearchTest, CountsTheOptimizerStep) {
  Input input = TestInput(2, {2}, 4);
  input.types[0].memory_bytes = 3.5e9;
  input.profiles[{0, 1, 1}].layers[1].update_s = 7;
  EXPECT_DOUBLE_EQ(SearchFor(input).plans.at(0).iteration_s,
                   3 * 1.1 + 2 + 0.2 + 7);
  EXPECT_DOUBLE_EQ(SearchFor(input, Upstream()).plans.at(0).iteration_s,
                   3 * 1.1 + 2 + 0.2);
}

TEST(SailorSearchTest, UpstreamWantsOneTypeForAWholePipeline) {
  Input input = TestInput(2, {1, 1}, 4);
  for (GpuType& type : input.types) type.memory_bytes = 3.5e9;
  Settings settings = Upstream();
  EXPECT_THAT(SearchFor(input, settings).plans, IsEmpty());
  settings.rules.tests_regions = false;
  EXPECT_THAT(SearchFor(input, settings).plans, SizeIs(1));
  EXPECT_THAT(SearchFor(input).plans, SizeIs(1));
}

// Both types take as long for the first stage, and B is faster for the second.
// Two B are looked at first, and two A would be as fast.
TEST(SailorSearchTest, UpstreamSkipsMixesAsFastAsTheLast) {
  Input input = TestInput(2, {2, 2}, 4);
  std::swap(input.profiles[{0, 1, 1}], input.profiles[{1, 1, 1}]);
  for (auto& [key, profile] : input.profiles) profile.layers[0].pass_s = 0.02;
  for (GpuType& type : input.types) type.memory_bytes = 3.5e9;
  Settings settings;
  const auto first_stage = [&] {
    for (const Plan& plan : SearchFor(input, settings).plans) {
      if (plan.dp == 2) return plan.stages[0].replicas;
    }
    return std::vector<ReplicaRun>();
  };
  EXPECT_THAT(first_stage(), ElementsAre(ReplicaRun{0, 0, 1, 2}));
  settings.rules.skips_equal_mixes = true;
  EXPECT_THAT(first_stage(), ElementsAre(ReplicaRun{0, 1, 1, 2}));
}

TEST(SailorSearchTest, DpNeedNotDivideTheBatch) {
  const Input input = TestInput(1, {2}, 5);
  EXPECT_EQ(SearchFor(input).plans.at(0).dp, 2);
  EXPECT_EQ(SearchFor(input, {.whole_microbatches = true}).plans.at(0).dp, 1);
}

TEST(SailorSearchTest, ReplicasOfAStageLieInZonesOfOneRegion) {
  Input input = TestInput(1, {1}, 2);
  input.zones.push_back({.name = "y", .region = "r", .gpus = {1}});
  AddConstantPaths(10, {1}, input);
  EXPECT_EQ(SearchFor(input).plans.at(0).dp, 2);
  EXPECT_THAT(SearchFor(input).plans.at(0).stages.at(0).replicas,
              ElementsAre(ReplicaRun{0, 0, 1, 1}, ReplicaRun{1, 0, 1, 1}));
  input.zones[1].region = "s";
  EXPECT_EQ(SearchFor(input).plans.at(0).dp, 1);
}

TEST(SailorSearchTest, APipelinePassesThroughRegions) {
  Input input = TestInput(2, {1}, 4);
  input.types[0].memory_bytes = 3.5e9;
  input.zones.push_back({.name = "y", .region = "s", .gpus = {1}});
  AddConstantPaths(1, {1}, input);
  const Found found = SearchFor(input);
  ASSERT_THAT(found.plans, SizeIs(1));
  EXPECT_DOUBLE_EQ(found.plans[0].iteration_s, 3 * 2 + 2 + 2);
}

TEST(SailorSearchTest, KeepsABudget) {
  const Input input = Priced();
  const Plan any = SearchFor(input).plans.at(0);
  EXPECT_DOUBLE_EQ(any.iteration_s, 8);
  EXPECT_DOUBLE_EQ(any.dollars, 8);
  const Found found = SearchFor(input, {.most_dollars = 5});
  ASSERT_FALSE(found.plans.empty());
  EXPECT_DOUBLE_EQ(found.plans[0].iteration_s, 16);
  EXPECT_DOUBLE_EQ(found.plans[0].dollars, 1.6);
  EXPECT_THAT(SearchFor(input, {.most_dollars = 1.5}).plans, IsEmpty());
}

TEST(SailorSearchTest, FindsTheCheapest) {
  const Input input = Priced();
  Settings settings{.objective = Objective::kCheapest};
  EXPECT_DOUBLE_EQ(SearchFor(input, settings).plans.at(0).dollars, 1.6);
  settings.longest_s = 10;
  EXPECT_DOUBLE_EQ(SearchFor(input, settings).plans.at(0).iteration_s, 8);
  settings.longest_s = 7;
  EXPECT_THAT(SearchFor(input, settings).plans, IsEmpty());
}

TEST(SailorSearchTest, UpstreamFindsNoCheapPipeline) {
  Input input = Priced();
  for (GpuType& type : input.types) type.memory_bytes = 3.5e9;
  Settings settings{.objective = Objective::kCheapest};
  EXPECT_THAT(SearchFor(input, settings).plans, SizeIs(1));
  settings.rules.cheapest_has_one_stage = true;
  EXPECT_THAT(SearchFor(input, settings).plans, IsEmpty());
}

TEST(SailorSearchTest, CountsWhatLeavesAZone) {
  Input input = TestInput(2, {1}, 4);
  input.types[0].memory_bytes = 3.5e9;
  input.zones.push_back({.name = "y", .region = "s", .gpus = {1}});
  AddConstantPaths(10, {1}, input);
  input.dollars_per_gb = {{0, 0.02}, {0.02, 0}};
  // 1 GB there and back for each of four microbatches.
  EXPECT_DOUBLE_EQ(SearchFor(input).plans.at(0).dollars, 8 * 0.02);
}

TEST(SailorSearchTest, SaysThatNothingFits) {
  Input input = TestInput(2, {3}, 4);
  input.types[0].memory_bytes = 1e9;
  EXPECT_FALSE(SearchFor(input).fits_memory);
  EXPECT_THAT(SearchFor(input).plans, IsEmpty());
  // Two stages of two GPUs each.
  input.types[0].memory_bytes = 3.5e9;
  input.profiles[{0, 2, 1}] = input.profiles[{0, 1, 1}];
  input.profiles.erase({0, 1, 1});
  AddConstantPaths(10, {1, 2}, input);
  EXPECT_TRUE(SearchFor(input).fits_memory);
  EXPECT_THAT(SearchFor(input).plans, IsEmpty());
  input.zones[0].gpus = {4};
  EXPECT_THAT(SearchFor(input).plans, SizeIs(1));
  EXPECT_THAT(SearchFor(input, {.most_stages = 1}).plans, IsEmpty());
}

TEST(SailorSearchTest, EndsAtTheMostSteps) {
  const Input input = TestInput(4, {4, 4}, 8);
  const Found found = SearchFor(input, {.most_steps = 3});
  EXPECT_TRUE(found.truncated);
  EXPECT_FALSE(SearchFor(input).truncated);
}

TEST(SailorSearchTest, StopsWhenToldTo) {
  Input input = TestInput(16, {64, 64, 64}, 512);
  EXPECT_THAT(Search(input, {}, [] { return true; }),
              testing::StatusIs(absl::StatusCode::kCancelled, HasSubstr("")));
}

TEST(SailorSearchTest, RefusesBadInputs) {
  const auto refusal = [](auto change, Settings settings = {}) {
    Input input = TestInput(2, {2, 2}, 4);
    change(input);
    return std::string(
        Search(input, settings, [] { return false; }).status().message());
  };
  EXPECT_THAT(refusal([](Input& input) { input.global_batch = 0; }),
              HasSubstr("global_batch: 0; expected at least 1"));
  EXPECT_THAT(refusal([](Input& input) { input.zones[0].gpus = {1}; }),
              HasSubstr("zones[0].gpus: 1; expected one count for each type"));
  EXPECT_THAT(refusal([](Input& input) {
                input.zones[0].gpus = {-1, 2};
              }),
              HasSubstr("zones[0].gpus: -1"));
  EXPECT_THAT(refusal([](Input& input) {
                input.zones[0].gpus = {0, 0};
              }),
              HasSubstr("zones: no GPU"));
  EXPECT_THAT(refusal([](Input& input) { input.boundary_bytes.pop_back(); }),
              HasSubstr("boundary_bytes: 1; expected 2 layers"));
  EXPECT_THAT(refusal([](Input& input) {
                input.profiles[{0, 1, 1}].layers.pop_back();
              }),
              HasSubstr("profiles[type 0, tp 1, 1 samples].layers: 1"));
  EXPECT_THAT(refusal([](Input& input) {
                input.profiles[{0, 1, 1}].layers[0].pass_s = -1;
              }),
              HasSubstr("-1; expected a number from 0"));
  EXPECT_THAT(refusal([](Input& input) {
                input.paths[{{0, 2, 1}, {0, 0, 1}}] = {};
              }),
              HasSubstr("paths: zone 0, type 2 to zone 0, type 0"));
  EXPECT_THAT(refusal([](Input& input) {
                input.paths[{{0, 0, 1}, {0, 0, 1}}] = {};
              }),
              HasSubstr("paths.most_bytes_per_s: 0"));
  EXPECT_THAT(refusal([](Input& input) {
                input.dollars_per_gb = {{0}, {0}};
              }),
              HasSubstr("dollars_per_gb: 2; expected 1 zones"));
  EXPECT_THAT(
      refusal([](Input& input) {
        for (int i = 0; i < 8; ++i) {
          input.zones.push_back(
              {.name = "z", .region = std::to_string(i), .gpus = {1, 1}});
        }
      }),
      HasSubstr("9 regions; expected at most 7"));
  EXPECT_THAT(refusal([](Input&) {}, {.most_dollars = -1}),
              HasSubstr("most_dollars: -1"));
}

// Two regions of two zones, three types with one to three degrees, unlike
// layers and paths.
Input RandomInput(uint32_t seed) {
  std::mt19937 rng(seed);
  const auto pick = [&](int least, int most) {
    return least + static_cast<int>(rng() % (most - least + 1));
  };
  const int layers = pick(3, 7);
  Input input =
      TestInput(layers, {pick(0, 6), pick(1, 6), pick(0, 6)}, pick(4, 24));
  for (const char* region : {"r", "s", "s"}) {
    if (pick(0, 1) == 0) continue;
    input.zones.push_back({.name = "z",
                           .region = region,
                           .gpus = {pick(0, 4), pick(0, 4), pick(0, 4)}});
  }
  for (GpuType& type : input.types) {
    type.memory_bytes = 1e9 * pick(4, 16);
    type.dollars_per_hour = pick(1, 9);
  }
  input.profiles.clear();
  for (int type = 0; type < 3; ++type) {
    for (const int tp : {1, 2, 4}) {
      for (const int samples : {1, 2}) {
        if (pick(0, 4) == 0) continue;
        Profile& profile = input.profiles[{type, tp, samples}];
        for (int layer = 0; layer < layers; ++layer) {
          profile.layers.push_back({.pass_s = pick(1, 20) / (10.0 * tp),
                                    .update_s = pick(0, 9) / 100.0,
                                    .state_bytes = 1e9 / tp,
                                    .activation_bytes = 0.5e9 * samples / tp});
        }
      }
    }
  }
  AddConstantPaths(10, {1, 2, 4}, input);
  for (auto& [ends, path] : input.paths) {
    path.c = pick(1, 40) / 4.0;
    path.most_bytes_per_s = path.c * 1e9;
  }
  return input;
}

// Whether the stages cover the layers, and no zone has too few GPUs.
void ExpectSound(const Plan& plan, const Input& input) {
  std::vector<std::vector<int>> left;
  for (const Zone& zone : input.zones) left.push_back(zone.gpus);
  int layer = 0;
  for (const Stage& stage : plan.stages) {
    EXPECT_EQ(stage.first_layer, layer);
    layer += stage.num_layers;
    int replicas = 0;
    for (const ReplicaRun& run : stage.replicas) {
      replicas += run.count;
      left[run.zone][run.type] -= run.count * run.tp;
      EXPECT_GE(left[run.zone][run.type], 0);
      EXPECT_EQ(input.zones[run.zone].region,
                input.zones[stage.replicas[0].zone].region);
    }
    EXPECT_EQ(replicas, plan.dp);
  }
  EXPECT_EQ(layer, static_cast<int>(input.gradient_bytes.size()));
}

TEST(SailorSearchTest, PlansAreSoundAndTakeTheTimeTheySay) {
  int num_plans = 0;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    const Input input = RandomInput(seed);
    for (const Objective objective :
         {Objective::kFastest, Objective::kCheapest}) {
      const Found found = SearchFor(input, {.objective = objective});
      num_plans += static_cast<int>(found.plans.size());
      for (const Plan& plan : found.plans) {
        ExpectSound(plan, input);
        const double expected_s = SecondsOf(plan, input);
        EXPECT_NEAR(plan.iteration_s, expected_s, 1e-9 * expected_s);
      }
    }
  }
  EXPECT_GT(num_plans, 500);
}

TEST(SailorSearchTest, TheSameInputGivesTheSamePlans) {
  for (uint32_t seed = 0; seed < 10; ++seed) {
    const Input input = RandomInput(seed);
    EXPECT_EQ(SearchFor(input).plans, SearchFor(input).plans);
    const Found upstream = SearchFor(input, Upstream());
    EXPECT_EQ(upstream.plans, SearchFor(input, Upstream()).plans);
  }
}

TEST(SailorSearchTest, TheCheapestCostsNoMoreThanTheFastest) {
  for (uint32_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Input input = RandomInput(seed);
    input.zones.resize(1);
    std::erase_if(input.paths, [](const auto& entry) {
      return entry.first.first.zone > 0 || entry.first.second.zone > 0;
    });
    const Found fastest = SearchFor(input);
    const Found cheapest =
        SearchFor(input, {.objective = Objective::kCheapest});
    ASSERT_EQ(fastest.plans.empty(), cheapest.plans.empty());
    if (fastest.plans.empty()) continue;
    EXPECT_LE(cheapest.plans[0].dollars, fastest.plans[0].dollars * 1.0001);
  }
}

}  // namespace
}  // namespace tangram::sailor
