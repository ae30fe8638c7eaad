#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/validation/stage_parts.h"
#include "common/base/status_macros.h"

namespace tangram {
namespace {

// Converts DeepSpeed's layer index to ours. Its pipeline counts Megatron's
// conversions as layers: [embedding, transpose] before the first transformer
// layer, [transpose, norm, head, to fp32] after the last (GPT2ModelPipe of
// Megatron-LM v1.1.5 in DeepSpeedExamples).
int LayerOfPipeIndex(int index, const ModelSpec& model) {
  constexpr int kBeforeFirst = 2;
  constexpr int kAfterLast = 4;
  const int num_pipe_layers =
      model.num_layers() - 2 + kBeforeFirst + kAfterLast;
  if (index <= 0) return 0;
  if (index >= num_pipe_layers) return model.num_layers();
  return std::clamp(index - kBeforeFirst + 1, 1, model.num_layers() - 1);
}

}  // namespace

absl::StatusOr<RunStages> DeepSpeedStages(const MeasuredRun& run,
                                          const ModelSpec& model,
                                          const ConfigField& root,
                                          const ConfigField& boundaries) {
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<ConfigField> cuts,
                           boundaries.Elements());
  const StageParallelism parallelism = ParallelismOf(run);
  RunStages result;
  OperatorCut begin{0, 0};
  for (size_t i = 1; i < cuts.size(); ++i) {
    TANGRAM_ASSIGN_OR_RETURN(const int index, cuts[i].AsInt(0, kMaxDegree));
    const OperatorCut end{LayerOfPipeIndex(index, model), 0};
    // A stage of conversions only runs nothing that the model describes.
    if (end <= begin) {
      return absl::UnimplementedError(
          absl::StrCat("plan_json: stage ", i - 1, " holds no layer"));
    }
    result.stages.push_back(
        MakeStage(model, begin, end, parallelism, RecomputeOf(run)));
    begin = end;
  }
  const std::optional<ConfigField> nodes = root.Find("nodes");
  if (!nodes) return result;
  std::vector<std::string> rank_gpus;
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<ConfigField> elements,
                           nodes->Elements());
  for (const ConfigField& node : elements) {
    TANGRAM_ASSIGN_OR_RETURN(const ConfigField gpu,
                             node.Require("gpu", "a GPU"));
    TANGRAM_ASSIGN_OR_RETURN(const std::string type, gpu.AsText());
    TANGRAM_ASSIGN_OR_RETURN(const ConfigField count,
                             node.Require("gpus", "their number"));
    TANGRAM_ASSIGN_OR_RETURN(const int gpus, count.AsInt(1, kMaxDegree));
    if (rank_gpus.size() + gpus > kMaxDegree) {
      return count.Error("fewer GPUs in all");
    }
    rank_gpus.insert(rank_gpus.end(), gpus, type);
  }
  size_t rank = 0;
  for (RunStage& stage : result.stages) {
    for (int i = 0; i < parallelism.num_gpus(); ++i, ++rank) {
      if (rank >= rank_gpus.size()) {
        return Contradiction("plan_json: fewer GPUs than the stages use");
      }
      stage.ranks.push_back({rank_gpus[rank], 1});
    }
  }
  return result;
}

}  // namespace tangram
