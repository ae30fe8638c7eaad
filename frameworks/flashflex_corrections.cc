#include "frameworks/flashflex_corrections.h"

#include <algorithm>

namespace tangram {
namespace {

// Returns whether llama_train.py gives each rank the data of its pipeline. It
// takes the last pipeline whose first rank is not above that of the rank.
bool RanksTellPipelines(const std::vector<ReplicaPipeline>& pipelines,
                        const std::map<GpuId, int>& ranks) {
  const auto head = [&](size_t p) {
    return ranks.at(pipelines[p].stages.front().gpus.front());
  };
  for (size_t p = 0; p < pipelines.size(); ++p) {
    for (const GpuId& gpu : GpusOf({pipelines[p]})) {
      size_t taken = 0;
      for (size_t other = 0; other < pipelines.size(); ++other) {
        if (head(other) <= ranks.at(gpu)) taken = other;
      }
      if (taken != p) return false;
    }
  }
  return true;
}

// Returns whether FlashFlex by itself weighs all samples the same. Its last
// stages divide the loss by the microbatches of their pipeline, and its hook
// divides the sum over pipelines by their number (heterogeneous_pipeline.py and
// fsdp_comm_utils.py of hexiscale). Where tp differs in a layer, the hook
// averages what tp does not split over all ranks, not over pipelines.
bool WeighsAllTheSame(const std::vector<ReplicaPipeline>& pipelines) {
  for (const ReplicaPipeline& pipeline : pipelines) {
    if (pipeline.samples() != pipelines.front().samples()) return false;
  }
  return HaveOneTpPerLayer(pipelines);
}

// Returns whether the ranks of each pipeline rise from stage to stage.
// FlashFlex takes the place of a rank among the sorted ranks of its pipeline
// for its stage (group_rank of heterogeneous_pipeline.py).
bool RanksTellStages(const std::vector<ReplicaPipeline>& pipelines,
                     const std::map<GpuId, int>& ranks) {
  for (const ReplicaPipeline& pipeline : pipelines) {
    int last = -1;  // The largest rank of the stages so far.
    for (const ReplicaStage& stage : pipeline.stages) {
      int largest = last;
      for (const GpuId& gpu : stage.gpus) {
        if (ranks.at(gpu) < last) return false;
        largest = std::max(largest, ranks.at(gpu));
      }
      last = largest;
    }
  }
  return true;
}

// Returns whether gradients of one pipeline stay on their ranks. FlashFlex
// leaves these to the hook of FSDP, which averages them over the ranks of tp
// (wrap_modules_data_parallel_comm_hook of heterogeneous_pipeline.py).
bool KeepsPartsApart(const std::vector<ReplicaPipeline>& pipelines) {
  if (pipelines.size() > 1) return true;
  for (const ReplicaStage& stage : pipelines.front().stages) {
    if (stage.tp() > 1) return false;
  }
  return true;
}

}  // namespace

FlashFlexCorrections CorrectionsForFlashFlex(
    const std::vector<ReplicaPipeline>& pipelines,
    const std::map<GpuId, int>& ranks) {
  return {.weights = !WeighsAllTheSame(pipelines) ||
                     !RanksTellPipelines(pipelines, ranks),
          .stages = !RanksTellStages(pipelines, ranks),
          .parts = !KeepsPartsApart(pipelines)};
}

}  // namespace tangram
