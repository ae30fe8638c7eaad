#ifndef TANGRAM_COMMON_SIM_CHROME_TRACE_H_
#define TANGRAM_COMMON_SIM_CHROME_TRACE_H_

#include <string>

#include "absl/types/span.h"
#include "common/domain/cluster.h"
#include "common/domain/pipeline_plan.h"
#include "common/sim/evaluate_plan.h"

namespace tangram {

// Returns the timeline that EvaluatePlan filled for `plan` as JSON in the
// Chrome trace event format, which Perfetto and chrome://tracing load. A
// process is an island. Each device, which runs one stage or several chunks,
// has a track for passes and one for transfers in each direction. `plan` must
// be valid on `cluster`.
std::string ToChromeTrace(const Cluster& cluster, const PipelinePlan& plan,
                          absl::Span<const TimelineEvent> timeline);

}  // namespace tangram

#endif  // TANGRAM_COMMON_SIM_CHROME_TRACE_H_
