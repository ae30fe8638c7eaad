#include "formats/import_cluster/find_groups.h"

#include <set>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "formats/config/device_catalogue.h"
#include "formats/import_cluster/hostlist.h"
#include "formats/import_cluster/text_parts.h"

namespace tangram {
namespace {

bool IsOfType(const DraftGroup& group, absl::string_view type) {
  const DraftField* gpu = FindField(group.fields, "gpu");
  if (gpu != nullptr && absl::EqualsIgnoreCase(gpu->value, YamlScalar(type)))
    return true;
  return group.device != nullptr && group.device == FindDevice(type);
}

}  // namespace

std::string GroupNames(const ClusterDraft& draft) {
  return absl::StrJoin(draft.groups, ", ",
                       [](std::string* out, const DraftGroup& group) {
                         out->append(group.name);
                       });
}

std::vector<int> GroupsNamed(absl::string_view name,
                             const ClusterDraft& draft) {
  std::vector<int> of_type;
  for (size_t i = 0; i < draft.groups.size(); ++i) {
    const int index = static_cast<int>(i);
    if (draft.groups[i].name == name) return {index};
    if (IsOfType(draft.groups[i], name)) of_type.push_back(index);
  }
  return of_type;
}

absl::StatusOr<std::vector<int>> FindGroups(absl::string_view scope,
                                            const ClusterDraft& draft) {
  std::vector<int> found = GroupsNamed(scope, draft);
  if (!found.empty()) return found;
  const auto names = ExpandHostlist(scope);
  if (names.ok()) {
    const std::set<std::string> wanted(names->begin(), names->end());
    for (size_t i = 0; i < draft.groups.size(); ++i) {
      if (absl::c_any_of(draft.groups[i].node_names,
                         [&wanted](const std::string& name) {
                           return wanted.count(name) > 0;
                         })) {
        found.push_back(static_cast<int>(i));
      }
    }
  }
  if (!found.empty()) return found;
  return absl::NotFoundError(
      absl::StrCat(Shown(scope), "; expected nodes, a GPU type or one of the ",
                   "groups ", GroupNames(draft)));
}

bool IsOfOtherNodes(const absl::Status& found, absl::string_view source,
                    ClusterDraft& draft) {
  if (!draft.is_part || !absl::IsNotFound(found)) return false;
  draft.notes.push_back(absl::StrCat(
      Shown(source), " is not used: none of its nodes was chosen"));
  return true;
}

}  // namespace tangram
