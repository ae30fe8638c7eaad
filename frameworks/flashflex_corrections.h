#ifndef TANGRAM_FRAMEWORKS_FLASHFLEX_CORRECTIONS_H_
#define TANGRAM_FRAMEWORKS_FLASHFLEX_CORRECTIONS_H_

#include <map>
#include <vector>

#include "common/domain/cluster.h"
#include "frameworks/replica_pipelines.h"

namespace tangram {

// Ways in which FlashFlex alone departs from a plan. A program of ours corrects
// them (flashflex_program.h).
struct FlashFlexCorrections {
  bool weights = false;  // Weights or data of samples.
  bool stages = false;   // Stages of ranks.
  bool parts = false;    // Gradients of the parts of a layer.
  bool any() const { return weights || stages || parts; }
};

FlashFlexCorrections CorrectionsForFlashFlex(
    const std::vector<ReplicaPipeline>& pipelines,
    const std::map<GpuId, int>& ranks);

}  // namespace tangram

#endif  // TANGRAM_FRAMEWORKS_FLASHFLEX_CORRECTIONS_H_
