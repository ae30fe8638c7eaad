#ifndef TANGRAM_FORMATS_CONFIG_MIXER_FIELDS_H_
#define TANGRAM_FORMATS_CONFIG_MIXER_FIELDS_H_

#include <nlohmann/json.hpp>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/domain/model_spec.h"
#include "formats/config/config_field.h"

// The fields `mixer`, `mamba` and `mlp` of a model file.
namespace tangram {

// A layer with each mixer that a model file describes. They have the width,
// biases and norms of all its layers, and neither MLP nor experts.
struct MixerLayers {
  LayerSpec attention;
  LayerSpec mamba;  // `mixer` is kNone if the file describes no Mamba mixer.

  // Returns the layer with a mixer; kNone gives one with none.
  LayerSpec Of(MixerKind kind) const;
};

// Reads `mamba`: the dimensions of a mixer, with its version. Without it, the
// layer has no mixer.
absl::Status ReadMambaFields(const ConfigField& root, LayerSpec& layer);

// Reads `mixer`: attention, mamba or none. `other`: without the field.
absl::StatusOr<MixerKind> ReadMixer(const ConfigField& root,
                                    const LayerSpec& mamba, MixerKind other);

// Writes the dimensions as ReadMambaFields reads them.
nlohmann::ordered_json MambaFieldsJson(const LayerSpec& layer);

// Returns the word of `mixer`: both versions of Mamba are "mamba".
const char* MixerWord(MixerKind kind);

}  // namespace tangram

#endif  // TANGRAM_FORMATS_CONFIG_MIXER_FIELDS_H_
