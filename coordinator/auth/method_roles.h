#ifndef TANGRAM_COORDINATOR_AUTH_METHOD_ROLES_H_
#define TANGRAM_COORDINATOR_AUTH_METHOD_ROLES_H_

#include "absl/strings/string_view.h"
#include "coordinator/auth/caller.h"

namespace tangram {

struct MethodAccess {
  // Without saying who one is.
  bool is_public = false;
  Roles any_of;  // Empty, of a method that is not public: whoever is known.
};

// Who may call the method of that path, "/tangram.v1.Jobs/GetJob". Null: there
// is no such method.
const MethodAccess* FindMethodAccess(absl::string_view path);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_AUTH_METHOD_ROLES_H_
