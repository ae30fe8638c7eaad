#ifndef TANGRAM_CLI_VALIDATION_EXPRESS_RUN_H_
#define TANGRAM_CLI_VALIDATION_EXPRESS_RUN_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "cli/validation/measured_run.h"
#include "common/domain/cluster.h"
#include "common/domain/model_spec.h"
#include "common/domain/pipeline_plan.h"
#include "common/domain/training_options.h"
#include "formats/profile/profile.h"

namespace tangram {

// A measured run as the evaluator takes it.
struct ExpressedRun {
  ModelSpec model;
  Cluster cluster;
  TrainingOptions training;
  PipelinePlan plan;
  // What its framework's host adds to an iteration, and the framework to the
  // memory of each stage's GPUs.
  double overhead_s = 0;
  std::vector<double> overhead_bytes;
  // The stages whose memory the row counts; empty: all.
  std::vector<int> memory_stages;
};

// Puts a run into our terms: its GPUs from the catalogue, its links from the
// text of the source, its model from the dimensions or else by name, its plan
// from the degrees or the per-stage plan. What the row leaves unsaid is as
// HabitsOf its framework has it. Profiles are attached to the GPUs of their
// types; where the row does not state its links, theirs count.
//
// kUnimplemented saying what cannot be expressed; kInvalidArgument where the
// row contradicts itself.
absl::StatusOr<ExpressedRun> ExpressRun(
    const MeasuredRun& run, absl::Span<const Profile> profiles = {});

}  // namespace tangram

#endif  // TANGRAM_CLI_VALIDATION_EXPRESS_RUN_H_
