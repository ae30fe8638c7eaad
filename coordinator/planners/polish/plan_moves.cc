#include "coordinator/planners/polish/plan_moves.h"

#include <algorithm>
#include <bit>
#include <cstddef>

#include "absl/algorithm/container.h"
#include "common/domain/recompute_masks.h"

namespace tangram {
namespace {

// Returns the mask of each layer that the stage touches.
std::vector<OpMask> LayerMasks(const StagePlan& stage) {
  std::vector<OpMask> masks;
  for (const RecomputeRun& run : stage.recompute) {
    masks.insert(masks.end(), run.num_layers, run.mask);
  }
  return masks;
}

void SetLayerMasks(const std::vector<OpMask>& masks, StagePlan& stage) {
  stage.recompute.clear();
  for (const OpMask mask : masks) AppendMask(mask, stage.recompute);
}

// Lets the stage cover [begin, end). A new layer takes the mask of the nearest
// old one if the layers are equal.
void Resize(const ModelSpec& model, OperatorCut begin, OperatorCut end,
            StagePlan& stage) {
  const std::vector<OpMask> old = LayerMasks(stage);
  const int first = stage.begin.layer;
  const int last = first + static_cast<int>(old.size()) - 1;
  std::vector<OpMask> masks;
  for (int i = 0; i < LayersTouched(begin, end); ++i) {
    const int layer = begin.layer + i;
    const int like = std::clamp(layer, first, last);
    masks.push_back(model.layers[layer] == model.layers[like]
                        ? old[like - first]
                        : kRecomputeNone);
  }
  stage.begin = begin;
  stage.end = end;
  SetLayerMasks(masks, stage);
}

}  // namespace

std::vector<OperatorCut> CutsOf(const ModelSpec& model, Runtime::Cuts cuts) {
  std::vector<OperatorCut> all;
  for (int l = 0; l < static_cast<int>(model.layers.size()); ++l) {
    const LayerSpec& layer = model.layers[l];
    const int num_ops = static_cast<int>(OperatorsOf(layer).size());
    for (int op = 0; op < num_ops; ++op) {
      if (op == 0 || cuts == Runtime::Cuts::kOperators ||
          (cuts == Runtime::Cuts::kResiduals && IsResidualCut(layer, op))) {
        all.push_back({l, op});
      }
    }
  }
  return all;
}

Runtime::Cuts FinestCuts(const PipelineRules& rules) {
  if (rules.runtime == nullptr) return Runtime::Cuts::kOperators;
  return rules.stages.residual_cuts
             ? std::min(rules.runtime->cuts, Runtime::Cuts::kResiduals)
             : rules.runtime->cuts;
}

void Recut(const ModelSpec& model, absl::Span<const OperatorCut> borders,
           PipelinePlan& plan) {
  const int num_borders = static_cast<int>(borders.size());
  for (int s = 0; s < plan.num_stages(); ++s) {
    StagePlan& stage = plan.stages[s].plan;
    const OperatorCut begin = s > 0 ? borders[s - 1] : stage.begin;
    const OperatorCut end = s < num_borders ? borders[s] : stage.end;
    if (begin == stage.begin && end == stage.end) continue;
    Resize(model, begin, end, stage);
  }
}

std::vector<OpMask> MasksOf(const ModelSpec& model, const PipelinePlan& plan) {
  std::vector<OpMask> masks = {kRecomputeNone};
  const auto add = [&masks](OpMask mask) {
    if (!absl::c_linear_search(masks, mask)) masks.push_back(mask);
  };
  const auto layer = absl::c_find_if(model.layers, [](const LayerSpec& spec) {
    return spec.kind == LayerKind::kTransformer;
  });
  if (layer != model.layers.end()) {
    add(WholeLayerMask(*layer));
    add(AttentionCoreMask(*layer));
  }
  for (const PlacedStage& stage : plan.stages) {
    for (const RecomputeRun& run : stage.plan.recompute) add(run.mask);
  }
  absl::c_stable_sort(masks, [](OpMask a, OpMask b) {
    return std::popcount(a) > std::popcount(b);
  });
  return masks;
}

bool ChangeMask(const ModelSpec& model, int stage, OpMask from, OpMask to,
                PipelinePlan& plan) {
  StagePlan& changed = plan.stages[stage].plan;
  std::vector<OpMask> masks = LayerMasks(changed);
  const auto may_change = [&](size_t i) {
    const LayerSpec& layer = model.layers[changed.begin.layer + i];
    return masks[i] == from && layer.kind == LayerKind::kTransformer &&
           (to & ~kDropOutputs & ~WholeLayerMask(layer)) == 0;
  };
  const bool from_the_end = std::popcount(to) < std::popcount(from);
  for (size_t n = 0; n < masks.size(); ++n) {
    const size_t i = from_the_end ? masks.size() - 1 - n : n;
    if (!may_change(i)) continue;
    masks[i] = to;
    SetLayerMasks(masks, changed);
    return true;
  }
  return false;
}

}  // namespace tangram
