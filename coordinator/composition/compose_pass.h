#ifndef TANGRAM_COORDINATOR_COMPOSITION_COMPOSE_PASS_H_
#define TANGRAM_COORDINATOR_COMPOSITION_COMPOSE_PASS_H_

// The passes of ComposePipelines, for its source alone.

#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <vector>

#include "absl/types/span.h"
#include "common/base/infinity.h"
#include "common/domain/closed_form.h"
#include "coordinator/composition/compose_pipeline.h"
#include "coordinator/composition/joint_bounds.h"
#include "coordinator/composition/prefix_bounds.h"
#include "coordinator/composition/problem_ranges.h"
#include "coordinator/composition/tail.h"

namespace tangram {

// How a pass searches.
struct PassRules {
  double stage_bound_s = kInfinity;  // No stage is slower.
  double best_s = kInfinity;         // A J that is known to be reachable.
  int beam_width = kUnlimitedBeam;
  // Units of work, after which the pass gives up.
  int64_t max_work = std::numeric_limits<int64_t>::max();
  // Tails with at least this many stages are alike to the slices before them.
  int stages_told_apart = 0;
  // No plan stands in optimistically that fits fewer trailing stages than its
  // pair was asked for. Then fewer trailing stages never rule a slice out, so a
  // pass without a beam finds a pipeline that is at least as good.
  bool is_modest = false;
};

// Keeps rounding from dropping a composition that equals the cut-off.
inline constexpr double kCutoffRounding = 1e-9;

// Pipelines with a greater J are dropped, in seconds, if `best_s` is known.
inline double CutoffOf(const ComposeProblem& problem, double best_s) {
  return best_s * (1 + problem.slack + kCutoffRounding);
}

// One pass of the dynamic program under a bound on the slowest stage (step 2 of
// the algorithm in paper §5.2).
//
// Let a tail over atoms [a, n) use islands U and have (L, T, E, S). Candidate c
// of a pair over atoms [b, a) on island i not in U, with sum l, slowest stage
// m, last stage z, backward passes d, exposed synchronisation e and s stages,
// makes the tail over [b, n):
//
//   L' = l + x + L
//   T' = max(m, z + x, T, τ)
//   E' = max(e, E − d, δ)
//   S' = s + S
//
// where x is the transfer between the two slices, and τ and δ the lower bounds
// (PrefixBounds) on the slowest stage and the backward passes of atoms [0, b)
// on the islands that remain. E shrinks by d, because the tail synchronises
// while the slices before it still run their last backward passes. They hide
// all that is below δ, so it need not be told apart. A tail over [0, n) is a
// pipeline with
//
//   J = L + (B − 1) T + E.
//
// With B = 1, T does not matter, so all tails have T = 0.
class ComposePass {
 public:
  // `joint` may be null.
  ComposePass(const ComposeProblem& problem, const PrefixBounds& bounds,
              const JointBounds* joint,
              absl::Span<const std::vector<int>> ending_at,
              absl::Span<const LeastOfPair> leasts,
              absl::Span<const uint32_t> earlier_alike, const PassRules& rules)
      : problem_(problem),
        bounds_(bounds),
        joint_(joint),
        ending_at_(ending_at),
        leasts_(leasts),
        earlier_alike_(earlier_alike),
        rules_(rules),
        best_s_(rules.best_s),
        cutoff_s_(CutoffOf(problem, rules.best_s)),
        tables_(problem.num_atoms + 1) {}

  enum class Outcome {
    kDone,
    kStopped,       // should_stop returned true.
    kTooManyTails,  // Repeat with a narrower beam.
    kTooMuchWork
  };

  // The best J found, or the one known before; in seconds.
  double best_s() const { return best_s_; }
  int64_t work() const { return work_; }

  // Fills the tables from the last atom to the first. When the loop reaches an
  // atom, its Pareto sets are final, because every slice covers an atom.
  Outcome Run();

  // Returns the complete pipelines within the cut-off, best first.
  std::vector<Composition> Compositions() const;

 private:
  // Units of work between two polls, less than a millisecond. A unit puts one
  // candidate in front of one tail.
  static constexpr int kWorkBetweenPolls = 1 << 14;

  uint32_t IslandBit(int pair) const {
    return uint32_t{1} << problem_.pairs[pair].island;
  }

  // Returns whether the island of a pair is the next one to take: it is not in
  // `islands`, and those before it to which it is alike are.
  bool IsNext(int pair, uint32_t islands) const {
    const uint32_t earlier = earlier_alike_[problem_.pairs[pair].island];
    return (islands & (earlier | IslandBit(pair))) == earlier;
  }

  // A beam of width 1 cannot be narrowed, so it may exceed max_tails.
  bool HasTooManyTails() const {
    return static_cast<int>(lists_.size()) > problem_.max_tails &&
           rules_.beam_width > 1;
  }

  // Counts a unit of work and polls every kWorkBetweenPolls. False once the
  // search must stop.
  bool GoOn() {
    if (stopped_) return false;
    if (++work_ % kWorkBetweenPolls != 0 || !problem_.should_stop) return true;
    stopped_ = problem_.should_stop();
    return !stopped_;
  }

  // Returns the islands that a tail on `islands` leaves.
  uint32_t Unused(uint32_t islands) const {
    return ((uint32_t{1} << problem_.num_islands) - 1) & ~islands;
  }

  // The part of a pipeline before a tail: atoms [0, atom) on the islands that
  // the tail leaves, and the lower bounds λ on its latency and φ on its forward
  // passes.
  struct Front {
    int atom = 0;
    uint32_t unused = 0;
    double latency_s = 0;
    double forward_s = 0;
  };
  Front FrontOf(int atom, uint32_t unused) const {
    return {.atom = atom,
            .unused = unused,
            .latency_s = bounds_.LatencySeconds(atom, unused),
            .forward_s = bounds_.ForwardSeconds(atom, unused)};
  }

  // Returns a lower bound on J of all pipelines that end with a tail with this
  // L and T behind `front`, without exposed synchronisation: that of
  // JointBounds, or
  //
  //   L + λ + (B − 1) T.
  double LeastSeconds(const Front& front, double latency_s,
                      double slowest_s) const {
    if (joint_ != nullptr) {
      return joint_->LeastSeconds(front.atom, front.unused, latency_s,
                                  slowest_s);
    }
    return ClosedFormSeconds(latency_s + front.latency_s, slowest_s,
                             problem_.num_microbatches);
  }
  // The slices before a tail take f + d for their forward and backward passes
  // and hide d of E. With φ the lower bound (PrefixBounds) on f, also
  //
  //   J ≥ L + (f + d) + (B − 1) T + (E − d)  ≥  L + φ + (B − 1) T + E.
  double LeastSeconds(const Front& front, const Tail& tail) const {
    return std::max(
        LeastSeconds(front, tail.latency_s, tail.slowest_s),
        ClosedFormSeconds(tail.latency_s + front.forward_s, tail.slowest_s,
                          problem_.num_microbatches, tail.exposed_s));
  }

  // Returns δ, a little less so that rounding never leaves a rest of it.
  double HiddenSeconds(int atom, uint32_t unused) const {
    return std::max(bounds_.BackwardSeconds(atom, unused), 0.0) *
           (1 - kCutoffRounding);
  }

  // Keeps the rules_.beam_width tails at `atom` with the least lower bound:
  // equal shares for tails that use one island, two islands and so on. Tails
  // that leave many islands must be among them, because the bounds ignore
  // memory.
  void KeepBeam(int atom);

  double Cutoff() const { return cutoff_s_; }

  // Returns J of a complete pipeline.
  double IterationSeconds(const Tail& tail) const {
    return ClosedFormSeconds(tail.latency_s, tail.slowest_s,
                             problem_.num_microbatches, tail.exposed_s);
  }

  // Returns whether the pipeline of `islands` that begins with this pair is
  // complete and legal, or can still become so on the `unused` islands.
  bool CanStandHere(const PlacedPair& placed, uint32_t islands,
                    uint32_t unused) const {
    if (placed.atoms.begin > 0) return unused != 0;
    return (islands & problem_.required_islands) == problem_.required_islands;
  }

  // Puts every candidate of a pair in front of every tail of one key. With no
  // tails, the candidates are the end of the pipeline. `rests` are in order of
  // L, so the first tail beyond the cut-off ends the loop.
  void PrependPair(int pair_index, const TailKey& key,
                   absl::Span<const Tail> rests);

  // Completes `tail`, whose times are those of its first slice `head` on entry,
  // by the recurrence above, and adds it to its table. Drops it if it has too
  // many stages, does not fit, or is beyond the cut-off:
  //
  //   LeastSeconds, or J if complete, > cut-off.
  //
  // `set` is that of the key, or null until a tail is added: no set is empty.
  void Prepend(ComposedSlice head, const Tail* rest, const Front& front,
               const TailKey& key, Tail tail, std::vector<Tail>*& set);

  // Adds a tail to its Pareto set, and drops every tail that `keep` others
  // dominate: any pipeline that ends with it has `keep` others that are at
  // least as good. Dominance is transitive, so this stays true if some of them
  // are dropped later. If two tails are equal, the later one counts as
  // dominated. Returns whether it was added.
  bool Insert(Tail added, std::vector<Tail>& set);

  // Returns the slices of the pipeline, from the first to the last.
  Composition Unwind(double seconds, int slices) const;

  const ComposeProblem& problem_;
  const PrefixBounds& bounds_;
  const JointBounds* const joint_;
  const absl::Span<const std::vector<int>> ending_at_;
  const absl::Span<const LeastOfPair> leasts_;
  const absl::Span<const uint32_t> earlier_alike_;  // [island], a bit each.
  const PassRules rules_;
  double best_s_;
  double cutoff_s_;
  int64_t work_ = 0;  // Units of work so far.
  bool stopped_ = false;
  // Those of all tails ever kept, also of those since dropped. A deque grows
  // without a copy.
  std::deque<SliceList> lists_;
  // tables_[a] holds the Pareto sets of tails that start at atom a. A map keeps
  // an order, so that ties do not depend on hashing.
  std::vector<std::map<TailKey, std::vector<Tail>>> tables_;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_COMPOSITION_COMPOSE_PASS_H_
