#include "formats/config/attach_profile_files.h"

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/band/framework_family.h"
#include "common/base/field_error.h"
#include "common/base/status_macros.h"
#include "formats/config/profile_file.h"
#include "formats/profile/attach_profile.h"

namespace tangram {
namespace {

std::string TypesOf(const Cluster& cluster) {
  std::set<std::string> types;
  for (const Node& node : cluster.nodes) types.insert(node.device.type);
  return absl::StrJoin(types, " or ");
}

absl::Status WrongDevice(const std::string& path, const Profile& profile,
                         absl::string_view expected) {
  return FieldError(absl::StrCat(path, ": device"), profile.device, expected);
}

}  // namespace

absl::Status AttachProfileFiles(absl::Span<const std::string> paths,
                                Cluster& cluster, absl::string_view framework) {
  for (const std::string& path : paths) {
    TANGRAM_ASSIGN_OR_RETURN(Profile profile, ReadProfileFile(path));
    if (AreUnlikeFrameworks(profile.framework, framework)) {
      profile = WithoutMemory(std::move(profile));
    }
    if (AttachProfile(profile, cluster) == 0) {
      return WrongDevice(
          path, profile,
          absl::StrCat("a GPU type of the cluster: ", TypesOf(cluster)));
    }
  }
  return absl::OkStatus();
}

absl::Status AttachNamedProfiles(const ConfigField& fields,
                                 DeviceSpec& device) {
  const std::optional<ConfigField> field = fields.Find("profile");
  if (!field.has_value()) return absl::OkStatus();
  std::vector<ConfigField> names = {*field};
  if (field->is_sequence()) {
    TANGRAM_ASSIGN_OR_RETURN(names, field->Elements());
  }
  const std::filesystem::path folder =
      std::filesystem::path(fields.source_name()).parent_path();
  for (const ConfigField& name : names) {
    TANGRAM_ASSIGN_OR_RETURN(const std::string path, name.AsNote());
    const std::string at = (folder / path).string();
    TANGRAM_ASSIGN_OR_RETURN(const Profile profile, ReadProfileFile(at));
    if (profile.device != device.type) {
      return WrongDevice(at, profile,
                         absl::StrCat(device.type, ", as in ",
                                      fields.source_name(), ": ", name.path()));
    }
    AttachProfile(profile, device);
  }
  return absl::OkStatus();
}

}  // namespace tangram
