#ifndef TANGRAM_FORMATS_CONFIG_LAYER_OVERRIDES_H_
#define TANGRAM_FORMATS_CONFIG_LAYER_OVERRIDES_H_

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "common/domain/model_spec.h"
#include "formats/config/config_field.h"
#include "formats/config/mixer_fields.h"

// The key `overrides` of a model file: the layers that differ from the others.
namespace tangram {

// Changes the transformer layers that the overrides of the file name. Those
// that get another mixer get that of `mixers`. Errors name the field. OK
// without the key.
absl::Status ReadLayerOverrides(const ConfigField& root,
                                const MixerLayers& mixers,
                                std::vector<LayerSpec>& layers);

// Returns the list of overrides that make `layers` of as many copies of `base`:
// one for each other kind of layer. The file describes `mixers` elsewhere.
nlohmann::ordered_json LayerOverridesJson(const LayerSpec& base,
                                          const MixerLayers& mixers,
                                          absl::Span<const LayerSpec> layers);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CONFIG_LAYER_OVERRIDES_H_
