#include "coordinator/composition/compose_pipeline.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "absl/types/span.h"
#include "coordinator/composition/prefix_bounds.h"

namespace tangram {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Each pass allows stages this much slower than the one before.
constexpr double kBoundGrowth = 1.15;
// Keeps rounding from dropping a composition that equals the cut-off.
constexpr double kRounding = 1e-9;

// A partial pipeline over atoms [a, num_atoms), for the a of its table.
struct Tail {
  double latency_s = 0;  // Σ t_s.
  // max t_s, raised to what the atoms before it need at least: the final value
  // cannot be lower, so nothing is lost and more tails compare.
  double slowest_s = 0;
  double exposed_s = 0;
  int num_stages = 0;
  bool optimistic = false;
  ComposedSlice head;
  int rest = -1;  // Index of the tail after the head; -1: none.
};

// A tail as those in front of it and beside it look at it, again and again.
struct Rest {
  double latency_s = 0;
  double slowest_s = 0;
  double exposed_s = 0;
  int num_stages = 0;
  bool optimistic = false;
  int tail = 0;  // Its index.
};

// What a slice in front of the tail must know of it.
struct TailKey {
  uint32_t islands = 0;
  int front_island = 0;
  int front_gpus = 0;
  int num_gpus = 0;  // Of all stages; 0 if any number will do.
  auto operator<=>(const TailKey&) const = default;
};

// At most in every respect, so at least as good however the pipeline goes on.
bool Dominates(const Rest& a, const Rest& b) {
  return a.latency_s <= b.latency_s && a.slowest_s <= b.slowest_s &&
         a.exposed_s <= b.exposed_s && a.num_stages <= b.num_stages;
}

// One pass of the dynamic programme under a bound on the slowest stage.
class Pass {
 public:
  Pass(const ComposeProblem& problem, const PrefixBounds& bounds,
       absl::Span<const std::vector<int>> ending_at, double stage_bound_s,
       double best_s)
      : problem_(problem),
        bounds_(bounds),
        ending_at_(ending_at),
        stage_bound_s_(stage_bound_s),
        best_s_(best_s),
        tables_(problem.num_atoms + 1) {}

  // The best J found, or the one known before.
  double best_s() const { return best_s_; }

  // False if it was stopped.
  bool Run() {
    for (const int pair : ending_at_[problem_.num_atoms]) {
      PrependPair(pair, TailKey{}, {});
    }
    for (int atom = problem_.num_atoms - 1; atom > 0; --atom) {
      for (auto& [key, rests] : tables_[atom]) {
        if (problem_.should_stop && problem_.should_stop()) return false;
        std::stable_sort(rests.begin(), rests.end(),
                         [](const Rest& a, const Rest& b) {
                           return a.latency_s < b.latency_s;
                         });
        for (const int pair : ending_at_[atom]) {
          if (key.islands & IslandBit(pair)) continue;
          PrependPair(pair, key, rests);
        }
      }
      tables_[atom].clear();
    }
    return true;
  }

  // Complete pipelines within the cut-off, best first.
  std::vector<Composition> Compositions() const {
    std::vector<std::pair<double, int>> order;
    for (const auto& [key, rests] : tables_[0]) {
      for (const Rest& rest : rests) {
        const double seconds = IterationSeconds(tails_[rest.tail]);
        if (seconds <= Cutoff()) order.push_back({seconds, rest.tail});
      }
    }
    std::sort(order.begin(), order.end());
    if (order.size() > kMaxCompositions) order.resize(kMaxCompositions);
    std::vector<Composition> compositions;
    for (const auto& [seconds, tail] : order) {
      compositions.push_back(Unwind(seconds, tail));
    }
    return compositions;
  }

 private:
  uint32_t IslandBit(int pair) const {
    return uint32_t{1} << problem_.pairs[pair].island;
  }

  double Cutoff() const { return best_s_ * (1 + problem_.slack + kRounding); }

  double IterationSeconds(const Tail& tail) const {
    return tail.latency_s + (problem_.num_microbatches - 1) * tail.slowest_s +
           tail.exposed_s;
  }

  // Puts every candidate of a pair in front of every tail of one key; with no
  // tails, at the end of the pipeline.
  void PrependPair(int pair_index, const TailKey& key,
                   absl::Span<const Rest> rests) {
    const PlacedPair& placed = problem_.pairs[pair_index];
    const uint32_t islands = key.islands | IslandBit(pair_index);
    const uint32_t unused =
        ((uint32_t{1} << problem_.num_islands) - 1) & ~islands;
    if (placed.atoms.begin == 0 &&
        (islands & problem_.required_islands) != problem_.required_islands) {
      return;
    }
    if (placed.atoms.begin > 0 && unused == 0) return;
    const int prefix = placed.atoms.begin;
    const double rest_s = bounds_.SlowestSeconds(prefix, unused);
    if (rest_s > stage_bound_s_) return;
    const double rest_latency_s = bounds_.LatencySeconds(prefix, unused);

    const auto& candidates = placed.pair->candidates;
    for (int c = 0; c < static_cast<int>(candidates.size()); ++c) {
      const Candidate& head = candidates[c];
      const double transfer_s =
          rests.empty() ? 0
                        : problem_.transfer_s(placed.atoms.end, placed.island,
                                              head.last_stage_gpus,
                                              key.front_island, key.front_gpus);
      const double slowest_s =
          std::max({head.slowest_s, head.last_stage_s + transfer_s, rest_s});
      if (slowest_s > stage_bound_s_) continue;
      const TailKey new_key{
          islands, placed.island, head.first_stage_gpus,
          problem_.accepts_gpus ? key.num_gpus + head.num_gpus : 0};
      if (placed.atoms.begin == 0 && problem_.accepts_gpus &&
          !problem_.accepts_gpus(new_key.num_gpus)) {
        continue;
      }
      Tail tail{.latency_s = head.latency_s + transfer_s,
                .slowest_s = slowest_s,
                .exposed_s = head.exposed_sync_s,
                .num_stages = head.num_stages,
                .head = {.pair = pair_index, .candidate = c}};
      if (rests.empty()) {
        Prepend(placed, head, nullptr, rest_latency_s, new_key, tail);
      }
      const double least_s = tail.latency_s + rest_latency_s +
                             (problem_.num_microbatches - 1) * slowest_s;
      for (const Rest& rest : rests) {
        if (least_s + rest.latency_s > Cutoff()) break;  // So are all after it.
        Prepend(placed, head, &rest, rest_latency_s, new_key, tail);
      }
    }
  }

  // `tail` holds the head alone on entry; by value, since it is completed here.
  void Prepend(const PlacedPair& placed, const Candidate& head,
               const Rest* rest, double prefix_latency_s, const TailKey& key,
               Tail tail) {
    if (rest != nullptr) {
      tail.rest = rest->tail;
      tail.head.trailing_stages = rest->num_stages;
      tail.latency_s += rest->latency_s;
      tail.slowest_s = std::max(tail.slowest_s, rest->slowest_s);
      tail.exposed_s =
          std::max(tail.exposed_s, rest->exposed_s - head.backward_s);
      tail.num_stages += rest->num_stages;
      tail.optimistic = rest->optimistic;
    }
    if (tail.num_stages > problem_.max_stages) return;
    const int trailing = tail.head.trailing_stages;
    if (head.max_trailing_stages < trailing) {
      if (trailing <= placed.pair->covers_trailing_stages) return;
      tail.head.optimistic = true;
      tail.optimistic = true;
    }
    const bool complete = placed.atoms.begin == 0;
    const double least_s = tail.latency_s + prefix_latency_s +
                           (problem_.num_microbatches - 1) * tail.slowest_s +
                           (complete ? tail.exposed_s : 0);
    if (least_s > Cutoff()) return;
    if (complete) best_s_ = std::min(best_s_, least_s);
    Insert(tail, tables_[placed.atoms.begin][key]);
  }

  void Insert(const Tail& tail, std::vector<Rest>& set) {
    const Rest added = {.latency_s = tail.latency_s,
                        .slowest_s = tail.slowest_s,
                        .exposed_s = tail.exposed_s,
                        .num_stages = tail.num_stages,
                        .optimistic = tail.optimistic,
                        .tail = static_cast<int>(tails_.size())};
    for (const Rest& other : set) {
      if (Dominates(other, added)) return;
    }
    std::erase_if(set,
                  [&](const Rest& other) { return Dominates(added, other); });
    set.push_back(added);
    tails_.push_back(tail);
  }

  Composition Unwind(double seconds, int tail) const {
    Composition composition{.closed_form_s = seconds,
                            .optimistic = tails_[tail].optimistic};
    for (; tail >= 0; tail = tails_[tail].rest) {
      composition.slices.push_back(tails_[tail].head);
    }
    return composition;
  }

  const ComposeProblem& problem_;
  const PrefixBounds& bounds_;
  const absl::Span<const std::vector<int>> ending_at_;
  const double stage_bound_s_;
  double best_s_;
  std::vector<Tail> tails_;
  // tables_[a]: Pareto sets of tails that start at atom a. Ordered, so that
  // ties do not depend on hashing.
  std::vector<std::map<TailKey, std::vector<Rest>>> tables_;
};

// Pairs by the atom at which they end, in the order of `pairs`.
std::vector<std::vector<int>> PairsByEnd(const ComposeProblem& problem) {
  std::vector<std::vector<int>> ending_at(problem.num_atoms + 1);
  for (int i = 0; i < static_cast<int>(problem.pairs.size()); ++i) {
    ending_at[problem.pairs[i].atoms.end].push_back(i);
  }
  return ending_at;
}

// The least and the greatest slowest stage of any candidate.
struct StageRange {
  double fastest_s = kInfinity;
  double slowest_s = 0;
};

StageRange StagesOf(const ComposeProblem& problem) {
  StageRange range;
  for (const PlacedPair& placed : problem.pairs) {
    for (const Candidate& candidate : placed.pair->candidates) {
      range.fastest_s = std::min(range.fastest_s, candidate.slowest_s);
      range.slowest_s = std::max(range.slowest_s, candidate.slowest_s);
    }
  }
  return range;
}

}  // namespace

absl::StatusOr<std::vector<Composition>> ComposePipelines(
    const ComposeProblem& problem) {
  const std::vector<std::vector<int>> ending_at = PairsByEnd(problem);
  const PrefixBounds bounds(problem);
  const StageRange range = StagesOf(problem);
  double best_s = problem.incumbent_s;
  double bound_s = range.fastest_s;
  while (true) {
    // Every stage slower than this makes the iteration too long.
    const double last_bound_s =
        best_s * (1 + problem.slack + kRounding) / problem.num_microbatches;
    if (best_s < kInfinity || bound_s > range.slowest_s) bound_s = last_bound_s;
    Pass pass(problem, bounds, ending_at, bound_s, best_s);
    if (!pass.Run()) return absl::CancelledError("composition stopped");
    if (bound_s == last_bound_s) return pass.Compositions();
    best_s = pass.best_s();
    bound_s *= kBoundGrowth;
  }
}

}  // namespace tangram
