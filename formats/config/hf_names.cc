#include "formats/config/hf_names.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "common/base/status_macros.h"

namespace tangram {
namespace {

// Names of sizes in files of other programs, some of which have a model_type,
// too. The size that a class of transformers would default to is not theirs.
constexpr struct {
  absl::string_view name;
  absl::string_view size;
} kNamesOfOthers[] = {
    {"d_model", "hidden_size"},
    {"dim", "hidden_size"},
    {"emb_size", "hidden_size"},
    {"embed_dim", "hidden_size"},
    {"ffn_embed_dim", "intermediate_size"},
    {"hidden_dim", "hidden_size"},
    {"inter_size", "intermediate_size"},
    {"layer_num", "num_hidden_layers"},
    {"mlp_hidden_size", "intermediate_size"},
    {"mlp_ratio", "intermediate_size"},
    {"model_dim", "hidden_size"},
    {"n_layers", "num_hidden_layers"},
    {"num_layers", "num_hidden_layers"},
};

// Returns an error of the field by which another program names the size.
absl::Status CheckNotOfOthers(const ConfigField& root, absl::string_view size) {
  for (const auto& other : kNamesOfOthers) {
    if (other.size != size) continue;
    if (const auto field = root.Find(other.name)) {
      return field->Error(absl::StrCat(
          size, ", as a config.json that transformers reads names it"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::string NameOfOthers(const ConfigField& root) {
  for (const auto& other : kNamesOfOthers) {
    if (!root.Find(other.name).has_value()) continue;
    return absl::StrCat(other.size, " instead of ", other.name);
  }
  return "";
}

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
  TANGRAM_RETURN_IF_ERROR(CheckNotOfOthers(root, names.front()));
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
  if (given >= num_layers) return absl::OkStatus();
  return list.Error(absl::StrCat("one type for each of the ", num_layers,
                                 " layers; there are ", given));
}

}  // namespace tangram
