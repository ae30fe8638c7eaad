#include "coordinator/planners/tangram/pair_store.h"

#include <algorithm>
#include <utility>

#include "coordinator/planners/tangram/planning_limits.h"

namespace tangram {
namespace {

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

void PairStore::Add(const PairId& id, SlicePlanSet answer) {
  std::unique_ptr<Entry>& place = entries_[Index(id)];
  if (place == nullptr) {
    place = std::make_unique<Entry>();
    bytes_ += sizeof(Entry);
  }
  Entry& entry = *place;
  for (SlicePlan& plan : answer.plans) {
    bytes_ += BytesOf(plan);
    entry.candidates.candidates.push_back(MakeCandidate(plan));
    entry.plans.push_back(std::move(plan));
  }
  entry.candidates.covers_trailing_stages = std::max(
      answer.covers_trailing_stages, entry.candidates.covers_trailing_stages);
  if (entry.plans.empty()) entry.infeasible = std::move(answer.infeasible);
}

}  // namespace tangram
