#ifndef TANGRAM_FORMATS_CONFIG_PROFILE_ENTRY_H_
#define TANGRAM_FORMATS_CONFIG_PROFILE_ENTRY_H_

#include <vector>

#include "absl/status/statusor.h"
#include "common/domain/measurements.h"
#include "formats/config/config_field.h"
#include "formats/profile/profile.h"

// Reads the elements of a profile file's lists.
namespace tangram {

// Read an element of `layers` and of `operators`. Models are looked up in
// `profile`.
absl::StatusOr<ProfileEntry> ReadProfiledLayer(const ConfigField& field,
                                               const Profile& profile);
absl::StatusOr<ProfileEntry> ReadProfiledOperator(const ConfigField& field,
                                                  const Profile& profile);

// Reads an element of `links`.
absl::StatusOr<ProfileLink> ReadProfiledLink(const ConfigField& field);

// Read an element of `collectives` and of `p2p`.
absl::StatusOr<MeasuredCollective> ReadProfiledCollective(
    const ConfigField& field);
absl::StatusOr<MeasuredCollective> ReadProfiledTransfer(
    const ConfigField& field);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CONFIG_PROFILE_ENTRY_H_
