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

// Returns the number at the end of `name` if all before it is as in `other`,
// which ends in a number too: "31" for "a100-31" after "a100-0". Otherwise
// `name`.
std::string Distinct(const std::string& name, const std::string& other) {
  const auto prefix = [](const std::string& text) {
    return text.substr(0, text.find_last_not_of("0123456789") + 1);
  };
  const std::string same = prefix(name);
  const bool has_numbers =
      same.size() < name.size() && same.size() < other.size() && !same.empty();
  return has_numbers && prefix(other) == same ? name.substr(same.size()) : name;
}

// Returns the label of the operators [begin, end) of a layer: "4", "4a" for the
// attention, "4b" for the MLP, "4.3-4.5" for others.
std::string PartLabel(const ModelSpec& model, int layer, int begin, int end) {
  const LayerSpec& spec = model.layers[layer];
  const std::string name = LayerLabel(model, layer);
  const bool from_start = begin == 0;
  const bool to_end = end == static_cast<int>(OperatorsOf(spec).size());
  if (from_start && to_end) return name;
  if (from_start && IsResidualCut(spec, end)) return name + "a";
  if (to_end && IsResidualCut(spec, begin)) return name + "b";
  const std::string first = absl::StrCat(name, ".", begin + 1);
  return end == begin + 1 ? first : absl::StrCat(first, "-", name, ".", end);
}

}  // namespace

std::string LayersLabel(const ModelSpec& model, OperatorCut begin,
                        OperatorCut end) {
  const auto num_ops = [&](int layer) {
    return static_cast<int>(OperatorsOf(model.layers[layer]).size());
  };
  const int last = end.op == 0 ? end.layer - 1 : end.layer;
  const int last_end = end.op == 0 ? num_ops(last) : end.op;
  if (last == begin.layer) {
    return PartLabel(model, last, begin.op, last_end);
  }
  const std::string first =
      begin.op == 0 || IsResidualCut(model.layers[begin.layer], begin.op)
          ? PartLabel(model, begin.layer, begin.op, num_ops(begin.layer))
          : absl::StrCat(LayerLabel(model, begin.layer), ".", begin.op + 1);
  return absl::StrCat(first, "-", CutLabel(model, end));
}

std::string CutLabel(const ModelSpec& model, OperatorCut cut) {
  if (cut.op == 0) return LayerLabel(model, cut.layer - 1);
  return IsResidualCut(model.layers[cut.layer], cut.op)
             ? PartLabel(model, cut.layer, 0, cut.op)
             : absl::StrCat(LayerLabel(model, cut.layer), ".", cut.op);
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
  return absl::StrCat(first, "..", Distinct(last, first),
                      all ? "" : absl::StrCat(" (", gpus.size(), ")"));
}

std::string NodesLabel(const Cluster& cluster, absl::Span<const int> nodes) {
  if (nodes.empty()) return "";
  const std::string& first = cluster.nodes[nodes.front()].name;
  const std::string& last = cluster.nodes[nodes.back()].name;
  if (nodes.size() == 1) return first;
  const std::string end = Distinct(last, first);
  if (end != last) return absl::StrCat(first, "..", end);
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
