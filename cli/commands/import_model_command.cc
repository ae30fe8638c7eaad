#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "cli/commands/commands.h"
#include "cli/files/input_file.h"
#include "cli/files/output_files.h"
#include "cli/files/plan_files.h"
#include "cli/print/table.h"
#include "common/base/format.h"
#include "common/base/status_macros.h"
#include "formats/config/config_field.h"
#include "formats/config/document.h"
#include "formats/config/hf_config.h"
#include "formats/config/model_file.h"
#include "formats/config/model_yaml.h"
#include "formats/config/text_file.h"

namespace tangram {
namespace {

constexpr char kDownloadName[] = "config";

std::string Count(double count) {
  return FormatThousands(static_cast<int64_t>(count));
}

std::string Layers(const ModelSpec& model) {
  int experts = 0;
  int mamba = 0;
  for (const LayerSpec& layer : model.layers) {
    experts += layer.is_moe() ? 1 : 0;
    mamba += layer.is_mamba() ? 1 : 0;
  }
  std::string text = absl::StrCat(model.num_layers() - 2, " layers");
  const char* of_them = " of them";
  for (const auto& [count, what] :
       {std::pair(experts, " with experts"), std::pair(mamba, " of Mamba")}) {
    if (count == 0) continue;
    absl::StrAppend(&text, ", ", count, of_them, what);
    of_them = "";
  }
  return text;
}

std::string Summary(const ModelSpec& model,
                    const std::vector<UnplannedPart>& parts, int width) {
  double total = ParameterCount(model);
  for (const UnplannedPart& part : parts) total += part.parameters;
  std::string text = absl::StrCat(model.name, ": ", Count(total),
                                  " parameters, ", Layers(model), "\n");
  for (const UnplannedPart& part : parts) {
    const std::string count =
        part.parameters == 0
            ? ""
            : absl::StrCat(", ", Count(part.parameters), " parameters");
    absl::StrAppend(&text,
                    WrapText(absl::StrCat("not planned: ", part.what, count),
                             /*indent=*/2, width));
  }
  return text;
}

// Says that the file lacks what changes no plan, but what a launch trains.
std::string DetailsNote(const ModelSpec& model, int width) {
  const ModelDetails in_file = {
      .attention_dropout = model.details.attention_dropout,
      .hidden_dropout = model.details.hidden_dropout,
      .dtype = model.details.dtype,
      .no_positions = model.details.no_positions,
      .unplanned = model.details.unplanned};
  if (model.details == in_file) return "";
  return WrapText(
      "not in the file: rotary positions, epsilon of norms and soft caps, "
      "which "
      "exports use; plan with config.json itself to keep them",
      /*indent=*/2, width);
}

}  // namespace

CommandResult Run(const ImportModelOptions& options, Console& console) {
  const bool to_standard_output = IsStandardOutput(options.output_file);
  if (!to_standard_output) {
    TANGRAM_RETURN_IF_ERROR(CheckWritable(options.output_file));
  }
  TANGRAM_ASSIGN_OR_RETURN(const std::string text,
                           ReadInputFile(options.config_file, kMaxConfigBytes));
  const std::string name = InputName(options.config_file);
  TANGRAM_ASSIGN_OR_RETURN(const ConfigValue value,
                           ParseConfigText(text, name));
  const ConfigField root(value, name);
  TANGRAM_RETURN_IF_ERROR(root.CheckMapping());
  if (!IsHfConfig(root)) return root.MissingError("model_type", "a model type");
  TANGRAM_ASSIGN_OR_RETURN(HfModel read,
                           ReadHfModel(root, ModelNameOfFile(name)));
  ModelSpec& model = read.model;
  // Every download is called config.json, so name the model after the output.
  if (model.name == kDownloadName && !to_standard_output) {
    model.name = std::filesystem::path(options.output_file).stem().string();
  }
  TANGRAM_ASSIGN_OR_RETURN(std::string yaml, ModelToYaml(model));
  yaml =
      absl::StrCat("# Made by tangram import model from ", name, ".\n", yaml);
  const std::string summary =
      absl::StrCat(Summary(model, read.unplanned, console.width),
                   DetailsNote(model, console.width));
  if (to_standard_output) {
    console.out << yaml;
    console.err << summary;
    return ExitCode::kOk;
  }
  OutputFiles output;
  output.Add(options.output_file, yaml);
  TANGRAM_RETURN_IF_ERROR(output.Write());
  console.out << summary;
  return ExitCode::kOk;
}

}  // namespace tangram
