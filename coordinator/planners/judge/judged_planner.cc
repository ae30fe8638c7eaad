#include "coordinator/planners/judge/judged_planner.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "common/base/infinity.h"
#include "common/base/status_macros.h"
#include "common/planner/keep_closest.h"
#include "common/sim/describe.h"
#include "coordinator/planners/judge/choose_islands.h"
#include "coordinator/planners/judge/kept_plans.h"

namespace tangram {
namespace {

// Enough to see which other plans were close.
constexpr size_t kMaxRunnersUp = 5;

constexpr int kMostIslands = 32;  // JudgedProposal::islands has a bit for each.

// Returns the islands that `plan` uses, a bit each.
uint32_t IslandsOf(const PipelinePlan& plan) {
  uint32_t islands = 0;
  for (const PlacedStage& stage : plan.stages) {
    if (stage.island < 0 || stage.island >= kMostIslands) continue;
    islands |= uint32_t{1} << stage.island;
  }
  return islands;
}

// Returns the pipelines of a proposal, whose plan is made.
std::vector<const PipelinePlan*> PipelinesOf(const Proposal& proposal) {
  if (!proposal.replicated_plan.has_value()) return {&proposal.plan};
  std::vector<const PipelinePlan*> pipelines;
  for (const PipelineReplica& replica : proposal.replicated_plan->pipelines) {
    pipelines.push_back(&replica.plan);
  }
  return pipelines;
}

// Returns the record of a proposal that is not judged yet.
JudgedProposal RecordOf(const Proposal& proposal) {
  JudgedProposal record;
  for (const PipelinePlan* plan : PipelinesOf(proposal)) {
    record.islands |= IslandsOf(*plan);
    record.num_stages += plan->num_stages();
    if (record.pipeline_microbatch_size == 0) {
      record.pipeline_microbatch_size = plan->pipeline_microbatch_size;
    }
  }
  return record;
}

// Returns the proposals that fit, without the chosen one, fastest first.
std::vector<RunnerUp> RunnersUp(const Judgement& judgement) {
  std::vector<RunnerUp> runners_up;
  for (int i = 0; i < static_cast<int>(judgement.proposals.size()); ++i) {
    const JudgedProposal& judged = judgement.proposals[i];
    if (i == judgement.chosen || !judged.fits()) continue;
    RunnerUp& runner_up = runners_up.emplace_back(
        RunnerUp{.num_stages = judged.num_stages,
                 .pipeline_microbatch_size = judged.pipeline_microbatch_size,
                 .iteration_time_s = judged.iteration_time_s});
    for (int island = 0; judged.islands >> island != 0; ++island) {
      if (judged.islands >> island & 1) runner_up.islands.push_back(island);
    }
  }
  std::stable_sort(runners_up.begin(), runners_up.end(),
                   [](const RunnerUp& a, const RunnerUp& b) {
                     return a.iteration_time_s < b.iteration_time_s;
                   });
  if (runners_up.size() > kMaxRunnersUp) runners_up.resize(kMaxRunnersUp);
  return runners_up;
}

Refusal RefusalOf(const absl::Status& status) {
  return {.why = {.reason = std::string(status.message())}};
}

// Returns the reason to refuse a plan with this evaluation. Empty: it fits.
std::optional<Refusal> RefusalOf(const Evaluation& evaluation) {
  if (!evaluation.violations.empty()) {
    const Violation& violation = evaluation.violations.front();
    return Refusal{.why = {.reason = violation.reason,
                           .bytes_short = violation.bytes_short},
                   .stage = violation.stage};
  }
  return std::nullopt;
}

// Likewise of a plan of several pipelines.
std::optional<Refusal> RefusalOf(const ReplicatedEvaluation& evaluation) {
  for (size_t r = 0; r < evaluation.pipelines.size(); ++r) {
    std::optional<Refusal> refusal = RefusalOf(evaluation.pipelines[r]);
    if (!refusal.has_value()) continue;
    refusal->why.reason =
        absl::StrCat("pipeline ", r, ": ", refusal->why.reason);
    refusal->stage = -1;
    return refusal;
  }
  return std::nullopt;
}

// Judges the proposals of one search.
class Judge {
 public:
  Judge(const PlanRequest& request, const JudgeOptions& options,
        PlanObserver& observer)
      : request_(request),
        options_(options),
        observer_(observer),
        kept_(options.refine ? std::max(options.min_island_gain, kWorthRefining)
                             : options.min_island_gain) {}

  // A proposal that was played.
  struct Played {
    JudgedProposal record;
    KeptPlan plan;
    std::optional<Refusal> refusal;
    bool stopped = false;  // By the observer.
  };

  // Plays a proposal. Thread-safe.
  Played Play(Proposal proposal) const {
    if (proposal.make_plan) {
      proposal.plan = proposal.make_plan();
      proposal.make_plan = nullptr;
    }
    Played played{.record = RecordOf(proposal),
                  .plan = {.proposal = std::move(proposal)}};
    if (played.plan.proposal.replicated_plan.has_value()) {
      PlayReplicated(played);
    } else {
      PlayOne(played);
    }
    return played;
  }

  // Adds a proposal, and a refusal of it to `refusals` if it cannot run.
  void Add(Played played, int index, std::vector<Refusal>& refusals) {
    played.plan.index = num_judged();
    if (played.refusal.has_value()) {
      played.refusal->proposal = index;
      KeepClosest(played.refusal->why, closest_);
      refusals.push_back(*std::move(played.refusal));
    } else {
      JudgedProposal& record = played.record;
      record.iteration_time_s = played.plan.iteration_time_s();
      least_proposed_s_ = std::min(least_proposed_s_, record.iteration_time_s);
      kept_.Add(record.islands, std::move(played.plan));
    }
    judgement_.proposals.push_back(played.record);
  }

  // Refines the plans that are kept, if that is wanted.
  absl::Status Refine() {
    if (!options_.refine) return absl::OkStatus();
    for (auto& [islands, kept] : kept_.plans()) {
      if (kept.proposal.replicated_plan.has_value()) continue;
      PlanResult result{.plan = std::move(kept.proposal.plan),
                        .evaluation = std::move(kept.evaluation)};
      TANGRAM_RETURN_IF_ERROR(options_.refine(request_, observer_, result));
      kept.proposal.plan = *std::move(result.plan);
      kept.evaluation = std::move(result.evaluation);
      kept.notes = std::move(result.notes);
      judgement_.proposals[kept.index].iteration_time_s =
          kept.evaluation.iteration_time_s;
    }
    return absl::OkStatus();
  }

  // Picks the answer, if any proposal fits.
  void Choose() {
    if (!any_fits()) return;
    std::vector<ScoredPipeline> scored;
    for (const JudgedProposal& judged : judgement_.proposals) {
      scored.push_back({judged.islands, judged.iteration_time_s});
    }
    judgement_.chosen = ChooseIslands(scored, options_.min_island_gain);
  }

  bool any_fits() const { return kept_.size() > 0; }
  // Slower proposals cannot be chosen unless they are refined.
  double limit_s() const {
    return kept_.least_s() * (1 + options_.min_island_gain);
  }
  // Slower proposals are not kept.
  double kept_limit_s() const { return kept_.limit_s(); }
  // The least time of the proposals as they were made.
  double least_proposed_s() const { return least_proposed_s_; }
  int num_judged() const {
    return static_cast<int>(judgement_.proposals.size());
  }
  const Judgement& judgement() const { return judgement_; }
  // The reason of the refusal that came closest to fitting. Empty: no refusal.
  const std::optional<Infeasible>& closest() const { return closest_; }

  // Moves the chosen plan, its evaluation and the runners-up to `result`.
  void Fill(PlanResult& result) {
    KeptPlan chosen = kept_.Take(judgement_.chosen);
    result.runners_up = RunnersUp(judgement_);
    result.closed_form_s = chosen.proposal.predicted_s;
    if (!chosen.proposal.note.empty()) {
      result.notes.push_back(std::move(chosen.proposal.note));
    }
    absl::c_move(chosen.notes, std::back_inserter(result.notes));
    if (chosen.proposal.replicated_plan.has_value()) {
      result.replicated_plan = std::move(chosen.proposal.replicated_plan);
      result.replicated_evaluation = std::move(chosen.replicated_evaluation);
      return;
    }
    result.plan = std::move(chosen.proposal.plan);
    result.evaluation = std::move(chosen.evaluation);
  }

 private:
  // Replaces the plan by the plan that the runtime runs, and evaluates that.
  // The evaluator decides whether the memory suffices.
  void PlayOne(Played& played) const {
    PipelinePlan& plan = played.plan.proposal.plan;
    absl::StatusOr<PipelinePlan> fitted =
        options_.reschedule ? options_.reschedule(request_, plan, observer_)
                            : FitPlan(options_.rules, request_, plan);
    played.stopped = absl::IsCancelled(fitted.status());
    if (!fitted.ok()) {
      played.refusal = RefusalOf(fitted.status());
      return;
    }
    plan = *std::move(fitted);
    absl::StatusOr<Evaluation> evaluation =
        EvaluatePlan(request_.model, request_.cluster, request_.training, plan,
                     /*timeline=*/nullptr, /*state=*/{},
                     [this] { return observer_.ShouldStop(); });
    Take(std::move(evaluation), played.plan.evaluation, played);
  }

  // Likewise for a plan of several pipelines.
  void PlayReplicated(Played& played) const {
    if (options_.rules.fit) {
      played.refusal =
          Refusal{.why = {.reason = "the runtime runs one pipeline"}};
      return;
    }
    for (const PipelinePlan* plan : PipelinesOf(played.plan.proposal)) {
      const std::string why = WhyNotAsked(request_.constraints, *plan);
      if (why.empty()) continue;
      played.refusal = Refusal{.why = {.reason = why}};
      return;
    }
    absl::StatusOr<ReplicatedEvaluation> evaluation = EvaluateReplicatedPlan(
        request_.model, request_.cluster, request_.training,
        *played.plan.proposal.replicated_plan, /*timelines=*/nullptr,
        [this] { return observer_.ShouldStop(); });
    Take(std::move(evaluation), played.plan.replicated_evaluation, played);
  }

  // Keeps an evaluation, and the reason to refuse its plan.
  template <typename E>
  static void Take(absl::StatusOr<E> evaluation, E& kept, Played& played) {
    played.stopped = absl::IsCancelled(evaluation.status());
    if (!evaluation.ok()) {
      played.refusal = RefusalOf(evaluation.status());
      return;
    }
    kept = *std::move(evaluation);
    played.refusal = RefusalOf(kept);
  }

  const PlanRequest& request_;
  const JudgeOptions& options_;
  PlanObserver& observer_;
  Judgement judgement_;
  KeptPlans kept_;
  double least_proposed_s_ = kInfinity;
  std::optional<Infeasible> closest_;
};

// Plays one proposal of a round.
class Playing : public OrderedTask {
 public:
  Playing(Proposal proposal, int index, PlanObserver& observer, Judge& judge,
          std::vector<Refusal>& refusals)
      : proposal_(std::move(proposal)),
        index_(index),
        observer_(observer),
        judge_(judge),
        refusals_(refusals) {}

  void Work(const TaskTurn& turn) override {
    if (turn.ShouldStop()) return;
    if (!observer_.ShouldStop()) played_ = judge_.Play(std::move(proposal_));
  }

  absl::Status Take() override {
    if (!played_.has_value()) return absl::CancelledError("planning stopped");
    const bool stopped = played_->stopped;
    judge_.Add(*std::move(played_), index_, refusals_);
    if (stopped) return absl::CancelledError("planning stopped");
    return absl::OkStatus();
  }

 private:
  Proposal proposal_;
  const int index_;
  PlanObserver& observer_;
  Judge& judge_;
  std::vector<Refusal>& refusals_;
  std::optional<Judge::Played> played_;
};

// Returns the reason why there is no plan.
Infeasible WhyNone(const Judge& judge, const PlanFindings& findings) {
  Infeasible why = judge.closest().has_value()
                       ? *judge.closest()
                       : findings.why_none.value_or(Infeasible{
                             .reason = "the planner proposed nothing"});
  if (!findings.exhausted && judge.num_judged() > 0) {
    absl::StrAppend(&why.reason, "; all ", judge.num_judged(),
                    " pipelines judged were refused");
  }
  return why;
}

// Returns the limits that may hide a plan. Not empty unless `findings` are
// exhausted.
std::vector<std::string> LimitsMet(const Judge& judge, PlanFindings& findings) {
  std::vector<std::string> limits = std::move(findings.limits);
  if (judge.num_judged() >= kMaxJudged) {
    limits.push_back(absl::StrCat("no more than ", kMaxJudged,
                                  " pipelines are judged: --microbatch, --tp, "
                                  "--dp or --max-stages leads to others"));
  }
  if (!findings.exhausted && limits.empty()) {
    limits.push_back("the search stopped at a limit");
  }
  return limits;
}

// Returns notes on GPUs of the plan, if there is one, that lack the precision.
std::vector<std::string> MissingUnits(const PlanRequest& request,
                                      const PlanResult& result) {
  const auto describe = [&](absl::Span<const PlacedStage> stages) {
    return DescribeMissingUnits(request.cluster, request.training.precision,
                                stages);
  };
  if (result.plan.has_value()) return describe(result.plan->stages);
  if (!result.replicated_plan.has_value()) return {};
  std::vector<PlacedStage> stages;
  for (const PipelineReplica& replica : result.replicated_plan->pipelines) {
    absl::c_copy(replica.plan.stages, std::back_inserter(stages));
  }
  return describe(stages);
}

class JudgedPlanner : public ClusterPlanner {
 public:
  JudgedPlanner(std::unique_ptr<Planner> planner, const JudgeOptions& options)
      : planner_(std::move(planner)), options_(options) {}

  absl::StatusOr<PlanResult> Plan(const PlanRequest& request,
                                  PlanObserver& observer) override {
    TANGRAM_ASSIGN_OR_RETURN(const std::unique_ptr<PlanSearch> search,
                             planner_->Start(request, observer));
    Judge judge(request, options_, observer);
    TANGRAM_RETURN_IF_ERROR(JudgeAll(*search, observer, judge, options_.tasks));
    TANGRAM_RETURN_IF_ERROR(judge.Refine());
    judge.Choose();
    TANGRAM_ASSIGN_OR_RETURN(PlanFindings findings,
                             search->Conclude(judge.judgement()));
    findings.exhausted &=
        judge.num_judged() < kMaxJudged && !findings.stats.truncated;
    PlanResult result{.stats = findings.stats};
    // A parallelizer that claims too much for its profiles is refuted.
    result.certificate = {
        .asked_s = std::min(findings.asked_s, judge.least_proposed_s())};
    if (judge.any_fits()) {
      judge.Fill(result);
      // A refined plan may be faster than all that was proposed.
      result.lower_bound_s =
          std::min(findings.lower_bound_s, result.iteration_time_s());
    } else {
      result.infeasible = WhyNone(judge, findings);
      result.limits = LimitsMet(judge, findings);
    }
    result.islands = std::move(findings.islands);
    result.unused_islands = std::move(findings.unused_islands);
    result.notes.insert(result.notes.end(), findings.notes.begin(),
                        findings.notes.end());
    absl::c_move(MissingUnits(request, result),
                 std::back_inserter(result.notes));
    return result;
  }

 private:
  // Judges rounds of proposals. With P_1 the planner's first proposals and
  // R_k the refusals of round k,
  //
  //   P_{k+1} = Propose(R_k)    while no proposal fits, P_k is not empty and
  //                             fewer than kMaxJudged proposals were judged.
  //
  // A round is judged whole, so that ChooseIslands sees all of its proposals.
  // Once one fits, the planner may improve on the best so far.
  static absl::Status JudgeAll(PlanSearch& search, PlanObserver& observer,
                               Judge& judge, TaskRunner* tasks) {
    std::vector<Refusal> refusals;
    while (!judge.any_fits() && judge.num_judged() < kMaxJudged) {
      TANGRAM_ASSIGN_OR_RETURN(std::vector<Proposal> proposals,
                               search.Propose(refusals));
      if (proposals.empty()) return absl::OkStatus();
      TANGRAM_RETURN_IF_ERROR(
          JudgeRound(std::move(proposals), observer, judge, refusals, tasks));
    }
    // First those that may be chosen as they are. The search for more takes in
    // more slice plans and may stop at its limits.
    for (const bool kept : {false, true}) {
      while (judge.num_judged() < kMaxJudged) {
        const double limit_s = kept ? judge.kept_limit_s() : judge.limit_s();
        TANGRAM_ASSIGN_OR_RETURN(std::vector<Proposal> proposals,
                                 search.Improve(limit_s, refusals));
        if (proposals.empty()) break;
        TANGRAM_RETURN_IF_ERROR(
            JudgeRound(std::move(proposals), observer, judge, refusals, tasks));
      }
      if (judge.kept_limit_s() <= judge.limit_s()) break;
    }
    return absl::OkStatus();
  }

  // Judges `proposals` and sets `refusals` to those of them that cannot run.
  static absl::Status JudgeRound(std::vector<Proposal> proposals,
                                 PlanObserver& observer, Judge& judge,
                                 std::vector<Refusal>& refusals,
                                 TaskRunner* tasks) {
    observer.OnPhase(PlanPhase::kEvaluation);
    refusals.clear();
    const auto make = [&](int i) {
      return std::make_unique<Playing>(std::move(proposals[i]), i, observer,
                                       judge, refusals);
    };
    return RunTasks(tasks, static_cast<int>(proposals.size()), make);
  }

  const std::unique_ptr<Planner> planner_;
  const JudgeOptions options_;
};

}  // namespace

std::unique_ptr<ClusterPlanner> CreateJudgedPlanner(
    std::unique_ptr<Planner> planner, const JudgeOptions& options) {
  return std::make_unique<JudgedPlanner>(std::move(planner), options);
}

}  // namespace tangram
