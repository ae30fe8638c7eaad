#include "coordinator/dispatch/answer_cache.h"

namespace tangram {
namespace {

struct ByteCounter {
  int64_t operator()(const ModelSlice& slice) const {
    return Size(sizeof(slice) + slice.runs.size() * sizeof(LayerRun));
  }
  int64_t operator()(const std::vector<ModelSlice>& slices) const {
    int64_t total = 0;
    for (const ModelSlice& slice : slices) total += (*this)(slice);
    return total;
  }
  int64_t operator()(const PerformanceProfile& profile) const {
    return Size(sizeof(profile));
  }
  int64_t operator()(const SlicePlanSet& set) const {
    int64_t total = Size(sizeof(set));
    for (const SlicePlan& plan : set.plans) {
      total += Size(sizeof(plan));
      for (const SliceStage& stage : plan.stages) {
        total += Size(sizeof(stage) +
                      stage.plan.recompute.size() * sizeof(RecomputeRun));
      }
    }
    return total;
  }
  static int64_t Size(size_t bytes) { return static_cast<int64_t>(bytes); }
};

// Bytes per entry: list node, map node, the key in both, allocator.
constexpr int64_t kOverheadBytes = 250;

}  // namespace

bool IsReproducible(const Answer& answer) {
  const auto* set = std::get_if<SlicePlanSet>(&answer);
  return set == nullptr || !set->truncated;
}

int64_t ApproximateBytes(const Answer& answer) {
  return kOverheadBytes + std::visit(ByteCounter(), answer);
}

void AnswerCache::Insert(const QueryKey& key, const Answer& answer) {
  if (!IsReproducible(answer)) return;
  answers_.Insert(key, answer, ApproximateBytes(answer));
}

}  // namespace tangram
