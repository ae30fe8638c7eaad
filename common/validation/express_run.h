#ifndef TANGRAM_COMMON_VALIDATION_EXPRESS_RUN_H_
#define TANGRAM_COMMON_VALIDATION_EXPRESS_RUN_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/domain/cluster.h"
#include "common/domain/model_spec.h"
#include "common/domain/pipeline_plan.h"
#include "common/domain/training_options.h"
#include "common/validation/measured_run.h"

namespace tangram {

// A measured run as the evaluator takes it.
struct ExpressedRun {
  ModelSpec model;
  Cluster cluster;
  TrainingOptions training;
  PipelinePlan plan;
};

// Puts a run into our terms: its GPUs from the catalogue, its links from the
// text of the source, its model from the dimensions or else by name, its plan
// from the degrees or the per-stage plan. What the row leaves unsaid is as
// HabitsOf its framework has it.
//
// kUnimplemented saying what cannot be expressed; kInvalidArgument where the
// row contradicts itself.
absl::StatusOr<ExpressedRun> ExpressRun(const MeasuredRun& run);

}  // namespace tangram

#endif  // TANGRAM_COMMON_VALIDATION_EXPRESS_RUN_H_
