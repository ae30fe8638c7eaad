#include "coordinator/planners/whole_cluster/whole_cluster_planner.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "common/domain/closed_form.h"
#include "common/parallelizer/keep_within.h"
#include "common/planner/keep_closest.h"
#include "coordinator/composition/candidate.h"
#include "coordinator/planners/constraints/microbatch_sizes.h"
#include "coordinator/planners/constraints/resolve_constraints.h"

namespace tangram {
namespace {

// A plan that the parallelizer returned for the whole model.
struct Answer {
  double closed_form_s = 0;
  int microbatch_size = 0;
  SlicePlan plan;
};

// Returns the closed form of a plan for the whole model.
double ClosedFormOf(const SlicePlan& plan, int num_microbatches) {
  const Candidate whole = MakeCandidate(plan);
  return ClosedFormSeconds(whole.latency_s, whole.slowest_s, num_microbatches,
                           whole.exposed_sync_s);
}

// One search. Asks everything in the first Propose, then proposes one by one.
class WholeClusterSearch : public PlanSearch {
 public:
  WholeClusterSearch(StandIn stand_in, const PlanRequest& request,
                     const WholeClusterOptions& options,
                     const PipelineRules& rules, SlicePlanSource& source,
                     PlanObserver& observer)
      : stand_in_(std::move(stand_in)),
        request_(request),
        options_(options),
        rules_(rules),
        source_(source),
        observer_(observer) {}

  absl::StatusOr<std::vector<Proposal>> Propose(
      absl::Span<const Refusal> /*refused*/) override {
    if (next_ == 0) TANGRAM_RETURN_IF_ERROR(AskAll());
    std::vector<Proposal> proposals;
    if (next_ == answers_.size()) return proposals;
    const Answer& answer = answers_[next_++];
    ++stats_.finalists;
    proposals.push_back(
        {.plan = PlaceOnCluster(answer.plan, stand_in_, answer.microbatch_size),
         .predicted_s = answer.closed_form_s});
    return proposals;
  }

  absl::StatusOr<PlanFindings> Conclude(const Judgement&) override {
    PlanFindings findings{.islands = {stand_in_.island},
                          .stats = stats_,
                          .why_none = closest_,
                          .exhausted = !stats_.truncated};
    findings.notes.push_back(absl::StrCat("pipeline microbatch sizes tried: ",
                                          absl::StrJoin(sizes_, ", ")));
    findings.notes.push_back(absl::StrCat(
        "planner whole-cluster: planned for ", stand_in_.island.spec.num_gpus(),
        " GPUs as weak as the weakest, scored on the real ones"));
    if (stats_.truncated) {
      findings.limits.push_back(
          "the parallelizer cut answers short: more --effort or a longer "
          "--timeout gives it more time");
    }
    return findings;
  }

 private:
  // Sets the limits of the request and of the runtime. The whole model has both
  // ends, so the limits on ends apply as well.
  absl::Status SetLimits(IslandSpec& spec) {
    TANGRAM_ASSIGN_OR_RETURN(
        const IslandRules resolved,
        ResolveConstraints(request_.constraints, request_.cluster,
                           request_.model, {&stand_in_.island, 1}));
    spec.limits = resolved.limits.front();
    if (spec.limits.max_stages == 0 ||
        resolved.max_stages < spec.limits.max_stages) {
      const bool limited =
          resolved.max_stages < std::numeric_limits<int>::max();
      if (limited) spec.limits.max_stages = resolved.max_stages;
    }
    for (const StageLimits& more : {rules_.stages, rules_.ends}) {
      const JoinedLimits joined = Join(spec.limits, more);
      spec.limits = joined.limits;
      // They contradict: require more GPUs than there are, so no stage fits.
      if (joined.contradiction)
        spec.limits.gpus_per_stage = spec.num_gpus() + 1;
    }
    return absl::OkStatus();
  }

  // Returns the whole model as one slice. Joins neighbours pairwise, in O(log
  // atoms) round trips.
  absl::StatusOr<ModelSlice> WholeModel() {
    TANGRAM_ASSIGN_OR_RETURN(std::vector<ModelSlice> slices,
                             source_.SliceModel(request_.model));
    while (slices.size() > 1) {
      if (observer_.ShouldStop()) {
        return absl::CancelledError("planning stopped");
      }
      std::vector<ConcatenateQuery> queries;
      for (size_t s = 0; s + 1 < slices.size(); s += 2) {
        queries.push_back({.head = slices[s], .tail = slices[s + 1]});
      }
      TANGRAM_ASSIGN_OR_RETURN(std::vector<ModelSlice> joined,
                               source_.Concatenate(queries));
      if (slices.size() % 2 == 1) joined.push_back(std::move(slices.back()));
      slices = std::move(joined);
    }
    return std::move(slices.front());
  }

  // Asks one question per microbatch size, all in one batch, and sorts the
  // plans by closed form.
  absl::Status AskAll() {
    TANGRAM_ASSIGN_OR_RETURN(sizes_, MicrobatchSizes(request_));
    const int gpus_per_node = stand_in_.island.spec.gpus_per_node;
    if (rules_.gpus_per_node > 0 && rules_.gpus_per_node != gpus_per_node) {
      closest_ = {.reason = absl::StrCat(
                      "the runtime needs ", rules_.gpus_per_node,
                      " GPUs in every node, here there are ", gpus_per_node)};
      return absl::OkStatus();
    }
    std::string why =
        WhyNotDevices(rules_, request_.cluster, stand_in_.island.nodes);
    if (!why.empty()) {
      closest_ = {.reason = std::move(why)};
      return absl::OkStatus();
    }
    PairContext context{.training = request_.training,
                        .islands = {stand_in_.island.spec}};
    TANGRAM_RETURN_IF_ERROR(SetLimits(context.islands.front()));
    observer_.OnPhase(PlanPhase::kProfiling);
    TANGRAM_ASSIGN_OR_RETURN(context.slices.emplace_back(), WholeModel());
    std::vector<PairQuery> queries;
    for (const int size : sizes_) {
      queries.push_back({.pipeline_microbatch_size = size,
                         .max_search_steps = options_.max_search_steps});
    }
    if (observer_.ShouldStop()) return absl::CancelledError("planning stopped");
    observer_.OnPhase(PlanPhase::kSlicePlans);
    TANGRAM_ASSIGN_OR_RETURN(
        std::vector<SlicePlanSet> sets,
        source_.Parallelize(context, queries, [this](int done, int total) {
          observer_.OnPairs(done, total);
        }));
    for (size_t i = 0; i < sets.size(); ++i) {
      Take(sizes_[i], context, std::move(sets[i]));
    }
    std::stable_sort(answers_.begin(), answers_.end(),
                     [](const Answer& a, const Answer& b) {
                       return a.closed_form_s < b.closed_form_s;
                     });
    return absl::OkStatus();
  }

  // Keeps the plans of `set` that the limits and the runtime allow, or the
  // closest reason for having none.
  void Take(int microbatch_size, const PairContext& context, SlicePlanSet set) {
    if (rules_.runtime != nullptr) {
      KeepRunnable(*rules_.runtime, context.slices.front(), set);
    }
    stats_.incompatible_plans +=
        KeepWithin(context.islands.front().limits, context.slices.front(), set);
    ++stats_.pairs;
    ++stats_.queries;
    stats_.infeasible_answers += set.plans.empty() ? 1 : 0;
    stats_.slice_plans += static_cast<int64_t>(set.plans.size());
    stats_.search_steps += set.search_steps;
    stats_.truncated |= set.truncated;
    const int num_microbatches =
        request_.training.global_batch_size / microbatch_size;
    for (SlicePlan& plan : set.plans) {
      if (rules_.accepts_gpus && !rules_.accepts_gpus(NumGpus(plan))) continue;
      const double closed_form_s = ClosedFormOf(plan, num_microbatches);
      answers_.push_back({.closed_form_s = closed_form_s,
                          .microbatch_size = microbatch_size,
                          .plan = std::move(plan)});
    }
    KeepClosest(set.infeasible, closest_);
  }

  static int NumGpus(const SlicePlan& plan) {
    return std::accumulate(plan.stages.begin(), plan.stages.end(), 0,
                           [](int sum, const SliceStage& stage) {
                             return sum + stage.plan.parallelism.num_gpus();
                           });
  }

  const StandIn stand_in_;
  const PlanRequest& request_;
  const WholeClusterOptions options_;
  const PipelineRules rules_;
  SlicePlanSource& source_;
  PlanObserver& observer_;

  std::vector<int> sizes_;
  std::vector<Answer> answers_;  // Ascending by closed form.
  size_t next_ = 0;              // Index of the next proposal.
  std::optional<Infeasible> closest_;
  PlanningStats stats_;
};

class WholeClusterPlanner : public Planner {
 public:
  WholeClusterPlanner(SlicePlanSource& source,
                      const WholeClusterOptions& options,
                      const PipelineRules& rules)
      : source_(source), options_(options), rules_(rules) {}

  absl::StatusOr<std::vector<Island>> Islands(
      const PlanRequest& request, PlanObserver& /*observer*/) override {
    TANGRAM_ASSIGN_OR_RETURN(const StandIn stand_in, StandInOf(request));
    return std::vector<Island>{stand_in.island};
  }

  absl::StatusOr<std::unique_ptr<PlanSearch>> Start(
      const PlanRequest& request, PlanObserver& observer) override {
    observer.OnPhase(PlanPhase::kIslands);
    TANGRAM_ASSIGN_OR_RETURN(StandIn stand_in, StandInOf(request));
    return std::make_unique<WholeClusterSearch>(
        std::move(stand_in), request, options_, rules_, source_, observer);
  }

 private:
  absl::StatusOr<StandIn> StandInOf(const PlanRequest& request) const {
    if (request.cluster->nodes.empty()) {
      return absl::InvalidArgumentError("cluster.nodes: none; expected a node");
    }
    TANGRAM_ASSIGN_OR_RETURN(
        const std::vector<int> left_out,
        ExcludedNodes(request.constraints, request.cluster));
    std::vector<int> nodes(request.cluster->nodes.size());
    std::iota(nodes.begin(), nodes.end(), 0);
    std::erase_if(
        nodes, [&](int node) { return absl::c_binary_search(left_out, node); });
    return MakeStandIn(request.cluster, nodes, options_.node_order);
  }

  SlicePlanSource& source_;
  const WholeClusterOptions options_;
  const PipelineRules rules_;
};

}  // namespace

std::unique_ptr<Planner> CreateWholeClusterPlanner(
    SlicePlanSource& source, const WholeClusterOptions& options,
    const PipelineRules& rules) {
  return std::make_unique<WholeClusterPlanner>(source, options, rules);
}

}  // namespace tangram
