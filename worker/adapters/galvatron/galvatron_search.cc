#include "worker/adapters/galvatron/galvatron_search.h"

#include <algorithm>
#include <bit>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "common/base/stop_poll.h"
#include "common/domain/plan_merits.h"
#include "worker/adapters/galvatron/galvatron_depth.h"
#include "worker/adapters/search/search_limit.h"
#include "worker/adapters/search/why_no_plan.h"

namespace tangram::galvatron {
namespace {

// The numbers of trailing stages to plan for: 0, 1, 2, 3, 4, 6, 8, 12, 16, 24 …
// They do not depend on the query. So a query finds only plans that a query for
// fewer trailing stages also finds.
int NextTrailing(int trailing) {
  const int power = static_cast<int>(std::bit_floor(unsigned(trailing)));
  return trailing + std::max(1, power / 2);
}

// Returns the largest of these numbers that is at most `trailing_stages`.
int LastTrailingUpTo(int trailing_stages) {
  int trailing = 0;
  while (NextTrailing(trailing) <= trailing_stages) {
    trailing = NextTrailing(trailing);
  }
  return trailing;
}

class Search {
 public:
  Search(const ModelSlice& slice, const IslandSpec& island,
         const ParallelizeOptions& options)
      : layers_(slice),
        island_(island),
        options_(options),
        poll_(options.should_stop),
        site_(SiteOf(island, options)) {}

  SlicePlanSet Run() {
    const SplitLimits limits(layers_.kinds(), options_.pipeline_microbatch_size,
                             options_.training);
    for (const EqualStages& layout :
         LayoutsOf(island_, layers_.size(),
                   StageSizes(island_, limits, kGalvatronDegrees))) {
      if (answer_.truncated) break;
      Depth depth(layers_, layout, island_, options_,
                  TableOf(layout.gpus_per_stage), poll_);
      if (depth.LeastSeconds() <= WithRoundingRoom(options_.limit_s)) {
        SearchDepth(depth);
      }
      answer_.search_steps += depth.num_steps();
      answer_.truncated |= poll_.stopped();
    }
    return Finish();
  }

 private:
  StageTable& TableOf(int gpus_per_stage) {
    std::unique_ptr<StageTable>& table = tables_[gpus_per_stage];
    if (table == nullptr) {
      table = std::make_unique<StageTable>(layers_, gpus_per_stage, island_,
                                           options_, poll_, site_);
    }
    return *table;
  }

  bool ShouldStop() {
    answer_.truncated |= options_.should_stop && options_.should_stop();
    return answer_.truncated;
  }

  // If all plans bear more trailing stages than they were made for, they are
  // also the best for those numbers, which are skipped.
  void SearchDepth(Depth& depth) {
    bool found = false;
    int trailing = LastTrailingUpTo(options_.trailing_stages);
    while (!ShouldStop()) {
      std::vector<SlicePlan> plans = depth.Best(trailing);
      answer_.truncated |= depth.stopped();
      if (plans.empty()) break;
      int borne = kUnlimitedTrailingStages;
      for (SlicePlan& plan : plans) {
        borne = std::min(borne, plan.max_trailing_stages);
        if (plan.max_trailing_stages < options_.trailing_stages) continue;
        found = true;
        plans_.push_back(std::move(plan));
      }
      if (borne == kUnlimitedTrailingStages) break;
      // Plans for more trailing stages are no faster.
      if (depth.LeastSeconds() > WithRoundingRoom(options_.limit_s)) break;
      while (trailing <= borne) trailing = NextTrailing(trailing);
    }
    if (found || answer_.truncated) return;
    NoteShortage(depth.LeastBytesOver(options_.trailing_stages), bytes_short_);
  }

  // Keeps the non-dominated plans of all depths.
  SlicePlanSet Finish() {
    KeepNonDominated(plans_, island_.limits.each_depth);
    answer_.plans = std::move(plans_);
    if (!answer_.truncated) {
      answer_.covers_trailing_stages = kUnlimitedTrailingStages;
    }
    ExplainNoPlan([this] { return bytes_short_; }, options_.limit_s, answer_);
    return std::move(answer_);
  }

  const SliceLayers layers_;
  const IslandSpec& island_;
  const ParallelizeOptions& options_;
  StopPoll poll_;
  LayerCosts::Site* const site_;
  std::map<int, std::unique_ptr<StageTable>> tables_;  // By GPUs of a stage.
  std::vector<SlicePlan> plans_;
  std::optional<double> bytes_short_;
  SlicePlanSet answer_;
};

}  // namespace

SlicePlanSet SearchGalvatron(const ModelSlice& slice, const IslandSpec& island,
                             const ParallelizeOptions& options) {
  return Search(slice, island, options).Run();
}

}  // namespace tangram::galvatron
