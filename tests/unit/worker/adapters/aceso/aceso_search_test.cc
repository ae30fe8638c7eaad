#include "worker/adapters/aceso/aceso_search.h"

#include <algorithm>

#include "gmock/gmock.h"
#include "tests/unit/worker/adapters/aceso/aceso_exhaustive.h"
#include "tests/unit/worker/adapters/aceso/aceso_query.h"
#include "worker/adapters/aceso/aceso_answer.h"
#include "worker/adapters/aceso/aceso_reassign.h"
#include "worker/adapters/aceso/aceso_recompute.h"
#include "worker/adapters/aceso/aceso_refine.h"
#include "worker/adapters/aceso/aceso_start.h"

namespace tangram::aceso {
namespace {

// Finds the best score of all configurations of `num_stages` stages by trying
// every cut and every choice of degrees. Skips those that cannot beat the best
// known.
class OneByOne {
 public:
  OneByOne(Query& query, int num_stages) : query_(query), stages_(num_stages) {}

  double Best() {
    ChooseDegrees(0, 0);
    return best_s_;
  }

 private:
  struct Prefix {
    double latency_s = 0;
    double slowest_s = 0;
    double exposed_sync_s = 0;
    double backward_s = 0;
  };

  void ChooseDegrees(size_t stage, int first_gpu) {
    if (stage == stages_.size()) {
      std::vector<int> sizes;
      for (const ConfiguredStage& placed : stages_) {
        sizes.push_back(query_.space.num_gpus(placed.shape.degrees));
      }
      if (query_.space.IsPlaceable(sizes)) ChooseCuts(0, 0, {});
      return;
    }
    const int num_choices = static_cast<int>(query_.space.choices().size());
    for (int degrees = 0; degrees < num_choices; ++degrees) {
      stages_[stage].first_gpu = first_gpu;
      stages_[stage].shape.degrees = degrees;
      ChooseDegrees(stage + 1, first_gpu + query_.space.num_gpus(degrees));
    }
  }

  void ChooseCuts(size_t stage, int begin, const Prefix& prefix) {
    const int num_microbatches = query_.tables.num_microbatches();
    const double score_s = prefix.latency_s + prefix.exposed_sync_s +
                           (num_microbatches - 1) * prefix.slowest_s;
    if (score_s >= best_s_) return;
    const int num_ops = query_.layout.num_ops();
    if (begin == num_ops) {
      if (stage == stages_.size()) best_s_ = score_s;
      return;
    }
    if (stage == stages_.size()) return;
    const bool last = stage + 1 == stages_.size();
    StageShape shape = stages_[stage].shape;
    shape.begin = begin;
    shape.in_flight =
        InFlightMicrobatches(static_cast<int>(stages_.size() - stage) - 1 +
                                 query_.options.trailing_stages,
                             num_microbatches);
    for (shape.end = last ? num_ops : query_.layout.EarliestEnd(begin);
         shape.end <= num_ops; ++shape.end) {
      const StageFigures figures = EstimateFigures(query_.tables, shape);
      if (!figures.fits) continue;
      const double send_s =
          last ? 0
               : SendSeconds(query_.tables,
                             PathBetween(query_.tables, stages_[stage],
                                         stages_[stage + 1]),
                             shape.end);
      const double time_s = figures.compute_s + send_s;
      const double sync_s = SyncSeconds(query_.tables, shape, figures);
      ChooseCuts(stage + 1, shape.end,
                 {.latency_s = prefix.latency_s + time_s,
                  .slowest_s = std::max(prefix.slowest_s, time_s),
                  .exposed_sync_s = std::max(prefix.exposed_sync_s,
                                             sync_s - prefix.backward_s),
                  .backward_s = prefix.backward_s + figures.backward_s});
    }
  }

  Query& query_;
  std::vector<ConfiguredStage> stages_;
  double best_s_ = kNothingFits;
};

TEST(SearchTest, NeverEndsBehindItsStart) {
  for (uint32_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Query query = RandomQuery(seed, /*max_layers=*/4, /*max_gpus=*/4);
    const auto start = StartConfiguration(query.tables, 2);
    if (!start) continue;

    const SearchResult result = Search(query.tables, *start, 30);

    EXPECT_FALSE(IsBetter(*start, result.best));
    EXPECT_LE(result.steps, 30);
    EXPECT_FALSE(result.truncated);
  }
}

TEST(SearchTest, EndsByItselfWhereThereIsNothingToTry) {
  Query query(BodySlice(2), testing::TestIsland(1, 1), Options(8));
  const auto start = StartConfiguration(query.tables, 1);

  EXPECT_LT(Search(query.tables, *start, 1'000'000).steps, 10);
}

TEST(SearchTest, MoreEffortIsNeverWorse) {
  Query query(SliceOf(testing::TestModel(5), 0, 7), testing::TestIsland(2, 4),
              Options(4, 2));
  const auto start = StartConfiguration(query.tables, 3);
  double best_s = kNothingFits;
  for (const int64_t steps : {0, 1, 3, 10, 30, 100, 300}) {
    const double score_s = Search(query.tables, *start, steps).best.score_s;
    EXPECT_LE(score_s, best_s);
    best_s = score_s;
  }
}

TEST(SearchTest, StopsWhenTold) {
  int polls = 0;
  ParallelizeOptions options = Options(8);
  options.should_stop = [&polls] { return ++polls > 5; };
  Query query(BodySlice(8), testing::TestIsland(1, 8), options);
  const auto start = StartConfiguration(query.tables, 4);

  const SearchResult result = Search(query.tables, *start, 1'000'000);

  EXPECT_TRUE(result.truncated);
  EXPECT_LE(result.steps, 5);
}

TEST(ExhaustiveTest, EqualsEveryConfigurationOneByOne) {
  int compared = 0;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Query query = RandomQuery(seed, /*max_layers=*/2, /*max_gpus=*/3);
    double best_s = kNothingFits;
    for (int stages = 1; stages <= query.island.num_gpus(); ++stages) {
      best_s = std::min(best_s, OneByOne(query, stages).Best());
    }

    const double found_s = Exhaustive(query, kNothingFits).Best();

    if (best_s == kNothingFits) {
      EXPECT_EQ(found_s, kNothingFits);
      continue;
    }
    ++compared;
    EXPECT_NEAR(found_s, best_s, 1e-12 * best_s);
  }
  EXPECT_GT(compared, 30);
}

// Returns the best score of the plans of an answer; see Complete.
double LeastScore(const SlicePlanSet& answer, int num_microbatches) {
  double least_s = kNothingFits;
  for (const SlicePlan& plan : answer.plans) {
    double latency_s = 0;
    double exposed_sync_s = 0;
    double backward_s = 0;
    for (const SliceStage& stage : plan.stages) {
      latency_s += stage.time_s;
      exposed_sync_s = std::max(exposed_sync_s, stage.sync_s - backward_s);
      backward_s += stage.backward_s;
    }
    least_s =
        std::min(least_s, latency_s + exposed_sync_s +
                              (num_microbatches - 1) * plan.slowest_stage_s());
  }
  return least_s;
}

// Random queries at the default effort.
TEST(SearchTest, ComesWithinTwoPercentOfEveryConfiguration) {
  int compared = 0;
  int close = 0;
  int infeasible = 0;
  for (uint32_t seed = 0; compared < 200; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Query query = RandomQuery(seed, /*max_layers=*/8, /*max_gpus=*/8);
    const double found_s = LeastScore(
        SearchAllStageCounts(query.slice, query.island, query.options),
        query.tables.num_microbatches());
    const double best_s = Exhaustive(query, found_s).Best();
    if (best_s == kNothingFits) {
      ++infeasible;
      continue;
    }
    ++compared;
    close += found_s <= best_s * 1.02;
  }
  EXPECT_GE(close, 190);
  EXPECT_GT(infeasible, 20);
}

TEST(ReassignGpusTest, PutsTheSmallStageWhereItBelongs) {
  int changed = 0;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Query query = RandomQuery(seed, /*max_layers=*/8, /*max_gpus=*/8);
    const auto start = StartConfiguration(query.tables, 3);
    if (!start) continue;
    Configuration result = *start;

    const bool reassigned = ReassignGpus(
        query.tables, std::numeric_limits<double>::infinity(), result);

    EXPECT_EQ(reassigned, IsBetter(result, *start));
    EXPECT_EQ(result.num_stages(), 3);
    changed += reassigned;
  }
  EXPECT_GT(changed, 10);
}

// Two layers of equal operators on each GPU. A cut two operators off the
// boundary between layers costs a slower stage and a larger transfer.
TEST(RefineTest, MovesACutBackToTheBoundaryBetweenLayers) {
  Query query(BodySlice(4), testing::TestIsland(1, 2), Options(1));
  const int half = query.layout.StartOfLayer(2);
  Configuration off =
      query.Configure({half + 2, query.layout.num_ops()}, {0, 0});

  EXPECT_TRUE(Refine(query.tables, off));

  EXPECT_EQ(off.stages[0].shape.end, half);
  EXPECT_FALSE(Refine(query.tables, off));
}

TEST(RefineTest, LeavesWhatDoesNotFit) {
  IslandSpec island = testing::TestIsland(1, 2);
  island.device.memory_bytes = 1e6;
  Query query(BodySlice(4), island, Options(1));
  Configuration big = query.Configure({20, query.layout.num_ops()}, {0, 0});

  EXPECT_FALSE(Refine(query.tables, big));
}

}  // namespace
}  // namespace tangram::aceso
