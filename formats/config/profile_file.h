#ifndef TANGRAM_FORMATS_CONFIG_PROFILE_FILE_H_
#define TANGRAM_FORMATS_CONFIG_PROFILE_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "formats/profile/profile.h"

namespace tangram {

// Read a profile (docs/profile-file.md). kInvalidArgument names file, field,
// value and what was expected; kNotFound if there is no such file.
absl::StatusOr<Profile> ReadProfileFile(const std::string& path);
absl::StatusOr<Profile> ParseProfile(absl::string_view text,
                                     absl::string_view source_name);

// Returns JSON that ParseProfile reads as the same profile, an entry a line.
std::string ProfileToJson(const Profile& profile);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CONFIG_PROFILE_FILE_H_
