#include "formats/config/model_yaml.h"

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "common/domain/device.h"
#include "formats/config/layer_overrides.h"
#include "formats/config/model_file.h"
#include "formats/config/model_json.h"

namespace tangram {
namespace {

using Json = nlohmann::ordered_json;

// Writes mappings on one line, as people do. JSON scalars are valid YAML.
std::string Flow(const Json& value) {
  if (!value.is_object()) {
    return value.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  return absl::StrCat("{",
                      absl::StrJoin(value.items(), ", ",
                                    [](std::string* out, const auto& item) {
                                      absl::StrAppend(out, item.key(), ": ",
                                                      Flow(item.value()));
                                    }),
                      "}");
}

// Adds the details on which the training options depend that `tangram plan`
// chooses.
void AddDetails(const ModelDetails& details, Json& json) {
  if (PrecisionOfDtype(details.dtype).has_value()) {
    json["dtype"] = details.dtype;
  }
  if (details.attention_dropout.has_value()) {
    json["attention_dropout"] = *details.attention_dropout;
  }
  if (details.hidden_dropout.has_value()) {
    json["hidden_dropout"] = *details.hidden_dropout;
  }
  if (!details.unplanned.empty()) json["unplanned"] = details.unplanned;
}

// Returns the transformer layer that most layers of `model` equal, the first of
// several.
const LayerSpec& MostFrequentLayer(const ModelSpec& model) {
  int best = 1;
  int best_count = 0;
  for (int i = 1; i + 1 < model.num_layers(); ++i) {
    const int count =
        static_cast<int>(absl::c_count(model.layers, model.layers[i]));
    if (count > best_count) {
      best = i;
      best_count = count;
    }
  }
  return model.layers[best];
}

// Writes most layers at the top, and those that differ as overrides.
Json WithOverrides(const ModelSpec& model) {
  ModelSpec uniform = model;
  const LayerSpec& base = MostFrequentLayer(model);
  for (int i = 1; i + 1 < model.num_layers(); ++i) uniform.layers[i] = base;
  Json json = ModelToJson(uniform);
  json["overrides"] = LayerOverridesJson(
      base, absl::MakeConstSpan(model.layers)
                .subspan(1, static_cast<size_t>(model.num_layers()) - 2));
  return json;
}

// Writes a key on each line, and an override on each.
std::string ToYaml(const ModelSpec& model, Json json) {
  std::string yaml;
  AddDetails(model.details, json);
  for (const auto& item : json.items()) {
    if (!item.value().is_array()) {
      absl::StrAppend(&yaml, item.key(), ": ", Flow(item.value()), "\n");
      continue;
    }
    absl::StrAppend(&yaml, item.key(), ":\n");
    for (const Json& element : item.value()) {
      absl::StrAppend(&yaml, "  - ", Flow(element), "\n");
    }
  }
  return yaml;
}

}  // namespace

absl::StatusOr<std::string> ModelToYaml(const ModelSpec& model) {
  for (const Json& json : {ModelToJson(model), WithOverrides(model)}) {
    std::string yaml = ToYaml(model, json);
    const absl::StatusOr<ModelSpec> read = ParseModel(yaml, model.name);
    if (read.ok() && read->layers == model.layers) return yaml;
  }
  return absl::UnimplementedError(
      absl::StrCat(model.name,
                   ": its layers differ in what a model file cannot tell; plan "
                   "with its config.json itself"));
}

}  // namespace tangram
