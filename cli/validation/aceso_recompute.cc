#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "cli/validation/stage_parts.h"

// Reconstructs which operators Aceso recomputes (EuroSys 2024), since only
// their number in a stage is published. Aceso repeatedly takes the kind of
// operator that keeps most in the stage, all operators of that kind together.
// It takes them in the order of the stage, each with the operator after it.
namespace tangram {
namespace {

constexpr int kAcesoOps = 13;  // In a transformer layer.
constexpr int kScores = 2;     // First of four that are our attention core.
constexpr int kDropout = 4;    // Third of them.
constexpr int kOutputProjection = 6;  // First after them.
constexpr int kCoreOp = 2;  // Position of the attention core in our layer.

// Elements that each operator keeps of a token on one GPU. Dropout also keeps
// its mask. 0: never chosen for its own sake.
std::array<double, kAcesoOps> KeptElements(const LayerSpec& layer,
                                           int sequence_length, int tp) {
  // A 16-bit output and its 8-bit mask.
  constexpr double kWithMask = 1.5;
  const double h = layer.hidden_size;
  const double scores = 1.0 * layer.num_heads * sequence_length / tp;
  const double ffn = 1.0 * layer.ffn_hidden_size / tp;
  return {0,      3 * h / tp, scores,        scores, kWithMask * scores,
          h / tp, h,          kWithMask * h, h,      ffn,
          ffn,    h,          kWithMask * h};
}

// The kind of each operator of the stage; −1 outside the transformer layers.
using Kinds = std::vector<int>;

Kinds KindsOf(const ModelSpec& model, int begin_op, int num_ops) {
  const int last = (model.num_layers() - 2) * kAcesoOps;
  Kinds kinds;
  for (int op = begin_op; op < begin_op + num_ops; ++op) {
    const bool inside = op >= 1 && op <= last;
    kinds.push_back(inside ? (op - 1) % kAcesoOps : -1);
  }
  return kinds;
}

// Returns the kind that is not yet `taken` and whose operators in the stage
// keep most, the first of equals; −1 if there is none.
int LargestKind(const Kinds& kinds,
                const std::array<double, kAcesoOps>& kept_elements,
                const std::array<bool, kAcesoOps>& taken) {
  int largest = -1;
  double most = 0;
  for (const int kind : kinds) {
    if (kind < 0 || taken[kind]) continue;
    const auto count = std::count(kinds.begin(), kinds.end(), kind);
    const double kept = static_cast<double>(count) * kept_elements[kind];
    if (kept > most) {
      most = kept;
      largest = kind;
    }
  }
  return largest;
}

// Chooses `count` operators of the stage; see the top of the file.
std::vector<bool> Chosen(const Kinds& kinds,
                         const std::array<double, kAcesoOps>& kept_elements,
                         int count) {
  std::vector<bool> chosen(kinds.size(), false);
  std::array<bool, kAcesoOps> taken{};
  while (count > 0) {
    const int kind = LargestKind(kinds, kept_elements, taken);
    if (kind < 0) break;
    taken[kind] = taken[(kind + 1) % kAcesoOps] = true;
    for (size_t i = 0; i < kinds.size() && count > 0; ++i) {
      if (kinds[i] != kind) continue;
      for (size_t j = i; j < std::min(i + 2, kinds.size()); ++j) {
        if (!chosen[j]) --count;
        chosen[j] = true;
      }
    }
  }
  return chosen;
}

// Returns the position in our layer of Aceso's operator.
int OurOp(int kind) {
  if (kind < kScores) return kind;
  return kind < kOutputProjection ? kCoreOp : kind - (kOutputProjection - 3);
}

}  // namespace

std::vector<RecomputeRun> AcesoRecompute(const ModelSpec& model,
                                         const StagePlan& stage,
                                         int sequence_length, int begin_op,
                                         int num_ops, int count) {
  const Kinds kinds = KindsOf(model, begin_op, num_ops);
  const std::vector<bool> chosen =
      Chosen(kinds,
             KeptElements(model.layers[1], sequence_length,
                          stage.parallelism.tp_degree),
             count);
  const int num_layers = LayersTouched(stage.begin, stage.end);
  std::vector<OpMask> masks(num_layers, kRecomputeNone);
  // The attention core is one operator here. Its dropout and context keep 3 of
  // 5 bytes and take about that share of its time. If Aceso recomputes only
  // these, that share of the cores is recomputed whole: `owed` carries the
  // remainder.
  constexpr double kShareOfHalfCore = 0.6;
  double owed = 0.5;
  for (size_t i = 0; i < kinds.size(); ++i) {
    if (!chosen[i] || kinds[i] < 0) continue;
    const int layer = 1 + (begin_op + static_cast<int>(i) - 1) / kAcesoOps;
    const int at = layer - stage.begin.layer;
    if (at < 0 || at >= num_layers) continue;
    const OpMask bit = OpMask{1} << OurOp(kinds[i]);
    if (kinds[i] == kDropout && (masks[at] & bit) == 0) {
      owed += kShareOfHalfCore;
      if (owed < 1) continue;
      owed -= 1;
    }
    const bool rest_of_core =
        kinds[i] > kDropout && kinds[i] < kOutputProjection;
    if (!rest_of_core) masks[at] |= bit;
  }
  return JoinMasks(masks);
}

}  // namespace tangram
