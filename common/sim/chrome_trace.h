#ifndef TANGRAM_COMMON_SIM_CHROME_TRACE_H_
#define TANGRAM_COMMON_SIM_CHROME_TRACE_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "common/domain/cluster.h"
#include "common/domain/pipeline_plan.h"
#include "common/domain/replicated_plan.h"
#include "common/sim/evaluate_plan.h"

namespace tangram {

// Returns the timeline that EvaluatePlan filled for `plan` as JSON in the
// Chrome trace event format, which Perfetto and chrome://tracing load. A
// process is an island. Each device, which runs one stage or several chunks,
// has a track for passes and one for transfers in each direction. So has each
// group of a stage that routes microbatches. `plan` must be valid on `cluster`.
std::string ToChromeTrace(const Cluster& cluster, const PipelinePlan& plan,
                          absl::Span<const TimelineEvent> timeline);

// Likewise for the timelines that EvaluateReplicatedPlan filled, by pipeline. A
// process is an island of one pipeline. The exchange between pipelines has a
// track for each device.
std::string ToChromeTrace(
    const Cluster& cluster, const ReplicatedPlan& plan,
    absl::Span<const std::vector<TimelineEvent>> timelines);

}  // namespace tangram

#endif  // TANGRAM_COMMON_SIM_CHROME_TRACE_H_
