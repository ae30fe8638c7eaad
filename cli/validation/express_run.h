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
#include "formats/config/device_list.h"
#include "formats/profile/profile.h"

namespace tangram {

// A measured run in the evaluator's terms.
struct ExpressedRun {
  ModelSpec model;
  Cluster cluster;
  TrainingOptions training;
  PipelinePlan plan;
  // Time that its framework's host adds to an iteration, and bytes that the
  // framework adds to the GPUs of each stage.
  double overhead_s = 0;
  std::vector<double> overhead_bytes;
  // Bytes that the optimizer's step adds to the state of each stage, when no
  // activations are held.
  std::vector<double> step_bytes;
  // The stages whose memory the row measures; empty: all.
  std::vector<int> memory_stages;
};

// Expresses a run in our terms: its GPUs come from the catalogue, its links
// from the text of the source, its model from the dimensions or else from the
// name, its plan from the degrees or the per-stage plan. HabitsOf its framework
// supplies settings that the row leaves out. Profiles are attached to the GPUs
// of their types. Their links count where the row does not state its links.
// GPUs of `devices` stand in for the catalogue's of the same type.
//
// kUnimplemented says what cannot be expressed. kInvalidArgument if the row
// contradicts itself.
absl::StatusOr<ExpressedRun> ExpressRun(
    const MeasuredRun& run, absl::Span<const Profile> profiles = {},
    absl::Span<const CatalogueDevice> devices = {});

}  // namespace tangram

#endif  // TANGRAM_CLI_VALIDATION_EXPRESS_RUN_H_
