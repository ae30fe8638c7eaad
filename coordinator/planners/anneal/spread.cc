#include "coordinator/planners/anneal/spread.h"

#include <cmath>
#include <map>
#include <vector>

#include "common/domain/recompute_masks.h"
#include "coordinator/planners/anneal/scope.h"
#include "coordinator/planners/polish/plan_moves.h"

namespace tangram::anneal {
namespace {

// Returns the peak of the stage's GPUs, half of the time up to a fifth off.
double DrawSpeed(const MoveContext& context, const PlacedStage& stage) {
  const Cluster& cluster = context.problem.request.cluster;
  const Precision precision = context.problem.request.training.precision;
  double flops = 0;
  for (const GpuId& gpu : stage.gpus) {
    const DeviceSpec& device = cluster.nodes[gpu.node].device;
    flops +=
        device.peak_flops.At(precision) * device.efficiency.gemm_max_fraction;
  }
  if (context.draw.OneIn(2)) return flops;
  return flops * std::exp(0.4 * (context.draw.Fraction() - 0.5));
}

// Returns the parameters before each cut that multiply activations, as a
// measure of work.
std::vector<double> WorkBefore(const ModelSpec& model,
                               const std::vector<OperatorCut>& cuts) {
  std::vector<double> work;
  double sum = 0;
  size_t next = 0;
  for (int l = 0; l < model.num_layers() && next < cuts.size(); ++l) {
    const LayerSpec& layer = model.layers[l];
    const double parameters =
        layer.kind == LayerKind::kEmbedding ? 0 : ParameterCount(layer);
    const double num_ops = static_cast<double>(OperatorsOf(layer).size());
    for (; next < cuts.size() && cuts[next].layer == l; ++next) {
      work.push_back(sum + parameters * cuts[next].op / num_ops);
    }
    sum += parameters;
  }
  work.resize(cuts.size(), sum);
  return work;
}

// Returns the cuts between `begin` and `end`, which are the first and the last
// of the result, at a drawn fineness.
std::vector<OperatorCut> CutsBetween(const MoveContext& context,
                                     OperatorCut begin, OperatorCut end) {
  const Runtime* runtime = context.problem.rules.runtime;
  const bool fine =
      context.draw.OneIn(2) &&
      (runtime == nullptr || runtime->cuts != Runtime::Cuts::kLayers);
  std::vector<OperatorCut> between = {begin};
  const Runtime::Cuts kind =
      fine ? Runtime::Cuts::kResiduals : Runtime::Cuts::kLayers;
  for (const OperatorCut cut : context.cuts[static_cast<size_t>(kind)]) {
    if (begin < cut && cut < end) between.push_back(cut);
  }
  between.push_back(end);
  return between;
}

}  // namespace

OpMask MainMask(const StagePlan& stage) {
  std::map<OpMask, int> layers;
  OpMask main = kRecomputeNone;
  for (const RecomputeRun& run : stage.recompute) {
    layers[run.mask] += run.num_layers;
    if (layers[run.mask] > layers[main]) main = run.mask;
  }
  return main;
}

void Cover(const ModelSpec& model, OperatorCut begin, OperatorCut end,
           OpMask mask, StagePlan& stage) {
  stage.begin = begin;
  stage.end = end;
  stage.recompute.clear();
  bool is_whole = false;
  for (const LayerSpec& layer : model.layers) {
    is_whole |=
        layer.kind == LayerKind::kTransformer && mask == WholeLayerMask(layer);
  }
  for (int i = 0; i < LayersTouched(begin, end); ++i) {
    const LayerSpec& layer = model.layers[begin.layer + i];
    const OpMask whole = WholeLayerMask(layer);
    const bool is_end = layer.kind != LayerKind::kTransformer;
    AppendMask(is_end     ? kRecomputeNone
               : is_whole ? whole
                          : mask & (whole | kDropOutputs),
               stage.recompute);
  }
}

bool Spread(const MoveContext& context, int first, int last, OperatorCut begin,
            OperatorCut end, PipelinePlan& plan) {
  const ModelSpec& model = context.problem.request.model;
  const std::vector<OperatorCut> cuts = CutsBetween(context, begin, end);
  const int num_stages = last - first;
  if (static_cast<int>(cuts.size()) <= num_stages) return false;
  const std::vector<double> work = WorkBefore(model, cuts);
  std::vector<double> speed_before = {0};
  for (int s = first; s < last; ++s) {
    speed_before.push_back(speed_before.back() +
                           DrawSpeed(context, plan.stages[s]));
  }
  const OpMask drawn = DrawMask(context, plan);
  const bool is_drawn = context.draw.OneIn(2);
  int at = 0;
  for (int s = first; s < last; ++s) {
    const int left = last - s - 1;  // Each gets at least one part.
    const double share = speed_before[s - first + 1] / speed_before.back();
    const double wanted = work.front() + share * (work.back() - work.front());
    int to = at + 1;
    const int limit = static_cast<int>(cuts.size()) - 1 - left;
    while (to < limit &&
           std::abs(work[to + 1] - wanted) <= std::abs(work[to] - wanted)) {
      ++to;
    }
    if (left == 0) to = limit;
    StagePlan& stage = plan.stages[s].plan;
    Cover(model, cuts[at], cuts[to], is_drawn ? drawn : MainMask(stage), stage);
    at = to;
  }
  return true;
}

bool SpreadAll(const MoveContext& context, PipelinePlan& plan) {
  const ModelSpec& model = context.problem.request.model;
  return Spread(context, 0, plan.num_stages(), {0, 0}, {model.num_layers(), 0},
                plan);
}

}  // namespace tangram::anneal
