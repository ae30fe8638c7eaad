#ifndef TANGRAM_FRAMEWORKS_GALVATRON_RUNTIME_H_
#define TANGRAM_FRAMEWORKS_GALVATRON_RUNTIME_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/domain/training_options.h"
#include "frameworks/framework_import.h"

namespace tangram {

// Settings of Galvatron's runtime.yaml that a plan depends on, with the
// defaults of its schema.
struct GalvatronRuntime {
  bool sequence_parallel = true;
  // Where the strategy says nothing.
  std::string pipeline_type = "gpipe";
  std::string default_dp_type = "ddp";
  TrainingOptions training;  // Without the batch.
};

// Reads the runtime.yaml among the files, or assumes one with the request's
// training and notes it. kInvalidArgument names a setting of another model,
// precision or sequence length than the request's, and both values. Adds notes
// on settings that are not read.
absl::StatusOr<GalvatronRuntime> ReadGalvatronRuntime(
    const ImportRequest& request, std::vector<std::string>& notes);

}  // namespace tangram

#endif  // TANGRAM_FRAMEWORKS_GALVATRON_RUNTIME_H_
