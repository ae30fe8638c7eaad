#ifndef TANGRAM_COORDINATOR_AUTH_CALLER_H_
#define TANGRAM_COORDINATOR_AUTH_CALLER_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tangram {

// A right of a caller. Values are bits.
enum class Role : unsigned {
  kPlan = 1,     // Plan for the caller's tenant, and see and end its jobs.
  kOperate = 2,  // See and end the jobs of all tenants; see the workers.
  kWork = 4      // Be a worker.
};

// A set of roles.

class Roles {
 public:
  Roles() = default;
  static Roles All() {
    return Roles() | Role::kPlan | Role::kOperate | Role::kWork;
  }

  Roles operator|(Role role) const {
    return Roles(bits_ | static_cast<unsigned>(role));
  }
  bool Has(Role role) const {
    return (bits_ & static_cast<unsigned>(role)) != 0;
  }
  bool HasAny(Roles roles) const { return (bits_ & roles.bits_) != 0; }
  bool operator==(const Roles&) const = default;

 private:
  explicit Roles(unsigned bits) : bits_(bits) {}
  unsigned bits_ = 0;
};

struct Caller {
  std::string name;    // For logs.
  std::string tenant;  // Tenant whose jobs the caller sees; empty: no tenant.
  Roles roles;
  bool operator==(const Caller&) const = default;
};

// Reads "plan", "operate" or "work".
absl::StatusOr<Role> ParseRole(absl::string_view text);
std::string ToString(Roles roles);  // E.g. "plan or operate".

// Checks a caller read from a file or a token. A name has 1 to 128 printable
// characters. A tenant has 1 to 64 letters, digits and "._@-", and is not "."
// or "..". A caller with the role kPlan needs a tenant. Errors call the field
// of the name `name_field`.
absl::Status CheckCaller(absl::string_view name_field, const Caller& caller);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_AUTH_CALLER_H_
