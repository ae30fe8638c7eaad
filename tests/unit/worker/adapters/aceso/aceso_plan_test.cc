#include "worker/adapters/aceso/aceso_plan.h"

#include "common/cost/stage_cost.h"
#include "gmock/gmock.h"
#include "tests/unit/worker/adapters/aceso/aceso_query.h"
#include "worker/adapters/aceso/aceso_start.h"

namespace tangram::aceso {
namespace {

// Every stage fits with as many trailing stages as the plan says, and some
// stage fits with no more.
TEST(PlanOfTest, BearsAsManyTrailingStagesAsFit) {
  int limited = 0;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Query query = RandomQuery(seed, /*max_layers=*/4, /*max_gpus=*/4);
    const auto start = StartConfiguration(query.tables, 2);
    if (!start || start->bytes_short > 0) continue;
    const SlicePlan plan = PlanOf(query.tables, query.slice, *start);
    const int num_microbatches = query.tables.num_microbatches();
    const auto fits = [&](int trailing_stages) {
      for (int i = 0; i < 2; ++i) {
        const StageCost cost =
            EstimateStage(query.slice.runs, plan.stages[i].plan,
                          query.tables.EnvironmentOf(
                              query.tables.At(start->stages[i].shape.degrees)));
        if (cost.memory.PeakBytes(InFlightMicrobatches(1 - i + trailing_stages,
                                                       num_microbatches)) >
            query.island.device.memory_bytes) {
          return false;
        }
      }
      return true;
    };

    EXPECT_GE(plan.max_trailing_stages, query.options.trailing_stages);
    EXPECT_TRUE(fits(plan.max_trailing_stages));
    if (plan.max_trailing_stages == kUnlimitedTrailingStages) continue;
    ++limited;
    EXPECT_FALSE(fits(plan.max_trailing_stages + 1));
  }
  EXPECT_GT(limited, 5);
}

TEST(PlanOfTest, TimesAreComputeAndSends) {
  Query query(BodySlice(4), testing::TestIsland(2, 1), Options(4));
  const Configuration configuration = query.Configure({20, 40}, {0, 0});

  const SlicePlan plan = PlanOf(query.tables, query.slice, configuration);

  // 4 samples · 512 tokens · 1,024 elements · 2 bytes = 4.2 MB, in both
  // directions at 10 GB/s.
  const double send_s = 2 * 4 * 512 * 1024 * 2 / 10e9;
  EXPECT_NEAR(plan.stages[0].time_s - plan.stages[1].time_s, send_s, 1e-9);
  EXPECT_EQ(plan.stages[0].plan.end, (OperatorCut{2, 0}));
  EXPECT_EQ(plan.stages[1].plan.begin, (OperatorCut{2, 0}));
  EXPECT_EQ(plan.stages[1].plan.end, (OperatorCut{4, 0}));
  EXPECT_EQ(plan.made_by, "aceso");
}

}  // namespace
}  // namespace tangram::aceso
