#include "formats/import_cluster/json_fields.h"

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tangram {

using ::nlohmann::json;

absl::StatusOr<json> ParseJson(absl::string_view text) {
  json value = json::parse(text.begin(), text.end(), /*cb=*/nullptr,
                           /*allow_exceptions=*/false);
  if (!value.is_discarded()) return value;
  return absl::InvalidArgumentError("cut or damaged; expected JSON");
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

std::string JoinedText(const json& value, absl::string_view separator) {
  if (!value.is_array()) return TextOf(value);
  return absl::StrJoin(Elements(value), separator,
                       [](std::string* out, const json& element) {
                         out->append(TextOf(element));
                       });
}

}  // namespace tangram
