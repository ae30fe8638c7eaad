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
  std::string tenant;  // Whose jobs he sees; empty: none's.
  Roles roles;
  bool operator==(const Caller&) const = default;
};

// "plan", "operate" or "work".
absl::StatusOr<Role> ParseRole(absl::string_view text);
std::string ToString(Roles roles);  // "plan or operate"

// A caller read from a file or a token: a name is up to 128 printable
// characters, a tenant up to 64 letters, digits and "._@-", and who plans has
// one. The name's field is `name_field`.
absl::Status CheckCaller(absl::string_view name_field, const Caller& caller);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_AUTH_CALLER_H_
