#ifndef TANGRAM_COORDINATOR_RPC_REQUEST_DIFFERENCES_H_
#define TANGRAM_COORDINATOR_RPC_REQUEST_DIFFERENCES_H_

#include <string>

#include "absl/strings/string_view.h"
#include "coordinator/store/job_store.h"

namespace tangram {

// Returns where two serialised tangram.v1.PlanRequest differ, as paths of
// fields with their values: "training.global_batch_size (32, now 64)", the
// first few of them. Empty: they mean the same, or one cannot be read.
std::string RequestDifferences(absl::string_view kept, absl::string_view now);

// Returns which settings of a submission differ from those of the job that has
// its id: "priority (3, now 0)". Empty: none. Timeouts that are less than a
// minute apart are equal, because those of jobs of earlier versions are the
// difference of two clocks.
std::string SettingDifferences(const Job& kept, const Job& asked);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_RPC_REQUEST_DIFFERENCES_H_
