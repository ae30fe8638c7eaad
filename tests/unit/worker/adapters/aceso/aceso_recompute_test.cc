#include "worker/adapters/aceso/aceso_recompute.h"

#include "common/cost/stage_cost.h"
#include "gmock/gmock.h"
#include "tests/unit/worker/adapters/aceso/aceso_query.h"

namespace tangram::aceso {
namespace {

constexpr double kRelative = 1e-9;

StageCost CostOf(Query& query, const StageShape& shape,
                 const RecomputeChoice& choice) {
  const DegreeTable& table = query.tables.At(shape.degrees);
  return EstimateStage(
      query.slice.runs,
      {.begin = query.layout.CutAt(shape.begin),
       .end = query.layout.CutAt(shape.end),
       .parallelism = table.parallelism,
       .recompute = RecomputeRunsOf(query.tables, shape, choice)},
      query.tables.EnvironmentOf(table));
}

// The shape of the whole slice on one GPU.
StageShape WholeSlice(const Query& query, int in_flight) {
  return {.begin = 0,
          .end = query.layout.num_ops(),
          .degrees = 0,
          .in_flight = in_flight};
}

TEST(EstimateFiguresTest, AgreesWithTheCostModelOnAllStages) {
  int recomputed = 0;
  int partly = 0;
  int unfit = 0;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Query query = RandomQuery(seed, /*max_layers=*/5, /*max_gpus=*/4);
    std::mt19937 rng(seed);
    for (int i = 0; i < 40; ++i) {
      StageShape shape = {.in_flight = 1 + static_cast<int>(rng() % 6)};
      // Once from the first operator to the last.
      shape.begin =
          i == 0 ? 0 : static_cast<int>(rng() % query.layout.num_ops());
      shape.end =
          shape.begin + 1 +
          static_cast<int>(rng() % (query.layout.num_ops() - shape.begin));
      if (i == 0) shape.end = query.layout.num_ops();
      shape.degrees = static_cast<int>(rng() % query.space.choices().size());
      const StageFigures figures = EstimateFigures(query.tables, shape);
      const StageCost cost = CostOf(query, shape, figures.recompute);
      const double peak_bytes = cost.memory.PeakBytes(shape.in_flight);

      ASSERT_NEAR(figures.compute_s, cost.forward_s + cost.backward_s,
                  kRelative * figures.compute_s);
      ASSERT_NEAR(figures.backward_s, cost.backward_s,
                  kRelative * cost.backward_s);
      ASSERT_NEAR(figures.recompute_s, cost.recompute_s,
                  kRelative * cost.backward_s);
      ASSERT_NEAR(figures.peak_bytes, peak_bytes, kRelative * peak_bytes);
      const double sync_s = cost.sync_s + cost.optimizer_s;
      ASSERT_NEAR(SyncSeconds(query.tables, shape, figures), sync_s,
                  kRelative * sync_s);
      ASSERT_EQ(figures.fits,
                figures.peak_bytes <= query.tables.capacity_bytes());
      recomputed += figures.recompute != RecomputeChoice{};
      partly += figures.recompute.upper_layers > 0;
      unfit += !figures.fits;
    }
  }
  EXPECT_GT(recomputed, 100);
  EXPECT_GT(partly, 20);
  EXPECT_GT(unfit, 100);
  EXPECT_LT(unfit, 2000);
}

TEST(EstimateFiguresTest, RecomputesNothingWhereAllFits) {
  Query query(BodySlice(6), testing::TestIsland(1, 1), Options(4));

  const StageFigures figures =
      EstimateFigures(query.tables, WholeSlice(query, 3));

  EXPECT_EQ(figures.recompute, RecomputeChoice{});
  EXPECT_EQ(figures.recompute_s, 0);
}

// Memory lies between none and all recomputed. One layer less would not fit.
TEST(EstimateFiguresTest, RecomputesNoLayerTooMany) {
  int partly = 0;
  for (int tenths = 1; tenths < 10; ++tenths) {
    SCOPED_TRACE(::testing::Message() << "tenths " << tenths);
    Query query(BodySlice(6), testing::TestIsland(1, 1), Options(4));
    const StageShape shape = WholeSlice(query, 8);
    const int levels = static_cast<int>(query.tables.At(0).levels.size());
    ASSERT_GT(levels, 1);
    const double most = CostOf(query, shape, {}).memory.PeakBytes(8);
    const double least =
        CostOf(query, shape, {.level = levels - 1}).memory.PeakBytes(8);
    query.island.device.memory_bytes = least + (most - least) * tenths / 10;
    Query tight(query.slice, query.island, query.options);

    const RecomputeChoice chosen =
        EstimateFigures(tight.tables, shape).recompute;

    RecomputeChoice one_less = chosen;
    if (one_less.upper_layers == 0) {
      one_less = {.level = chosen.level - 1, .upper_layers = 6};
    }
    --one_less.upper_layers;
    partly += chosen.upper_layers > 0;
    EXPECT_LE(CostOf(tight, shape, chosen).memory.PeakBytes(8),
              tight.island.device.memory_bytes);
    EXPECT_GT(CostOf(tight, shape, one_less).memory.PeakBytes(8),
              tight.island.device.memory_bytes);
  }
  EXPECT_GT(partly, 4);
}

TEST(EstimateFiguresTest, KeepsTheEstimateOfEachShape) {
  const auto fresh = [](const StageShape& shape) {
    Query query(BodySlice(4), testing::TestIsland(1, 2), Options(4));
    return EstimateFigures(query.tables, shape);
  };
  Query query(BodySlice(4), testing::TestIsland(1, 2), Options(4));
  // Each differs from the first in one field.
  const std::vector<StageShape> shapes = {
      {.begin = 0, .end = 30, .degrees = 0, .in_flight = 2},
      {.begin = 1, .end = 30, .degrees = 0, .in_flight = 2},
      {.begin = 0, .end = 29, .degrees = 0, .in_flight = 2},
      {.begin = 0, .end = 30, .degrees = 1, .in_flight = 2},
      {.begin = 0, .end = 30, .degrees = 0, .in_flight = 3}};
  for (int round = 0; round < 2; ++round) {
    for (const StageShape& shape : shapes) {
      const StageFigures figures = EstimateFigures(query.tables, shape);
      EXPECT_EQ(figures.compute_s, fresh(shape).compute_s);
      EXPECT_EQ(figures.peak_bytes, fresh(shape).peak_bytes);
    }
    EXPECT_EQ(query.tables.figures().size(), shapes.size());
  }
}

TEST(EstimateFiguresTest, EmbeddingAndHeadAreNeverRecomputed) {
  Query query(SliceOf(testing::TestModel(1), 0, 3), testing::TestIsland(1, 1),
              Options(4));
  const StageShape shape = WholeSlice(query, 1);
  const int levels = static_cast<int>(query.tables.At(0).levels.size());

  const std::vector<RecomputeRun> runs =
      RecomputeRunsOf(query.tables, shape, {.level = levels - 1});

  ASSERT_EQ(runs.size(), 3u);
  EXPECT_EQ(runs[0].mask, kRecomputeNone);
  EXPECT_NE(runs[1].mask, kRecomputeNone);
  EXPECT_EQ(runs[2].mask, kRecomputeNone);
}

TEST(RecomputeRunsOfTest, MasksAreClippedToTheStage) {
  Query query(BodySlice(3), testing::TestIsland(1, 1), Options(4));
  const int last_level = static_cast<int>(query.tables.At(0).levels.size()) - 1;
  ASSERT_EQ(query.tables.At(0).levels[last_level].masks[0], 0b1111111111u);

  // Operators 7 to 9 of layer 0, layer 1, operators 0 and 1 of layer 2.
  const std::vector<RecomputeRun> runs =
      RecomputeRunsOf(query.tables, {.begin = 7, .end = 22, .degrees = 0},
                      {.level = last_level});

  EXPECT_THAT(runs, ::testing::ElementsAre(RecomputeRun{1, 0b1110000000},
                                           RecomputeRun{1, 0b1111111111},
                                           RecomputeRun{1, 0b0000000011}));
}

}  // namespace
}  // namespace tangram::aceso
