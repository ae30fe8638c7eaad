#ifndef TANGRAM_COMMON_DOMAIN_LAYER_AT_H_
#define TANGRAM_COMMON_DOMAIN_LAYER_AT_H_

#include <cstddef>

#include "absl/types/span.h"
#include "common/domain/model_spec.h"

namespace tangram {

// Returns the layer `index` layers after the start of `runs`; the last one if
// there are fewer. O(runs).
inline const LayerSpec& LayerAt(absl::Span<const LayerRun> runs, int index) {
  size_t run = 0;
  while (run + 1 < runs.size() && index >= runs[run].count) {
    index -= runs[run++].count;
  }
  return runs[run].layer;
}

}  // namespace tangram

#endif  // TANGRAM_COMMON_DOMAIN_LAYER_AT_H_
