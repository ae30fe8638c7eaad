#include "formats/config/hf_names.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace tangram {

std::optional<ConfigField> FindAnyOf(const ConfigField& root, HfNames names) {
  for (const absl::string_view name : names) {
    std::optional<ConfigField> field = root;
    for (const absl::string_view key : absl::StrSplit(name, '.')) {
      field = field->is_mapping() ? field->Find(key) : std::nullopt;
      if (!field.has_value()) break;
    }
    if (field.has_value()) return field;
  }
  return std::nullopt;
}

absl::StatusOr<int> RequireAnyInt(const ConfigField& root, HfNames names,
                                  int max, int fallback) {
  if (const auto field = FindAnyOf(root, names)) return field->AsInt(1, max);
  if (fallback > 0) return fallback;
  return root.MissingError(names.front(), "a positive integer");
}

absl::StatusOr<int> ReadAnyInt(const ConfigField& root, HfNames names,
                               int fallback, int min, int max) {
  const std::optional<ConfigField> field = FindAnyOf(root, names);
  if (!field.has_value()) return fallback;
  return field->AsInt(min, max);
}

absl::StatusOr<bool> ReadAnyFlag(const ConfigField& root, HfNames names,
                                 bool fallback) {
  const std::optional<ConfigField> field = FindAnyOf(root, names);
  if (!field.has_value()) return fallback;
  return field->AsBool();
}

absl::Status CheckOneEach(const ConfigField& list, size_t given,
                          size_t num_layers) {
  if (given == num_layers) return absl::OkStatus();
  return list.Error(absl::StrCat("one type for each of the ", num_layers,
                                 " layers; there are ", given));
}

}  // namespace tangram
