#include "formats/import_cluster/json_fields.h"

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "formats/config/document.h"

namespace tangram {

using ::nlohmann::json;

namespace {

// No deeper than ParseConfigText allows.
json JsonOf(const ConfigValue& value) {
  switch (value.kind) {
    case ConfigValue::Kind::kNull:
      return json();
    case ConfigValue::Kind::kScalar:
      return json(value.scalar);
    case ConfigValue::Kind::kSequence: {
      json list = json::array();
      for (const ConfigValue& item : value.items) list.push_back(JsonOf(item));
      return list;
    }
    case ConfigValue::Kind::kMapping: {
      json object = json::object();
      for (size_t i = 0; i < value.items.size(); ++i) {
        object[value.keys[i]] = JsonOf(value.items[i]);
      }
      return object;
    }
  }
  return json();
}

}  // namespace

absl::StatusOr<json> ParseJson(absl::string_view text) {
  json value = json::parse(text.begin(), text.end(), /*cb=*/nullptr,
                           /*allow_exceptions=*/false);
  if (!value.is_discarded()) return value;
  return absl::InvalidArgumentError("cut or damaged; expected JSON");
}

absl::StatusOr<json> ParseJsonOrYaml(absl::string_view text) {
  const absl::string_view start = absl::StripLeadingAsciiWhitespace(text);
  if (absl::StartsWith(start, "{") || absl::StartsWith(start, "[")) {
    return ParseJson(text);
  }
  TANGRAM_ASSIGN_OR_RETURN(const ConfigValue value,
                           ParseConfigText(text, "YAML"));
  return JsonOf(value);
}

const json& At(const json& value,
               std::initializer_list<absl::string_view> path) {
  static const json& nothing = *new json();
  const json* at = &value;
  for (const absl::string_view key : path) {
    if (!at->is_object()) return nothing;
    const auto it = at->find(std::string(key));
    if (it == at->end()) return nothing;
    at = &*it;
  }
  return *at;
}

const std::vector<json>& Elements(const json& value) {
  static const auto& none = *new std::vector<json>();
  return value.is_array() ? value.get_ref<const json::array_t&>() : none;
}

std::string TextOf(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_integer()) return absl::StrCat(value.get<int64_t>());
  return "";
}

bool IsTrue(const json& value) {
  return value == json(true) || TextOf(value) == "true";
}

std::string JoinedText(const json& value, absl::string_view separator) {
  if (!value.is_array()) return TextOf(value);
  return absl::StrJoin(Elements(value), separator,
                       [](std::string* out, const json& element) {
                         out->append(TextOf(element));
                       });
}

}  // namespace tangram
