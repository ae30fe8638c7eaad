#include "formats/config/model_yaml.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
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
}

}  // namespace

absl::StatusOr<std::string> ModelToYaml(const ModelSpec& model) {
  std::string yaml;
  Json json = ModelToJson(model);
  AddDetails(model.details, json);
  for (const auto& item : json.items()) {
    absl::StrAppend(&yaml, item.key(), ": ", Flow(item.value()), "\n");
  }
  TANGRAM_ASSIGN_OR_RETURN(const ModelSpec read, ParseModel(yaml, model.name));
  if (read.layers == model.layers) return yaml;
  return absl::UnimplementedError(
      absl::StrCat(model.name,
                   ": its layers follow no pattern that a model file can tell; "
                   "plan with its config.json itself"));
}

}  // namespace tangram
