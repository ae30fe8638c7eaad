#ifndef TANGRAM_FORMATS_CONFIG_HF_SLIDING_WINDOW_H_
#define TANGRAM_FORMATS_CONFIG_HF_SLIDING_WINDOW_H_

#include <vector>

#include "absl/status/status.h"
#include "common/domain/model_spec.h"
#include "formats/config/config_field.h"
#include "formats/config/hf_family.h"

namespace tangram {

// Sets sliding_window on the transformer layers that have one: by the file's
// layer_types, or else by the family's rule.
absl::Status ReadHfSlidingWindows(const ConfigField& root,
                                  SlidingWindowRule rule,
                                  std::vector<LayerSpec>& layers);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CONFIG_HF_SLIDING_WINDOW_H_
