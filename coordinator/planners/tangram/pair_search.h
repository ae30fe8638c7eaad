#ifndef TANGRAM_COORDINATOR_PLANNERS_TANGRAM_PAIR_SEARCH_H_
#define TANGRAM_COORDINATOR_PLANNERS_TANGRAM_PAIR_SEARCH_H_

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/parallelizer/slice_plan_source.h"
#include "common/planner/cluster_planner.h"
#include "common/planner/pipeline_rules.h"
#include "coordinator/composition/compose_pipeline.h"
#include "coordinator/planners/tangram/measured_latency.h"
#include "coordinator/planners/tangram/pair_reach.h"
#include "coordinator/planners/tangram/pair_store.h"
#include "coordinator/planners/tangram/search_limits.h"
#include "coordinator/planners/tangram/search_space.h"
#include "coordinator/planners/tangram/tangram_planner.h"

namespace tangram {

// One slice of a whole pipeline.
struct ChosenSlice {
  PairId pair;
  AtomRange atoms;
  int island = 0;
  int plan = 0;  // Index into PairStore::PlansOf(pair).
  auto operator<=>(const ChosenSlice&) const = default;
};

// The conclusion from a refused finalist: with this many stages after its
// slice, the plan of the pair exceeds the memory of the island, whatever its
// parallelizer claims. It will not fit with more trailing stages either.
struct Lesson {
  PairId pair;
  int island = 0;
  int plan = 0;  // Index into PairStore::PlansOf(pair).
  int trailing_stages = 0;
};

// A whole pipeline, with its iteration time by the planner's closed form.
struct Finalist {
  double closed_form_s = 0;
  int microbatch = 0;  // Index into SearchSpace::microbatch_sizes.
  std::vector<ChosenSlice> slices;
};

// Decides which pairs are asked, and composes pipelines of the answers (paper
// §5.1 and §5.2). A few seed pairs give a first pipeline. Then, in two waves,
// only pairs are asked whose lower bound can still matter beside the best
// pipeline known. A pair is asked again if its plan in a promising pipeline
// does not support the stages that follow it, until every such plan does.
class PairSearch {
 public:
  // All arguments must outlive the search.
  PairSearch(const SearchSpace& space, const PlanRequest& request,
             const TangramOptions& options, const PipelineRules& rules,
             SlicePlanSource& source, PlanObserver& observer);

  // Finds the first finalists. Errors: the source's, and kCancelled.
  absl::Status Run();

  // Looks for other finalists after all so far were refused. With lessons, the
  // search goes on without the plans that they rule out, so it ends only when
  // no composition is left. Without lessons, the window widens, a fixed number
  // of times.
  absl::Status Widen(absl::Span<const Lesson> lessons);

  // Returns the limits that may hide a plan, each with the option that lifts
  // it. Empty if the finalists ran out because no composition is left.
  std::vector<std::string> Limits() const;

  // After Run and Widen: new pipelines within the slack of the best, best
  // first. Earlier finalists are not repeated. Empty: none is left.
  const std::vector<Finalist>& finalists() const { return finalists_; }
  const PairStore& store() const { return store_; }
  const PlanningStats& stats() const { return stats_; }
  // Returns notes for people on what the search skipped to stay in its limits.
  std::vector<std::string> Notes() const { return NotesOn(met_); }

  // Returns the least closed form in seconds of any pipeline of the answers
  // that uses `island` at that microbatch size. It is optimistic where a plan
  // does not support its trailing stages. Infinite: none takes at most
  // `limit_s`.
  absl::StatusOr<double> BestWithIsland(int island, int microbatch,
                                        double limit_s);

  // Returns the candidates of a pair on an island: the store's, with the limits
  // on trailing stages that lessons set for this island and those alike.
  const PairCandidates& CandidatesOn(const PairId& pair, int island);
  // Returns whether the lower bound of the pair is within the slack of the best
  // pipeline. Such pairs were asked whatever was pruned.
  bool Matters(const PairId& pair) const {
    return !(space_.PairIterationSeconds(pair) >
             Limit());  // Also if it is NaN.
  }
  // Returns whether this pipeline was among finalists().
  bool WasFinalist(const Finalist& finalist) const {
    return collected_.contains(finalist.slices);
  }
  // Returns the closed form of a pipeline in seconds.
  double ClosedFormOf(const Finalist& finalist) const;

  // Returns a lower bound in seconds on the closed form of any pipeline that
  // uses `island`, whether or not its pairs were asked. Infinite: there is
  // none. The only error is kCancelled.
  absl::StatusOr<double> LeastWithIsland(int island) const;

 private:
  class Composing;
  struct Question {
    PairId pair;
    int trailing_stages = 0;
  };

  absl::StatusOr<std::vector<PairId>> EnumeratePairs();
  absl::Status Ask(size_t num_questions,
                   absl::FunctionRef<Question(size_t)> question);
  // Records that the store is full before all questions were asked.
  absl::Status LeaveUnasked();
  absl::Status AskBatch(absl::Span<const Question> questions, size_t done,
                        size_t total);
  void KeepUsable(const PairQuery& query, SharedAnswer& answer);
  // Returns the time above which plans of a pair are of no use.
  double PlanLimit(const PairId& pair) const;
  // Returns a lower bound in seconds on pipelines with the pair. For a runtime,
  // the latency beside it is that of the answers.
  double LeastSeconds(const PairId& pair) const;
  // Returns whether the pair was asked for all plans that are of use.
  bool IsAnswered(const PairId& pair) const {
    return store_.LimitOf(pair) >= PlanLimit(pair);
  }
  // Returns the question with which a pair is asked first.
  Question FirstQuestion(const PairId& pair) const;
  // Asks the pairs of open_ whose lower bound is at most `limit_s`. The others
  // stay open.
  absl::Status AskWave(double limit_s);
  // Returns whether no pair can be in a pipeline within the limit, which is
  // known before anything is asked.
  bool IsHopeless() const;
  // Asks the first pairs, and composes.
  absl::Status AskSeeds(absl::Span<const PairId> seeds);
  // Asks pairs that make good pipelines by the answers so far, and composes.
  // Adds them to `asked`.
  absl::Status AskMeasuredSeeds(std::vector<PairId>& asked);
  // Finds the reach of islands by probes, if the search may skip pairs by it.
  // `asked` are pairs that are no longer in open_.
  absl::Status FindReach(absl::Span<const PairId> asked);
  absl::Status AskTheRest();
  // Counts the pairs that were not asked, and collects finalists.
  void Conclude();
  absl::Status Resume();
  // Composes, and asks for more trailing stages, until the compositions are
  // made of plans that fit.
  absl::Status ComposeAll();
  absl::Status ComposeChanged();
  // Keeps the compositions of one microbatch size.
  void Keep(int microbatch, std::vector<PlacedPair> pairs,
            std::vector<Composition> compositions);
  absl::StatusOr<std::vector<Composition>> Compose(
      const ComposeProblem& problem);
  void CountComposition(const ComposeEffort& effort);
  bool KeepsEarlier(const std::vector<Composition>& compositions,
                    std::vector<Composition>& earlier) const;
  static std::vector<PlacedPair> KeepUsed(
      std::vector<PlacedPair> pairs, std::vector<Composition>& compositions);
  std::vector<Question> OpenQuestions() const;
  ComposeProblem ProblemFor(int microbatch);
  double TransferSecondsBetween(int microbatch, int atom, int from_island,
                                int from_gpus, int to_island,
                                int to_gpus) const;
  PairId PairOf(int microbatch, const PlacedPair& placed) const;
  // The time to beat, as the closed form of v·B microbatches.
  double IncumbentSeconds() const { return rules_.incumbent_s * rules_.chunks; }
  double Slack() const;
  double Limit() const;
  Finalist FinalistOf(int microbatch, const Composition& composition) const;
  void CollectFinalists();

  const SearchSpace& space_;
  const TangramOptions& options_;
  const PipelineRules& rules_;
  SlicePlanSource& source_;
  PlanObserver& observer_;

  PairStore store_;
  PlanningStats stats_;
  std::vector<std::vector<Link>> island_links_;      // [from][to]
  std::vector<std::vector<double>> boundary_bytes_;  // [microbatch][atom]

  // The last composition for a microbatch size.
  struct Composed {
    bool changed = false;           // Answers have come since.
    std::vector<PlacedPair> pairs;  // Only those that `compositions` use.
    std::vector<Composition> compositions;
  };
  std::vector<Composed> composed_;
  double best_s_;  // Closed form of the best pipeline that fits, likewise.
  SearchLimits met_;
  std::vector<PairId> open_;        // Neither asked nor pruned for good.
  std::set<PairId> limited_;        // Asked with a limit.
  std::optional<PairReach> reach_;  // Pairs beyond it are not asked.
  std::optional<MeasuredLatency> latency_;  // For a runtime, after its seeds.
  size_t window_ = 0;                       // Index into kWindows.
  std::vector<Finalist> finalists_;
  std::set<std::vector<ChosenSlice>> collected_;  // All finalists ever.
  // A pair and an island, the first of those alike.
  using PlacedPairId = std::pair<PairId, int>;
  // Plan → the most trailing stages that it supports, according to lessons.
  std::map<PlacedPairId, std::map<int, int>> borne_;
  // The candidates with the limits of borne_ applied to the claims.
  std::map<PlacedPairId, PairCandidates> corrected_;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_TANGRAM_PAIR_SEARCH_H_
