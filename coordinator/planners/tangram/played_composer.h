#ifndef TANGRAM_COORDINATOR_PLANNERS_TANGRAM_PLAYED_COMPOSER_H_
#define TANGRAM_COORDINATOR_PLANNERS_TANGRAM_PLAYED_COMPOSER_H_

// The bounds and partial pipelines of PlayedOrder, for its sources alone.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "common/base/infinity.h"
#include "coordinator/planners/tangram/played_order.h"
#include "coordinator/planners/tangram/played_prefixes.h"
#include "coordinator/planners/tangram/simulated_bound.h"
#include "coordinator/planners/tangram/slice_groups.h"

namespace tangram {

// Beyond this many islands, the bounds on the atoms in front of a tail do not
// tell sets of islands apart. 2^5 sets are quick to go through, and a set of
// sets fits 32 bits.
inline constexpr int kMostIslandsTold = 5;

// Joint bounds tell sets of islands apart if that takes at most so many steps,
// 50 ms.
inline constexpr size_t kMostJointSteps = size_t{1} << 21;

// Units of work: adding a stage to a tail counts as several looks at a slice.
inline constexpr int kStageWork = 4;

// A partial pipeline over atoms [begin, n).
struct PlayedOrder::Tail {
  int problem = 0;
  int begin = 0;
  uint32_t islands = 0;   // In use, a bit each.
  int slice = -1;         // The first slice; -1: no slice yet.
  int rest = -1;          // The tail behind it.
  int last = -1;          // The last slice.
  double least_s = 0;     // Lower bound on pipelines that end with it.
  double exchange_s = 0;  // The last stage's with the first, at least.
  int num_settled = 0;    // Sets that were settled when least_s was found.
  TailBound bound;
};

// Bounds and slices of one problem.
class PlayedOrder::Composer {
 public:
  // `settled` has a bit for each set of islands that is not wanted any more. It
  // must outlive this object.
  // `plans` are BoundsOf(problem), and must outlive it too.
  Composer(const PlayedProblem& problem, const std::vector<SliceBound>& plans,
           double limit_s, const uint32_t& settled)
      : problem_(problem),
        plans_(plans),
        limit_s_(limit_s),
        settled_(settled),
        least_exchange_s_(problem.plans.size() * problem.num_islands, -1),
        exchanges_s_(static_cast<size_t>(problem.num_islands) *
                     problem.num_islands) {
    for (const PlayedPlan& plan : problem.plans) {
      num_first_ends_ =
          std::max(num_first_ends_, static_cast<size_t>(plan.first_end) + 1);
    }
    std::vector<std::vector<int>> ending_at(problem.num_atoms + 1);
    for (int s = 0; s < static_cast<int>(problem.slices.size()); ++s) {
      const PlayedSlice& slice = problem.slices[s];
      if (plans_[slice.plan].busiest_s >= limit_s) continue;
      ending_at[slice.atoms.end].push_back(s);
    }
    for (const std::vector<int>& slices : ending_at) AddGroups(slices);
    BoundPrefixes();
    LeaveOutHopeless();
  }

  // Returns the bounds of the plans of a problem, wherever they are placed.
  static std::vector<SliceBound> BoundsOf(const PlayedProblem& problem) {
    std::vector<SliceBound> bounds;
    bounds.reserve(problem.plans.size());
    for (const PlayedPlan& plan : problem.plans) {
      bounds.push_back(AloneOf(plan, problem.num_microbatches));
    }
    return bounds;
  }

  // The atoms in front of a group, and what it sends to the tail behind it: one
  // microbatch there and back, and the others on the busier link.
  struct Front {
    PrefixBound prefix;
    double transfers_s = 0;
    double queue_s = 0;
  };

  const std::vector<SliceGroup>& ending_at(int atom) const {
    return groups_[atom];
  }
  int64_t work() const { return work_; }
  double limit_s() const { return limit_s_; }

  // Returns a quick lower bound on all pipelines.
  double QuickSeconds() const {
    double least_s = kInfinity;
    ForWanted(0, [&](uint32_t all) {
      const PrefixBound& prefix = prefixes_[problem_.num_atoms][all];
      least_s = std::min(least_s, std::max(prefix.busiest_s, prefix.latency_s));
    });
    return kRounding * least_s;
  }

  // Makes the bounds of the functions below tight.
  void BoundJointly(double least_s, double limit_s) {
    const size_t num_ends = problem_.num_atoms + 1;
    size_t num_slices = 0;
    std::vector<std::vector<SliceBound>> beginning(num_ends);
    std::vector<std::vector<SliceBound>> ending(num_ends);
    for (const std::vector<SliceGroup>& groups : groups_) {
      for (const SliceGroup& group : groups) {
        num_slices += group.slices.size();
        for (const int index : group.slices) {
          const SliceBound bound = BoundOf(problem_.slices[index]);
          beginning[bound.atoms.begin].push_back(bound);
          ending[bound.atoms.end].push_back(bound);
        }
      }
    }
    joint_tells_ =
        tells_islands() && num_slices * (AllIslands() + 1) <= kMostJointSteps;
    const BoundProblem problem{.num_atoms = problem_.num_atoms,
                               .num_islands = problem_.num_islands,
                               .num_microbatches = problem_.num_microbatches,
                               .tells_islands = joint_tells_,
                               .least_transfers = problem_.least_transfers};
    const PlayedSuffixes suffixes(problem, beginning);
    joint_.emplace(problem, ending, suffixes, least_s, limit_s);
    ForgetWanted();
    work_ += suffixes.steps() + joint_->steps();
  }

  // Returns a lower bound on the pipelines of wanted sets of islands that end
  // with `tail`. Infinite if there is none.
  double LeastSeconds(const Tail& tail) {
    if (tail.begin == 0) return kRounding * tail.bound.iteration_s;
    const int front = tail.slice < 0 ? problem_.num_islands
                                     : problem_.slices[tail.slice].island;
    double least_s = kRounding * (LeastSeconds(tail.begin, tail.islands, front,
                                               tail.bound.passes_s) +
                                  tail.exchange_s);
    if (tail.slice < 0 || !LeavesOne(tail.islands) || least_s >= limit_s_) {
      return least_s;
    }
    return std::max(least_s,
                    LoneSeconds({.begin = tail.begin,
                                 .islands = tail.islands,
                                 .next_island = front,
                                 .last = tail.last,
                                 .passes_s = tail.bound.passes_s,
                                 .round_trip_s = tail.bound.round_trip_s,
                                 .num_stages = tail.bound.num_stages}));
  }

  // Returns a lower bound on pipelines in which a slice that is not the first
  // comes before `tail`. 0: it leaves more than one island.
  double LoneSeconds(const Front& front, int slice_index, const Tail& tail) {
    const PlayedSlice& slice = problem_.slices[slice_index];
    const uint32_t islands = tail.islands | uint32_t{1} << slice.island;
    if (slice.atoms.begin == 0 || !LeavesOne(islands)) return 0;
    const SliceBound& alone = plans_[slice.plan];
    const double through_s = front.transfers_s + alone.latency_s;
    return LoneSeconds(
        {.begin = slice.atoms.begin,
         .islands = islands,
         .next_island = slice.island,
         .last = tail.slice < 0 ? slice_index : tail.last,
         .passes_s = std::max(through_s + tail.bound.passes_s, alone.busiest_s),
         .round_trip_s = through_s + tail.bound.round_trip_s,
         .num_stages = tail.bound.num_stages + alone.num_stages});
  }

  // Returns what QuickSeconds needs of a tail, and of the group in front of it.
  // Empty: the group is of no use there.
  std::optional<Front> FrontOf(const SliceGroup& group, const Tail& tail,
                               double limit_s) {
    const uint32_t own = uint32_t{1} << group.island;
    if ((tail.islands & own) != 0) return std::nullopt;
    Front front{.prefix =
                    InFrontOf(group.begin, tail.islands | own, group.island)};
    const SliceBound least{.latency_s = group.latency_s,
                           .busiest_s = group.busiest_s};
    if (QuickSeconds(front, least, tail) >= limit_s) return std::nullopt;
    if (tail.slice < 0 || !problem_.least_transfers) return front;
    const auto [there_s, back_s] = problem_.least_transfers(
        tail.begin, group.island, problem_.slices[tail.slice].island);
    front.transfers_s = there_s + back_s;
    front.queue_s = (problem_.num_microbatches - 1) * std::max(there_s, back_s);
    if (QuickSeconds(front, least, tail) >= limit_s) return std::nullopt;
    return front;
  }

  // Returns a quick lower bound on pipelines in which a slice comes before
  // `tail`. Infinite if there is none.
  double QuickSeconds(const Front& front, const PlayedSlice& slice,
                      const Tail& tail) const {
    if (problem_.plans[slice.plan].max_trailing_stages <
        tail.bound.num_stages) {
      return kInfinity;
    }
    const SliceBound& alone = plans_[slice.plan];
    const double passes_s =
        PassesSeconds(alone, front.transfers_s + tail.bound.round_trip_s,
                      tail.bound.num_stages);
    return std::max(
        QuickSeconds(front, alone, tail),
        kRounding * (front.prefix.latency_s + passes_s + tail.exchange_s));
  }

  // Returns the tail of `slice` in front of `tail`.
  Tail Prepend(int slice_index, const Tail& tail, int tail_index) {
    const PlayedSlice& slice = problem_.slices[slice_index];
    const std::vector<StageTimes>& stages = problem_.plans[slice.plan].stages;
    work_ += kStageWork * static_cast<int64_t>(stages.size());
    Tail longer{.problem = tail.problem,
                .begin = slice.atoms.begin,
                .islands = tail.islands | uint32_t{1} << slice.island,
                .slice = slice_index,
                .rest = tail_index,
                .last = tail.slice < 0 ? slice_index : tail.last,
                .bound = tail.bound};
    longer.exchange_s = longer.begin == 0
                            ? ExchangeSeconds(longer)
                            : LeastExchangeSeconds(longer.last, longer.islands);
    StageTimes last = stages.back();
    if (tail.slice >= 0) {
      problem_.set_transfers(slice, problem_.slices[tail.slice], last);
    }
    for (size_t s = stages.size(); s-- > 0;) {
      const StageTimes& stage = s + 1 == stages.size() ? last : stages[s];
      const bool closes = s == 0 && longer.begin == 0;
      longer.bound =
          PrependStage(closes ? Closing(stage, longer.exchange_s) : stage,
                       longer.bound, problem_.num_microbatches);
    }
    longer.least_s = LeastSeconds(longer);
    return longer;
  }

  // Returns a first stage with its exchange.
  static StageTimes Closing(StageTimes first, double exchange_s) {
    first.sync_s += exchange_s;
    return first;
  }

  // Returns the exchange of a complete pipeline.
  double ExchangeSeconds(const Tail& tail) const {
    const PlayedSlice& first = problem_.slices[tail.slice];
    const bool is_one_stage = tail.slice == tail.last &&
                              problem_.plans[first.plan].stages.size() == 1;
    if (!problem_.exchange_s || is_one_stage) return 0;
    return problem_.exchange_s(first, problem_.slices[tail.last]);
  }

 private:
  // Returns a lower bound on the passes of the busiest stage of a slice, and of
  // all stages before it in the slice, in front of `num_stages` with this round
  // trip. The stage waits twice for what is behind it, as in
  // PlayedSuffixes::BusiestSeconds.
  double PassesSeconds(const SliceBound& slice, double round_trip_s,
                       int num_stages) const {
    const double behind_s = slice.behind_s + round_trip_s;
    const int idle = num_stages + slice.stages_to_end;
    return slice.before_s +
           (idle < problem_.num_microbatches
                ? (problem_.num_microbatches + 1 - idle) * slice.stage_s +
                      2 * behind_s
                : (problem_.num_microbatches + 1) * slice.stage_s / 2 +
                      behind_s);
  }

  // Returns whether only one island is left beside `islands`.
  bool LeavesOne(uint32_t islands) const {
    return std::popcount(islands) == problem_.num_islands - 1;
  }

  // A tail that leaves one island.
  struct LoneTail {
    int begin = 0;
    uint32_t islands = 0;
    int next_island = 0;  // The island of its first slice.
    int last = 0;         // Its last slice.
    double passes_s = 0;
    double round_trip_s = 0;
    int num_stages = 0;
  };
  // Returns a lower bound on the pipelines that end with it. One slice is in
  // front of it, so latency, passes, closing and exchange are those of one
  // plan.
  double LoneSeconds(const LoneTail& tail) {
    const int island = std::countr_one(tail.islands);
    const int number = first_groups_[tail.begin][island];
    if (number < 0) return kInfinity;
    double transfers_s = 0;
    if (problem_.least_transfers) {
      const auto [there_s, back_s] =
          problem_.least_transfers(tail.begin, island, tail.next_island);
      transfers_s = there_s + back_s;
    }
    double least_s = kInfinity;
    double* const exchanges_s = ExchangesWith(tail.last, island);
    for (const int index : groups_[tail.begin][number].slices) {
      ++work_;
      const PlayedSlice& slice = problem_.slices[index];
      const SliceBound& alone = plans_[slice.plan];
      if (problem_.plans[slice.plan].max_trailing_stages < tail.num_stages) {
        continue;
      }
      const double seconds =
          alone.closing_s +
          std::max({alone.latency_s + transfers_s + tail.passes_s,
                    alone.busiest_s,
                    PassesSeconds(alone, transfers_s + tail.round_trip_s,
                                  tail.num_stages)});
      if (seconds >= least_s) continue;
      double& exchange_s = exchanges_s[problem_.plans[slice.plan].first_end];
      if (exchange_s < 0) {
        exchange_s =
            problem_.exchange_s
                ? problem_.exchange_s(slice, problem_.slices[tail.last])
                : 0;
      }
      least_s = std::min(least_s, seconds + exchange_s);
    }
    return kRounding * least_s;
  }

  // Returns a lower bound on the exchange of pipelines that end with a tail on
  // `islands`, not all of them: the first slice is on another.
  double LeastExchangeSeconds(int last_index, uint32_t islands) {
    if (!problem_.least_exchange_s) return 0;
    const PlayedSlice& last = problem_.slices[last_index];
    double least_s = kInfinity;
    for (int first = 0; first < problem_.num_islands; ++first) {
      if ((islands >> first & 1) != 0) continue;
      double& known_s =
          least_exchange_s_[last.plan * problem_.num_islands + first];
      if (known_s < 0) known_s = problem_.least_exchange_s(last, first);
      least_s = std::min(least_s, known_s);
    }
    return least_s;
  }

  // Returns the exchanges of the last stage of slice `last_index` with the
  // first stages of an island, by their numbers; -1: not known yet.
  double* ExchangesWith(int last_index, int first_island) {
    const PlayedSlice& last = problem_.slices[last_index];
    const size_t at =
        static_cast<size_t>(last.island) * problem_.num_islands + first_island;
    const size_t begin = problem_.plans[last.plan].last_end * num_first_ends_;
    std::vector<double>& known = exchanges_s_[at];
    if (known.size() < begin + num_first_ends_) {
      known.resize(begin + num_first_ends_, -1);
    }
    return &known[begin];
  }

  // The least over all wanted sets, when `settled` were not wanted.
  struct Wanted {
    PrefixBound least;
    uint32_t settled = 0;
    bool is_known = false;
  };

  static SliceBound AloneOf(const PlayedPlan& plan, int num_microbatches) {
    const StageTimes& first = plan.stages.front();
    const auto num_stages = static_cast<int>(plan.stages.size());
    SliceBound alone{.num_stages = num_stages,
                     .closing_s = first.sync_s + first.optimizer_s};
    double to_end_s = 0;  // The busiest stage and those before it.
    for (int s = 0; s < num_stages; ++s) {
      const StageTimes& stage = plan.stages[s];
      const double seconds = stage.forward_s + stage.backward_s;
      const double busy_s = alone.latency_s + num_microbatches * seconds;
      if (busy_s > alone.busiest_s || s == 0) {
        alone.busiest_s = busy_s;
        alone.stage_s = seconds;
        alone.before_s = alone.latency_s;
        alone.stages_to_end = num_stages - s;
        to_end_s = alone.latency_s + seconds;
      }
      alone.latency_s += seconds + stage.send_forward_s + stage.send_backward_s;
    }
    alone.behind_s = alone.latency_s - to_end_s;
    return alone;
  }

  SliceBound BoundOf(const PlayedSlice& slice) const {
    SliceBound bound = plans_[slice.plan];
    bound.atoms = slice.atoms;
    bound.island = slice.island;
    return bound;
  }

  bool tells_islands() const {
    return problem_.num_islands <= kMostIslandsTold;
  }
  uint32_t AllIslands() const {
    return tells_islands() ? (uint32_t{1} << problem_.num_islands) - 1 : 0;
  }
  // Calls `visit` with each set of islands in front of a tail on `islands` that
  // makes a wanted set with it.
  template <typename Visit>
  void ForWanted(uint32_t islands, const Visit& visit) const {
    if (!tells_islands()) return visit(uint32_t{0});
    const uint32_t free = AllIslands() & ~islands;
    for (uint32_t front = free;; front = (front - 1) & free) {
      if ((settled_ >> (front | islands) & 1) == 0) visit(front);
      if (front == 0) return;
    }
  }

  // Returns the least latency and the least busiest time of atoms [0, begin) in
  // front of a tail on `islands`, the first of which is `front`.
  const PrefixBound& InFrontOf(int begin, uint32_t islands, int front) {
    const uint32_t key = tells_islands() ? islands : 0;
    Wanted& wanted = wanted_[begin][key * problem_.num_islands + front];
    if (wanted.is_known && wanted.settled == settled_) return wanted.least;
    wanted = {.settled = settled_, .is_known = true};
    ForWanted(key, [&](uint32_t before) {
      PrefixBound& least = wanted.least;
      const double latency_s = joint_.has_value()
                                   ? JointLatencyOf(begin, before, front).back()
                                   : prefixes_[begin][before].latency_s;
      least.latency_s = std::min(least.latency_s, latency_s);
      least.busiest_s =
          std::min(least.busiest_s, prefixes_[begin][before].busiest_s);
    });
    return wanted.least;
  }

  const PlayedPrefixes::Row& JointLatencyOf(int begin, uint32_t before,
                                            int front) const {
    return joint_->LatencyOf(begin, joint_tells_ ? before : 0, front);
  }

  static double QuickSeconds(const Front& front, const SliceBound& slice,
                             const Tail& tail) {
    const double before_s = front.prefix.latency_s;
    const double through_s = before_s + slice.latency_s + front.transfers_s;
    return kRounding *
           (std::max({front.prefix.busiest_s, before_s + slice.busiest_s,
                      through_s + tail.bound.passes_s,
                      through_s + tail.bound.round_trip_s + front.queue_s}) +
            tail.exchange_s);
  }

  // Adds the groups of slices that end at the next atom.
  void AddGroups(const std::vector<int>& slices) {
    std::vector<SliceGroup>& groups = groups_.emplace_back();
    // [begin · num_islands + island]: the number of the group; -1: none.
    std::vector<int> known(problem_.num_atoms * problem_.num_islands, -1);
    for (const int index : slices) {
      const PlayedSlice& slice = problem_.slices[index];
      int& number =
          known[slice.atoms.begin * problem_.num_islands + slice.island];
      if (number < 0) {
        number = static_cast<int>(groups.size());
        groups.push_back({.begin = slice.atoms.begin, .island = slice.island});
      }
      groups[number].Add(index, plans_[slice.plan]);
    }
  }

  // Finds the groups from atom 0 on.
  void FindFirstGroups() {
    first_groups_.assign(groups_.size(),
                         std::vector<int>(problem_.num_islands, -1));
    for (size_t end = 0; end < groups_.size(); ++end) {
      const auto num_groups = static_cast<int>(groups_[end].size());
      for (int number = 0; number < num_groups; ++number) {
        const SliceGroup& group = groups_[end][number];
        if (group.begin == 0) first_groups_[end][group.island] = number;
      }
    }
  }

  // Leaves out slices that are in no pipeline within the limit, as the other
  // islands cannot hold the other atoms in time.
  void LeaveOutHopeless() {
    if (tells_islands()) {
      const AroundSlices around(problem_.num_islands, groups_, prefixes_);
      const auto bound_of = [this](int slice) -> const SliceBound& {
        return plans_[problem_.slices[slice].plan];
      };
      for (size_t end = 1; end < groups_.size(); ++end) {
        for (SliceGroup& group : groups_[end]) {
          around.KeepUseful(static_cast<int>(end), limit_s_, bound_of, group);
        }
        std::erase_if(groups_[end], [](const SliceGroup& group) {
          return group.slices.empty();
        });
      }
      BoundPrefixes();
    }
    FindFirstGroups();
  }

  // With V the passes of a tail on `islands` whose first slice is on island
  // `front`, the least over wanted sets U and levels j of
  //
  //   max(w(begin, U), T_{j−1}, λ(begin, U, front, T_j) + V).
  double LeastSeconds(int begin, uint32_t islands, int front,
                      double passes_s) const {
    double least_s = kInfinity;
    ForWanted(tells_islands() ? islands : 0, [&](uint32_t before) {
      if (!joint_.has_value()) {
        const PrefixBound& prefix = prefixes_[begin][before];
        least_s = std::min(
            least_s, std::max(prefix.busiest_s, prefix.latency_s + passes_s));
        return;
      }
      const PlayedPrefixes::Row& latency = JointLatencyOf(begin, before, front);
      if (latency.back() + passes_s >= least_s) return;  // The least of all j.
      const double busiest_s = prefixes_[begin][before].busiest_s;
      for (int j = 0; j < PlayedPrefixes::kLevels; ++j) {
        const double busy_s = std::max(busiest_s, joint_->SlowerThan(j));
        if (busy_s >= least_s) break;
        least_s = std::min(least_s, std::max(busy_s, latency[j] + passes_s));
      }
    });
    return least_s;
  }

  void ForgetWanted() {
    wanted_.assign(
        problem_.num_atoms + 1,
        std::vector<Wanted>((AllIslands() + 1) * problem_.num_islands));
  }

  // With l(a, U) and w(a, U) for atoms [0, a) on exactly the islands U, over
  // slices [b, a) on island i ∈ U:
  //
  //   l(0, ∅) = w(0, ∅) = 0
  //   l(a, U) = min l(b, U \ {i}) + latency
  //   w(a, U) = min max(w(b, U \ {i}), l(b, U \ {i}) + busiest),
  //
  // and the closing of the first slice in both. The least of a group is that of
  // its slices.
  void BoundPrefixes() {
    prefixes_.assign(problem_.num_atoms + 1,
                     std::vector<PrefixBound>(AllIslands() + 1));
    ForgetWanted();
    prefixes_[0][0] = {0, 0};
    for (int end = 1; end <= problem_.num_atoms; ++end) {
      for (const SliceGroup& group : groups_[end]) {
        const bool closes = group.begin == 0;
        const double latency_s =
            closes ? group.closed_latency_s : group.latency_s;
        const double busiest_s =
            closes ? group.closed_busiest_s : group.busiest_s;
        const uint32_t own =
            tells_islands() ? uint32_t{1} << group.island : uint32_t{0};
        for (uint32_t u = own; u <= AllIslands(); u = (u + 1) | own) {
          const PrefixBound& before = prefixes_[group.begin][u & ~own];
          PrefixBound& prefix = prefixes_[end][u];
          prefix.latency_s =
              std::min(prefix.latency_s, before.latency_s + latency_s);
          prefix.busiest_s = std::min(
              prefix.busiest_s,
              std::max(before.busiest_s, before.latency_s + busiest_s));
        }
      }
    }
  }

  const PlayedProblem& problem_;
  const std::vector<SliceBound>& plans_;  // Without a place.
  const double limit_s_;
  const uint32_t& settled_;
  // [plan · num_islands + first island]; -1: not known yet.
  std::vector<double> least_exchange_s_;
  // [last island · num_islands + first island][last end · num_first_ends_ +
  // first end]; -1: not known yet.
  std::vector<std::vector<double>> exchanges_s_;
  size_t num_first_ends_ = 1;
  std::vector<std::vector<SliceGroup>> groups_;  // [atom]: those that end.
  // [atom][island]: the one of groups_ from atom 0 on; -1: there is none.
  std::vector<std::vector<int>> first_groups_;
  std::vector<std::vector<PrefixBound>> prefixes_;  // [atoms][islands].
  // [atoms][islands of the tail · num_islands + the first of them].
  std::vector<std::vector<Wanted>> wanted_;
  std::optional<PlayedPrefixes> joint_;
  bool joint_tells_ = false;  // Whether its sets of islands are told apart.
  int64_t work_ = 0;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_TANGRAM_PLAYED_COMPOSER_H_
