#include "coordinator/auth/caller.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/field_error.h"
#include "common/wire/field_checks.h"

namespace tangram {
namespace {

// Limits, because names appear in log lines and tenants in keys of the
// database.
constexpr size_t kMaxNameLength = 128;
constexpr size_t kMaxTenantLength = 64;
constexpr std::array<std::pair<Role, const char*>, 3> kRoles = {
    {{Role::kPlan, "plan"},
     {Role::kOperate, "operate"},
     {Role::kWork, "work"}}};

bool IsTenantCharacter(unsigned char c) {
  return absl::ascii_isalnum(c) || c == '.' || c == '_' || c == '@' || c == '-';
}

bool IsMadeOf(absl::string_view text, bool (*is_good)(unsigned char),
              size_t max_length) {
  return !text.empty() && text.size() <= max_length &&
         std::all_of(text.begin(), text.end(), is_good);
}

std::string Quoted(absl::string_view text) {
  return absl::StrCat("\"", absl::CHexEscape(text.substr(0, kMaxNameLength)),
                      "\"");
}

}  // namespace

absl::StatusOr<Role> ParseRole(absl::string_view text) {
  for (const auto& [role, name] : kRoles) {
    if (text == name) return role;
  }
  return FieldError("roles", Quoted(text), "plan, operate or work");
}

std::string ToString(Roles roles) {
  std::vector<const char*> names;
  for (const auto& [role, name] : kRoles) {
    if (roles.Has(role)) names.push_back(name);
  }
  return absl::StrJoin(names, " or ");
}

absl::Status CheckCaller(absl::string_view name_field, const Caller& caller) {
  if (!IsMadeOf(caller.name, absl::ascii_isgraph, kMaxNameLength)) {
    return FieldError(
        name_field, Quoted(caller.name),
        absl::StrCat("1 to ", kMaxNameLength, " printable characters"));
  }
  if (caller.tenant.empty()) {
    if (!caller.roles.Has(Role::kPlan)) return absl::OkStatus();
    return FieldError("tenant", "missing", "one with the role plan");
  }
  if (IsMadeOf(caller.tenant, IsTenantCharacter, kMaxTenantLength) &&
      !IsDotSegment(caller.tenant)) {
    return absl::OkStatus();
  }
  return FieldError(
      "tenant", Quoted(caller.tenant),
      absl::StrCat("1 to ", kMaxTenantLength,
                   " letters, digits and ._@-, but not \".\" or \"..\""));
}

}  // namespace tangram
