#ifndef TANGRAM_FORMATS_CONFIG_HF_UNPLANNED_H_
#define TANGRAM_FORMATS_CONFIG_HF_UNPLANNED_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/domain/model_spec.h"
#include "formats/config/config_field.h"

namespace tangram {

// A difference between a checkpoint and the model that a plan is made for.
struct UnplannedPart {
  std::string what;
  double parameters = 0;  // Lacking in the model; negative: in excess.
};

// Returns all differences between the config.json `root` and the `model` read
// from it. The model's parameters plus theirs are the published total.
absl::StatusOr<std::vector<UnplannedPart>> HfUnplannedParts(
    const ConfigField& root, const ModelSpec& model);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CONFIG_HF_UNPLANNED_H_
