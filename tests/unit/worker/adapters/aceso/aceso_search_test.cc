#include "worker/adapters/aceso/aceso_search.h"

#include <algorithm>
#include <limits>

#include "gmock/gmock.h"
#include "tests/unit/worker/adapters/aceso/aceso_query.h"
#include "worker/adapters/aceso/aceso_recompute.h"
#include "worker/adapters/aceso/aceso_start.h"

namespace tangram::aceso {
namespace {

constexpr double kNothingFits = std::numeric_limits<double>::infinity();

// The best score of all configurations of `num_stages` stages: every cut, every
// choice of degrees. Leaves what cannot beat the best known.
class Exhaustive {
 public:
  Exhaustive(Query& query, int num_stages)
      : query_(query), stages_(num_stages) {}

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

// The best over all stage counts, with the steps that each has by default.
TEST(SearchTest, ComesWithinTwoPercentOfEveryConfiguration) {
  constexpr int kStepsEach = 32;
  int compared = 0;
  int close = 0;
  int infeasible = 0;
  for (uint32_t seed = 0; seed < 80; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Query query = RandomQuery(seed, /*max_layers=*/2, /*max_gpus=*/4);
    double best_s = kNothingFits;
    double found_s = kNothingFits;
    for (int stages = 1; stages <= query.island.num_gpus(); ++stages) {
      best_s = std::min(best_s, Exhaustive(query, stages).Best());
      const auto start = StartConfiguration(query.tables, stages);
      if (!start) continue;
      const SearchResult found = Search(query.tables, *start, kStepsEach);
      if (found.best.bytes_short > 0) continue;
      found_s = std::min(found_s, found.best.score_s);
    }
    if (best_s == kNothingFits) {
      EXPECT_EQ(found_s, kNothingFits);
      ++infeasible;
      continue;
    }
    ++compared;
    EXPECT_GE(found_s, best_s * (1 - 1e-12));
    close += found_s <= best_s * 1.02;
  }
  EXPECT_GE(close, compared * 95 / 100);
  EXPECT_GT(compared, 40);
  EXPECT_GT(infeasible, 5);
}

}  // namespace
}  // namespace tangram::aceso
