#ifndef TANGRAM_COORDINATOR_AUTH_CALLER_H_
#define TANGRAM_COORDINATOR_AUTH_CALLER_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tangram {

// What somebody may do: plan for his tenant, see and end all tenants' jobs, or
// be a worker.
enum class Role : unsigned { kPlan = 1, kOperate = 2, kWork = 4 };

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
  std::string tenant;  // Whose jobs he sees; empty: those of nobody.
  Roles roles;
  bool operator==(const Caller&) const = default;
};

// "plan", "operate" or "work".
absl::StatusOr<Role> ParseRole(absl::string_view text);
std::string ToString(Roles roles);  // "plan or operate"

// Names and tenants are up to 64 letters, digits and "._@-".
absl::Status CheckCallerName(absl::string_view field, absl::string_view value);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_AUTH_CALLER_H_
