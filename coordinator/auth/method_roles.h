#ifndef TANGRAM_COORDINATOR_AUTH_METHOD_ROLES_H_
#define TANGRAM_COORDINATOR_AUTH_METHOD_ROLES_H_

#include "absl/strings/string_view.h"
#include "coordinator/auth/caller.h"

namespace tangram {

// The access rules of a method.
struct MethodAccess {
  // Whether callers need no identity.
  bool is_public = false;
  Roles any_of;  // One of these is needed. Empty: any known caller.
};

// Returns who may call the method of this path, e.g. "/tangram.v1.Jobs/GetJob".
// Returns null if there is no such method.
const MethodAccess* FindMethodAccess(absl::string_view path);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_AUTH_METHOD_ROLES_H_
