#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "cli/commands/commands.h"
#include "cli/print/answer_json.h"
#include "cli/print/table.h"
#include "common/base/status_macros.h"
#include "worker/adapters/builtin_parallelizers.h"

namespace tangram {
namespace {

std::vector<const char*> FeatureNames(const ParallelizerFeatures& features) {
  std::vector<const char*> names;
  const auto add = [&](bool has, const char* name) {
    if (has) names.push_back(name);
  };
  add(features.tensor_parallel, "tp");
  add(features.data_parallel, "dp");
  add(features.pipeline_parallel, "pp");
  add(features.context_parallel, "cp");
  add(features.expert_parallel, "ep");
  add(features.gradient_accumulation, "gradient accumulation");
  add(features.recompute, "recompute");
  add(features.zero, "zero");
  add(features.offload, "offload");
  return names;
}

}  // namespace

CommandResult Run(const ParallelizersOptions& /*options*/, Console& console) {
  Table table(
      {{"name"}, {"version"}, {"models"}, {"searches over"}, {"origin"}});
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const std::string& name : BuiltinParallelizerNames()) {
    TANGRAM_ASSIGN_OR_RETURN(const std::unique_ptr<Parallelizer> parallelizer,
                             CreateBuiltinParallelizer(name));
    const ParallelizerFeatures features = parallelizer->features();
    list.push_back(
        {{"parallelizer", name},
         {"version", parallelizer->version()},
         {"experts", features.moe_models},
         {"searches_over", FeatureNames(features)},
         {"origin", std::string(OriginOfBuiltinParallelizer(name))}});
    table.AddRow({name, parallelizer->version(),
                  features.moe_models ? "dense, experts" : "dense",
                  absl::StrJoin(FeatureNames(features), ", "),
                  std::string(OriginOfBuiltinParallelizer(name))});
  }
  if (console.format == OutputFormat::kJson) {
    PrintJson({{"format_version", "tangram.parallelizers/v1"},
               {"parallelizers", list}},
              console);
    return ExitCode::kOk;
  }
  console.out << table.ToString();
  return ExitCode::kOk;
}

}  // namespace tangram
