#include "common/sim/stage_labels.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/domain/recompute_masks.h"

namespace tangram {
namespace {

std::string LayerLabel(const ModelSpec& model, int layer) {
  switch (model.layers[layer].kind) {
    case LayerKind::kEmbedding:
      return "emb";
    case LayerKind::kHead:
      return "head";
    case LayerKind::kTransformer:
      break;
  }
  // The embedding is layer 0.
  return absl::StrCat(layer);
}

std::string PartialLayerLabel(const ModelSpec& model, OperatorCut cut) {
  const LayerSpec& layer = model.layers[cut.layer];
  return absl::StrCat(
      LayerLabel(model, cut.layer),
      IsResidualCut(layer, cut.op) ? ".5" : absl::StrCat("+", cut.op));
}

}  // namespace

std::string LayersLabel(const ModelSpec& model, OperatorCut begin,
                        OperatorCut end) {
  const std::string first = begin.op == 0 ? LayerLabel(model, begin.layer)
                                          : PartialLayerLabel(model, begin);
  const std::string last = CutLabel(model, end);
  return first == last ? first : absl::StrCat(first, "-", last);
}

std::string CutLabel(const ModelSpec& model, OperatorCut cut) {
  return cut.op == 0 ? LayerLabel(model, cut.layer - 1)
                     : PartialLayerLabel(model, cut);
}

std::string GpusLabel(const Cluster& cluster, absl::Span<const GpuId> gpus) {
  if (gpus.empty()) return "";
  std::set<int> nodes;
  std::set<int> indices;
  int available = 0;
  for (const GpuId& gpu : gpus) {
    if (nodes.insert(gpu.node).second) {
      available += cluster.nodes[gpu.node].num_gpus;
    }
    indices.insert(gpu.index);
  }
  const bool all = static_cast<int>(gpus.size()) == available;
  const std::string& first = cluster.nodes[*nodes.begin()].name;
  if (nodes.size() == 1) {
    return all ? first : absl::StrCat(first, ":", RangesLabel(indices));
  }
  const std::string& last = cluster.nodes[*nodes.rbegin()].name;
  return absl::StrCat(first, "..", last,
                      all ? "" : absl::StrCat(" (", gpus.size(), ")"));
}

std::string NodesLabel(const Cluster& cluster, absl::Span<const int> nodes) {
  if (nodes.empty()) return "";
  const std::string& first = cluster.nodes[nodes.front()].name;
  const std::string& last = cluster.nodes[nodes.back()].name;
  if (nodes.size() == 1) return first;
  return absl::StrCat(first, nodes.size() == 2 ? ", " : " .. ", last);
}

std::string RangesLabel(const std::set<int>& numbers) {
  std::string text;
  for (auto it = numbers.begin(); it != numbers.end();) {
    const int first = *it;
    int last = first;
    while (++it != numbers.end() && *it == last + 1) ++last;
    absl::StrAppend(&text, text.empty() ? "" : ",", first);
    if (last > first) absl::StrAppend(&text, "-", last);
  }
  return text;
}

std::string RecomputeLabel(const ModelSpec& model, const StagePlan& stage) {
  int recomputed = 0;
  int operators = 0;
  bool attention_only = true;
  int layer = stage.begin.layer;
  for (const RecomputeRun& run : stage.recompute) {
    for (int i = 0; i < run.num_layers; ++i, ++layer) {
      const LayerSpec& spec = model.layers[layer];
      // Operators outside the stage's cuts are neither run nor recomputed.
      const int begin = layer == stage.begin.layer ? stage.begin.op : 0;
      const int end = layer == stage.end.layer
                          ? stage.end.op
                          : static_cast<int>(OperatorsOf(spec).size());
      const OpMask present = (OpMask{1} << end) - (OpMask{1} << begin);
      const OpMask mask = run.mask & present;
      operators += end - begin;
      recomputed += __builtin_popcount(mask);
      attention_only &= mask == (AttentionCoreMask(spec) & present);
    }
  }
  if (recomputed == 0) return "";
  if (attention_only) return "attn";
  if (recomputed == operators) return "full";
  return absl::StrFormat("%.0f %%", 100.0 * recomputed / operators);
}

}  // namespace tangram
