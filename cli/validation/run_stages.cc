#include "cli/validation/run_stages.h"

#include <algorithm>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "cli/validation/runtime_habits.h"
#include "cli/validation/stage_parts.h"
#include "common/base/status_macros.h"
#include "formats/config/config_field.h"
#include "formats/config/document.h"

namespace tangram {
namespace {

// Returns the number of transformer layers of each of `chunks` chunks.
absl::StatusOr<std::vector<int>> SplitLayers(const MeasuredRun& run,
                                             int num_layers, int chunks) {
  if (num_layers + 2 < chunks) {
    return Contradiction(absl::StrCat("pp: ", chunks,
                                      " chunks; expected at most ",
                                      num_layers + 2, ", the model's layers"));
  }
  std::vector<int> layers(chunks, num_layers / chunks);
  const int left = num_layers % chunks;
  if (left == 0) return layers;
  // Megatron-LM counts embedding and head as one layer each.
  if ((num_layers + 2) % chunks == 0) {
    layers.assign(chunks, (num_layers + 2) / chunks);
    --layers.front();
    --layers.back();
    return layers;
  }
  if (HabitsOf(run.framework).fills_first_stages) {
    const int most = (num_layers + chunks - 1) / chunks;
    for (int c = 0, rest = num_layers; c < chunks; ++c) {
      layers[c] = std::max(1, std::min(most, rest - (chunks - 1 - c)));
      rest -= layers[c];
    }
    return layers;
  }
  // The first and last chunk carry embedding and head, so the middle chunks
  // take the remaining layers.
  for (int i = 0; i < left; ++i) ++layers[(chunks - left) / 2 + i];
  return layers;
}

// Cuts the layers evenly into pp · vp chunks. The first one also has the
// embedding, the last one the head.
absl::StatusOr<RunStages> EvenStages(const MeasuredRun& run,
                                     const ModelSpec& model) {
  const StageParallelism parallelism = ParallelismOf(run);
  const int pp = std::max(1, run.pp_degree);
  const int vp = pp > 1 ? std::max(1, run.virtual_stages) : 1;
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<int> layers,
                           SplitLayers(run, model.num_layers() - 2, pp * vp));
  RunStages result{.virtual_stages = vp};
  int begin = 0;
  for (int c = 0; c < pp * vp; ++c) {
    int end = begin + layers[c] + (c == 0 ? 1 : 0);
    if (c == pp * vp - 1) end = model.num_layers();
    result.stages.push_back(
        MakeStage(model, {begin, 0}, {end, 0}, parallelism, RecomputeOf(run)));
    begin = end;
  }
  return result;
}

// Reads the stages of plan_json, or cuts the layers evenly.
absl::StatusOr<RunStages> StagesWithoutBatch(const MeasuredRun& run,
                                             const ModelSpec& model) {
  if (run.plan_json.empty()) {
    if (run.tp_degree == 0 || run.pp_degree == 0) {
      return absl::UnimplementedError(
          "tp, pp: the row does not say how the model is split");
    }
    return EvenStages(run, model);
  }
  TANGRAM_ASSIGN_OR_RETURN(const ConfigValue value,
                           ParseConfigText(run.plan_json, "plan_json"));
  const ConfigField root(value, "plan_json");
  if (const auto boundaries = root.Find("pipe_layer_boundaries")) {
    return DeepSpeedStages(run, model, root, *boundaries);
  }
  if (const auto stages = root.Find("stages")) {
    return ListedStages(run, model, *stages);
  }
  return EvenStages(run, model);
}

}  // namespace

absl::StatusOr<RunStages> StagesOfRun(const MeasuredRun& run,
                                      const ModelSpec& model) {
  TANGRAM_ASSIGN_OR_RETURN(RunStages result, StagesWithoutBatch(run, model));
  if (result.stages.empty()) return Contradiction("plan_json: no stages");
  int microbatch = run.microbatch_size;
  const int dp = result.stages.front().plan.parallelism.dp_degree;
  if (microbatch == 0) {
    return absl::UnimplementedError(
        "mbs: the row does not say how large a microbatch is");
  }
  if (int64_t{microbatch} * dp > run.global_batch_size) {
    return Contradiction(absl::StrCat("mbs: ", microbatch, " on ", dp,
                                      " replicas; expected at most gbs, ",
                                      run.global_batch_size));
  }
  result.pipeline_microbatch_size = microbatch * dp;
  return result;
}

}  // namespace tangram
