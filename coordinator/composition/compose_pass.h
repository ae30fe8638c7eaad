#ifndef TANGRAM_COORDINATOR_COMPOSITION_COMPOSE_PASS_H_
#define TANGRAM_COORDINATOR_COMPOSITION_COMPOSE_PASS_H_

// The passes of ComposePipelines, for its source alone.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "common/base/infinity.h"
#include "common/base/insert_non_dominated.h"
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
  Outcome Run() {
    for (const int pair : ending_at_[problem_.num_atoms]) {
      if (!IsNext(pair, 0)) continue;
      PrependPair(pair, TailKey{}, {});
    }
    for (int atom = problem_.num_atoms - 1; atom > 0; --atom) {
      if (rules_.beam_width < kUnlimitedBeam) KeepBeam(atom);
      for (auto& [key, tails] : tables_[atom]) {
        if (problem_.should_stop && problem_.should_stop()) {
          return Outcome::kStopped;
        }
        std::stable_sort(tails.begin(), tails.end(),
                         [](const Tail& a, const Tail& b) {
                           return a.latency_s < b.latency_s;
                         });
        for (const int pair : ending_at_[atom]) {
          if (!IsNext(pair, key.islands)) continue;
          PrependPair(pair, key, tails);
          if (stopped_) return Outcome::kStopped;
          if (HasTooManyTails()) return Outcome::kTooManyTails;
          if (work_ > rules_.max_work) return Outcome::kTooMuchWork;
        }
      }
      tables_[atom].clear();
    }
    return Outcome::kDone;
  }

  // Returns the complete pipelines within the cut-off, best first.
  std::vector<Composition> Compositions() const {
    std::vector<std::pair<double, int>> order;
    for (const auto& [key, tails] : tables_[0]) {
      for (const Tail& tail : tails) {
        const double seconds = IterationSeconds(tail);
        if (seconds <= Cutoff()) order.push_back({seconds, tail.slices});
      }
    }
    std::sort(order.begin(), order.end());
    const auto most = static_cast<size_t>(problem_.max_compositions);
    if (order.size() > most) order.resize(most);
    std::vector<Composition> compositions;
    for (const auto& [seconds, slices] : order) {
      compositions.push_back(Unwind(seconds, slices));
    }
    return compositions;
  }

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
  void KeepBeam(int atom) {
    std::vector<std::vector<std::pair<double, int>>> by_islands(
        problem_.num_islands + 1);  // Lower bound, index of the tail.
    size_t num_tails = 0;
    for (const auto& [key, tails] : tables_[atom]) {
      const Front front = FrontOf(atom, Unused(key.islands));
      for (const Tail& tail : tails) {
        by_islands[std::popcount(key.islands)].push_back(
            {LeastSeconds(front, tail), tail.slices});
      }
      num_tails += tails.size();
    }
    if (num_tails <= static_cast<size_t>(rules_.beam_width)) return;
    const int share = std::max(rules_.beam_width / problem_.num_islands, 1);
    std::vector<std::pair<double, int>> last(by_islands.size(), {kInfinity, 0});
    for (size_t n = 0; n < by_islands.size(); ++n) {
      auto& tails = by_islands[n];
      if (static_cast<int>(tails.size()) <= share) continue;
      std::nth_element(tails.begin(), tails.begin() + share - 1, tails.end());
      last[n] = tails[share - 1];
    }
    for (auto& [key, tails] : tables_[atom]) {
      const Front front = FrontOf(atom, Unused(key.islands));
      std::erase_if(tails, [&, &key = key](const Tail& tail) {
        return std::pair(LeastSeconds(front, tail), tail.slices) >
               last[std::popcount(key.islands)];
      });
    }
    // Remove keys without tails: PrependPair takes an empty set for the end of
    // the pipeline.
    std::erase_if(tables_[atom],
                  [](const auto& entry) { return entry.second.empty(); });
  }

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
                   absl::Span<const Tail> rests) {
    const PlacedPair& placed = problem_.pairs[pair_index];
    const uint32_t islands = key.islands | IslandBit(pair_index);
    const uint32_t unused = Unused(islands);
    if (!CanStandHere(placed, islands, unused)) return;
    // Most pairs have no candidate of use here, even without a transfer.
    const LeastOfPair& least = leasts_[pair_index];
    if (least.slowest_s > rules_.stage_bound_s) return;
    const int prefix = placed.atoms.begin;
    const double rest_s = bounds_.SlowestSeconds(prefix, unused);
    if (rest_s > rules_.stage_bound_s) return;
    const double hidden_s = HiddenSeconds(prefix, unused);
    const double rests_s = rests.empty() ? 0 : rests.front().latency_s;
    const Front front = FrontOf(prefix, unused);
    if (LeastSeconds(front, rests_s + least.latency_s,
                     std::max(least.slowest_s, rest_s)) >
        Cutoff() * (1 + kCutoffRounding)) {
      return;
    }

    const auto& candidates = placed.pair->candidates;
    double transfer_s = 0;
    int transfer_gpus = 0;  // Those between which it is.
    for (int c = 0; c < static_cast<int>(candidates.size()); ++c) {
      if (!GoOn()) return;
      const Candidate& head = candidates[c];
      if (!rests.empty()) {
        // Most candidates are of no use even without a transfer.
        if (head.slowest_s > rules_.stage_bound_s ||
            LeastSeconds(front, rests_s + head.latency_s,
                         std::max(head.slowest_s, rest_s)) >
                Cutoff() * (1 + kCutoffRounding)) {
          continue;
        }
        if (head.last_stage_gpus != transfer_gpus) {
          transfer_gpus = head.last_stage_gpus;
          transfer_s = problem_.transfer_s(placed.atoms.end, placed.island,
                                           transfer_gpus, key.front_island,
                                           key.front_gpus);
        }
      }
      const double slowest_s =
          std::max({head.slowest_s, head.last_stage_s + transfer_s, rest_s});
      if (slowest_s > rules_.stage_bound_s) continue;
      const TailKey new_key{
          islands, placed.island, head.first_stage_gpus,
          problem_.accepts_gpus ? key.num_gpus + head.num_gpus : 0};
      if (placed.atoms.begin == 0 && problem_.accepts_gpus &&
          !problem_.accepts_gpus(new_key.num_gpus)) {
        continue;
      }
      const Tail tail{.latency_s = head.latency_s + transfer_s,
                      .slowest_s = slowest_s,
                      .exposed_s = std::max(head.exposed_sync_s, hidden_s),
                      .num_stages = head.num_stages};
      const ComposedSlice slice{.pair = pair_index, .candidate = c};
      std::vector<Tail>* set = nullptr;
      if (rests.empty()) {
        Prepend(slice, nullptr, front, new_key, tail, set);
      }
      const double least_s = LeastSeconds(front, tail.latency_s, slowest_s);
      for (const Tail& rest : rests) {
        if (least_s + rest.latency_s > Cutoff()) break;  // So are all after it.
        if (!GoOn() || HasTooManyTails()) return;
        Prepend(slice, &rest, front, new_key, tail, set);
      }
    }
  }

  // Completes `tail`, whose times are those of its first slice `head` on entry,
  // by the recurrence above, and adds it to its table. Drops it if it has too
  // many stages, does not fit, or is beyond the cut-off:
  //
  //   LeastSeconds, or J if complete, > cut-off.
  //
  // `set` is that of the key, or null until a tail is added: no set is empty.
  void Prepend(ComposedSlice head, const Tail* rest, const Front& front,
               const TailKey& key, Tail tail, std::vector<Tail>*& set) {
    const PlacedPair& placed = problem_.pairs[head.pair];
    const Candidate& candidate = placed.pair->candidates[head.candidate];
    if (rest != nullptr) {
      head.trailing_stages = rest->num_stages;
      tail.latency_s += rest->latency_s;
      tail.slowest_s = std::max(tail.slowest_s, rest->slowest_s);
      tail.exposed_s =
          std::max(tail.exposed_s, rest->exposed_s - candidate.backward_s);
      tail.num_stages += rest->num_stages;
      tail.optimistic = rest->optimistic;
    }
    if (problem_.num_microbatches == 1) tail.slowest_s = 0;
    if (tail.num_stages > problem_.max_stages) return;
    if (candidate.max_trailing_stages < head.trailing_stages) {
      const int covers = placed.pair->covers_trailing_stages;
      if (head.trailing_stages <= covers) return;
      if (rules_.is_modest && candidate.max_trailing_stages < covers) return;
      head.optimistic = true;
      tail.optimistic = true;
    }
    const bool complete = placed.atoms.begin == 0;
    if (complete && !MayHaveStages(problem_, tail.num_stages)) return;
    const double least_s =
        complete ? IterationSeconds(tail) : LeastSeconds(front, tail);
    if (least_s > Cutoff()) return;
    if (complete && least_s < best_s_) {
      best_s_ = least_s;
      cutoff_s_ = CutoffOf(problem_, best_s_);
    }
    tail.slices = static_cast<int>(lists_.size());
    if (set == nullptr) set = &tables_[placed.atoms.begin][key];
    if (Insert(tail, *set)) {
      lists_.push_back({head, rest == nullptr ? -1 : rest->slices});
    }
  }

  // Adds a tail to its Pareto set, and drops every tail that `keep` others
  // dominate: any pipeline that ends with it has `keep` others that are at
  // least as good. Dominance is transitive, so this stays true if some of them
  // are dropped later. If two tails are equal, the later one counts as
  // dominated. Returns whether it was added.
  bool Insert(Tail added, std::vector<Tail>& set) {
    const auto law = [this](const Tail& a, const Tail& b) {
      return Dominates(a, b, rules_.stages_told_apart) &&
             (problem_.min_stages == 0 || a.num_stages == b.num_stages);
    };
    if (problem_.keep == 1) return InsertNonDominated(added, law, set);
    for (const Tail& other : set) {
      added.num_better += law(other, added) ? 1 : 0;
      if (added.num_better >= problem_.keep) return false;
    }
    for (Tail& other : set) {
      const bool better = law(added, other) && !law(other, added);
      other.num_better += better ? 1 : 0;
    }
    std::erase_if(set, [&](const Tail& other) {
      return other.num_better >= problem_.keep;
    });
    set.push_back(added);
    return true;
  }

  // Returns the slices of the pipeline, from the first to the last.
  Composition Unwind(double seconds, int slices) const {
    Composition composition{.closed_form_s = seconds};
    for (int list = slices; list >= 0; list = lists_[list].rest) {
      composition.slices.push_back(lists_[list].head);
      composition.optimistic |= lists_[list].head.optimistic;
    }
    return composition;
  }

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
