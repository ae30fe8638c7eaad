#include <algorithm>
#include <utility>
#include <vector>

#include "coordinator/planners/rivals/metis/metis_input.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Four equal layers. A layer takes samples / (speed · tp) ms on type 0 of speed
// 2 and type 1 of speed 1. Each holds 10 MB of state and 1 MB a sample.
MetisInput Input(std::vector<MetisHost> hosts, int num_types) {
  MetisInput input{.hosts = std::move(hosts),
                   .num_types = num_types,
                   .parameter_bytes = std::vector<double>(4, 1 << 20),
                   .output_bytes = std::vector<double>(4, 1 << 20)};
  for (int type = 0; type < num_types; ++type) {
    for (int tp = 1; tp <= 4; tp *= 2) {
      for (int samples = 1; samples <= 8; samples *= 2) {
        const double ms = samples * (type + 1) / 2.0 / tp;
        input.profiles[{type, tp, samples}] = {
            .layer_ms = std::vector<double>(4, ms),
            .state_mb = std::vector<double>(4, 10.0 / tp),
            .activation_mb = std::vector<double>(4, 1.0 * samples / tp)};
      }
    }
  }
  return input;
}

MetisHost Host(int type, int num_gpus, double memory_mb = 1000) {
  return {.type = type,
          .num_gpus = num_gpus,
          .memory_mb = memory_mb,
          .intra_bandwidth = 100,
          .inter_bandwidth = 10};
}

// One GPU, one stage: T = B · 4 layers · 0.5 ms for one sample each.
TEST(MetisSearchTest, CostsOneGpuByHand) {
  const MetisInput input = Input({Host(0, 1)}, 1);
  const MetisRanking ranking = RankMetisPlans(
      input, {.global_batch = 4, .max_samples = 1, .max_plans = 10});
  ASSERT_THAT(ranking.plans, SizeIs(1));
  EXPECT_EQ(ranking.plans[0].batches, 4);
  EXPECT_DOUBLE_EQ(ranking.plans[0].cost_ms, 4 * 4 * 0.5);
  EXPECT_EQ(ranking.inter_stage_plans, 3);
}

// Two GPUs of one host: dp 2 with B microbatches of one sample a replica takes
//   B · 4 · 0.5 ms + 2 · 1 / (2 · 100) ms for each of 4 layers of 1 MiB.
TEST(MetisSearchTest, CostsTwoReplicasByHand) {
  const MetisInput input = Input({Host(0, 2)}, 1);
  const MetisRanking ranking = RankMetisPlans(
      input,
      {.global_batch = 4, .batches = 2, .max_samples = 1, .max_plans = 10});
  ASSERT_FALSE(ranking.plans.empty());
  const MetisPlan& best = ranking.plans.front();
  ASSERT_THAT(best.stages, SizeIs(1));
  EXPECT_EQ(best.stages[0].dp, 2);
  EXPECT_DOUBLE_EQ(best.cost_ms, 2 * 4 * 0.5 + 4 * 0.01);
}

TEST(MetisSearchTest, GradientsBetweenHostsTakeTheSlowLink) {
  const MetisInput input = Input({Host(0, 1), Host(0, 1)}, 1);
  MetisSettings settings{
      .global_batch = 4, .batches = 2, .max_samples = 1, .max_plans = 1};
  const double right = RankMetisPlans(input, settings).plans[0].cost_ms;
  EXPECT_DOUBLE_EQ(right, 2 * 4 * 0.5 + 4 * 0.1);
  settings.defects.inter_is_intra = true;
  EXPECT_DOUBLE_EQ(RankMetisPlans(input, settings).plans[0].cost_ms,
                   2 * 4 * 0.5 + 4 * 0.01);
}

TEST(MetisSearchTest, UnlikeReplicasShareByTheirSpeed) {
  const MetisInput input = Input({Host(0, 1), Host(1, 1)}, 2);
  const MetisRanking ranking = RankMetisPlans(
      input,
      {.global_batch = 6, .batches = 1, .max_samples = 4, .max_plans = 100});
  const auto mixed = std::find_if(
      ranking.plans.begin(), ranking.plans.end(), [](const MetisPlan& plan) {
        return plan.stages.size() == 1 && plan.types[0] == 0;
      });
  ASSERT_NE(mixed, ranking.plans.end());
  EXPECT_THAT(mixed->stages[0].shares, ElementsAre(4, 2));
}

TEST(MetisSearchTest, AFastStageHasMoreLayers) {
  const MetisInput input = Input({Host(0, 1), Host(1, 1)}, 2);
  const MetisRanking ranking = RankMetisPlans(
      input, {.global_batch = 8, .max_samples = 1, .max_plans = 100});
  const auto two = std::find_if(
      ranking.plans.begin(), ranking.plans.end(), [](const MetisPlan& plan) {
        return plan.stages.size() == 2 && plan.types[0] == 0;
      });
  ASSERT_NE(two, ranking.plans.end());
  EXPECT_EQ(two->stages[0].end_layer, 3);
}

TEST(MetisSearchTest, MemoryIsThatOfOneGpu) {
  // 4 layers · (10 + 1) MB.
  MetisSettings settings{.global_batch = 2, .max_samples = 1, .max_plans = 1};
  EXPECT_THAT(RankMetisPlans(Input({Host(0, 1, 44)}, 1), settings).plans,
              SizeIs(1));
  const MetisRanking none =
      RankMetisPlans(Input({Host(0, 1, 40)}, 1), settings);
  EXPECT_THAT(none.plans, IsEmpty());
  EXPECT_DOUBLE_EQ(none.least_shortage_mb, 4);
  // M12: five times as much.
  settings.defects.memory_once_a_stage = true;
  EXPECT_THAT(RankMetisPlans(Input({Host(0, 1, 44)}, 1), settings).plans,
              IsEmpty());
}

// 12 GPUs are no one stage.
TEST(MetisSearchTest, AnyNumberOfGpusHasPlansUnlessM11) {
  const MetisInput input = Input({Host(0, 4), Host(0, 4), Host(0, 4)}, 1);
  MetisSettings settings{
      .global_batch = 16, .min_group_scale = 0.5, .max_plans = 1};
  EXPECT_THAT(RankMetisPlans(input, settings).plans, SizeIs(1));
  settings.defects.needs_one_stage = true;
  const MetisRanking none = RankMetisPlans(input, settings);
  EXPECT_THAT(none.plans, IsEmpty());
  EXPECT_TRUE(none.no_one_stage_group);
}

TEST(MetisSearchTest, NoReplicaSpansHosts) {
  const MetisInput input = Input({Host(0, 1), Host(0, 2), Host(0, 1)}, 1);
  const MetisRanking ranking =
      RankMetisPlans(input, {.global_batch = 8, .max_plans = 1000});
  ASSERT_FALSE(ranking.plans.empty());
  const std::vector<int> host_of = {0, 1, 1, 2};
  for (const MetisPlan& plan : ranking.plans) {
    int first = 0;
    for (const MetisStage& stage : plan.stages) {
      for (int end = first + stage.num_gpus; first < end; first += stage.tp) {
        EXPECT_EQ(host_of[first], host_of[first + stage.tp - 1]);
      }
    }
  }
}

TEST(MetisSearchTest, ATypeWithoutADegreeIsUsedWithOthers) {
  MetisInput input = Input({Host(0, 2), Host(1, 2)}, 2);
  for (int samples = 1; samples <= 8; samples *= 2) {
    input.profiles.erase({1, 1, samples});
  }
  const MetisRanking ranking =
      RankMetisPlans(input, {.global_batch = 8, .max_plans = 1000});
  ASSERT_FALSE(ranking.plans.empty());
  for (const MetisPlan& plan : ranking.plans) {
    const std::vector<int> type_of = plan.types[0] == 1
                                         ? std::vector<int>{1, 1, 0, 0}
                                         : std::vector<int>{0, 0, 1, 1};
    int first = 0;
    for (const MetisStage& stage : plan.stages) {
      for (int end = first + stage.num_gpus; first < end; ++first) {
        EXPECT_GE(stage.tp, type_of[first] == 1 ? 2 : 1);
      }
    }
  }
  MetisSettings upstream{.global_batch = 8, .max_plans = 1000};
  upstream.defects.missing_profile = MetisMissingProfile::kEndsRun;
  EXPECT_EQ(RankMetisPlans(input, upstream).missing_profiles, 1);
}

TEST(MetisSearchTest, StageZeroAloneIsCostedWithM1) {
  const MetisInput input = Input({Host(0, 1), Host(1, 1)}, 2);
  MetisSettings settings{
      .global_batch = 8, .max_samples = 1, .max_plans = 1000};
  settings.defects.costs_stage_0_alone = true;
  const MetisRanking ranking = RankMetisPlans(input, settings);
  EXPECT_GT(ranking.invalid, 0);
  settings.defects = {};
  EXPECT_EQ(RankMetisPlans(input, settings).invalid, 0);
}

TEST(MetisSearchTest, KeepsTheCheapestInOrder) {
  const MetisInput input = Input({Host(0, 4), Host(1, 4)}, 2);
  const MetisRanking all = RankMetisPlans(
      input, {.global_batch = 32, .min_group_scale = 0.5, .max_plans = 10000});
  const MetisRanking few = RankMetisPlans(
      input, {.global_batch = 32, .min_group_scale = 0.5, .max_plans = 5});
  ASSERT_GT(all.plans.size(), 5u);
  ASSERT_THAT(few.plans, SizeIs(5));
  for (size_t i = 0; i < few.plans.size(); ++i) {
    EXPECT_EQ(few.plans[i].cost_ms, all.plans[i].cost_ms);
    EXPECT_EQ(few.plans[i].stages, all.plans[i].stages);
    EXPECT_LE(few.plans[0].cost_ms, few.plans[i].cost_ms);
  }
}

TEST(MetisSearchTest, EndsAtItsLimitOrWhenTold) {
  const MetisInput input = Input({Host(0, 4), Host(1, 4), Host(2, 8)}, 3);
  MetisSettings settings{.global_batch = 8, .max_inter_stage_plans = 3};
  const MetisRanking limited = RankMetisPlans(input, settings);
  EXPECT_EQ(limited.inter_stage_plans, 3);
  EXPECT_TRUE(limited.reached_limit);
  settings = {.global_batch = 4096,
              .min_group_scale = 0,
              .max_permute_len = 8,
              .should_stop = [] { return true; }};
  EXPECT_TRUE(RankMetisPlans(input, settings).stopped);
}

}  // namespace
}  // namespace tangram
