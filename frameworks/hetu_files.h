#ifndef TANGRAM_FRAMEWORKS_HETU_FILES_H_
#define TANGRAM_FRAMEWORKS_HETU_FILES_H_

#include <map>
#include <string>
#include <vector>

#include "common/domain/cluster.h"
#include "common/domain/model_spec.h"
#include "common/domain/training_options.h"
#include "frameworks/framework_export.h"
#include "frameworks/rank_order.h"
#include "frameworks/replica_pipelines.h"

namespace tangram {

// A plan in Hetu's terms: pipelines of one replica each, on numbered devices.
struct HetuPlan {
  const ModelSpec& model;
  const TrainingOptions& training;
  std::vector<ReplicaPipeline> pipelines;
  std::vector<RankedHost> hosts;
  std::map<GpuId, int> devices;
  std::vector<std::vector<int>> recomputed;  // Layers of each pipeline.
  bool zero = false;  // Optimizer state is sharded over the pipelines.

  int num_layers() const { return model.num_layers() - 2; }
  int num_devices() const { return static_cast<int>(devices.size()); }
  int largest_tp() const;
};

// Returns the files of an export.
std::vector<ExportedFile> HetuFiles(const HetuPlan& plan);

}  // namespace tangram

#endif  // TANGRAM_FRAMEWORKS_HETU_FILES_H_
