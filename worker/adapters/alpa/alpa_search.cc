#include "worker/adapters/alpa/alpa_search.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "common/base/stop_poll.h"
#include "common/domain/plan_merits.h"
#include "common/domain/recompute_masks.h"
#include "common/parallelizer/trailing_stages.h"
#include "worker/adapters/alpa/alpa_inter_operator.h"
#include "worker/adapters/alpa/alpa_tables.h"
#include "worker/adapters/search/why_no_plan.h"

namespace tangram::alpa {
namespace {

// Limit on passes of the dynamic program. Each pass after the first asks for
// one trailing stage more than some pipeline of the pass before bears. With 2
// and with 8, the plans of the paper's C1 and C3 workloads are the same.
constexpr int kMaxPasses = 4;

class Search {
 public:
  Search(const ModelSlice& slice, const IslandSpec& island,
         const ParallelizeOptions& options)
      : options_(options), tables_(slice, island, options) {}

  // Runs the dynamic program for the trailing stages asked for. Each further
  // pass asks for one trailing stage more than all plans of the pass before
  // bear. If passes run out, the answer covers what the first pass does.
  SlicePlanSet Run() {
    StopPoll poll(options_.should_stop);
    const InterOperatorProblem problem = tables_.Problem(poll);
    if (poll.stopped()) {
      answer_.truncated = true;
      return Finish();
    }
    answer_.covers_trailing_stages = kUnlimitedTrailingStages;
    int trailing_stages = options_.trailing_stages;
    int first_pass_covers = kUnlimitedTrailingStages;
    for (int pass = 0; trailing_stages < kUnlimitedTrailingStages; ++pass) {
      if (pass == kMaxPasses) {
        answer_.covers_trailing_stages = first_pass_covers;
        break;
      }
      const InterOperatorAnswer found = SolveInterOperator(
          problem, {.num_microbatches = tables_.num_microbatches(),
                    .trailing_stages = trailing_stages,
                    .limit_s = options_.limit_s,
                    .each_depth = tables_.island().limits.each_depth,
                    .should_stop = options_.should_stop});
      answer_.search_steps += found.steps;
      const int covers = AddPlans(found);
      if (pass == 0) first_pass_covers = covers;
      if (found.truncated) {
        answer_.truncated = true;
        answer_.covers_trailing_stages = 0;
        break;
      }
      if (found.pipelines.empty()) break;
      trailing_stages = covers < kUnlimitedTrailingStages ? covers + 1 : covers;
    }
    return Finish();
  }

 private:
  SlicePlanSet Finish() {
    KeepNonDominated(answer_.plans, tables_.island().limits.each_depth);
    ExplainNoPlan([this] { return LeastShort(); }, options_.limit_s, answer_);
    return std::move(answer_);
  }

  // Appends the pipelines' plans. Returns the number of trailing stages that
  // all of them bear.
  int AddPlans(const InterOperatorAnswer& found) {
    int covers = kUnlimitedTrailingStages;
    for (const ChosenPipeline& pipeline : found.pipelines) {
      answer_.plans.push_back(PlanOf(pipeline));
      covers = std::min(covers, answer_.plans.back().max_trailing_stages);
    }
    return covers;
  }

  // Evaluates the stages with the cost model, including transfers between
  // neighbouring stages.
  SlicePlan PlanOf(const ChosenPipeline& pipeline) const {
    SlicePlan plan = {.max_trailing_stages = kUnlimitedTrailingStages,
                      .made_by = "alpa"};
    const int num_stages = static_cast<int>(pipeline.stages.size());
    for (int i = 0; i < num_stages; ++i) {
      const ChosenStage& chosen = pipeline.stages[i];
      const StageCost cost = tables_.CostOf(chosen.begin, chosen.end,
                                            chosen.submesh, chosen.config);
      SliceStage stage = {.plan = {.begin = {chosen.begin, 0},
                                   .end = {chosen.end, 0},
                                   .parallelism = tables_.ParallelismOf(
                                       chosen.submesh, chosen.config)},
                          .time_s = cost.forward_s + cost.backward_s,
                          .backward_s = cost.backward_s,
                          .sync_s = cost.sync_s + cost.optimizer_s};
      for (int layer = chosen.begin; layer < chosen.end; ++layer) {
        AppendMask(tables_.MaskOf(tables_.layers().at(layer)),
                   stage.plan.recompute);
      }
      if (i + 1 < num_stages) {
        stage.time_s += tables_.TransferSeconds(
            chosen.end, chosen.first_device * tables_.gpus_per_unit(),
            tables_.gpus_of(chosen.submesh),
            tables_.gpus_of(pipeline.stages[i + 1].submesh));
      }
      plan.stages.push_back(std::move(stage));
      plan.max_trailing_stages = std::min(
          plan.max_trailing_stages, BorneBy(cost.memory, num_stages - 1 - i));
    }
    return plan;
  }

  // Returns the number of stages behind the slice that a stage's memory allows.
  int BorneBy(const StageMemory& memory, int stages_behind) const {
    return TrailingStagesBorne(memory, tables_.island().device.memory_bytes,
                               stages_behind, tables_.num_microbatches());
  }

  // Returns the least shortage of memory over simple pipelines: one submesh,
  // one sharding, layers divided evenly, as many stages as there is room for.
  // Empty: the limits leave no sharding.
  std::optional<double> LeastShort() const {
    std::optional<double> least;
    for (int submesh = 0; submesh < tables_.num_submeshes(); ++submesh) {
      const int room = tables_.num_units() * tables_.gpus_per_unit() /
                       tables_.gpus_of(submesh);
      const int stages = std::min(tables_.layers().size(), room);
      for (int config = 0; config < tables_.num_configs(submesh); ++config) {
        NoteShortage(BytesShort(stages, submesh, config), least);
      }
    }
    return least;
  }

  // Returns the shortage of the fullest stage of one such pipeline.
  double BytesShort(int num_stages, int submesh, int config) const {
    const int num_layers = tables_.layers().size();
    double most = 0;
    for (int i = 0; i < num_stages; ++i) {
      const StageMemory memory =
          tables_
              .CostOf(num_layers * i / num_stages,
                      num_layers * (i + 1) / num_stages, submesh, config)
              .memory;
      const int in_flight =
          InFlightMicrobatches(num_stages - 1 - i + options_.trailing_stages,
                               tables_.num_microbatches());
      most = std::max(most, memory.PeakBytes(in_flight) -
                                tables_.island().device.memory_bytes);
    }
    return most;
  }

  const ParallelizeOptions& options_;
  const StageTables tables_;
  SlicePlanSet answer_;
};

}  // namespace

SlicePlanSet SearchPipelines(const ModelSlice& slice, const IslandSpec& island,
                             const ParallelizeOptions& options) {
  return Search(slice, island, options).Run();
}

}  // namespace tangram::alpa
