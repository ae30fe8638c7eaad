#ifndef TANGRAM_FRAMEWORKS_FRAMEWORK_EXPORT_H_
#define TANGRAM_FRAMEWORKS_FRAMEWORK_EXPORT_H_

#include <string>
#include <vector>

#include "common/domain/cluster.h"
#include "common/domain/model_spec.h"
#include "common/domain/pipeline_plan.h"
#include "common/domain/replicated_plan.h"
#include "common/domain/training_options.h"

namespace tangram {

// A plan with everything that it was made for.
struct PlannedTraining {
  Cluster cluster;
  ModelSpec model;
  TrainingOptions training;
  PipelinePlan plan;
  // Only the plan that would run is asked for, and whether it differs. An
  // export may leave out files, launch, losses of the framework and guards.
  bool plan_only = false;
};

// The same for a plan of several pipelines.
struct PlannedPipelines {
  Cluster cluster;
  ModelSpec model;
  TrainingOptions training;
  ReplicatedPlan plan;
};

// A file of an export.
struct ExportedFile {
  std::string name;
  std::string content;
  bool executable = false;  // A script.
};

// A plan as the configuration of a training framework.
struct FrameworkExport {
  std::vector<ExportedFile> files;
  std::string launch;  // Command to start training, for people.
  // The training and the plan that the framework will run: what was planned,
  // less what the framework cannot express.
  TrainingOptions training;
  PipelinePlan plan;         // Empty for PlannedPipelines.
  ReplicatedPlan pipelines;  // Empty for PlannedTraining.
  // Differences from what was planned, a line each: "stages[1].plan.recompute:
  // 5 of 12 layers, not the first ones; becomes the first 5 of 12 layers".
  std::vector<std::string> losses;
  // Losses that every plan of the model and the training has under this
  // framework, a line each: "data: yours; becomes synthetic, ...".
  std::vector<std::string> framework_losses;
  // Conditions that the export checked because the framework does not.
  std::vector<std::string> guards;
};

}  // namespace tangram

#endif  // TANGRAM_FRAMEWORKS_FRAMEWORK_EXPORT_H_
