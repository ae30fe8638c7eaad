#include "formats/export_profile/export_profile.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tangram {
namespace {

constexpr ProfileTarget kTargets[] = {
    {"amp", ExportAmp}, {"metis", ExportMetis}, {"sailor", ExportSailor}};

}  // namespace

absl::Span<const ProfileTarget> ProfileTargets() { return kTargets; }

absl::StatusOr<ProfileExport> ExportProfile(absl::string_view target,
                                            const ProfiledJob& job) {
  for (const ProfileTarget& known : kTargets) {
    if (known.name == target) return known.write(job);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "--to: ", target, "; expected one of ",
      absl::StrJoin(kTargets, ", ",
                    [](std::string* out, const ProfileTarget& known) {
                      absl::StrAppend(out, known.name);
                    })));
}

}  // namespace tangram
