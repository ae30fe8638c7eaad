#ifndef TANGRAM_COORDINATOR_COMPOSITION_COMPOSE_PIPELINE_H_
#define TANGRAM_COORDINATOR_COMPOSITION_COMPOSE_PIPELINE_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "absl/status/statusor.h"
#include "common/domain/model_slice.h"
#include "coordinator/composition/candidate.h"

namespace tangram {

inline constexpr int kMaxCompositions = 64;

// The candidates of one pair at one place in the model.
struct PlacedPair {
  AtomRange atoms;
  int island = 0;
  const PairCandidates* pair = nullptr;
};

struct ComposeProblem {
  int num_atoms = 0;
  int num_islands = 0;
  int num_microbatches = 1;  // B.
  std::vector<PlacedPair> pairs;
  // Seconds that one microbatch needs across the boundary before atom `atom`,
  // both directions, from the last stage of one slice to the first of the next.
  std::function<double(int atom, int from_island, int from_gpus, int to_island,
                       int to_gpus)>
      transfer_s;
  // How much work each atom is, in any unit; 0 where nothing is known. The
  // better stage times follow it, the sooner the composition sees what is
  // hopeless.
  std::vector<double> atom_work;
  // Compositions within this fraction of the best are returned too.
  double slack = 0;
  // At most so many are returned.
  int max_compositions = kMaxCompositions;
  // How many partial pipelines that are at least as good in every respect it
  // takes to drop one. 1 finds the best composition. k finds the k best, for
  // callers that may have to refuse some (ties aside).
  int keep = 1;
  // A time that is known to be reachable: nothing slower is looked for.
  double incumbent_s = std::numeric_limits<double>::infinity();
  // Only compositions that use all of these islands.
  uint32_t required_islands = 0;
  // Of the whole pipeline.
  int max_stages = std::numeric_limits<int>::max();
  // Whether the whole pipeline may have so many GPUs; empty: any number.
  std::function<bool(int num_gpus)> accepts_gpus;
  // Polled now and then; true ends the search.
  std::function<bool()> should_stop;
  // Partial pipelines that a pass may keep, 100 bytes each with their place in
  // a table; see ComposePipelines.
  int max_tails = 1'000'000;
};

struct ComposedSlice {
  int pair = 0;       // Index into ComposeProblem::pairs.
  int candidate = 0;  // Index into its candidates.
  int trailing_stages = 0;
  // The candidate does not fit with that many trailing stages, but the pair
  // was not asked for so many yet: a bound on what asking might bring.
  bool optimistic = false;
};

struct Composition {
  double closed_form_s = 0;
  std::vector<ComposedSlice> slices;  // In execution order.
  bool optimistic = false;            // Some slice is.
};

inline constexpr int kUnlimitedBeam = std::numeric_limits<int>::max();

struct ComposeEffort {
  bool is_exact = true;
  int beam_width = kUnlimitedBeam;
};

// Pipeline composition (paper §5.2). Chooses slices that cover the model in
// order, each on an island of its own, so that
//
//   J = Σ t_s + (B − 1)·max t_s + exposed synchronisation
//
// is least, where the stage before each boundary between islands also pays for
// the transfer. A dynamic programme over (first atom not covered, islands used,
// front stage, and the number of GPUs if it matters) builds sequences from the
// back, because the memory that a slice needs depends on the number of stages
// after it. Each state keeps the Pareto set over (Σ t, max t, exposed
// synchronisation, stages); a bound on max t rises until (B − 1)·bound alone is
// no better than the best found, and each pass drops what the lower bounds of
// the islands left cannot make better. Exact: the first answer has the least J
// of all compositions of the candidates. Leaving islands out needs no special
// case.
//
// Where a plan no longer fits but the pair was not asked for that many trailing
// stages, it stands in optimistically; the caller asks for those and composes
// again until none is left (plans are reused until memory runs out).
//
// A pass that would keep more than `max_tails` partial pipelines is repeated
// with a beam: of those that start at an atom, only the `beam_width` with the
// least lower bound go on. The answer is then a good pipeline, not provably the
// best; `effort`, which may be null, says so. Memory stays below 110 MB.
//
// Returns the compositions within `slack` of the best (or of the incumbent),
// best first, at most max_compositions; empty if there is none. Deterministic.
// The one error is kCancelled, when `should_stop` says so.
absl::StatusOr<std::vector<Composition>> ComposePipelines(
    const ComposeProblem& problem, ComposeEffort* effort = nullptr);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_COMPOSITION_COMPOSE_PIPELINE_H_
