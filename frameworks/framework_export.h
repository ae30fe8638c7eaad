#ifndef TANGRAM_FRAMEWORKS_FRAMEWORK_EXPORT_H_
#define TANGRAM_FRAMEWORKS_FRAMEWORK_EXPORT_H_

#include <string>
#include <vector>

#include "common/domain/cluster.h"
#include "common/domain/model_spec.h"
#include "common/domain/pipeline_plan.h"
#include "common/domain/training_options.h"

namespace tangram {

// A plan with all that it was made for.
struct PlannedTraining {
  Cluster cluster;
  ModelSpec model;
  TrainingOptions training;
  PipelinePlan plan;
};

struct ExportedFile {
  std::string name;
  std::string content;
  bool executable = false;
};

// A plan as the configuration of a training framework.
struct FrameworkExport {
  std::vector<ExportedFile> files;
  std::string launch;  // What to type, for people.
  // What the framework will run: the plan itself, less what the framework
  // cannot hold.
  TrainingOptions training;
  PipelinePlan plan;
  // How that differs from what was planned, a line each: "stages[1].recompute:
  // 5 of 12 layers, not the first ones; becomes the first 5 of 12 layers".
  std::vector<std::string> losses;
  // What was made sure of because the framework itself does not check it.
  std::vector<std::string> guards;
};

}  // namespace tangram

#endif  // TANGRAM_FRAMEWORKS_FRAMEWORK_EXPORT_H_
