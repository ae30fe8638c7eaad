#include "coordinator/auth/caller.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/wire/field_checks.h"

namespace tangram {
namespace {

constexpr size_t kMaxNameLength = 64;
constexpr std::array<std::pair<Role, const char*>, 3> kRoles = {
    {{Role::kPlan, "plan"},
     {Role::kOperate, "operate"},
     {Role::kWork, "work"}}};

bool IsNameCharacter(char c) {
  return absl::ascii_isalnum(c) || c == '.' || c == '_' || c == '@' || c == '-';
}

}  // namespace

absl::StatusOr<Role> ParseRole(absl::string_view text) {
  for (const auto& [role, name] : kRoles) {
    if (text == name) return role;
  }
  return InvalidField("roles",
                      absl::StrCat("\"", text.substr(0, kMaxNameLength), "\""),
                      "plan, operate or work");
}

std::string ToString(Roles roles) {
  std::vector<const char*> names;
  for (const auto& [role, name] : kRoles) {
    if (roles.Has(role)) names.push_back(name);
  }
  return absl::StrJoin(names, " or ");
}

absl::Status CheckCallerName(absl::string_view field, absl::string_view value) {
  if (!value.empty() && value.size() <= kMaxNameLength &&
      std::all_of(value.begin(), value.end(), IsNameCharacter)) {
    return absl::OkStatus();
  }
  return InvalidField(
      field, absl::StrCat("\"", value.substr(0, kMaxNameLength), "\""),
      absl::StrCat("1 to ", kMaxNameLength, " letters, digits and ._@-"));
}

}  // namespace tangram
