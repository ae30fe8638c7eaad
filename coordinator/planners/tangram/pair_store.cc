#include "coordinator/planners/tangram/pair_store.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "coordinator/planners/tangram/planning_limits.h"

namespace tangram {
namespace {

// Finds plans by their stages among those of earlier answers.
class KnownPlans {
 public:
  explicit KnownPlans(absl::Span<const SlicePlan> plans) : plans_(plans) {
    for (size_t p = 0; p < plans.size(); ++p)
      by_time_.emplace(KeyOf(plans[p]), p);
  }

  // Returns the index of the plan with the stages of `plan`, or -1.
  int Find(const SlicePlan& plan) const {
    const auto [begin, end] = by_time_.equal_range(KeyOf(plan));
    for (auto it = begin; it != end; ++it) {
      if (plans_[it->second].stages == plan.stages) {
        return static_cast<int>(it->second);
      }
    }
    return -1;
  }

 private:
  // Equal stages have equal keys, and few others have.
  using Key = std::pair<double, double>;
  static Key KeyOf(const SlicePlan& plan) {
    return {plan.latency_s(), plan.slowest_stage_s()};
  }

  const absl::Span<const SlicePlan> plans_;
  std::multimap<Key, size_t> by_time_;
};

// Returns the approximate bytes of a plan and its candidate.
int64_t BytesOf(const SlicePlan& plan) {
  int64_t bytes = sizeof(SlicePlan) + sizeof(Candidate);
  for (const SliceStage& stage : plan.stages) {
    bytes += static_cast<int64_t>(sizeof(SliceStage) +
                                  stage.plan.recompute.size() *
                                      sizeof(stage.plan.recompute.front()));
  }
  return bytes;
}

}  // namespace

bool PairStore::is_full() const { return bytes_ >= kMaxAnswerBytes; }

PairStore::PairStore(int num_microbatch_sizes, int num_slice_classes,
                     int num_island_classes)
    : num_slice_classes_(num_slice_classes),
      num_island_classes_(num_island_classes),
      entries_(static_cast<size_t>(num_microbatch_sizes) * num_slice_classes *
               num_island_classes) {}

void PairStore::Add(const PairId& id, double limit_s, SlicePlanSet answer) {
  const int covers = answer.covers_trailing_stages;
  Add(id, limit_s, covers,
      {.set = std::make_shared<const SlicePlanSet>(std::move(answer))});
}

void PairStore::Add(const PairId& id, double limit_s,
                    int covers_trailing_stages, SharedAnswer answer) {
  std::unique_ptr<Entry>& place = entries_[Index(id)];
  const bool is_first = place == nullptr;
  if (is_first) {
    place = std::make_unique<Entry>();
    bytes_ += sizeof(Entry);
  }
  Entry& entry = *place;
  if (answer.set->plans.empty() && entry.plans().empty()) {
    entry.infeasible = answer.set->infeasible;
  }
  if (is_first) {
    for (const SlicePlan& plan : answer.set->plans) {
      bytes_ += BytesOf(plan);
      entry.candidates.candidates.push_back(MakeCandidate(plan));
    }
    entry.only = std::move(answer);
  } else {
    Merge(*answer.set, entry);
  }
  // Plans above the earlier limit are covered as far as this answer goes.
  int& covers = entry.candidates.covers_trailing_stages;
  covers = limit_s > entry.limit_s ? covers_trailing_stages
                                   : std::max(covers_trailing_stages, covers);
  entry.limit_s = limit_s;
}

// Adds the plans of an answer to those of earlier ones.
void PairStore::Merge(const SlicePlanSet& answer, Entry& entry) {
  std::vector<SlicePlan>& plans = entry.of_several;
  if (entry.only.set != nullptr) {
    plans = entry.only.set->plans;
    entry.only = {};
  }
  std::vector<Candidate>& candidates = entry.candidates.candidates;
  std::vector<SlicePlan> added;
  const KnownPlans known(plans);
  for (const SlicePlan& plan : answer.plans) {
    const int same = known.Find(plan);
    if (same >= 0) {
      int& claimed = plans[same].max_trailing_stages;
      claimed = std::max(claimed, plan.max_trailing_stages);
      candidates[same].max_trailing_stages = claimed;
      continue;
    }
    bytes_ += BytesOf(plan);
    candidates.push_back(MakeCandidate(plan));
    added.push_back(plan);
  }
  plans.insert(plans.end(), std::make_move_iterator(added.begin()),
               std::make_move_iterator(added.end()));
}

}  // namespace tangram
