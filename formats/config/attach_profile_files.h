#ifndef TANGRAM_FORMATS_CONFIG_ATTACH_PROFILE_FILES_H_
#define TANGRAM_FORMATS_CONFIG_ATTACH_PROFILE_FILES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/domain/cluster.h"
#include "common/domain/device.h"
#include "formats/config/config_field.h"

namespace tangram {

// Attaches each profile to all devices of its GPU type, without its memory if
// it was measured with another framework than `framework`, which may be empty.
// kInvalidArgument if the cluster has no such device.
absl::Status AttachProfileFiles(absl::Span<const std::string> paths,
                                Cluster& cluster,
                                absl::string_view framework = "");

// Attaches the file or files that the key `profile` of `fields` names. Paths
// are relative to the file that holds the fields. Each profile must be of the
// device's type.
absl::Status AttachNamedProfiles(const ConfigField& fields, DeviceSpec& device);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CONFIG_ATTACH_PROFILE_FILES_H_
