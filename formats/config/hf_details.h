#ifndef TANGRAM_FORMATS_CONFIG_HF_DETAILS_H_
#define TANGRAM_FORMATS_CONFIG_HF_DETAILS_H_

#include "absl/status/statusor.h"
#include "common/domain/model_spec.h"
#include "formats/config/config_field.h"

namespace tangram {

// Reads from a config.json what has no effect on costs: rotary positions, the
// epsilon of norms, dropout, the type of the weights and soft caps. Values that
// it leaves out stay empty.
absl::StatusOr<ModelDetails> ReadHfDetails(const ConfigField& root);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CONFIG_HF_DETAILS_H_
