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
#include "cli/print/answer_json.h"
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

struct LayerCounts {
  int all = 0;  // Without embedding and head.
  int experts = 0;
  int mamba = 0;
};

LayerCounts CountLayers(const ModelSpec& model) {
  LayerCounts counts{.all = model.num_layers() - 2};
  for (const LayerSpec& layer : model.layers) {
    counts.experts += layer.is_moe() ? 1 : 0;
    counts.mamba += layer.is_mamba() ? 1 : 0;
  }
  return counts;
}

// Returns the parameters of the file, those that are not planned too.
double TotalParameters(const ModelSpec& model,
                       const std::vector<UnplannedPart>& parts) {
  double total = ParameterCount(model);
  for (const UnplannedPart& part : parts) total += part.parameters;
  return total;
}

std::string Layers(const ModelSpec& model) {
  const LayerCounts counts = CountLayers(model);
  std::string text = absl::StrCat(counts.all, " layers");
  const char* of_them = " of them";
  for (const auto& [count, what] : {std::pair(counts.experts, " with experts"),
                                    std::pair(counts.mamba, " of Mamba")}) {
    if (count == 0) continue;
    absl::StrAppend(&text, ", ", count, of_them, what);
    of_them = "";
  }
  return text;
}

std::string Summary(const ModelSpec& model,
                    const std::vector<UnplannedPart>& parts, int width) {
  std::string text =
      absl::StrCat(model.name, ": ", Count(TotalParameters(model, parts)),
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
// Empty if it lacks nothing.
std::string DetailsNote(const ModelSpec& model) {
  const ModelDetails in_file = {
      .attention_dropout = model.details.attention_dropout,
      .hidden_dropout = model.details.hidden_dropout,
      .dtype = model.details.dtype,
      .no_positions = model.details.no_positions,
      .unplanned = model.details.unplanned};
  if (model.details == in_file) return "";
  return "not in the file: rotary positions, epsilon of norms and soft caps, "
         "which exports use; plan with config.json itself to keep them";
}

// Prints the summary as tangram.import_model/v1 (docs/json.md). `yaml` is null
// if it is written to a file.
void PrintSummaryAsJson(const HfModel& read, const std::string* yaml,
                        Console& console) {
  const LayerCounts layers = CountLayers(read.model);
  nlohmann::ordered_json parts = nlohmann::ordered_json::array();
  for (const UnplannedPart& part : read.unplanned) {
    parts.push_back({{"what", part.what}, {"parameters", part.parameters}});
  }
  nlohmann::ordered_json json = {
      {"format_version", "tangram.import_model/v1"},
      {"model", read.model.name},
      {"parameters", TotalParameters(read.model, read.unplanned)},
      {"layers", layers.all},
      {"expert_layers", layers.experts},
      {"mamba_layers", layers.mamba},
      {"not_planned", parts},
      {"note", DetailsNote(read.model)}};
  if (yaml != nullptr) json["file"] = *yaml;
  PrintJson(json, console);
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
  if (!IsHfConfig(root)) return NoHfConfigError(root);
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
  OutputFiles output;
  if (!to_standard_output) output.Add(options.output_file, yaml);
  TANGRAM_RETURN_IF_ERROR(output.Write());
  if (console.format == OutputFormat::kJson) {
    PrintSummaryAsJson(read, to_standard_output ? &yaml : nullptr, console);
    return ExitCode::kOk;
  }
  if (to_standard_output) console.out << yaml;
  (to_standard_output ? console.err : console.out)
      << Summary(model, read.unplanned, console.width)
      << WrapText(DetailsNote(model), /*indent=*/2, console.width);
  return ExitCode::kOk;
}

}  // namespace tangram
