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

struct FrameworkFile {
  std::string name;  // With or without a path.
  std::string content;
};

// The files of a framework, and what they leave open.
struct ImportRequest {
  absl::Span<const FrameworkFile> files;
  const Cluster& cluster;
  const ModelSpec& model;
  // Where a file says otherwise, the file counts. 0: not known.
  TrainingOptions training;
};

struct ImportedPlan {
  TrainingOptions training;
  PipelinePlan plan;
  std::vector<std::string> notes;  // What had to be assumed.
};

}  // namespace tangram

#endif  // TANGRAM_FRAMEWORKS_FRAMEWORK_IMPORT_H_
