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

// A file of another tool. Some formats keep dimensions in the file name.
struct ImportedFile {
  std::string name;  // Name, with or without a path.
  std::string text;
};

// Facts that the files lack, or that override the files.
struct ImportOptions {
  std::string device;              // Empty: the device of the files.
  std::optional<ModelSpec> model;  // Dimensions of the measured model.
  std::optional<Precision> precision;
  std::optional<int> sequence_length;
};

// An imported profile.
struct ImportResult {
  Profile profile;
  // Data that was left out or interpreted, and why.
  std::vector<std::string> notes;
};

// A format that can be imported.
struct ProfileFormat {
  absl::string_view name;   // Name on the command line.
  absl::string_view files;  // The files that it reads, for people.
  absl::StatusOr<ImportResult> (*import)(absl::Span<const ImportedFile> files,
                                         const ImportOptions& options);
};

// Returns all formats, sorted by name.
absl::Span<const ProfileFormat> ProfileFormats();

// Imports files of that format. kInvalidArgument names file, field, value and
// what was expected. It is also returned if nothing could be imported or the
// files are of several devices.
absl::StatusOr<ImportResult> ImportProfile(absl::string_view format,
                                           absl::Span<const ImportedFile> files,
                                           const ImportOptions& options);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_IMPORT_PROFILE_IMPORT_PROFILE_H_
