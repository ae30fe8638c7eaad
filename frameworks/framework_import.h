#ifndef TANGRAM_FRAMEWORKS_FRAMEWORK_IMPORT_H_
#define TANGRAM_FRAMEWORKS_FRAMEWORK_IMPORT_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "common/domain/cluster.h"
#include "common/domain/model_spec.h"
#include "common/domain/pipeline_plan.h"
#include "common/domain/training_options.h"

namespace tangram {

// A file of a framework.
struct FrameworkFile {
  std::string name;  // Name, with or without a path.
  std::string content;
};

// The files of a framework, and facts that they lack.
struct ImportRequest {
  absl::Span<const FrameworkFile> files;
  const Cluster& cluster;
  const ModelSpec& model;
  // Defaults; values in the files override them. 0: not known.
  TrainingOptions training;
  // Taken if neither the files nor `training` say one.
  int usual_sequence_length = 0;
};

// A plan read from files of a framework.
struct ImportedPlan {
  TrainingOptions training;
  PipelinePlan plan;
  std::vector<std::string> notes;  // Assumptions that were made.
};

}  // namespace tangram

#endif  // TANGRAM_FRAMEWORKS_FRAMEWORK_IMPORT_H_
