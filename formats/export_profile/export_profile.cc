#include "formats/export_profile/export_profile.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tangram {
namespace {

constexpr ProfileTarget kTargets[] = {
    {"amp", ExportAmp}, {"metis", ExportMetis}, {"sailor", ExportSailor}};

// Returns `name` as a part of a path that stays in its folder: characters
// besides letters, digits, '.', '_' and '-' become '-', and so does a leading
// '.'. Names come from files of others.
std::string PathWord(absl::string_view name) {
  std::string word(name);
  for (char& c : word) {
    if (!absl::ascii_isalnum(c) && c != '.' && c != '_' && c != '-') c = '-';
  }
  if (!word.empty() && word.front() == '.') word.front() = '-';
  return word;
}

// Planners find files by the names in other files, so all names are words.
ProfileExport WriteWithWords(const ProfileTarget& target,
                             const ProfiledJob& job) {
  ModelSpec model = job.model;
  model.name = PathWord(model.name);
  LayerProfiles profiles = job.profiles;
  for (ProfiledType& type : profiles.types) type.name = PathWord(type.name);
  return target.write({.model = model,
                       .cluster = job.cluster,
                       .training = job.training,
                       .profiles = profiles});
}

}  // namespace

absl::Span<const ProfileTarget> ProfileTargets() { return kTargets; }

absl::StatusOr<ProfileExport> ExportProfile(absl::string_view target,
                                            const ProfiledJob& job) {
  for (const ProfileTarget& known : kTargets) {
    if (known.name == target) return WriteWithWords(known, job);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "--to: ", target, "; expected one of ",
      absl::StrJoin(kTargets, ", ",
                    [](std::string* out, const ProfileTarget& known) {
                      absl::StrAppend(out, known.name);
                    })));
}

}  // namespace tangram
