#ifndef TANGRAM_FORMATS_PROFILE_FIT_COLLECTIVES_H_
#define TANGRAM_FORMATS_PROFILE_FIT_COLLECTIVES_H_

#include "common/domain/cluster.h"

namespace tangram {

// Adapts the measured collectives of a device to its node. If the GPUs share
// one bus, a collective over all of them bounds those over fewer. While every
// group of the node communicates, no group gets more of the bus for each of its
// GPUs. A group that got less than half was measured on a node of another kind.
// Either table entry is replaced: its time becomes that of a ring over the
// whole node that sends as many bytes per GPU. Nodes with NVLink stay as they
// are, because their groups have links of their own.
void FitCollectives(Node& node);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_PROFILE_FIT_COLLECTIVES_H_
