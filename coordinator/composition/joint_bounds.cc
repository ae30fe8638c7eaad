#include "coordinator/composition/joint_bounds.h"

namespace tangram {
namespace {

// Without a limit, levels end at this times the least slowest stage.
constexpr double kUsualImbalance = 1.5;

}  // namespace

int64_t JointBounds::Steps(const ComposeProblem& problem,
                           const IslandKinds& kinds) {
  const auto pairs = static_cast<int64_t>(problem.pairs.size());
  const int64_t islands = std::max(problem.num_islands, 1);
  return pairs * kinds.num_kinds() / islands * kinds.num_sets();
}

bool JointBounds::IsSmall(const ComposeProblem& problem,
                          const IslandKinds& kinds) {
  const int64_t rows = problem.num_atoms + 1;
  return rows * kinds.num_sets() * static_cast<int64_t>(sizeof(Entry)) <=
         kMostBytes;
}

JointBounds::JointBounds(const ComposeProblem& problem,
                         const IslandKinds& kinds,
                         absl::Span<const std::vector<int>> ending_at,
                         double limit_s)
    : num_microbatches_(problem.num_microbatches),
      num_sets_(kinds.num_sets()),
      kinds_(kinds),
      entries_((problem.num_atoms + 1) * num_sets_) {
  levels_s_.fill(kInfinity);
  for (Entry& entry : entries_) entry.latency_s.fill(kInfinity);
  for (uint32_t islands = 0; islands >> problem.num_islands == 0; ++islands) {
    // Before the first atom, no required island may be left.
    if ((islands & problem.required_islands) != 0) continue;
    entries_[kinds.SetOf(islands)] = {.slowest_s = 0, .latency_s = {}};
  }
  // Without levels, σ and λ for T = ∞.
  TakeSteps(problem, kinds, ending_at,
            [](const Entry& pair, const Entry& before, Entry& after) {
              after.slowest_s = std::min(
                  after.slowest_s, std::max(pair.slowest_s, before.slowest_s));
              after.latency_s.back() =
                  std::min(after.latency_s.back(),
                           pair.latency_s.back() + before.latency_s.back());
            });
  SetLevels(entries_.back(), limit_s);
  TakeSteps(problem, kinds, ending_at,
            [](const Entry& pair, const Entry& before, Entry& after) {
              for (int j = 0; j + 1 < kLevels; ++j) {
                after.latency_s[j] =
                    std::min(after.latency_s[j],
                             pair.latency_s[j] + before.latency_s[j]);
              }
            });
}

// Sets levels at equal distances, from the least slowest stage of all pipelines
// to the most of those within the limit:
//
//   λ + (B − 1) max t ≤ limit.
void JointBounds::SetLevels(const Entry& all, double limit_s) {
  const double most_s =
      limit_s < kInfinity && num_microbatches_ > 1
          ? (limit_s - all.latency_s.back()) / (num_microbatches_ - 1)
          : kUsualImbalance * all.slowest_s;
  const double range_s = most_s > all.slowest_s ? most_s - all.slowest_s : 0;
  for (int j = 0; j < kLevels; ++j) {
    levels_s_[j] = all.slowest_s + range_s * (j + 1) / kLevels;
    slower_than_s_[j] = j == 0 ? 0 : levels_s_[j - 1];
  }
  levels_s_.back() = kInfinity;
}

JointBounds::Entry JointBounds::LeastOf(const PairCandidates& pair) const {
  Entry least;
  least.latency_s.fill(kInfinity);
  for (const Candidate& candidate : pair.candidates) {
    least.slowest_s = std::min(least.slowest_s, candidate.slowest_s);
    for (int j = kLevels - 1; j >= 0; --j) {
      if (candidate.slowest_s > levels_s_[j]) break;  // As are lower levels.
      least.latency_s[j] = std::min(least.latency_s[j], candidate.latency_s);
    }
  }
  return least;
}

// Pairs on other islands than the first of their kind would repeat its steps.
template <typename Extend>
void JointBounds::TakeSteps(const ComposeProblem& problem,
                            const IslandKinds& kinds,
                            absl::Span<const std::vector<int>> ending_at,
                            const Extend& extend) {
  for (const std::vector<int>& pairs : ending_at) {
    for (const int pair : pairs) {
      const PlacedPair& placed = problem.pairs[pair];
      const int kind = kinds.KindOf(placed.island);
      if (kinds.FirstOf(kind) != placed.island) continue;
      stopped_ = stopped_ || (problem.should_stop && problem.should_stop());
      if (stopped_) return;
      const Entry least = LeastOf(*placed.pair);
      const Entry* const before = &entries_[RowOf(placed.atoms.begin)];
      Entry* const after = &entries_[RowOf(placed.atoms.end)];
      const size_t stride = kinds.StrideOf(kind);
      const size_t span = kinds.SpanOf(kind);
      for (size_t first = 0; first < num_sets_; first += span) {
        for (size_t set = first + stride; set < first + span; ++set) {
          extend(least, before[set - stride], after[set]);
        }
      }
    }
  }
}

}  // namespace tangram
