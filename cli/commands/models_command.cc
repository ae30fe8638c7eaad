#include <string>

#include "absl/strings/str_cat.h"
#include "cli/commands/commands.h"
#include "cli/print/answer_json.h"
#include "cli/print/table.h"
#include "common/base/format.h"
#include "common/base/status_macros.h"
#include "formats/catalogue/models.h"

namespace tangram {

CommandResult Run(const ModelsOptions& /*options*/, Console& console) {
  Table table({{"model"},
               {"parameters", Table::kRight},
               {"layers", Table::kRight},
               {"hidden", Table::kRight},
               {"experts", Table::kRight},
               {"sequence", Table::kRight}});
  nlohmann::ordered_json models = nlohmann::ordered_json::array();
  for (const std::string& name : BuiltinModelNames()) {
    TANGRAM_ASSIGN_OR_RETURN(const ModelSpec model, BuiltinModel(name));
    // The last transformer layer: some models begin with a few dense layers.
    const LayerSpec& last = model.layers[model.num_layers() - 2];
    models.push_back({{"model", name},
                      {"parameters", ParameterCount(model)},
                      {"layers", model.num_layers() - 2},
                      {"hidden", last.hidden_size},
                      {"experts", last.num_experts},
                      {"sequence", BuiltinSequenceLength(name).value_or(0)}});
    table.AddRow({name, FormatCount(ParameterCount(model)),
                  absl::StrCat(model.num_layers() - 2),
                  absl::StrCat(last.hidden_size),
                  last.is_moe() ? absl::StrCat(last.num_experts) : "",
                  absl::StrCat(BuiltinSequenceLength(name).value_or(0))});
  }
  if (console.format == OutputFormat::kJson) {
    PrintJson({{"format_version", "tangram.models/v1"}, {"models", models}},
              console);
    return ExitCode::kOk;
  }
  console.out << table.ToString(console.width);
  return ExitCode::kOk;
}

}  // namespace tangram
