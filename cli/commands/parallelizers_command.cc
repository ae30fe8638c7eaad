#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "cli/commands/commands.h"
#include "cli/print/table.h"
#include "common/base/status_macros.h"
#include "worker/adapters/builtin_parallelizers.h"

namespace tangram {
namespace {

std::string FeatureList(const ParallelizerFeatures& features) {
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
  return absl::StrJoin(names, ", ");
}

}  // namespace

CommandResult Run(const ParallelizersOptions& /*options*/, Console& console) {
  Table table(
      {{"name"}, {"version"}, {"models"}, {"searches over"}, {"origin"}});
  for (const std::string& name : BuiltinParallelizerNames()) {
    TANGRAM_ASSIGN_OR_RETURN(const std::unique_ptr<Parallelizer> parallelizer,
                             CreateBuiltinParallelizer(name));
    const ParallelizerFeatures features = parallelizer->features();
    table.AddRow({name, parallelizer->version(),
                  features.moe_models ? "dense, experts" : "dense",
                  FeatureList(features),
                  std::string(OriginOfBuiltinParallelizer(name))});
  }
  console.out << table.ToString();
  return ExitCode::kOk;
}

}  // namespace tangram
