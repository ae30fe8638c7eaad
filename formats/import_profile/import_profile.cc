#include "formats/import_profile/import_profile.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/field_error.h"
#include "common/base/status_macros.h"
#include "formats/import_profile/formats.h"
#include "formats/import_profile/import_parts.h"

namespace tangram {
namespace {

constexpr ProfileFormat kFormats[] = {
    {"aceso", "operator CSV files of Aceso's profiler, its collectives and p2p",
     ImportAceso},
    {"galvatron", "computation and memory profiles, all-reduce and p2p tables",
     ImportGalvatron},
    {"metis", "DeviceType.<type>_tp<n>_bs<n>.json", ImportMetis},
    {"mist", "operator latencies and hardware parameters", ImportMist},
    {"nccl-tests", "standard output of nccl-tests, such as all_reduce_perf",
     ImportNccl},
    {"sailor", "layer profiles (profile.json) with llm_info.json",
     ImportSailor},
    {"sailor-links",
     "multizone_bandwidths_het.json, intra_node_bandwidths.json or their "
     "tables",
     ImportSailorLinks},
};

std::string Names() {
  return absl::StrJoin(ProfileFormats(), ", ",
                       [](std::string* out, const ProfileFormat& format) {
                         absl::StrAppend(out, format.name);
                       });
}

}  // namespace

absl::Span<const ProfileFormat> ProfileFormats() { return kFormats; }

absl::StatusOr<ImportResult> ImportProfile(absl::string_view format,
                                           absl::Span<const ImportedFile> files,
                                           const ImportOptions& options) {
  if (files.empty()) {
    return absl::InvalidArgumentError("no file; expected at least one");
  }
  for (const ProfileFormat& known : kFormats) {
    if (known.name != format) continue;
    TANGRAM_ASSIGN_OR_RETURN(ImportResult result, known.import(files, options));
    PutInOrder(result.profile);
    const Profile& profile = result.profile;
    if (profile.entries.empty() && profile.collectives.empty() &&
        profile.gemms.empty() && profile.links.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          files[0].name, ": nothing to import",
          result.notes.empty() ? "" : ": ", absl::StrJoin(result.notes, "; ")));
    }
    return result;
  }
  return FieldError("--from", absl::CEscape(format),
                    absl::StrCat("one of ", Names()));
}

}  // namespace tangram
