#include "coordinator/frontier/stage_times_memo.h"

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "common/sync/mutex.h"

namespace tangram {
namespace {

// Threads seldom want the same part at once.
constexpr size_t kParts = 16;

class StageTimesMemo : public SharedStageTimes {
 public:
  explicit StageTimesMemo(int64_t max_stages)
      : max_of_part_(max_stages / static_cast<int64_t>(kParts)) {}

  const TimesOfPlans* Find(const Key& key) override {
    Part& part = PartOf(key);
    const MutexLock lock(part.mutex);
    const auto it = part.times.find({key.high, key.low});
    return it == part.times.end() ? nullptr : it->second.get();
  }

  const TimesOfPlans* Insert(const Key& key,
                             const TimesOfPlans& times) override {
    int64_t num_stages = 0;
    for (const std::vector<StageTimes>& plan : times) {
      num_stages += static_cast<int64_t>(plan.size());
    }
    Part& part = PartOf(key);
    const MutexLock lock(part.mutex);
    if (part.num_stages + num_stages > max_of_part_) return nullptr;
    std::unique_ptr<const TimesOfPlans>& kept = part.times[{key.high, key.low}];
    if (kept == nullptr) {
      kept = std::make_unique<const TimesOfPlans>(times);
      part.num_stages += num_stages;
    }
    return kept.get();
  }

 private:
  struct Part {
    Mutex mutex;
    absl::flat_hash_map<std::pair<uint64_t, uint64_t>,
                        std::unique_ptr<const TimesOfPlans>>
        times ABSL_GUARDED_BY(mutex);
    int64_t num_stages ABSL_GUARDED_BY(mutex) = 0;
  };

  Part& PartOf(const Key& key) { return parts_[key.low % kParts]; }

  const int64_t max_of_part_;
  std::array<Part, kParts> parts_;
};

}  // namespace

std::unique_ptr<SharedStageTimes> CreateStageTimesMemo(int64_t max_stages) {
  return std::make_unique<StageTimesMemo>(max_stages);
}

}  // namespace tangram
