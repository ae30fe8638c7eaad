#ifndef TANGRAM_COMMON_DAEMON_ACCEPT_H_
#define TANGRAM_COMMON_DAEMON_ACCEPT_H_

namespace tangram {

// From now on, connections that leave fewer than `count` descriptors of this
// process unused are closed as they come, on all ports. Files and databases
// need descriptors, too, and a server of gRPC 1.51 that finds none left never
// accepts again.
void KeepDescriptorsUnused(int count);

}  // namespace tangram

#endif  // TANGRAM_COMMON_DAEMON_ACCEPT_H_
