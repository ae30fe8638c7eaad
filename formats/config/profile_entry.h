#ifndef TANGRAM_FORMATS_CONFIG_PROFILE_ENTRY_H_
#define TANGRAM_FORMATS_CONFIG_PROFILE_ENTRY_H_

#include <vector>

#include "absl/status/statusor.h"
#include "common/domain/measurements.h"
#include "formats/config/config_field.h"
#include "formats/profile/profile.h"

// The parts of a profile file.
namespace tangram {

// An element of `layers` and of `operators`; models are looked up in `profile`.
absl::StatusOr<ProfileEntry> ReadProfiledLayer(const ConfigField& field,
                                               const Profile& profile);
absl::StatusOr<ProfileEntry> ReadProfiledOperator(const ConfigField& field,
                                                  const Profile& profile);

// An element of `links`.
absl::StatusOr<ProfileLink> ReadProfiledLink(const ConfigField& field);

// An element of `collectives` and of `p2p`.
absl::StatusOr<MeasuredCollective> ReadProfiledCollective(
    const ConfigField& field);
absl::StatusOr<MeasuredCollective> ReadProfiledTransfer(
    const ConfigField& field);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CONFIG_PROFILE_ENTRY_H_
