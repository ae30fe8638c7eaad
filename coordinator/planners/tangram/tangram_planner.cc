#include "coordinator/planners/tangram/tangram_planner.h"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "common/base/status_macros.h"
#include "coordinator/planners/tangram/asked_bound.h"
#include "coordinator/planners/tangram/bound_slices.h"
#include "coordinator/planners/tangram/explain_search.h"
#include "coordinator/planners/tangram/order_finalists.h"
#include "coordinator/planners/tangram/pair_search.h"
#include "coordinator/planners/tangram/place_plan.h"
#include "coordinator/planners/tangram/search_space.h"
#include "coordinator/planners/tangram/slice_times.h"

namespace tangram {
namespace {

// The slice that holds a stage of the pipeline.
struct SliceOfStage {
  size_t slice = 0;         // Index into Finalist::slices.
  int trailing_stages = 0;  // Stages that follow the slice.
};

// Finds the slice of stage `stage` by the running number of stages.
SliceOfStage FindSlice(const PairStore& store, const Finalist& finalist,
                       int stage) {
  std::vector<int> ends;
  int num_stages = 0;
  for (const ChosenSlice& slice : finalist.slices) {
    num_stages += store.PlansOf(slice.pair)[slice.plan].num_stages();
    ends.push_back(num_stages);
  }
  size_t slice = 0;
  while (ends[slice] <= stage) ++slice;
  return {slice, num_stages - ends[slice]};
}

// One search. The first call of Propose runs PairSearch, and later calls widen
// it by the lessons of the refusals.
class TangramSearch : public PlanSearch {
 public:
  TangramSearch(SearchSpace space, const PlanRequest& request,
                const TangramOptions& options, const PipelineRules& rules,
                SlicePlanSource& source, PlanObserver& observer)
      : request_(request),
        options_(options),
        rules_(rules),
        observer_(observer),
        space_(std::move(space)),
        search_(space_, request, options_, rules_, source, observer),
        times_(space_, search_.store(), request, options.shared_times),
        ordered_(space_, search_, times_, observer) {}

  absl::StatusOr<std::vector<Proposal>> Propose(
      absl::Span<const Refusal> refused) override {
    if (proposed_.empty()) {
      TANGRAM_RETURN_IF_ERROR(search_.Run());
    } else {
      NoteRefusals(refused);
      TANGRAM_RETURN_IF_ERROR(search_.Widen(LessonsOf(refused)));
    }
    last_ = proposed_.size();
    std::vector<Proposal> proposals;
    for (const Finalist& finalist : search_.finalists()) {
      proposals.push_back(ProposalOf(finalist));
    }
    return proposals;
  }

  // The finalists are the best by closed form. A composition that is faster
  // when it is played may not be among them. The first composition of a set of
  // islands that fits is the fastest, so it settles the set.
  absl::StatusOr<std::vector<Proposal>> Improve(
      double limit_s, absl::Span<const Refusal> refused) override {
    std::vector<Proposal> proposals;
    // A runtime may change the stages of slice plans, and with them the times.
    if (rules_.fit) return proposals;
    NoteRefusals(refused);
    // Without a refusal, the last improvement fits.
    if (last_settles_ && refused.empty()) {
      ordered_.Settle(IslandsOf(proposed_.back()));
    }
    last_settles_ = false;
    observer_.OnPhase(PlanPhase::kComposition);
    while (true) {
      TANGRAM_ASSIGN_OR_RETURN(const std::optional<OrderedFinalist> next,
                               ordered_.Next(limit_s));
      if (!next.has_value()) return proposals;
      const Finalist& finalist = next->finalist;
      if (!search_.WasFinalist(finalist) &&
          improvements_.insert(finalist.slices).second) {
        last_ = proposed_.size();
        last_settles_ = next->is_fastest;
        proposals.push_back(ProposalOf(finalist));
        return proposals;
      }
      if (next->is_fastest && !refused_.contains(finalist.slices)) {
        ordered_.Settle(IslandsOf(finalist));
      }
    }
  }

  absl::StatusOr<PlanFindings> Conclude(const Judgement& judgement) override {
    PlanFindings findings{.islands = space_.islands, .notes = space_.notes};
    for (std::string& note : search_.Notes()) {
      findings.notes.push_back(std::move(note));
    }
    if (!ordered_.is_exact()) {
      findings.notes.push_back(
          "the search by simulated time stopped at its limit, so a faster "
          "composition of the slice plans may exist");
    }
    for (Island& island : findings.islands) island.spec.limits = {};
    if (judgement.chosen >= 0) {
      // A runtime may change the stages of slice plans, which voids the bound.
      if (!rules_.fit) {
        TANGRAM_ASSIGN_OR_RETURN(
            findings.lower_bound_s,
            SimulatedLowerBound(
                space_, search_.store(), times_,
                judgement.proposals[judgement.chosen].iteration_time_s,
                observer_));
      }
      TANGRAM_ASSIGN_OR_RETURN(findings.unused_islands, Unused(judgement));
    } else if (proposed_.empty()) {
      findings.why_none = AnyUsable() ? WhyNothingFits(space_, request_.cluster,
                                                       search_.store())
                                      : WhyAllKeptOut();
    }
    findings.asked_s = AskedSeconds(space_, request_.cluster);
    findings.limits = search_.Limits();
    findings.exhausted = findings.limits.empty();
    findings.notes.push_back(
        absl::StrCat("pipeline microbatch sizes tried: ",
                     absl::StrJoin(space_.microbatch_sizes, ", ")));
    findings.stats = search_.stats();
    findings.stats.finalists += static_cast<int64_t>(improvements_.size());
    return findings;
  }

 private:
  // Returns the islands of a pipeline, a bit each.
  static uint32_t IslandsOf(const Finalist& finalist) {
    uint32_t islands = 0;
    for (const ChosenSlice& slice : finalist.slices) {
      islands |= uint32_t{1} << slice.island;
    }
    return islands;
  }

  void NoteRefusals(absl::Span<const Refusal> refused) {
    for (const Refusal& refusal : refused) {
      refused_.insert(proposed_[last_ + refusal.proposal].slices);
    }
  }

  Proposal ProposalOf(const Finalist& finalist) {
    proposed_.push_back(finalist);
    return {.make_plan =
                [this, finalist] {
                  return PlacePlan(space_, search_.store(), finalist);
                },
            .predicted_s = finalist.closed_form_s};
  }

  // Returns a lesson on the slice plan of each stage that exceeds its memory.
  // Returns none if a runtime changes plans, because then the memory is not
  // that of the slice plan.
  std::vector<Lesson> LessonsOf(absl::Span<const Refusal> refused) const {
    std::vector<Lesson> lessons;
    if (rules_.fit) return lessons;
    for (const Refusal& refusal : refused) {
      if (refusal.stage < 0) continue;
      const Finalist& finalist = proposed_[last_ + refusal.proposal];
      const SliceOfStage found =
          FindSlice(search_.store(), finalist, refusal.stage);
      const ChosenSlice& slice = finalist.slices[found.slice];
      lessons.push_back({.pair = slice.pair,
                         .island = slice.island,
                         .plan = slice.plan,
                         .trailing_stages = found.trailing_stages});
    }
    return lessons;
  }

  absl::StatusOr<std::vector<UnusedIsland>> Unused(const Judgement& judgement) {
    std::vector<UnusedIsland> unused;
    const JudgedProposal& chosen = judgement.proposals[judgement.chosen];
    for (const Island& island : space_.islands) {
      if (chosen.islands >> island.id & 1) continue;
      if (!space_.rules.IsUsable(island.id)) {
        unused.push_back({.island = island.id, .reason = WhyKeptOut(island)});
        continue;
      }
      const auto known =
          absl::c_find_if(unused, [&](const UnusedIsland& other) {
            return space_.first_alike[other.island] ==
                   space_.first_alike[island.id];
          });
      if (known != unused.end()) {
        UnusedIsland copy = *known;
        copy.island = island.id;
        unused.push_back(std::move(copy));
        continue;
      }
      TANGRAM_ASSIGN_OR_RETURN(
          unused.emplace_back(),
          ExplainUnused(island, space_.AlikeTo(island.id),
                        proposed_[judgement.chosen], judgement,
                        options_.min_island_gain, search_));
    }
    return unused;
  }

  bool AnyUsable() const {
    return absl::c_any_of(space_.islands, [this](const Island& island) {
      return space_.rules.IsUsable(island.id);
    });
  }

  // Returns the reason if rules and constraints exclude all islands.
  Infeasible WhyAllKeptOut() const {
    return {.reason = absl::StrCat(
                "no GPUs are left: ",
                absl::StrJoin(space_.islands, "; ",
                              [this](std::string* out, const Island& island) {
                                absl::StrAppend(out, island.name, ": ",
                                                WhyKeptOut(island));
                              }))};
  }

  // Returns the reason why rules or constraints exclude the island.
  std::string WhyKeptOut(const Island& island) const {
    const bool other_nodes = rules_.gpus_per_node > 0 &&
                             rules_.gpus_per_node != island.spec.gpus_per_node;
    std::string why = WhyNotDevices(rules_, request_.cluster, island.nodes);
    if (!why.empty()) return why;
    return other_nodes ? absl::StrCat(
                             "the runtime needs as many GPUs in every "
                             "node, here ",
                             rules_.gpus_per_node)
                       : "kept out by the request";
  }

  const PlanRequest& request_;
  const TangramOptions options_;
  const PipelineRules rules_;
  PlanObserver& observer_;
  const SearchSpace space_;
  PairSearch search_;
  SliceTimes times_;
  OrderFinalists ordered_;
  std::vector<Finalist> proposed_;  // In the order of the judgement.
  std::set<std::vector<ChosenSlice>> refused_;
  std::set<std::vector<ChosenSlice>> improvements_;  // Proposed by Improve.
  bool last_settles_ = false;  // Whether the last of them settles its islands.
  size_t last_ = 0;            // Index of the first of the last proposals.
};

class TangramPlanner : public Planner {
 public:
  TangramPlanner(SlicePlanSource& source, const TangramOptions& options,
                 const PipelineRules& rules)
      : source_(source), options_(options), rules_(rules) {}

  absl::StatusOr<std::vector<Island>> Islands(const PlanRequest& request,
                                              PlanObserver& observer) override {
    TANGRAM_ASSIGN_OR_RETURN(IslandSet set,
                             IslandsOf(request, options_, [&observer] {
                               return observer.ShouldStop();
                             }));
    return std::move(set.islands);
  }

  absl::StatusOr<std::unique_ptr<PlanSearch>> Start(
      const PlanRequest& request, PlanObserver& observer) override {
    TANGRAM_ASSIGN_OR_RETURN(
        SearchSpace space,
        BuildSearchSpace(request, options_, rules_, source_, observer));
    return std::make_unique<TangramSearch>(std::move(space), request, options_,
                                           rules_, source_, observer);
  }

 private:
  SlicePlanSource& source_;
  const TangramOptions options_;
  const PipelineRules rules_;
};

}  // namespace

std::unique_ptr<Planner> CreateTangramPlanner(SlicePlanSource& source,
                                              const TangramOptions& options,
                                              const PipelineRules& rules) {
  return std::make_unique<TangramPlanner>(source, options, rules);
}

}  // namespace tangram
