#ifndef TANGRAM_COMMON_SIM_STAGE_LABELS_H_
#define TANGRAM_COMMON_SIM_STAGE_LABELS_H_

#include <set>
#include <string>

#include "absl/types/span.h"
#include "common/domain/cluster.h"
#include "common/domain/model_spec.h"
#include "common/domain/stage_plan.h"

// Short names for what a stage runs, and where.
namespace tangram {

// "emb-4a", "4b-8", "9-head": transformer layers count from 1. "4a" is the
// attention of layer 4 and "4b" its MLP. In stages that are cut elsewhere,
// "4.3" is the third operator of the layer.
std::string LayersLabel(const ModelSpec& model, OperatorCut begin,
                        OperatorCut end);

// Returns the last layer, or part of one, of a stage that ends at `cut`: "4",
// "4a", "4.3".
std::string CutLabel(const ModelSpec& model, OperatorCut cut);

// "t4-0": the whole node; "t4-0:0-3": some of its GPUs; "t4-0..3": several
// nodes, with the number of GPUs unless the stage uses all of them.
std::string GpusLabel(const Cluster& cluster, absl::Span<const GpuId> gpus);

// "t4-0", "t4-0..7"; "a, b" or "a .. d" for names without numbers.
std::string NodesLabel(const Cluster& cluster, absl::Span<const int> nodes);

// "0-3,5".
std::string RangesLabel(const std::set<int>& numbers);

// Returns a label of the recomputed operators: empty, "attn" (attention core
// alone), "full", or the share of operators, "40 %".
std::string RecomputeLabel(const ModelSpec& model, const StagePlan& stage);

}  // namespace tangram

#endif  // TANGRAM_COMMON_SIM_STAGE_LABELS_H_
