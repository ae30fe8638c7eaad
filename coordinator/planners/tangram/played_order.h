#ifndef TANGRAM_COORDINATOR_PLANNERS_TANGRAM_PLAYED_ORDER_H_
#define TANGRAM_COORDINATOR_PLANNERS_TANGRAM_PLAYED_ORDER_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <queue>
#include <set>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "common/domain/model_slice.h"
#include "common/sim/play_pipeline.h"
#include "coordinator/planners/tangram/best_tails.h"
#include "coordinator/planners/tangram/played_suffixes.h"

namespace tangram {

// A slice plan with the simulator's times of its stages.
struct PlayedPlan {
  std::vector<StageTimes> stages;  // The last has no transfers.
  int max_trailing_stages = 0;     // With more, the plan does not fit.
  // Numbers that tell apart, on an island, first stages that have unlike
  // transfers or exchanges, and last stages.
  int first_end = 0;
  int last_end = 0;
};

// A plan at a position in the model, on an island.
struct PlayedSlice {
  AtomRange atoms;
  int island = 0;
  int plan = 0;  // Index into PlayedProblem::plans.
};

// The slices from which pipelines of one microbatch size are composed. Every
// island holds at most one slice of a pipeline.
struct PlayedProblem {
  int num_atoms = 0;
  int num_islands = 0;
  int num_microbatches = 1;
  int min_stages = 0;
  int max_stages = std::numeric_limits<int>::max();
  // [island]: the first island with the same slices, transfers and exchanges,
  // so that both can change places; itself if there is none before it. The same
  // in all problems. Empty: no islands are alike.
  std::vector<int> first_alike;
  std::vector<PlayedPlan> plans;
  std::vector<PlayedSlice> slices;
  // Sets the transfers of the last stage of `from` to the first stage of `to`.
  std::function<void(const PlayedSlice& from, const PlayedSlice& to,
                     StageTimes& last)>
      set_transfers;
  // Returns lower bounds in seconds on these transfers, there and back, of any
  // two slices on the islands with a boundary before `atom`. Empty: 0.
  std::function<std::pair<double, double>(int atom, int from_island,
                                          int to_island)>
      least_transfers;
  // Returns the seconds for which the first stage of `first` and the last of
  // `last`, two stages, exchange gradients after those of their replicas.
  // Empty: 0.
  std::function<double(const PlayedSlice& first, const PlayedSlice& last)>
      exchange_s;
  // Returns a lower bound on it for any first slice on another island.
  std::function<double(const PlayedSlice& last, int first_island)>
      least_exchange_s;
};

// A composition and its simulated iteration time.
struct PlayedPipeline {
  int problem = 0;
  std::vector<int> slices;  // In order; indices into PlayedProblem::slices.
  double seconds = 0;
};

// Limits of one search: about 60 ms and 30 MB. With a third of it, 7 of 54
// searches of four islands found slower pipelines.
inline constexpr int64_t kMaxPlayedWork = 6'000'000;
inline constexpr size_t kMaxPlayedTails = 300'000;

// Enumerates the compositions of some problems in order of their simulated
// iteration times. Best-first search from the back: a partial pipeline counts
// with a lower bound on all pipelines that end with it, and a complete one with
// the time that the simulator plays. So a complete pipeline at the front of the
// queue is no slower than any that comes later.
//
// With V the bound of a tail on its passes (TailBound), w(U) the least busiest
// time of the atoms in front of it on exactly the islands U, and λ(U, T) their
// least latency if none is busier than T (PlayedPrefixes), its lower bound is,
// over the levels T_j and over the sets U that make a wanted set with the
// islands of the tail,
//
//   min over U and j of max(λ(U, T_j) + V, T_{j−1}, w(U)),
//
// and the least exchange of its last stage with a first one on an island that
// is left. If one island is left, all atoms in front are one slice on it. The
// latency, the passes, the closing and the exchange are then those of one plan
// p, and its passes know the round trip and the stages of the tail:
//
//   min over p of max(latency + V, passes) + closing + exchange.
//
// A search for the fastest pipelines leaves out a tail if one that it went on
// from has the same place and no greater bounds (BestTails). With the same
// slices in front, its pipelines have no greater bounds either. So what is left
// out is faster by at most what the bound of a complete pipeline lacks to its
// time, which was 0.4 % where it was looked at.
//
// It returns one of the pipelines that differ in alike islands alone: the one
// with the first of these islands, the very first at the back.
//
// Deterministic. Not thread-safe.
class PlayedOrder {
 public:
  enum class Scope { kEveryPipeline, kFastest };

  // Pipelines that take `limit_s` or more are never returned.
  PlayedOrder(std::vector<PlayedProblem> problems, double limit_s,
              Scope scope = Scope::kEveryPipeline);
  ~PlayedOrder();

  // Returns the next pipeline that takes less than `limit_s`, which must not
  // rise from call to call. Empty: there is none, or the search is at its
  // limits. `should_stop` is polled; true gives kCancelled.
  absl::StatusOr<std::optional<PlayedPipeline>> Next(
      double limit_s, absl::FunctionRef<bool()> should_stop);

  // Looks for a fast pipeline with a beam of `width` tails for each number of
  // slices and each set of islands. Returns the fastest of some that it
  // plays, if it takes less than `limit_s`. Call it before Next, which returns
  // the same pipeline again.
  absl::StatusOr<std::optional<PlayedPipeline>> Dive(
      double limit_s, int width, absl::FunctionRef<bool()> should_stop);

  // Begins again with bounds that are tight for this limit, at most that of
  // before. They take several times as long as those of the beginning.
  void Narrow(double limit_s);

  // Skips pipelines on exactly these islands (a bit each) from now on.
  void Settle(uint32_t islands);

  // False once the limits ended the search. Then a faster pipeline may exist.
  bool is_exact() const { return is_exact_; }

 private:
  class Composer;
  class Level;
  struct Tail;
  // Seconds, and the index of the tail. The least comes first.
  using Entry = std::pair<double, int>;
  using Queue = std::priority_queue<Entry, std::vector<Entry>, std::greater<>>;

  absl::Status Expand(int tail, double limit_s,
                      absl::FunctionRef<bool()> should_stop,
                      absl::FunctionRef<void(const Tail&)> add);
  void Begin(double limit_s, bool is_tight);
  std::optional<PlayedPipeline> TakePlayed();
  PlayedPipeline PipelineOf(const Entry& played) const;
  void AddTail(const Tail& tail);
  bool WasRaised(int index);
  double Play(int tail);
  void SettleCopies();
  bool IsNext(int island, uint32_t islands) const;
  bool IsWanted(const Tail& tail) const;
  TailPlace PlaceOf(const Tail& tail) const;
  bool IsAmongBest(const Tail& tail, BestTails& best) const;
  std::vector<int> SlicesOf(int tail) const;

  const Scope scope_;
  std::vector<PlayedProblem> problems_;
  std::vector<std::vector<SliceBound>> plans_;        // By problem and plan.
  std::vector<std::unique_ptr<Composer>> composers_;  // By problem.
  std::vector<double> least_s_;          // By problem: no pipeline takes less.
  std::deque<Tail> tails_;               // It grows without a copy.
  BestTails best_;                       // With Scope::kFastest.
  Queue queue_;                          // By lower bounds.
  Queue played_;                         // Complete ones, by their times.
  std::vector<uint32_t> earlier_alike_;  // [island], a bit each.
  std::set<uint32_t> settled_;           // Sets of islands.
  uint32_t settled_sets_ = 0;            // A bit for each that is less than 32.
  int64_t work_ = 0;
  int64_t next_poll_ = 0;  // The work at which should_stop is polled next.
  bool is_exact_ = true;
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_TANGRAM_PLAYED_ORDER_H_
