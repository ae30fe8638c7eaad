#ifndef TANGRAM_COORDINATOR_FRONTIER_STAGE_TIMES_MEMO_H_
#define TANGRAM_COORDINATOR_FRONTIER_STAGE_TIMES_MEMO_H_

#include <memory>

#include "coordinator/planners/tangram/shared_stage_times.h"

namespace tangram {

// The most stages that a memo keeps. They take about 100 MB.
inline constexpr int64_t kMaxSharedStages = 1'000'000;

// Returns an empty memo in memory, which keeps what comes first. Thread-safe.
std::unique_ptr<SharedStageTimes> CreateStageTimesMemo(
    int64_t max_stages = kMaxSharedStages);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_FRONTIER_STAGE_TIMES_MEMO_H_
