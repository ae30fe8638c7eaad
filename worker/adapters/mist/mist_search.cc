#include "worker/adapters/mist/mist_search.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "common/base/infinity.h"
#include "common/domain/closed_form.h"
#include "common/domain/plan_merits.h"
#include "common/parallelizer/stage_transfer.h"
#include "worker/adapters/mist/inter_stage.h"
#include "worker/adapters/mist/stage_policies.h"
#include "worker/adapters/search/search_limit.h"
#include "worker/adapters/search/split_layers.h"
#include "worker/adapters/search/stage_space.h"
#include "worker/adapters/search/why_no_plan.h"

namespace tangram::mist {
namespace {

// Largest distance, in layers, of a stage's begin and end from the balanced
// split. The paper lets stages have up to two layers more or fewer than the
// mean.
constexpr int kCutRange = 2;

// Number of times that a layout is searched again for plans that bear more
// trailing stages. With 1 and with 4, the plans of the paper's C1 and C3
// workloads are the same.
constexpr int kMoreTrailing = 2;

class Search {
 public:
  Search(const ModelSlice& slice, const IslandSpec& island,
         const ParallelizeOptions& options)
      : island_(island),
        options_(options),
        num_microbatches_(options.training.global_batch_size /
                          options.pipeline_microbatch_size),
        layers_(slice),
        limits_(layers_.kinds(), options.pipeline_microbatch_size,
                options.training) {}

  SlicePlanSet Run() {
    const std::vector<EqualStages> layouts =
        LayoutsOf(island_, layers_.size(), StageSizes(island_, limits_, {}));
    answer_.covers_trailing_stages = kUnlimitedTrailingStages;
    for (const EqualStages& layout : layouts) {
      if (!SearchLayout(layout)) {
        answer_.truncated = true;
        break;
      }
    }
    Finish(layouts);
    return std::move(answer_);
  }

 private:
  // A layout and the number of trailing stages to plan for.
  struct Case {
    EqualStages layout;
    std::vector<int> cuts;  // Ends of the balanced stages.
    int trailing_stages = 0;
    double most_s = kInfinity;  // No plan with a slower stage is of use.
  };

  StagePolicies& StagesOf(int num_gpus) {
    std::unique_ptr<StagePolicies>& stages = stages_[num_gpus];
    if (stages == nullptr) {
      stages = std::make_unique<StagePolicies>(layers_, island_, options_,
                                               limits_, num_gpus);
    }
    return *stages;
  }

  // Returns a lower bound in seconds on the latency of stages of one size.
  double LeastLatency(const StagePolicies& stages) const {
    std::vector<double> least_s(layers_.size(), kInfinity);
    for (const auto& degrees : stages.degrees()) {
      const std::vector<double> layer_s = degrees->LayerSeconds();
      for (size_t i = 0; i < least_s.size(); ++i) {
        least_s[i] = std::min(least_s[i], layer_s[i]);
      }
    }
    return absl::c_accumulate(least_s, 0.0);
  }

  // Returns false if the search was stopped.
  bool SearchLayout(const EqualStages& layout) {
    const std::vector<double> layer_seconds =
        StagesOf(layout.gpus_per_stage).degrees()[0]->LayerSeconds();
    const double least_s = LeastLatency(StagesOf(layout.gpus_per_stage));
    if (ClosedFormSeconds(least_s, least_s / layout.num_stages,
                          num_microbatches_) >
        WithRoundingRoom(options_.limit_s)) {
      return true;
    }
    Case searched = {.layout = layout,
                     .cuts = SplitLayers(layer_seconds, layout.num_stages),
                     .trailing_stages = options_.trailing_stages};
    if (num_microbatches_ > 1) {
      searched.most_s = (WithRoundingRoom(options_.limit_s) - least_s) /
                        (num_microbatches_ - 1);
    }
    for (int more = 0; more <= kMoreTrailing; ++more) {
      if (options_.should_stop && options_.should_stop()) return false;
      const int borne = SearchCase(searched);
      if (more == 0) {
        answer_.covers_trailing_stages =
            std::min(answer_.covers_trailing_stages, borne);
      }
      if (borne == kUnlimitedTrailingStages) break;
      searched.trailing_stages = borne + 1;
    }
    return true;
  }

  // Appends plans. Returns the number of trailing stages that all pipelines of
  // the front bear. Searches twice: with D exposed, and with D hidden by stages
  // before the slice.
  int SearchCase(const Case& searched) {
    int borne = kUnlimitedTrailingStages;
    for (const bool hidden : {false, true}) {
      std::vector<StagedPipeline> front = ChoosePolicies(
          {.num_layers = layers_.size(),
           .num_stages = searched.layout.num_stages,
           .option =
               [&](int stage, int begin, int end) {
                 return OptionOf(searched, stage, begin, end, hidden);
               },
           .slowest_bound_s = searched.most_s});
      for (const StagedPipeline& pipeline : front) {
        borne = std::min(borne, TrailingStagesBorneBy(searched, pipeline));
      }
      for (const StagedPipeline& pipeline :
           DistinctPipelines(std::move(front), num_microbatches_)) {
        answer_.plans.push_back(PlanOf(searched, pipeline));
      }
    }
    return borne;
  }

  // Returns no policies for cuts too far from the balanced ones.
  StageOption OptionOf(const Case& searched, int stage, int begin, int end,
                       bool hidden) {
    const int balanced_begin = stage == 0 ? 0 : searched.cuts[stage - 1];
    if (std::abs(begin - balanced_begin) > kCutRange ||
        std::abs(end - searched.cuts[stage]) > kCutRange) {
      return {};
    }
    const TunedStage& tuned = TunedOf(searched, stage, begin, end);
    return {.policies = hidden ? tuned.fastest : tuned.policies,
            .transfer_s = TransferSecondsAfter(searched.layout, stage, end)};
  }

  const TunedStage& TunedOf(const Case& searched, int stage, int begin,
                            int end) {
    return StagesOf(searched.layout.gpus_per_stage)
        .Tuned(
            begin, end,
            searched.layout.num_stages - 1 - stage + searched.trailing_stages);
  }

  // Returns the time to the next stage of the slice and back.
  double TransferSecondsAfter(const EqualStages& layout, int stage,
                              int next_layer) const {
    if (next_layer == layers_.size()) return 0;
    const int size = layout.gpus_per_stage;
    return SecondsToNextStage(island_, options_, {stage * size, size, size},
                              layers_.at(next_layer));
  }

  // Returns the number of trailing stages that every stage of the pipeline
  // bears.
  int TrailingStagesBorneBy(const Case& searched,
                            const StagedPipeline& pipeline) {
    int borne = kUnlimitedTrailingStages;
    ForEachStage(searched, pipeline,
                 [&](int stages_behind, int, int, const PolicyDetail& detail) {
                   const int on_its_own = detail.stages_behind_borne;
                   if (on_its_own == kUnlimitedTrailingStages) return;
                   borne = std::min(borne, on_its_own - stages_behind);
                 });
    return borne;
  }

  // Calls visit(stages behind, begin, end, detail) for each stage.
  template <typename Visitor>
  void ForEachStage(const Case& searched, const StagedPipeline& pipeline,
                    Visitor&& visit) {
    const int num_stages = searched.layout.num_stages;
    int begin = 0;
    for (int stage = 0; stage < num_stages; ++stage) {
      const StageChoice& choice = pipeline.stages[stage];
      visit(num_stages - 1 - stage, begin, choice.end,
            TunedOf(searched, stage, begin, choice.end).details[choice.policy]);
      begin = choice.end;
    }
  }

  // Evaluates each stage with the cost model and adds its transfer.
  SlicePlan PlanOf(const Case& searched, const StagedPipeline& pipeline) {
    SlicePlan plan = {
        .max_trailing_stages = TrailingStagesBorneBy(searched, pipeline),
        .made_by = "mist"};
    ForEachStage(searched, pipeline,
                 [&](int, int begin, int end, const PolicyDetail& detail) {
                   const StageCost cost = detail.degrees->CostOf(
                       begin, end, detail.offload, detail.recompute_steps);
                   plan.stages.push_back(
                       {.plan = detail.degrees->PlanOf(
                            begin, end, detail.offload, detail.recompute_steps),
                        .time_s = cost.forward_s + cost.backward_s +
                                  TransferSecondsAfter(searched.layout,
                                                       plan.num_stages(), end),
                        .backward_s = cost.backward_s,
                        .sync_s = cost.sync_s + cost.optimizer_s});
                 });
    return plan;
  }

  void Finish(absl::Span<const EqualStages> layouts) {
    KeepNonDominated(answer_.plans, island_.limits.each_depth);
    ExplainNoPlan([&] { return LeastShort(layouts); }, options_.limit_s,
                  answer_);
    if (answer_.truncated) answer_.covers_trailing_stages = 0;
    for (const auto& [unused, stages] : stages_) {
      answer_.search_steps += stages->costs_estimated();
    }
  }

  // Returns the least shortage of balanced splits under the choices that save
  // most memory. Empty: the limits leave no choice.
  std::optional<double> LeastShort(absl::Span<const EqualStages> layouts) {
    std::optional<double> least_short;
    for (const EqualStages& layout : layouts) {
      StagePolicies& stages = StagesOf(layout.gpus_per_stage);
      for (const auto& degrees : stages.degrees()) {
        const int most = static_cast<int>(stages.offloads().size()) - 1;
        for (const int offload : {0, most}) {
          NoteShortage(BytesShort(layout, stages, *degrees, offload),
                       least_short);
        }
      }
    }
    return least_short;
  }

  // Returns the shortage of the fullest stage if all layers are recomputed.
  double BytesShort(const EqualStages& layout, const StagePolicies& stages,
                    DegreeCosts& degrees, int offload) const {
    double bytes_short = 0;
    int begin = 0;
    int stages_behind = layout.num_stages - 1 + options_.trailing_stages;
    for (const int end :
         SplitLayers(degrees.LayerSeconds(), layout.num_stages)) {
      const StageCost cost = degrees.CostOf(
          begin, end, offload, degrees.StepsOf(begin, end).num_steps());
      bytes_short = std::max(bytes_short,
                             stages.BytesShort(cost.memory, stages_behind--));
      begin = end;
    }
    return bytes_short;
  }

  const IslandSpec& island_;
  const ParallelizeOptions& options_;
  const int num_microbatches_;
  const SliceLayers layers_;
  const SplitLimits limits_;
  std::map<int, std::unique_ptr<StagePolicies>>
      stages_;  // By the number of GPUs of a stage.
  SlicePlanSet answer_;
};

}  // namespace

SlicePlanSet SearchMist(const ModelSlice& slice, const IslandSpec& island,
                        const ParallelizeOptions& options) {
  return Search(slice, island, options).Run();
}

}  // namespace tangram::mist
