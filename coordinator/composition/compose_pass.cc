#include "coordinator/composition/compose_pass.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <utility>
#include <vector>

#include "common/base/insert_non_dominated.h"

namespace tangram {

ComposePass::Outcome ComposePass::Run() {
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

std::vector<Composition> ComposePass::Compositions() const {
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

void ComposePass::KeepBeam(int atom) {
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

void ComposePass::PrependPair(int pair_index, const TailKey& key,
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
        transfer_s =
            problem_.transfer_s(placed.atoms.end, placed.island, transfer_gpus,
                                key.front_island, key.front_gpus);
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

void ComposePass::Prepend(ComposedSlice head, const Tail* rest,
                          const Front& front, const TailKey& key, Tail tail,
                          std::vector<Tail>*& set) {
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

bool ComposePass::Insert(Tail added, std::vector<Tail>& set) {
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

Composition ComposePass::Unwind(double seconds, int slices) const {
  Composition composition{.closed_form_s = seconds};
  for (int list = slices; list >= 0; list = lists_[list].rest) {
    composition.slices.push_back(lists_[list].head);
    composition.optimistic |= lists_[list].head.optimistic;
  }
  return composition;
}

}  // namespace tangram
