#ifndef TANGRAM_FORMATS_CONFIG_HF_UNPLANNED_H_
#define TANGRAM_FORMATS_CONFIG_HF_UNPLANNED_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/domain/model_spec.h"
#include "formats/config/config_field.h"

namespace tangram {

// How a checkpoint differs from the model that stands for it in a plan.
struct UnplannedPart {
  std::string what;
  double parameters = 0;  // What the model lacks; negative: has too many.
};

// All differences of `model`, which was read from the config.json `root`: with
// their parameters its total is the published one.
absl::StatusOr<std::vector<UnplannedPart>> HfUnplannedParts(
    const ConfigField& root, const ModelSpec& model);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CONFIG_HF_UNPLANNED_H_
