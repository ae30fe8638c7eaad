#include "coordinator/planners/portfolio/runtime_attempts.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

using ::testing::Each;
using ::testing::Field;
using ::testing::SizeIs;

const Runtime kChunked = {.name = "chunked", .interleaved = true};

TEST(RuntimeAttemptsTest, PlansInChunksHaveSearchesOfTheirOwnBehindTheOthers) {
  const std::vector<std::optional<CollectiveLibrary>> libraries = {
      CollectiveLibrary::kNccl, CollectiveLibrary::kRccl};
  const std::vector<RuntimeVariant> variants(3);
  const auto plain = AttemptsOf(libraries, variants, /*chunks=*/1);
  EXPECT_THAT(plain, SizeIs(6));
  EXPECT_THAT(plain, Each(Field(&RuntimeAttempt::chunks, 1)));
  const auto both = AttemptsOf(libraries, variants, /*chunks=*/2);
  ASSERT_THAT(both, SizeIs(12));
  for (int i = 0; i < 12; ++i) {
    EXPECT_EQ(both[i].number, i);
    EXPECT_EQ(both[i].chunks, i < 6 ? 1 : 2);
    EXPECT_EQ(both[i].library, libraries[i / 3 % 2]);
  }
}

TEST(RuntimeAttemptsTest, ChunksAreForRuntimesAndRequestsThatHaveThem) {
  PlanRequest request;
  EXPECT_TRUE(MayRunInChunks(kChunked, request));
  EXPECT_FALSE(MayRunInChunks({.name = "plain"}, request));
  request.constraints.pp_degree = 2;
  EXPECT_TRUE(MayRunInChunks(kChunked, request));
  request.constraints.pp_degree = 1;
  EXPECT_FALSE(MayRunInChunks(kChunked, request));
  request.constraints = {.virtual_stages = 1};
  EXPECT_FALSE(MayRunInChunks(kChunked, request));
  request.constraints = {.max_stages = {{.value = 2}}, .virtual_stages = 1};
  EXPECT_FALSE(MayRunInChunks(kChunked, request));
  // Stages are counted without their chunks.
  request.constraints = {.max_stages = {{.value = 2}}};
  EXPECT_TRUE(MayRunInChunks(kChunked, request));
}

TEST(RuntimeAttemptsTest, ADemandedScheduleStays) {
  PlanRequest request;
  request.constraints.schedule = PipelineSchedule::kOneFOneB;
  EXPECT_FALSE(MayRunInChunks(kChunked, request));
  request = InChunks({});
  EXPECT_EQ(DemandedSchedule(request.constraints),
            PipelineSchedule::kInterleaved);
  EXPECT_FALSE(MayRunInChunks(kChunked, request));
}

TEST(RuntimeAttemptsTest, PinnedLayersAndBlockingTransfersHaveNoChunks) {
  PlanRequest request;
  request.constraints.pins = {{.first_layer = 0, .last_layer = 1}};
  EXPECT_FALSE(MayRunInChunks(kChunked, request));
  request = {};
  request.training.blocking_transfers = true;
  EXPECT_FALSE(MayRunInChunks(kChunked, request));
}

TEST(RuntimeAttemptsTest, RulesWithoutWhatAnAttemptSharesKeepTheRest) {
  PipelineRules rules{.stages = {.tp_degree = 2,
                                 .dp_degree = 4,
                                 .max_stages = 16,
                                 .each_depth = true,
                                 .max_zero_stage = 1},
                      .ends = {.tp_degree = 2},
                      .gpus_per_node = 8,
                      .chunks = 2};
  rules = WithoutShared(rules);
  EXPECT_EQ(rules.stages, StageLimits{.max_zero_stage = 1});
  EXPECT_EQ(rules.ends, StageLimits{});
  EXPECT_EQ(rules.gpus_per_node, 0);
  EXPECT_EQ(rules.chunks, 2);
}

}  // namespace
}  // namespace tangram
