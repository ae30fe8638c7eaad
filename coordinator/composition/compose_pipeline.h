#ifndef TANGRAM_COORDINATOR_COMPOSITION_COMPOSE_PIPELINE_H_
#define TANGRAM_COORDINATOR_COMPOSITION_COMPOSE_PIPELINE_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "common/base/infinity.h"
#include "common/domain/model_slice.h"
#include "coordinator/composition/candidate.h"

namespace tangram {

// The default of ComposeProblem::max_compositions. With 32 and with 128, the
// plans of the paper's C1 and C3 workloads are the same.
inline constexpr int kMaxCompositions = 64;

// The candidates of one pair at one position in the model.
struct PlacedPair {
  AtomRange atoms;
  int island = 0;
  const PairCandidates* pair = nullptr;  // Outlives the composition.
};

struct ComposeProblem {
  int num_atoms = 0;
  int num_islands = 0;
  int num_microbatches = 1;  // B of the closed form.
  std::vector<PlacedPair> pairs;
  // Returns the seconds of one microbatch across the boundary before `atom`, in
  // both directions, between the last stage of one slice and the first stage of
  // the next.
  std::function<double(int atom, int from_island, int from_gpus, int to_island,
                       int to_gpus)>
      transfer_s;
  // [island]: the first island that has the same transfers to and from all
  // others; itself if there is none before it. Islands with an equal number and
  // equal pairs are alike. Empty: no islands are.
  std::vector<int> first_alike;
  // Work of each atom in any unit; 0 if unknown. The closer stage times are to
  // it, the tighter the bounds, and the earlier partial pipelines are dropped.
  std::vector<double> atom_work;
  // Also return compositions within this fraction of the best.
  double slack = 0;
  // Return at most this many compositions.
  int max_compositions = kMaxCompositions;
  // Drop a partial pipeline once this many others dominate it. 1 finds the best
  // composition. k finds the k best (ties aside), for callers that may have to
  // refuse some.
  int keep = 1;
  // A time in seconds that is known to be reachable; slower compositions are
  // dropped.
  double incumbent_s = kInfinity;
  // Consider only compositions that use all of these islands (a bit each).
  uint32_t required_islands = 0;
  // The fewest and the most stages of the whole pipeline. With a least number,
  // partial pipelines of unlike numbers are not compared.
  int min_stages = 0;
  int max_stages = std::numeric_limits<int>::max();
  // The stages of the whole pipeline divide this number; 0: any number of them.
  // Needs a least number.
  int divided_by_stages = 0;
  // True if the whole pipeline may have this many GPUs; empty: any number.
  std::function<bool(int num_gpus)> accepts_gpus;
  // Polled during the search; true ends it. May be empty.
  std::function<bool()> should_stop;
  // The most partial pipelines that a pass may keep. Each takes 60 to 100
  // bytes. See ComposePipelines.
  int max_tails = 1'000'000;
  // The work after which the search is hard and prepares itself
  // (ComposePipelines), in candidates put in front of tails. Unset: about as
  // much as preparing takes. It has no influence on exact answers.
  std::optional<int64_t> easy_work;
};

struct ComposedSlice {
  int pair = 0;             // Index into ComposeProblem::pairs.
  int candidate = 0;        // Index into its candidates.
  int trailing_stages = 0;  // Stages after the slice.
  // True if the candidate does not fit with that many trailing stages, but the
  // pair was not asked for so many yet. The slice then stands for a plan that
  // asking might bring.
  bool optimistic = false;
};

struct Composition {
  double closed_form_s = 0;           // J of ComposePipelines.
  std::vector<ComposedSlice> slices;  // In execution order.
  bool optimistic = false;            // True if some slice is.
};

inline constexpr int kUnlimitedBeam = std::numeric_limits<int>::max();

// How thoroughly a problem was searched.
struct ComposeEffort {
  bool is_exact = true;             // False once a beam was needed.
  int beam_width = kUnlimitedBeam;  // Partial pipelines per atom.
};

// Pipeline composition (paper §5.2). Chooses slices that cover the model in
// order, each on an island of its own, so that
//
//   J = Σ t_s + (B − 1)·max t_s + exposed synchronisation
//
// is least. The stage before each boundary between islands also pays for the
// transfer. Islands may stay unused.
//
// A dynamic program builds sequences from the back, because the memory of a
// slice depends on the number of stages after it. Its states are (first atom
// covered, islands used, front stage, and the number of GPUs if it matters).
// Each state keeps the Pareto set over (Σ t, max t, exposed synchronisation,
// stages).
//
// Passes run under a rising bound on max t, until no slower stage can improve
// on the best pipeline found. Each pass drops partial pipelines that lower
// bounds on the remaining atoms rule out. The search is exact: the first
// composition has the least J of all compositions of the candidates.
//
// Alike islands can change places in a pipeline. It composes only one of such
// copies: the first of the islands are in use, the very first at the back.
//
// Most problems are small. Once the passes of one have taken as much work as
// preparing would, it prepares: it computes tighter lower bounds (JointBounds)
// and looks for a good pipeline with a narrow beam. The last pass then drops
// more of what is beyond its cut-off, so its answer stays the same.
//
// If a plan no longer fits, but the pair was not asked for that many trailing
// stages, the plan stands in optimistically. The caller asks for those plans
// and composes again until none is left. So plans are reused until memory runs
// out.
//
// A pass that would keep more than `max_tails` partial pipelines is repeated
// with a beam: of those that start at an atom, only the `beam_width` with the
// least lower bound remain. The answer is then a good pipeline, but not
// provably the best. `effort`, which may be null, says so. Memory stays below
// 100 MB.
//
// Returns the compositions within `slack` of the best (or of the incumbent),
// best first, at most max_compositions; empty if there is none. Deterministic.
// The only error is kCancelled, if `should_stop` returns true.
absl::StatusOr<std::vector<Composition>> ComposePipelines(
    const ComposeProblem& problem, ComposeEffort* effort = nullptr);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_COMPOSITION_COMPOSE_PIPELINE_H_
