#ifndef TANGRAM_COORDINATOR_PLANNERS_TANGRAM_SHARED_STAGE_TIMES_H_
#define TANGRAM_COORDINATOR_PLANNERS_TANGRAM_SHARED_STAGE_TIMES_H_

#include <cstdint>
#include <vector>

#include "common/sim/play_pipeline.h"

namespace tangram {

// The times of the stages of some slice plans, plan by plan.
using TimesOfPlans = std::vector<std::vector<StageTimes>>;

// Times of the stages of slice plans that searches share. Every search that
// uses one plans the same model on nodes of the same cluster, as those for
// different allocations do: a group of a name has the same nodes and links in
// all of them. An entry holds what the simulator says, so answers do not depend
// on what is found. Implementations are thread-safe.
class SharedStageTimes {
 public:
  // Stands for the slice plans of a pair, their training and microbatch size,
  // and the GPUs under them. 128 bits of content.
  struct Key {
    uint64_t high = 0;
    uint64_t low = 0;
    bool operator==(const Key&) const = default;
  };

  virtual ~SharedStageTimes() = default;
  // Returns the times of `key`, or null if they are not known. They stay as
  // long as this object.
  virtual const TimesOfPlans* Find(const Key& key) = 0;
  // May keep them. Returns those that it keeps, or null.
  virtual const TimesOfPlans* Insert(const Key& key,
                                     const TimesOfPlans& times) = 0;
};

// Makes a key from words, in order. The two halves are mixed apart.
class StageTimesKey {
 public:
  void Add(uint64_t word) {
    key_.high = (key_.high ^ word) * 0x9e3779b97f4a7c15ULL;
    key_.high ^= key_.high >> 29;
    key_.low = (key_.low + word) * 0xc2b2ae3d27d4eb4fULL;
    key_.low ^= key_.low >> 31;
  }
  const SharedStageTimes::Key& key() const { return key_; }

 private:
  SharedStageTimes::Key key_{.high = 0x243f6a8885a308d3ULL,
                             .low = 0x13198a2e03707344ULL};
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_TANGRAM_SHARED_STAGE_TIMES_H_
