#ifndef TANGRAM_FORMATS_IMPORT_PROFILE_IMPORT_PROFILE_H_
#define TANGRAM_FORMATS_IMPORT_PROFILE_IMPORT_PROFILE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "formats/profile/profile.h"

namespace tangram {

// A file of another tool. The name counts in formats that keep dimensions in
// file names.
struct ImportedFile {
  std::string name;  // With or without a path.
  std::string text;
};

// What the files do not say themselves, or what shall be said instead.
struct ImportOptions {
  std::string device;              // Empty: as in the files.
  std::optional<ModelSpec> model;  // Dimensions of the measured model.
  std::optional<Precision> precision;
  std::optional<int> sequence_length;
};

struct ImportResult {
  Profile profile;
  // What was left out, or read with an interpretation, and why.
  std::vector<std::string> notes;
};

struct ProfileFormat {
  absl::string_view name;   // As on the command line.
  absl::string_view files;  // For people: what it reads.
  absl::StatusOr<ImportResult> (*import)(absl::Span<const ImportedFile> files,
                                         const ImportOptions& options);
};

// By name.
absl::Span<const ProfileFormat> ProfileFormats();

// kInvalidArgument naming file, field, value and what was expected; also if
// nothing could be imported, or files of several devices are mixed.
absl::StatusOr<ImportResult> ImportProfile(absl::string_view format,
                                           absl::Span<const ImportedFile> files,
                                           const ImportOptions& options);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_IMPORT_PROFILE_IMPORT_PROFILE_H_
