#include "formats/config/hf_sliding_window.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/domain/limits.h"

namespace tangram {
namespace {

absl::Status ApplyLayerTypes(const ConfigField& types, int tokens,
                             std::vector<LayerSpec>& layers) {
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<ConfigField> elements,
                           types.Elements());
  if (elements.size() != layers.size()) {
    return types.Error(absl::StrCat("one type for each of the ", layers.size(),
                                    " layers; there are ", elements.size()));
  }
  for (size_t i = 0; i < layers.size(); ++i) {
    TANGRAM_ASSIGN_OR_RETURN(const std::string type, elements[i].AsText());
    if (type == "sliding_attention") layers[i].sliding_window = tokens;
  }
  return absl::OkStatus();
}

// Returns the first layer with a window under kIfEnabled: layer i has one if
// i >= max_window_layers. The number of layers if windows are disabled.
absl::StatusOr<size_t> FirstEnabledLayer(const ConfigField& root,
                                         size_t num_layers) {
  TANGRAM_ASSIGN_OR_RETURN(
      const bool enabled,
      ReadOr(root, "use_sliding_window", false,
             [](const ConfigField& field) { return field.AsBool(); }));
  if (!enabled) return num_layers;
  TANGRAM_ASSIGN_OR_RETURN(
      const int first,
      ReadOr(root, "max_window_layers", 0, [](const ConfigField& field) {
        return field.AsInt(0, kMaxTransformerLayers);
      }));
  return static_cast<size_t>(first);
}

}  // namespace

absl::Status ReadHfSlidingWindows(const ConfigField& root,
                                  SlidingWindowRule rule,
                                  std::vector<LayerSpec>& layers) {
  const std::optional<ConfigField> window = root.Find("sliding_window");
  if (!window.has_value() || rule == SlidingWindowRule::kNever) {
    return absl::OkStatus();
  }
  TANGRAM_ASSIGN_OR_RETURN(const int tokens, window->AsInt(0, kMaxPositions));
  if (const auto types = root.Find("layer_types")) {
    return ApplyLayerTypes(*types, tokens, layers);
  }
  size_t first = 0;
  if (rule == SlidingWindowRule::kIfEnabled) {
    TANGRAM_ASSIGN_OR_RETURN(first, FirstEnabledLayer(root, layers.size()));
  }
  const size_t step = rule == SlidingWindowRule::kEveryOther ? 2 : 1;
  for (size_t i = first; i < layers.size(); i += step) {
    layers[i].sliding_window = tokens;
  }
  return absl::OkStatus();
}

}  // namespace tangram
