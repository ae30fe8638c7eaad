#include "worker/adapters/aceso/aceso_search.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "common/base/insert_non_dominated.h"
#include "worker/adapters/aceso/aceso_policy.h"
#include "worker/adapters/aceso/aceso_primitives.h"

namespace tangram::aceso {
namespace {

// Longest sequence of primitives without an improvement. Paper §5.1.
constexpr int kMaxHops = 7;
// The search does not resume from configurations slower than the best by this
// factor. A guess: the plans of the paper's C1 and C3 workloads are the same
// with 1.1 and 1.4.
constexpr double kWorthResuming = 1.2;
// Bounds the memory of the queue of configurations to resume from: some MB. The
// plans of the same workloads need no more than half.
constexpr size_t kMaxResumable = 4096;

// The fitting configurations that no other equals or beats in slowest stage,
// latency and last stage.
class FastestConfigurations {
 public:
  void Add(const Configuration& configuration) {
    if (configuration.bytes_short > 0) return;
    Kept added{.configuration = configuration,
               .last_stage_s = configuration.stages.back().time_s()};
    for (const ConfiguredStage& stage : configuration.stages) {
      added.slowest_s = std::max(added.slowest_s, stage.time_s());
      added.latency_s += stage.time_s();
    }
    const auto as_fast = [](const Kept& a, const Kept& b) {
      return a.slowest_s <= b.slowest_s && a.latency_s <= b.latency_s &&
             a.last_stage_s <= b.last_stage_s;
    };
    InsertNonDominated(std::move(added), as_fast, kept_);
  }

  std::vector<Configuration> Take() {
    std::vector<Configuration> configurations;
    for (Kept& kept : kept_) {
      configurations.push_back(std::move(kept.configuration));
    }
    return configurations;
  }

 private:
  struct Kept {
    Configuration configuration;
    double slowest_s = 0;
    double latency_s = 0;
    double last_stage_s = 0;
  };
  std::vector<Kept> kept_;
};

// See Search in the header.
class BottleneckSearch {
 public:
  BottleneckSearch(CostTables& tables, const Configuration& start,
                   int64_t max_steps)
      : tables_(tables), max_steps_(max_steps), best_(start) {
    seen_.insert(FingerprintOf(start));
  }

  SearchResult Run() {
    Configuration current = best_;
    while (!IsOver()) {
      if (std::optional<Configuration> better = Alleviate(current)) {
        best_ = current = *std::move(better);
      } else if (!Resume(current)) {
        break;
      }
    }
    return {.best = std::move(best_),
            .others = fastest_.Take(),
            .steps = steps_,
            .truncated = stopped_};
  }

 private:
  bool IsOver() {
    if (stopped_ || steps_ >= max_steps_) return true;
    const std::function<bool()>& should_stop = tables_.options().should_stop;
    stopped_ = tables_.poll().stopped() || (should_stop && should_stop());
    return stopped_;
  }

  // Looks for a better configuration than the best. Starts with the bottleneck
  // of `from`, then tries the next worst stages.
  std::optional<Configuration> Alleviate(const Configuration& from) {
    gone_on_from_.insert(FingerprintOf(from));
    for (const int stage : StagesByBottleneck(from)) {
      if (auto better = Hop(from, stage, 0)) return better;
      if (IsOver()) break;
    }
    return {};
  }

  // Depth-first search over at most kMaxHops primitives. Returns the first
  // configuration that beats the best.
  std::optional<Configuration> Hop(const Configuration& from, int stage,
                                   int hop) {
    if (hop == kMaxHops) return {};
    for (const PrimitiveGroup& group : PrimitiveGroups(tables_, from, stage)) {
      std::vector<Configuration> found = Expand(from, stage, group);
      if (!found.empty() && IsBetter(found[0], best_)) {
        return std::move(found[0]);
      }
      for (const Configuration& next : found) {
        if (IsOver()) return {};
        gone_on_from_.insert(FingerprintOf(next));
        const int bottleneck = StagesByBottleneck(next)[0];
        if (auto better = Hop(next, bottleneck, hop + 1)) return better;
      }
    }
    return {};
  }

  // Returns the new configurations that a group of primitives leads to, best
  // first.
  std::vector<Configuration> Expand(const Configuration& from, int stage,
                                    const PrimitiveGroup& group) {
    std::vector<Configuration> found;
    for (const Primitive primitive : group) {
      if (IsOver()) break;
      ++steps_;
      std::optional<Configuration> next =
          Apply(tables_, primitive, from, stage);
      if (!next || !seen_.insert(FingerprintOf(*next)).second) continue;
      KeepForLater(*next);
      fastest_.Add(*next);
      found.push_back(*std::move(next));
    }
    std::stable_sort(found.begin(), found.end(), IsBetter);
    return found;
  }

  // Queues a configuration for Resume if it is close enough to the best.
  void KeepForLater(const Configuration& configuration) {
    const bool worth = configuration.bytes_short > 0 ||
                       configuration.score_s < kWorthResuming * best_.score_s;
    if (!worth || resumable_.size() == kMaxResumable) return;
    resumable_.push_back(configuration);
    std::push_heap(resumable_.begin(), resumable_.end(), IsWorse);
  }

  // Moves the best configuration that has not been expanded into `current`.
  // Returns false if none is left.
  bool Resume(Configuration& current) {
    while (!resumable_.empty()) {
      std::pop_heap(resumable_.begin(), resumable_.end(), IsWorse);
      current = std::move(resumable_.back());
      resumable_.pop_back();
      if (!gone_on_from_.contains(FingerprintOf(current))) return true;
    }
    return false;
  }

  static bool IsWorse(const Configuration& a, const Configuration& b) {
    return IsBetter(b, a);
  }

  CostTables& tables_;
  int64_t max_steps_;
  Configuration best_;
  int64_t steps_ = 0;
  // `seen_` holds every configuration generated, `gone_on_from_` every one
  // expanded.
  bool stopped_ = false;
  absl::flat_hash_set<Fingerprint> seen_;
  absl::flat_hash_set<Fingerprint> gone_on_from_;
  FastestConfigurations fastest_;
  std::vector<Configuration> resumable_;  // A heap with the best on top.
};

}  // namespace

SearchResult Search(CostTables& tables, const Configuration& start,
                    int64_t max_steps) {
  return BottleneckSearch(tables, start, max_steps).Run();
}

}  // namespace tangram::aceso
