#ifndef TANGRAM_FORMATS_CONFIG_MEMORY_MARGIN_H_
#define TANGRAM_FORMATS_CONFIG_MEMORY_MARGIN_H_

#include "common/domain/cluster.h"

namespace tangram {

// Largest margin: plans need some memory.
inline constexpr double kMostMemoryMargin = 0.9;

// Leaves a share of the memory of each GPU out of the cluster, and lists it
// among the assumptions. `margin` is from 0 to kMostMemoryMargin.
void KeepMemoryFree(double margin, Cluster& cluster);

// Returns the margin that KeepMemoryFree left out of the cluster, as its
// assumptions say; 0: none. So the real memory of a GPU is its memory_bytes
// / (1 - margin).
double MemoryMarginOf(const Cluster& cluster);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CONFIG_MEMORY_MARGIN_H_
