#include "formats/config/model_file.h"

#include <filesystem>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/printable_text.h"
#include "common/base/status_macros.h"
#include "common/domain/limits.h"
#include "common/domain/model_rules.h"
#include "formats/catalogue/models.h"
#include "formats/config/config_field.h"
#include "formats/config/document.h"
#include "formats/config/hf_config.h"
#include "formats/config/model_fields.h"
#include "formats/config/nearest_name.h"
#include "formats/config/resize_model.h"
#include "formats/config/text_file.h"

namespace tangram {
namespace {

// Checks what concerns several layers.
absl::Status CheckLayers(const ModelSpec& model,
                         absl::string_view source_name) {
  const absl::Status status = CheckLayersFit(model);
  if (status.ok()) return status;
  return absl::Status(status.code(),
                      absl::StrCat(source_name, ": ", status.message()));
}

absl::StatusOr<LoadedModel> ParseModelAndUsualLength(
    absl::string_view text, absl::string_view source_name) {
  TANGRAM_ASSIGN_OR_RETURN(const ConfigValue value,
                           ParseConfigText(text, source_name));
  const ConfigField root(value, std::string(source_name));
  TANGRAM_RETURN_IF_ERROR(root.CheckMapping());
  const std::string name = ModelNameOfFile(source_name);
  LoadedModel loaded;
  if (!IsHfConfig(root)) {
    // Our own files have either.
    if (!root.Find("layers").has_value() && !root.Find("heads").has_value()) {
      return NoHfConfigError(root);
    }
    TANGRAM_ASSIGN_OR_RETURN(loaded.model, ReadModelFields(root, name));
    TANGRAM_RETURN_IF_ERROR(CheckLayers(loaded.model, source_name));
    return loaded;
  }
  TANGRAM_ASSIGN_OR_RETURN(HfModel read, ReadHfModel(root, name));
  loaded.model = std::move(read.model);
  loaded.sequence_length = read.sequence_length;
  TANGRAM_RETURN_IF_ERROR(CheckLayers(loaded.model, source_name));
  return loaded;
}

absl::StatusOr<LoadedModel> LoadByNameOrPath(const std::string& name_or_path) {
  absl::StatusOr<ModelSpec> builtin = BuiltinModel(name_or_path);
  if (builtin.ok()) {
    return LoadedModel{.model = *std::move(builtin),
                       .sequence_length = BuiltinSequenceLength(name_or_path)};
  }
  const absl::StatusOr<std::string> text = ReadConfigFile(name_or_path);
  if (absl::IsNotFound(text.status())) {
    const std::vector<std::string> names = BuiltinModelNames();
    return absl::NotFoundError(absl::StrCat(
        "model: ", absl::Utf8SafeCEscape(name_or_path),
        DidYouMean(name_or_path,
                   std::vector<absl::string_view>(names.begin(), names.end())),
        "; expected a file or one of the built-in models ",
        absl::StrJoin(names, ", ")));
  }
  TANGRAM_RETURN_IF_ERROR(text.status());
  return ParseModelAndUsualLength(*text, name_or_path);
}

}  // namespace

std::string ModelNameOfFile(absl::string_view source_name) {
  const std::filesystem::path path{std::string(source_name)};
  const std::string folder = path.parent_path().filename().string();
  const bool is_download = path.stem() == "config" && !folder.empty();
  return PrintableText(is_download ? folder : path.stem().string(),
                       kMaxNameBytes);
}

absl::StatusOr<ModelSpec> ParseModel(absl::string_view text,
                                     absl::string_view source_name) {
  TANGRAM_ASSIGN_OR_RETURN(LoadedModel loaded,
                           ParseModelAndUsualLength(text, source_name));
  return std::move(loaded.model);
}

absl::StatusOr<LoadedModel> LoadModelAndUsualLength(
    const std::string& name_or_path, const ModelOverrides& overrides) {
  TANGRAM_ASSIGN_OR_RETURN(LoadedModel loaded, LoadByNameOrPath(name_or_path));
  if (overrides.num_layers.has_value()) {
    TANGRAM_ASSIGN_OR_RETURN(loaded.model,
                             ResizeModel(loaded.model, *overrides.num_layers));
    TANGRAM_RETURN_IF_ERROR(CheckLayers(loaded.model, name_or_path));
  }
  return loaded;
}

absl::StatusOr<ModelSpec> LoadModel(const std::string& name_or_path,
                                    const ModelOverrides& overrides) {
  TANGRAM_ASSIGN_OR_RETURN(LoadedModel loaded,
                           LoadModelAndUsualLength(name_or_path, overrides));
  return std::move(loaded.model);
}

}  // namespace tangram
