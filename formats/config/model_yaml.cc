#include "formats/config/model_yaml.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/domain/device.h"
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
  if (details.no_positions) json["no_positions"] = true;
  if (!details.unplanned.empty()) json["unplanned"] = details.unplanned;
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
  for (const Json& json :
       {ModelToJson(model), ModelToJsonWithOverrides(model)}) {
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
