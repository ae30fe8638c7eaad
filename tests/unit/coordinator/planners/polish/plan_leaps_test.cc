#include "coordinator/planners/polish/plan_leaps.h"

#include <set>
#include <vector>

#include "absl/algorithm/container.h"
#include "coordinator/planners/polish/plan_schedules.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"

namespace tangram {
namespace {

using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr int kModelLayers = 12;

PlanRequest TwoIslands() {
  return {.cluster = testing::TestCluster({{.name = "a", .gpus_per_node = 4},
                                           {.name = "b", .gpus_per_node = 4}},
                                          100e9),
          .model = testing::TestModel(kModelLayers - 2),
          .training = testing::TestTraining(24)};
}

// Two stages on each island, of 2 GPUs with dp 2.
PipelinePlan FourStages() {
  PipelinePlan plan{.pipeline_microbatch_size = 4};
  for (int s = 0; s < 4; ++s) {
    plan.stages.push_back(
        {.plan = {.begin = {3 * s, 0},
                  .end = {3 * s + 3, 0},
                  .parallelism = {.dp_degree = 2, .zero_stage = 1},
                  .recompute = {{.num_layers = 3}}},
         .gpus = {{s / 2, s % 2 * 2}, {s / 2, s % 2 * 2 + 1}},
         .island = s / 2});
  }
  return plan;
}

std::vector<int> NumbersOfStages(const std::vector<PipelinePlan>& plans) {
  std::vector<int> numbers;
  for (const PipelinePlan& plan : plans) numbers.push_back(plan.num_stages());
  return numbers;
}

std::vector<int> MicrobatchSizesOf(const std::vector<PipelinePlan>& plans) {
  std::vector<int> sizes;
  for (const PipelinePlan& plan : plans) {
    sizes.push_back(plan.pipeline_microbatch_size);
  }
  return sizes;
}

TEST(LeapsFromTest, EachPlanHasGpusAndAllLayersOnce) {
  const PlanRequest request = TwoIslands();
  const PipelinePlan plan = FourStages();
  const std::vector<PipelinePlan> leaps = LeapsFrom(request, {}, plan);
  ASSERT_THAT(leaps, Not(IsEmpty()));
  for (const PipelinePlan& leap : leaps) {
    EXPECT_NE(leap, plan);
    std::set<std::pair<int, int>> gpus;
    OperatorCut next;
    for (const PlacedStage& stage : leap.stages) {
      EXPECT_EQ(stage.plan.begin, next);
      next = stage.plan.end;
      for (const GpuId& gpu : stage.gpus) {
        EXPECT_EQ(gpu.node, stage.island);
        gpus.emplace(gpu.node, gpu.index);
      }
      EXPECT_EQ(stage.plan.parallelism.num_gpus(),
                static_cast<int>(stage.gpus.size()));
    }
    EXPECT_EQ(next, (OperatorCut{kModelLayers, 0}));
    // A stage of two GPUs may be left out.
    EXPECT_THAT(gpus, AnyOf(SizeIs(8), SizeIs(6)));
  }
  EXPECT_THAT(NumbersOfStages(leaps), Contains(2));  // Merged on both islands,
  EXPECT_THAT(NumbersOfStages(leaps), Contains(3));  // or on one.
  EXPECT_THAT(NumbersOfStages(leaps), Contains(5));  // One stage split,
  EXPECT_THAT(NumbersOfStages(leaps), Contains(8));  // or all.
  EXPECT_THAT(MicrobatchSizesOf(leaps), Contains(6));
  EXPECT_TRUE(absl::c_any_of(leaps, [](const PipelinePlan& leap) {
    return leap.stages.front().island == 1;
  }));
  EXPECT_TRUE(absl::c_any_of(leaps, [](const PipelinePlan& leap) {
    return absl::c_all_of(leap.stages, [](const PlacedStage& stage) {
      return stage.plan.parallelism.tp_degree == 2 &&
             stage.plan.parallelism.zero_stage == 0;
    });
  }));
}

std::set<GpuId> GpusOf(const PipelinePlan& plan) {
  std::set<GpuId> gpus;
  for (const PlacedStage& stage : plan.stages) {
    gpus.insert(stage.gpus.begin(), stage.gpus.end());
  }
  return gpus;
}

// Stages of 4, 2, 3 and 3 layers on two nodes of an island.
TEST(LeapsFromTest, LeaveOutTheStageOrTheNodeWithTheFewestLayers) {
  PlanRequest request = TwoIslands();
  PipelinePlan plan = FourStages();
  const int cuts[] = {0, 4, 6, 9, kModelLayers};
  for (int s = 0; s < 4; ++s) {
    plan.stages[s].island = 0;
    plan.stages[s].plan.begin = {cuts[s], 0};
    plan.stages[s].plan.end = {cuts[s + 1], 0};
  }
  std::vector<PipelinePlan> shorter;
  for (const PipelinePlan& leap : LeapsFrom(request, {}, plan)) {
    if (GpusOf(leap).size() < 8) shorter.push_back(leap);
  }
  ASSERT_THAT(shorter, SizeIs(2));
  // Without the second stage, 4, 3 and 3 layers become 12.
  EXPECT_THAT(GpusOf(shorter[0]), Not(Contains(GpuId{0, 2})));
  EXPECT_EQ(shorter[0].stages[0].plan.end, (OperatorCut{4, 0}));
  EXPECT_EQ(shorter[0].stages[1].plan.end, (OperatorCut{8, 0}));
  EXPECT_EQ(shorter[0].stages[2].plan.end, (OperatorCut{kModelLayers, 0}));
  // Both nodes have six layers.
  EXPECT_THAT(GpusOf(shorter[1]), Not(Contains(GpuId{0, 0})));
  EXPECT_THAT(NumbersOfStages({shorter[1]}), ElementsAre(2));
  const PipelineRules all_gpus = {
      .accepts_gpus = [](int num_gpus) { return num_gpus == 8; }};
  for (const PipelinePlan& leap : LeapsFrom(request, all_gpus, plan)) {
    EXPECT_THAT(GpusOf(leap), SizeIs(8));
  }
}

// The only stage of an island stays.
TEST(LeapsFromTest, LeaveOutNoIsland) {
  PipelinePlan plan = FourStages();
  plan.stages = {plan.stages[0], plan.stages[2]};
  plan.stages[0].plan.end = plan.stages[1].plan.begin = {6, 0};
  plan.stages[1].plan.end = {kModelLayers, 0};
  for (const PipelinePlan& leap : LeapsFrom(TwoIslands(), {}, plan)) {
    EXPECT_THAT(GpusOf(leap), SizeIs(4));
  }
}

// Replicas keep two samples of a microbatch where they double or halve.
TEST(LeapsFromTest, MicrobatchesFollowTheReplicas) {
  const auto has = [](int num_stages, int dp, int size) {
    return absl::c_any_of(LeapsFrom(TwoIslands(), {}, FourStages()),
                          [&](const PipelinePlan& leap) {
                            const StageParallelism& degrees =
                                leap.stages.front().plan.parallelism;
                            return leap.num_stages() == num_stages &&
                                   degrees.dp_degree == dp &&
                                   leap.pipeline_microbatch_size == size;
                          });
  };
  EXPECT_TRUE(has(2, 4, 4));
  EXPECT_TRUE(has(2, 4, 8));
  EXPECT_TRUE(has(8, 1, 4));
  EXPECT_TRUE(has(8, 1, 2));
  EXPECT_FALSE(has(2, 4, 2));
}

TEST(LeapsFromTest, LeavesAloneWhatTheRequestFixes) {
  const PipelinePlan plan = FourStages();
  PlanRequest request = TwoIslands();
  request.pipeline_microbatch_size = 4;
  EXPECT_THAT(MicrobatchSizesOf(LeapsFrom(request, {}, plan)), Each(4));

  request = TwoIslands();
  request.constraints.max_stages = {{.value = 4}};
  EXPECT_THAT(NumbersOfStages(LeapsFrom(request, {}, plan)),
              Each(::testing::Le(4)));

  request = TwoIslands();
  request.constraints.dp_degrees = {{.value = 2}};
  for (const PipelinePlan& leap : LeapsFrom(request, {}, plan)) {
    for (const PlacedStage& stage : leap.stages) {
      EXPECT_EQ(stage.plan.parallelism.dp_degree, 2);
    }
  }

  request = TwoIslands();
  request.constraints.pins = {{.first_layer = 0, .island = "0"}};
  for (const PipelinePlan& leap : LeapsFrom(request, {}, plan)) {
    EXPECT_EQ(leap.num_stages(), plan.num_stages());
    EXPECT_EQ(leap.stages.front().island, 0);
  }
}

TEST(LeapsFromTest, StaysWithinTheRules) {
  constexpr Runtime kPlain = {.name = "plain", .max_zero_stage = 1};
  const PipelineRules rules = {
      .runtime = &kPlain, .stages = {.tp_degree = 1}, .ends = {.dp_degree = 2}};
  for (const PipelinePlan& leap :
       LeapsFrom(TwoIslands(), rules, FourStages())) {
    EXPECT_EQ(leap.stages.front().plan.parallelism.dp_degree, 2);
    EXPECT_EQ(leap.stages.back().plan.parallelism.dp_degree, 2);
    for (const PlacedStage& stage : leap.stages) {
      EXPECT_EQ(stage.plan.parallelism.tp_degree, 1);
      EXPECT_EQ(stage.plan.parallelism.cp_degree, 1);
    }
  }
}

TEST(LeapsFromTest, ShardExpertsWhereTheRuntimeDoes) {
  constexpr Runtime kShards = {.name = "shards",
                               .expert_parallel = true,
                               .sharded_experts = true,
                               .max_zero_stage = 1};
  constexpr Runtime kPlain = {
      .name = "plain", .expert_parallel = true, .max_zero_stage = 1};
  PlanRequest request = TwoIslands();
  request.model = testing::TestMoeModel(kModelLayers - 2);
  PipelinePlan plan = FourStages();
  for (PlacedStage& stage : plan.stages) stage.plan.parallelism.ep_degree = 2;
  const auto shards = [&](const Runtime& runtime) {
    return absl::c_any_of(LeapsFrom(request, {.runtime = &runtime}, plan),
                          [](const PipelinePlan& leap) {
                            return leap.num_stages() == 4 &&
                                   leap.stages[0].plan.parallelism.fsep;
                          });
  };
  EXPECT_TRUE(shards(kShards));
  EXPECT_FALSE(shards(kPlain));
}

// Two replicas share all experts. Where they become four, two may share them,
// each with all experts twice, or all four.
TEST(LeapsFromTest, ExpertsFollowTheReplicasThatShareThemAll) {
  PlanRequest request = TwoIslands();
  request.model = testing::TestMoeModel(kModelLayers - 2);
  const auto degrees_of = [&](int ep_before) {
    PipelinePlan plan = FourStages();
    for (PlacedStage& stage : plan.stages) {
      stage.plan.parallelism.ep_degree = ep_before;
    }
    std::set<int> degrees;
    for (const PipelinePlan& leap : LeapsFrom(request, {}, plan)) {
      const StageParallelism& first = leap.stages[0].plan.parallelism;
      if (first.dp_degree == 4) degrees.insert(first.ep_degree);
    }
    return degrees;
  };
  EXPECT_THAT(degrees_of(2), ElementsAre(2, 4));
  EXPECT_THAT(degrees_of(1), ElementsAre(1));
}

// Six layers on each of four devices, in two chunks, and as many microbatches
// as devices.
PlanRequest ForChunks() {
  PlanRequest request = TwoIslands();
  request.model = testing::TestModel(24);
  return request;
}

PipelinePlan FourDevicesInChunks() {
  PipelinePlan plan = FourStages();
  plan.pipeline_microbatch_size = 6;
  for (int s = 0; s < 4; ++s) {
    plan.stages[s].plan.begin = {s == 0 ? 0 : 6 * s + 1, 0};
    plan.stages[s].plan.end = {s == 3 ? 26 : 6 * s + 7, 0};
  }
  return *Interleaved(ForChunks().model, Runtime::Cuts::kLayers, /*chunks=*/2,
                      plan);
}

std::set<int> ChunksOf(const std::vector<PipelinePlan>& plans) {
  std::set<int> chunks;
  for (const PipelinePlan& plan : plans) chunks.insert(plan.virtual_stages);
  return chunks;
}

TEST(LeapsFromTest, AllDevicesOfAPlanInChunksChangeAlike) {
  const PipelinePlan plan = FourDevicesInChunks();
  const std::vector<PipelinePlan> leaps = LeapsFrom(ForChunks(), {}, plan);
  EXPECT_THAT(ChunksOf(leaps), Contains(3));
  EXPECT_THAT(MicrobatchSizesOf(leaps), Contains(3));
  EXPECT_TRUE(absl::c_any_of(
      leaps, [](const PipelinePlan& leap) { return leap.num_devices() == 2; }));
  for (const PipelinePlan& leap : leaps) {
    EXPECT_NE(leap, plan);
    EXPECT_EQ(leap.schedule, PipelineSchedule::kInterleaved);
    EXPECT_GT(leap.virtual_stages, 1);
    EXPECT_EQ(24 / leap.pipeline_microbatch_size % leap.num_devices(), 0);
    for (const PlacedStage& stage : leap.stages) {
      EXPECT_EQ(stage.plan.parallelism, leap.stages[0].plan.parallelism);
    }
  }
}

// Two devices in chunks on one node become one stage.
TEST(LeapsFromTest, OneDeviceHasNoChunks) {
  const PlanRequest request = ForChunks();
  PipelinePlan plan = FourDevicesInChunks();
  plan = WithoutChunks(plan);
  plan.stages.resize(2);
  plan.stages[0].plan.end = plan.stages[1].plan.begin = {13, 0};
  plan.stages[1].plan.end = {26, 0};
  const std::vector<PipelinePlan> leaps = LeapsFrom(
      request, {},
      *Interleaved(request.model, Runtime::Cuts::kLayers, /*chunks=*/2, plan));
  EXPECT_TRUE(absl::c_any_of(leaps, [](const PipelinePlan& leap) {
    return leap.num_stages() == 1 && leap.virtual_stages == 1 &&
           leap.schedule == PipelineSchedule::kOneFOneB &&
           leap.pipeline_microbatch_size == 12;
  }));
}

TEST(LeapsFromTest, DemandedChunksStay) {
  PlanRequest request = ForChunks();
  request.pipeline_microbatch_size = 6;
  request.constraints.virtual_stages = 2;
  const std::vector<PipelinePlan> leaps =
      LeapsFrom(request, {}, FourDevicesInChunks());
  EXPECT_THAT(ChunksOf(leaps), ElementsAre(2));
  EXPECT_THAT(MicrobatchSizesOf(leaps), Each(6));
}

TEST(LeapsFromTest, KnowsNoWarmUpPasses) {
  PipelinePlan plan = FourStages();
  plan.warm_up_passes = {4, 3, 2, 1};
  EXPECT_THAT(LeapsFrom(TwoIslands(), {}, plan), IsEmpty());
}

}  // namespace
}  // namespace tangram
