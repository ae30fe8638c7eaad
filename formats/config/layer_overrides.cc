#include "formats/config/layer_overrides.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"
#include "common/domain/limits.h"
#include "common/domain/model_rules.h"

namespace tangram {
namespace {

// A number of a layer under its key.
struct LayerNumber {
  absl::string_view key;
  int LayerSpec::*member;
  int min;
  int max;
};
constexpr LayerNumber kLayerNumbers[] = {
    {"heads", &LayerSpec::num_heads, 1, kMaxHeads},
    {"kv_heads", &LayerSpec::num_kv_heads, 1, kMaxHeads},
    {"head_dim", &LayerSpec::head_dim, 1, kMaxHeadDim},
    {"value_head_dim", &LayerSpec::value_head_dim, 1, kMaxHeadDim},
    {"sliding_window", &LayerSpec::sliding_window, 0, kMaxPositions},
    {"ffn_hidden_size", &LayerSpec::ffn_hidden_size, 1, kMaxFfnHiddenSize}};
constexpr LayerNumber kExpertNumbers[] = {
    {"count", &LayerSpec::num_experts, 1, kMaxExperts},
    {"per_token", &LayerSpec::experts_per_token, 1, kMaxExperts},
    {"ffn_hidden_size", &LayerSpec::expert_ffn_hidden_size, 1,
     kMaxFfnHiddenSize},
    {"shared_ffn_hidden_size", &LayerSpec::shared_expert_ffn_hidden_size, 0,
     kMaxFfnHiddenSize},
    {"group_tokens", &LayerSpec::expert_group_tokens, 0, kMaxPositions},
    {"latent_size", &LayerSpec::expert_latent_size, 0, kMaxHiddenSize}};
constexpr absl::string_view kCapacity = "capacity_factor";
constexpr std::pair<absl::string_view, bool LayerSpec::*> kLayerFlags[] = {
    {"qk_norm", &LayerSpec::qk_norm}};

// Parses "0-2,5": layers, counted from 0, and ranges of them.
absl::StatusOr<std::vector<int>> ReadLayerList(const ConfigField& field,
                                               int num_layers) {
  std::vector<int> list;
  const absl::Status error = field.Error(
      absl::StrCat("layers and ranges of 0 to ", num_layers - 1, ": 0-2,5"));
  const absl::StatusOr<std::string> text = field.AsNote();
  if (!text.ok()) return error;
  for (const absl::string_view part : absl::StrSplit(*text, ',')) {
    const std::vector<absl::string_view> ends = absl::StrSplit(part, '-');
    int first = 0;
    int last = 0;
    if (ends.size() > 2 || !absl::SimpleAtoi(ends.front(), &first) ||
        !absl::SimpleAtoi(ends.back(), &last) || first < 0 || last < first ||
        last >= num_layers) {
      return error;
    }
    for (int i = first; i <= last; ++i) list.push_back(i);
  }
  return list;
}

absl::Status ReadNumbers(const ConfigField& field,
                         absl::Span<const LayerNumber> numbers,
                         LayerSpec& layer) {
  for (const LayerNumber& number : numbers) {
    TANGRAM_ASSIGN_OR_RETURN(layer.*number.member,
                             ReadInt(field, number.key, layer.*number.member,
                                     number.min, number.max));
  }
  return absl::OkStatus();
}

void RemoveExperts(LayerSpec& layer) {
  for (const LayerNumber& number : kExpertNumbers) layer.*number.member = 0;
  layer.expert_capacity_factor = 0;
}

// Returns `mixer` with the MLP or experts of `layer`.
LayerSpec WithMlpOf(const LayerSpec& layer, LayerSpec mixer) {
  mixer.no_mlp = layer.no_mlp;
  mixer.ffn_hidden_size = layer.ffn_hidden_size;
  for (const LayerNumber& number : kExpertNumbers) {
    mixer.*number.member = layer.*number.member;
  }
  mixer.expert_capacity_factor = layer.expert_capacity_factor;
  return mixer;
}

// Puts another mixer into a layer, and takes its MLP or lets it have one.
absl::Status ApplyParts(const ConfigField& entry, const MixerLayers& mixers,
                        LayerSpec& layer) {
  TANGRAM_ASSIGN_OR_RETURN(const MixerKind mixer,
                           ReadMixer(entry, mixers.mamba, layer.mixer));
  if (mixer != layer.mixer) layer = WithMlpOf(layer, mixers.Of(mixer));
  const bool gets_mlp = entry.Find("ffn_hidden_size").has_value() ||
                        entry.Find("experts").has_value();
  TANGRAM_ASSIGN_OR_RETURN(const bool mlp,
                           ReadFlag(entry, "mlp", gets_mlp || !layer.no_mlp));
  layer.no_mlp = !mlp;
  if (mlp) return absl::OkStatus();
  layer.ffn_hidden_size = 0;
  RemoveExperts(layer);
  return absl::OkStatus();
}

// A layer that gets experts loses its dense MLP, and the reverse.
absl::Status ApplyOverride(const ConfigField& entry, const MixerLayers& mixers,
                           LayerSpec& layer) {
  TANGRAM_RETURN_IF_ERROR(ApplyParts(entry, mixers, layer));
  if (entry.Find("ffn_hidden_size").has_value()) RemoveExperts(layer);
  TANGRAM_RETURN_IF_ERROR(ReadNumbers(entry, kLayerNumbers, layer));
  for (const auto& [key, member] : kLayerFlags) {
    TANGRAM_ASSIGN_OR_RETURN(layer.*member,
                             ReadFlag(entry, key, layer.*member));
  }
  if (const auto experts = entry.Find("experts")) {
    KeyList known = {kCapacity};
    for (const LayerNumber& number : kExpertNumbers)
      known.push_back(number.key);
    TANGRAM_RETURN_IF_ERROR(experts->CheckKeys(known));
    layer.ffn_hidden_size = 0;
    TANGRAM_RETURN_IF_ERROR(ReadNumbers(*experts, kExpertNumbers, layer));
    if (const auto factor = experts->Find(kCapacity)) {
      TANGRAM_ASSIGN_OR_RETURN(layer.expert_capacity_factor,
                               factor->AsNumber(1, kMaxExpertCapacityFactor));
    }
  }
  const absl::Status fits = CheckLayerFits(layer);
  if (fits.ok()) return fits;
  return entry.Error(absl::StrCat("a layer that is whole; ", fits.message()));
}

// Writes "0-2,5".
std::string LayerList(const std::vector<int>& layers) {
  std::string text;
  for (size_t i = 0; i < layers.size();) {
    size_t end = i + 1;
    while (end < layers.size() && layers[end] == layers[end - 1] + 1) ++end;
    absl::StrAppend(&text, text.empty() ? "" : ",", layers[i]);
    if (end - i > 1) absl::StrAppend(&text, "-", layers[end - 1]);
    i = end;
  }
  return text;
}

// `base` is the layer that the file describes, with the mixer of `layer`.
nlohmann::ordered_json OverrideJson(const LayerSpec& most,
                                    const LayerSpec& base,
                                    const LayerSpec& layer,
                                    const std::vector<int>& places) {
  nlohmann::ordered_json json = {{"layers", LayerList(places)}};
  if (layer.mixer != most.mixer) json["mixer"] = MixerWord(layer.mixer);
  if (layer.no_mlp && !base.no_mlp) json["mlp"] = false;
  for (const LayerNumber& number : kLayerNumbers) {
    const int value = layer.*number.member;
    if (value != base.*number.member && value >= number.min) {
      json[std::string(number.key)] = value;
    }
  }
  for (const auto& [key, member] : kLayerFlags) {
    if (layer.*member != base.*member) json[std::string(key)] = layer.*member;
  }
  if (!layer.is_moe()) return json;
  nlohmann::ordered_json experts;
  bool differs = !base.is_moe();
  for (const LayerNumber& number : kExpertNumbers) {
    const int value = layer.*number.member;
    differs |= value != base.*number.member;
    // Few models have it.
    const bool latent = number.member == &LayerSpec::expert_latent_size;
    if (latent && value == 0 && value == base.*number.member) continue;
    experts[std::string(number.key)] = value;
  }
  if (layer.expert_capacity_factor > 0) {
    experts[std::string(kCapacity)] = layer.expert_capacity_factor;
  }
  differs |= layer.expert_capacity_factor != base.expert_capacity_factor;
  if (differs) json["experts"] = experts;
  return json;
}

}  // namespace

absl::Status ReadLayerOverrides(const ConfigField& root,
                                const MixerLayers& mixers,
                                std::vector<LayerSpec>& layers) {
  const std::optional<ConfigField> list = root.Find("overrides");
  if (!list.has_value()) return absl::OkStatus();
  KeyList known = {"layers", "experts", "mixer", "mlp"};
  for (const LayerNumber& number : kLayerNumbers) known.push_back(number.key);
  for (const auto& [key, member] : kLayerFlags) known.push_back(key);
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<ConfigField> entries,
                           list->Elements());
  for (const ConfigField& entry : entries) {
    TANGRAM_RETURN_IF_ERROR(entry.CheckKeys(known));
    TANGRAM_ASSIGN_OR_RETURN(const ConfigField places,
                             entry.Require("layers", "layers: 0-2,5"));
    TANGRAM_ASSIGN_OR_RETURN(
        const std::vector<int> chosen,
        ReadLayerList(places, static_cast<int>(layers.size())));
    for (const int i : chosen) {
      TANGRAM_RETURN_IF_ERROR(ApplyOverride(entry, mixers, layers[i]));
    }
  }
  return absl::OkStatus();
}

nlohmann::ordered_json LayerOverridesJson(const LayerSpec& base,
                                          const MixerLayers& mixers,
                                          absl::Span<const LayerSpec> layers) {
  // Layers of one kind stand together, in the order of the first of each.
  std::vector<std::pair<LayerSpec, std::vector<int>>> kinds;
  for (size_t i = 0; i < layers.size(); ++i) {
    if (layers[i] == base) continue;
    size_t k = 0;
    while (k < kinds.size() && kinds[k].first != layers[i]) ++k;
    if (k == kinds.size()) kinds.push_back({layers[i], {}});
    kinds[k].second.push_back(static_cast<int>(i));
  }
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const auto& [layer, places] : kinds) {
    const LayerSpec like = layer.mixer == base.mixer
                               ? base
                               : WithMlpOf(base, mixers.Of(layer.mixer));
    list.push_back(OverrideJson(base, like, layer, places));
  }
  return list;
}

}  // namespace tangram
