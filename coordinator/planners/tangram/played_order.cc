#include "coordinator/planners/tangram/played_order.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "common/base/infinity.h"
#include "common/base/status_macros.h"
#include "coordinator/composition/earlier_alike.h"
#include "coordinator/planners/tangram/played_composer.h"

namespace tangram {
namespace {

// The most complete pipelines that a dive plays, and the work after which it
// goes no deeper: the first, or the second for each tail of its width.
constexpr size_t kMostDived = 8;
constexpr int64_t kMaxDiveWork = 1'000'000;
constexpr int64_t kMaxDiveWorkOfTail = kMaxDiveWork / 32;

// About 0.2 ms (kMaxPlayedWork).
constexpr int64_t kWorkBetweenPolls = 1 << 14;

}  // namespace

PlayedOrder::PlayedOrder(std::vector<PlayedProblem> problems, double limit_s,
                         Scope scope)
    : scope_(scope),
      problems_(std::move(problems)),
      least_s_(problems_.size()) {
  SettleCopies();
  for (const PlayedProblem& problem : problems_) {
    plans_.push_back(Composer::BoundsOf(problem));
  }
  Begin(limit_s, /*is_tight=*/false);
}

PlayedOrder::~PlayedOrder() = default;

// Settles the sets of islands that are copies of others, so that no bound takes
// them for wanted. Only small sets are told apart by bounds.
void PlayedOrder::SettleCopies() {
  if (problems_.empty()) return;
  const std::vector<int>& alike = problems_.front().first_alike;
  earlier_alike_ =
      EarlierAlike(problems_.front().num_islands, [&alike](int a, int b) {
        return !alike.empty() && alike[a] == alike[b];
      });
  for (uint32_t islands = 0; islands < 32; ++islands) {
    for (size_t island = 0; island < earlier_alike_.size(); ++island) {
      if ((islands >> island & 1) != 0 &&
          (islands & earlier_alike_[island]) != earlier_alike_[island]) {
        settled_sets_ |= uint32_t{1} << islands;
      }
    }
  }
}

// Returns whether an island is the next to take (EarlierAlike).
bool PlayedOrder::IsNext(int island, uint32_t islands) const {
  return (islands & earlier_alike_[island]) == earlier_alike_[island];
}

void PlayedOrder::Narrow(double limit_s) { Begin(limit_s, /*is_tight=*/true); }

void PlayedOrder::Begin(double limit_s, bool is_tight) {
  tails_.clear();
  best_.Clear();
  queue_ = {};
  played_ = {};
  composers_.resize(problems_.size());
  for (int p = 0; p < static_cast<int>(problems_.size()); ++p) {
    if (least_s_[p] >= limit_s) continue;
    if (composers_[p] == nullptr || composers_[p]->limit_s() != limit_s) {
      composers_[p] = std::make_unique<Composer>(problems_[p], plans_[p],
                                                 limit_s, settled_sets_);
    }
    Composer& composer = *composers_[p];
    least_s_[p] = composer.QuickSeconds();
    if (least_s_[p] >= limit_s) continue;
    if (is_tight) composer.BoundJointly(least_s_[p], limit_s);
    Tail none{.problem = p, .begin = problems_[p].num_atoms};
    none.least_s = composer.LeastSeconds(none);
    least_s_[p] = std::max(least_s_[p], none.least_s);
    if (none.least_s < limit_s) AddTail(none);
  }
}

void PlayedOrder::Settle(uint32_t islands) {
  settled_.insert(islands);
  if (islands < 32) settled_sets_ |= uint32_t{1} << islands;
}

void PlayedOrder::AddTail(const Tail& tail) {
  queue_.push({tail.least_s, static_cast<int>(tails_.size())});
  tails_.push_back(tail);
  tails_.back().num_settled = static_cast<int>(settled_.size());
}

absl::StatusOr<std::optional<PlayedPipeline>> PlayedOrder::Next(
    double limit_s, absl::FunctionRef<bool()> should_stop) {
  while (is_exact_ && !queue_.empty()) {
    const auto [least_s, tail] = queue_.top();
    if (!played_.empty() && played_.top().first <= least_s) {
      if (played_.top().first >= limit_s) return std::nullopt;
      if (auto played = TakePlayed()) return played;
      continue;
    }
    if (least_s >= limit_s) return std::nullopt;
    queue_.pop();
    if (!IsWanted(tails_[tail])) continue;
    // At the limits, only pipelines that were played are returned.
    is_exact_ = work_ < kMaxPlayedWork && tails_.size() < kMaxPlayedTails;
    if (!is_exact_ || WasRaised(tail)) continue;
    if (tails_[tail].begin == 0) {
      played_.push({Play(tail), tail});
    } else if (IsAmongBest(tails_[tail], best_)) {
      TANGRAM_RETURN_IF_ERROR(
          Expand(tail, limit_s, should_stop,
                 [this](const Tail& longer) { AddTail(longer); }));
    }
  }
  while (!played_.empty() && played_.top().first < limit_s) {
    if (auto played = TakePlayed()) return played;
  }
  return std::nullopt;
}

// Takes the first of played_, which is not empty. Empty: it is not wanted.
std::optional<PlayedPipeline> PlayedOrder::TakePlayed() {
  const Entry played = played_.top();
  played_.pop();
  if (!IsWanted(tails_[played.second])) return std::nullopt;
  return PipelineOf(played);
}

PlayedPipeline PlayedOrder::PipelineOf(const Entry& played) const {
  const auto [seconds, tail] = played;
  return {.problem = tails_[tail].problem,
          .slices = SlicesOf(tail),
          .seconds = seconds};
}

// The tails of a dive that may go on, the best of each set of islands, and the
// best complete ones.
class PlayedOrder::Level {
 public:
  Level(const PlayedOrder& order, int width)
      : order_(order), width_(static_cast<size_t>(width)) {}

  void Add(const Tail& tail) {
    const bool is_complete = tail.begin == 0;
    std::vector<Tail>& tails = is_complete ? complete_ : of_set_[tail.islands];
    tails.push_back(tail);
    const size_t most = is_complete ? kMostDived : width_;
    if (tails.size() == 2 * most) KeepBest(most, tails);
  }

  // Takes those that may go on. The complete ones stay.
  std::vector<Tail> Take() {
    std::vector<Tail> taken;
    for (auto& [islands, tails] : of_set_) {
      KeepBest(width_, tails);
      taken.insert(taken.end(), tails.begin(), tails.end());
    }
    of_set_.clear();
    return taken;
  }

  const std::vector<Tail>& complete() {
    KeepBest(kMostDived, complete_);
    return complete_;
  }

 private:
  void KeepBest(size_t most, std::vector<Tail>& tails) const {
    std::stable_sort(
        tails.begin(), tails.end(),
        [](const Tail& a, const Tail& b) { return a.least_s < b.least_s; });
    BestTails best;
    std::erase_if(tails, [&](const Tail& tail) {
      return tail.begin > 0 && !order_.IsAmongBest(tail, best);
    });
    if (tails.size() > most) tails.resize(most);
  }

  const PlayedOrder& order_;
  const size_t width_;
  std::map<uint32_t, std::vector<Tail>> of_set_;
  std::vector<Tail> complete_;
};

// The tails of a dive stay out of the queue, as most of them are of no use.
absl::StatusOr<std::optional<PlayedPipeline>> PlayedOrder::Dive(
    double limit_s, int width, absl::FunctionRef<bool()> should_stop) {
  const int64_t work_before = work_;
  const size_t first = tails_.size();
  std::vector<int> tails(first);  // Those without a slice.
  std::iota(tails.begin(), tails.end(), 0);
  Level level(*this, width);
  const int64_t most =
      work_before + std::max(kMaxDiveWork, width * kMaxDiveWorkOfTail);
  while (!tails.empty() && work_ < most) {
    for (const int tail : tails) {
      TANGRAM_RETURN_IF_ERROR(
          Expand(tail, limit_s, should_stop,
                 [&level](const Tail& longer) { level.Add(longer); }));
    }
    tails.clear();
    for (const Tail& tail : level.Take()) {
      tails.push_back(static_cast<int>(tails_.size()));
      tails_.push_back(tail);
    }
  }
  std::optional<PlayedPipeline> best;
  for (const Tail& tail : level.complete()) {
    if (tail.least_s >= (best.has_value() ? best->seconds : limit_s)) break;
    tails_.push_back(tail);
    const double seconds = Play(static_cast<int>(tails_.size()) - 1);
    if (seconds >= (best.has_value() ? best->seconds : limit_s)) continue;
    best = PipelineOf({seconds, static_cast<int>(tails_.size()) - 1});
  }
  tails_.resize(first);
  work_ = work_before;
  return best;
}

// Calls `add` with every slice in front of a tail, unless a bound rules it out.
absl::Status PlayedOrder::Expand(int tail, double limit_s,
                                 absl::FunctionRef<bool()> should_stop,
                                 absl::FunctionRef<void(const Tail&)> add) {
  const Tail rest = tails_[tail];  // tails_ grows.
  Composer& composer = *composers_[rest.problem];
  const PlayedProblem& problem = problems_[rest.problem];
  const int64_t work_before = composer.work();
  if (work_ >= next_poll_) {
    next_poll_ = work_ + kWorkBetweenPolls;
    if (should_stop()) return absl::CancelledError("planning stopped");
  }
  for (const SliceGroup& group : composer.ending_at(rest.begin)) {
    if (!IsNext(group.island, rest.islands)) continue;
    ++work_;
    const std::optional<Composer::Front> front =
        composer.FrontOf(group, rest, limit_s);
    if (!front.has_value()) continue;
    for (const int slice : group.slices) {
      ++work_;
      if (composer.QuickSeconds(*front, problem.slices[slice], rest) >=
          limit_s) {
        continue;
      }
      if (composer.LoneSeconds(*front, slice, rest) >= limit_s) {
        continue;
      }
      const Tail longer = composer.Prepend(slice, rest, tail);
      if (longer.bound.num_stages > problem.max_stages) continue;
      if (longer.begin == 0 && longer.bound.num_stages < problem.min_stages) {
        continue;
      }
      if (longer.least_s < limit_s && IsWanted(longer)) add(longer);
    }
  }
  work_ += composer.work() - work_before;
  return absl::OkStatus();
}

// Bounds the tail again if sets were settled since. Returns whether the bound
// rose, so that another tail may come first.
bool PlayedOrder::WasRaised(int index) {
  Tail& tail = tails_[index];
  if (tail.num_settled == static_cast<int>(settled_.size())) return false;
  tail.num_settled = static_cast<int>(settled_.size());
  const double least_s = composers_[tail.problem]->LeastSeconds(tail);
  if (!(least_s > tail.least_s)) return false;
  tail.least_s = least_s;
  if (least_s < kInfinity) queue_.push({least_s, index});
  return true;
}

// Returns whether the set of islands of a complete pipeline is not settled.
bool PlayedOrder::IsWanted(const Tail& tail) const {
  if (tail.begin > 0) return true;
  if (tail.islands < 32) return (settled_sets_ >> tail.islands & 1) == 0;
  return !settled_.contains(tail.islands);
}

TailPlace PlayedOrder::PlaceOf(const Tail& tail) const {
  const PlayedProblem& problem = problems_[tail.problem];
  const PlayedSlice& first = problem.slices[tail.slice];
  const PlayedSlice& last = problem.slices[tail.last];
  return {.problem = tail.problem,
          .begin = tail.begin,
          .islands = tail.islands,
          .first_island = first.island,
          .first_end = problem.plans[first.plan].first_end,
          .last_island = last.island,
          .last_end = problem.plans[last.plan].last_end,
          .num_stages = tail.bound.num_stages};
}

// Returns false if one of `best` has the same place and no greater bounds.
// Otherwise adds the tail.
bool PlayedOrder::IsAmongBest(const Tail& tail, BestTails& best) const {
  return scope_ == Scope::kEveryPipeline || tail.slice < 0 ||
         best.Add(PlaceOf(tail), tail.bound);
}

double PlayedOrder::Play(int tail) {
  const PlayedProblem& problem = problems_[tails_[tail].problem];
  std::vector<StageTimes> stages;
  for (int t = tail; tails_[t].slice >= 0; t = tails_[t].rest) {
    const PlayedSlice& slice = problem.slices[tails_[t].slice];
    const std::vector<StageTimes>& own = problem.plans[slice.plan].stages;
    stages.insert(stages.end(), own.begin(), own.end());
    const Tail& rest = tails_[tails_[t].rest];
    if (rest.slice < 0) continue;
    problem.set_transfers(slice, problem.slices[rest.slice], stages.back());
  }
  const double exchange_s =
      composers_[tails_[tail].problem]->ExchangeSeconds(tails_[tail]);
  stages.front().sync_s += exchange_s;
  stages.back().sync_s += exchange_s;
  const auto num_stages = static_cast<int>(stages.size());
  work_ += int64_t{2} * kStageWork * num_stages *
           std::min(problem.num_microbatches, kMaxPlayedMicrobatches);
  return PlayPipeline({.num_devices = num_stages,
                       .num_microbatches = problem.num_microbatches},
                      stages)
      .iteration_time_s;
}

std::vector<int> PlayedOrder::SlicesOf(int tail) const {
  std::vector<int> slices;
  for (; tails_[tail].slice >= 0; tail = tails_[tail].rest) {
    slices.push_back(tails_[tail].slice);
  }
  return slices;
}

}  // namespace tangram
