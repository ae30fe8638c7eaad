#ifndef TANGRAM_FORMATS_PROFILE_FIT_COLLECTIVES_H_
#define TANGRAM_FORMATS_PROFILE_FIT_COLLECTIVES_H_

#include "common/domain/cluster.h"

namespace tangram {

// Makes the measured collectives of a node's device those of this node. Where
// its GPUs share one bus, a collective over all of them is the judge of those
// over fewer: while every group of the node communicates, none gets more of the
// bus for each of its GPUs, and one that got less than half was measured on a
// node of another kind. Either is replaced with a ring of as many bytes to a
// GPU over the whole node. Nodes with NVLink stay as they are, whose groups
// have links of their own.
void FitCollectives(Node& node);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_PROFILE_FIT_COLLECTIVES_H_
