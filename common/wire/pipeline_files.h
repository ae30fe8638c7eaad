#ifndef TANGRAM_COMMON_WIRE_PIPELINE_FILES_H_
#define TANGRAM_COMMON_WIRE_PIPELINE_FILES_H_

#include <vector>

#include "common/wire/plan_file.h"

namespace tangram {

// Returns each pipeline of file.result.replicated_plan, which must exist, as a
// separate plan file: the plan, its share of the batch, and its figures within
// the iteration of all pipelines. For readers that show one pipeline at a time.
std::vector<PlanFile> PipelineFiles(const PlanFile& file);

}  // namespace tangram

#endif  // TANGRAM_COMMON_WIRE_PIPELINE_FILES_H_
