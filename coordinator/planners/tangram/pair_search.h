#ifndef TANGRAM_COORDINATOR_PLANNERS_TANGRAM_PAIR_SEARCH_H_
#define TANGRAM_COORDINATOR_PLANNERS_TANGRAM_PAIR_SEARCH_H_

#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/parallelizer/slice_plan_source.h"
#include "common/planner/cluster_planner.h"
#include "common/planner/pipeline_rules.h"
#include "coordinator/composition/compose_pipeline.h"
#include "coordinator/planners/tangram/pair_store.h"
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

// What a refused finalist teaches: with so many stages after its slice, the
// plan of the pair does not fit in the memory of the island, whatever its maker
// claims. It will not fit with more either.
struct Lesson {
  PairId pair;
  int island = 0;
  int plan = 0;  // Index into PairStore::PlansOf(pair).
  int trailing_stages = 0;
};

// A whole pipeline by the planner's closed form.
struct Finalist {
  double closed_form_s = 0;
  int microbatch = 0;  // Index into SearchSpace::microbatch_sizes.
  std::vector<ChosenSlice> slices;
};

// Which pairs are asked, in which order, and what is composed of the answers.
// Asks a few seed pairs for a first pipeline; then only pairs whose lower bound
// could still matter beside the best pipeline known, in two waves; then again
// wherever a plan of a promising pipeline does not bear the stages that follow
// it, until none of them does (paper §5.1 and §5.2).
class PairSearch {
 public:
  // All arguments must outlive the search.
  PairSearch(const SearchSpace& space, const PlanRequest& request,
             const TangramOptions& options, const PipelineRules& rules,
             SlicePlanSource& source, PlanObserver& observer);

  absl::Status Run();

  // Looks for other finalists after all so far were refused. With lessons, the
  // search goes on without the plans that they are about, so it ends only when
  // no composition is left. Without, the window widens, a fixed number of
  // times.
  absl::Status Widen(absl::Span<const Lesson> lessons);

  // Whether the finalists ran out because no composition is left, and not at
  // the widest window.
  bool exhausted() const;

  // After Run and Widen: pipelines within the slack of the best that were not
  // finalists before, best first. Empty: none is left.
  const std::vector<Finalist>& finalists() const { return finalists_; }
  const PairStore& store() const { return store_; }
  const PlanningStats& stats() const { return stats_; }
  // What the search left out to stay within its limits; for people.
  std::vector<std::string> Notes() const;

  // The best closed form of any pipeline of the answers that uses `island` with
  // that microbatch size, optimistic where a plan does not bear its trailing
  // stages; infinite if there is none of at most `limit_s`.
  absl::StatusOr<double> BestWithIsland(int island, int microbatch,
                                        double limit_s);

  // A lower bound on the closed form of any pipeline that uses `island`, asked
  // or not.
  double LeastWithIsland(int island) const;

 private:
  struct Question {
    PairId pair;
    int trailing_stages = 0;
  };

  absl::StatusOr<std::vector<PairId>> EnumeratePairs();
  absl::Status Ask(absl::Span<const Question> questions);
  absl::Status AskBatch(absl::Span<const Question> questions, size_t done,
                        size_t total);
  absl::Status AskFirst(const std::vector<PairId>& pairs);
  // Asks those of open_ whose lower bound is at most `limit_s`; the others
  // stay.
  absl::Status AskWave(double limit_s);
  absl::Status AskTheRest();
  absl::Status Resume();
  // Composes, and asks for more trailing stages, until the compositions are
  // made of plans that fit.
  absl::Status ComposeAll();
  absl::StatusOr<bool> ComposeChanged();
  absl::StatusOr<std::vector<Composition>> Compose(
      const ComposeProblem& problem);
  bool KeepsEarlier(const std::vector<Composition>& compositions,
                    std::vector<Composition>& earlier) const;
  static std::vector<PlacedPair> KeepUsed(
      std::vector<PlacedPair> pairs, std::vector<Composition>& compositions);
  std::vector<Question> OpenQuestions() const;
  const PairCandidates& CandidatesOn(const PairId& pair, int island);
  ComposeProblem ProblemFor(int microbatch);
  double TransferSecondsBetween(int microbatch, int atom, int from_island,
                                int from_gpus, int to_island,
                                int to_gpus) const;
  PairId PairOf(int microbatch, const PlacedPair& placed) const;
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

  // The last composition for each microbatch size, and whether answers came
  // since.
  struct Composed {
    bool changed = false;
    std::vector<PlacedPair> pairs;  // Those that `compositions` use.
    std::vector<Composition> compositions;
  };
  std::vector<Composed> composed_;
  double best_s_;
  int narrowest_beam_ = kUnlimitedBeam;
  std::vector<PairId> open_;  // Not asked yet, nor pruned for good.
  size_t window_ = 0;         // Index into the windows.
  std::vector<Finalist> finalists_;
  std::set<std::vector<ChosenSlice>> collected_;  // All finalists ever.
  // By pair and island: what lessons say that a plan bears at most, and the
  // candidates with that in place of the claims.
  using PlacedPairId = std::pair<PairId, int>;
  std::map<PlacedPairId, std::map<int, int>> borne_;
  std::map<PlacedPairId, PairCandidates> corrected_;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_TANGRAM_PAIR_SEARCH_H_
