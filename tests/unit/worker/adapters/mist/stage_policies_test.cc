#include "worker/adapters/mist/stage_policies.h"

#include <algorithm>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"

namespace tangram::mist {
namespace {

using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class StagePoliciesTest : public ::testing::Test {
 protected:
  StagePolicies Policies(double memory_bytes, double host_bytes = 0) {
    island_.device.memory_bytes = memory_bytes;
    if (host_bytes > 0) {
      island_.device.host = {.bandwidth_bytes_per_s = 10e9,
                             .memory_bytes = host_bytes};
    }
    return {layers_, island_, options_, limits_, 2};
  }

  const ModelSpec model_ = testing::TestModel(6);
  const ModelSlice slice_ = MakeSlice({0, 8}, model_.layers);
  const SliceLayers layers_{slice_};
  IslandSpec island_ = testing::TestIsland(1, 2);
  const ParallelizeOptions options_ = {.training = testing::TestTraining(),
                                       .pipeline_microbatch_size = 4};
  const SplitLimits limits_{model_.layers, 4,
                            TrainingOptions{.sequence_length = 512}};
};

TEST_F(StagePoliciesTest, StagesOfEqualLayersAreTunedOnce) {
  StagePolicies policies = Policies(64e9);

  EXPECT_EQ(&policies.Tuned(1, 4, 2), &policies.Tuned(3, 6, 2));
  EXPECT_NE(&policies.Tuned(0, 3, 2), &policies.Tuned(3, 6, 2));
  // 32 / 4 = 8 microbatches: with 7 stages behind, all are in flight.
  EXPECT_EQ(&policies.Tuned(1, 4, 7), &policies.Tuned(1, 4, 20));
}

TEST_F(StagePoliciesTest, PoliciesTradeTimeForWhatComesOnTop) {
  StagePolicies policies = Policies(64e9);

  const TunedStage& tuned = policies.Tuned(0, 8, 0);

  ASSERT_THAT(tuned.policies, Not(IsEmpty()));
  ASSERT_THAT(tuned.details, SizeIs(tuned.policies.size()));
  for (size_t i = 1; i < tuned.policies.size(); ++i) {
    EXPECT_LT(tuned.policies[i - 1].steady_s, tuned.policies[i].steady_s);
    EXPECT_GT(tuned.policies[i - 1].extra_s, tuned.policies[i].extra_s);
  }
  ASSERT_THAT(tuned.fastest, SizeIs(1));
  EXPECT_EQ(tuned.fastest[0].steady_s, tuned.policies[0].steady_s);
  EXPECT_EQ(tuned.fastest[0].extra_s, 0);
}

TEST_F(StagePoliciesTest, PoliciesBearTheStagesBehindThem) {
  // 6 layers of 12 · 1,024² parameters and their ends: 1.3 GB at tp 1.
  StagePolicies policies = Policies(1.1e9);
  for (const int stages_behind : {0, 2, 5}) {
    const TunedStage& tuned = policies.Tuned(0, 8, stages_behind);
    EXPECT_THAT(tuned.policies, Not(IsEmpty()));
    for (const PolicyDetail& detail : tuned.details) {
      EXPECT_GE(detail.stages_behind_borne, stages_behind);
    }
  }
}

TEST_F(StagePoliciesTest, OffloadsOnlyToAHost) {
  StagePolicies without = Policies(0.4e9);
  EXPECT_THAT(without.offloads(), SizeIs(1));
  EXPECT_THAT(without.Tuned(0, 8, 3).policies, IsEmpty());

  StagePolicies with = Policies(0.4e9, 8e9);
  const TunedStage& tuned = with.Tuned(0, 8, 3);

  ASSERT_THAT(tuned.details, Not(IsEmpty()));
  EXPECT_TRUE(std::all_of(
      tuned.details.begin(), tuned.details.end(),
      [](const PolicyDetail& detail) { return detail.offload > 0; }));
}

TEST_F(StagePoliciesTest, HostsFillUpToo) {
  StagePolicies policies = Policies(1e9, 2e9);
  const StageMemory memory = {.static_bytes = 0.5e9,
                              .activation_bytes = 0.1e9,
                              .host_static_bytes = 1.7e9,
                              .host_activation_bytes = 0.2e9};

  // With one stage behind, two microbatches: 0.3 GB of the GPU are free, and
  // the host is 0.1 GB short.
  EXPECT_NEAR(policies.BytesShort(memory, 1), 0.1e9, 1);
  EXPECT_NEAR(policies.BytesShort(memory, 0), -0.1e9, 1);
}

}  // namespace
}  // namespace tangram::mist
