#include "worker/adapters/aceso/aceso_recompute_hull.h"

#include <array>

#include "common/domain/closed_segments.h"

namespace tangram::aceso {
namespace {

constexpr int kMaxOperators = 32;  // Number of bits of an OpMask.

// The operators of one layer, and the segments that may be recomputed.
struct Choices {
  absl::Span<const RecomputeOperator> operators;
  const LayerSpec* closed_in = nullptr;  // Null: any segment.

  bool Allows(OpMask segment) const {
    return closed_in == nullptr ||
           CloseSegments(*closed_in, segment) == segment;
  }
};

// A vertex of the hull.
struct Corner {
  OpMask mask = kRecomputeNone;
  double kept_bytes = 0;
  double recompute_s = 0;
};

// Returns the mask with the least  w_b · kept bytes + w_s · recomputed seconds.
// best(j) is the least weight of the first j operators:
//   best(0) = 0
//   best(j) = min(best(j-1) + w_b·saved_{j-1},
//                 min_{i<j} best(i) + w_b·input_i + w_s·Σ_{i≤k<j} forward_k)
// over the segments that are allowed. Adjacent segments are counted as two
// inputs. That is safe: the single longer segment is among the choices, as
// closed segments join to a closed one, and never worse.
Corner CheapestMask(const Choices& choices, double byte_weight,
                    double second_weight) {
  const absl::Span<const RecomputeOperator> operators = choices.operators;
  const int n = static_cast<int>(operators.size());
  std::array<double, kMaxOperators + 1> best{};
  std::array<Corner, kMaxOperators + 1> corner{};
  for (int j = 1; j <= n; ++j) {
    const RecomputeOperator& last = operators[j - 1];
    best[j] = best[j - 1] + byte_weight * last.saved_bytes;
    corner[j] = corner[j - 1];
    corner[j].kept_bytes += last.saved_bytes;
    double forward_s = 0;
    OpMask segment = kRecomputeNone;
    for (int i = j - 1; i >= 0; --i) {
      forward_s += operators[i].forward_s;
      segment |= OpMask{1} << i;
      const double input_bytes = operators[i].input_bytes;
      const double cost =
          best[i] + byte_weight * input_bytes + second_weight * forward_s;
      if (cost >= best[j] || !choices.Allows(segment)) continue;
      best[j] = cost;
      corner[j] = {.mask = corner[i].mask | segment,
                   .kept_bytes = corner[i].kept_bytes + input_bytes,
                   .recompute_s = corner[i].recompute_s + forward_s};
    }
  }
  return corner[n];
}

// Appends the hull's vertices strictly between two of them, then `below`.
// Weighs masks along the normal of the line between `above` and `below`.
void AppendBetween(const Choices& choices, const Corner& above,
                   const Corner& below, std::vector<OpMask>& hull) {
  const double seconds = below.recompute_s - above.recompute_s;
  const double bytes = above.kept_bytes - below.kept_bytes;
  const Corner found = CheapestMask(choices, seconds, bytes);
  const auto weigh = [&](const Corner& corner) {
    return seconds * corner.kept_bytes + bytes * corner.recompute_s;
  };
  // A vertex close to the line between its neighbours is not worth a level: a
  // mix of the neighbours does as well. Plans of the paper's workloads are the
  // same with half, and up to 0.2 % slower with twice.
  constexpr double kWorthALevel = 0.005;
  if (weigh(found) < weigh(below) * (1 - kWorthALevel)) {
    AppendBetween(choices, above, found, hull);
    AppendBetween(choices, found, below, hull);
  } else {
    hull.push_back(below.mask);
  }
}

}  // namespace

double KeptBytes(absl::Span<const RecomputeOperator> operators, OpMask mask) {
  double kept = 0;
  bool in_segment = false;
  for (const RecomputeOperator& op : operators) {
    const bool recomputed = (mask & 1) != 0;
    if (!recomputed) kept += op.saved_bytes;
    if (recomputed && !in_segment) kept += op.input_bytes;
    in_segment = recomputed;
    mask >>= 1;
  }
  return kept;
}

std::vector<OpMask> RecomputeHull(absl::Span<const RecomputeOperator> operators,
                                  const LayerSpec* closed_in) {
  const Choices choices = {.operators = operators, .closed_in = closed_in};
  Corner none;
  double total_forward_s = 0;
  for (const RecomputeOperator& op : operators) {
    none.kept_bytes += op.saved_bytes;
    total_forward_s += op.forward_s;
  }
  // The weight of time is so small that it only breaks ties between equal
  // bytes.
  constexpr double kTieBreak = 1e-6;
  const double second_weight =
      total_forward_s > 0 ? kTieBreak * none.kept_bytes / total_forward_s : 0;
  const Corner least = CheapestMask(choices, 1, second_weight);

  std::vector<OpMask> hull = {kRecomputeNone};
  if (least.kept_bytes < none.kept_bytes && least.recompute_s > 0) {
    AppendBetween(choices, none, least, hull);
  } else if (least.kept_bytes < none.kept_bytes) {
    hull.push_back(least.mask);
  }
  return hull;
}

}  // namespace tangram::aceso
