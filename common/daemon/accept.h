#ifndef TANGRAM_COMMON_DAEMON_ACCEPT_H_
#define TANGRAM_COMMON_DAEMON_ACCEPT_H_

namespace tangram {

// From now on, connections that leave fewer than 1,024 descriptors of this
// process unused, or a quarter of its limit, are closed as they come, on all
// ports. Files and databases need descriptors, too, and a server of gRPC 1.51
// that finds none left never accepts again.
void KeepDescriptorsUnused();

}  // namespace tangram

#endif  // TANGRAM_COMMON_DAEMON_ACCEPT_H_
