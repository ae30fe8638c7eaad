#include "coordinator/planners/tangram/tail_bound.h"

#include <algorithm>
#include <array>

namespace tangram {
namespace {

// [k − 1]: ⌊n / k⌋. Division by constants is ten times as fast.
using QuotientsByWindow = std::array<int, TailBound::kMostInWindow>;
QuotientsByWindow QuotientsOf(int n) {
  static_assert(TailBound::kMostInWindow == 6);
  return {n, n / 2, n / 3, n / 4, n / 5, n / 6};
}

}  // namespace

TailBound PrependStage(const StageTimes& stage, const TailBound& rest,
                       int num_microbatches) {
  const bool is_last = rest.num_stages == 0;
  const double f = stage.forward_s;
  const double b = stage.backward_s;
  const double t = f + b;
  const double x = is_last ? 0 : stage.send_forward_s;
  const double y = is_last ? 0 : stage.send_backward_s;
  const double rest_s = x + rest.round_trip_s + y;  // R
  const int n = std::min(rest.num_stages + 1, num_microbatches);

  const double warm_up_s = std::max(n * f, f + rest_s);
  const double work_s =
      num_microbatches > n
          ? warm_up_s + (num_microbatches - n) * t + std::max(n * b, rest_s + b)
          : std::max(warm_up_s + n * b, n * f + rest_s + b);
  const int rounds = (num_microbatches - 1) / n;     // q
  const int others = num_microbatches - rounds * n;  // r
  const double rounds_s =
      rounds * (t + rest_s) +
      std::max(f + rest_s + others * b, others * f + rest_s + b);
  const double link_s = t + rest_s + (num_microbatches - 1) * std::max(x, y);
  const double nested_s = f + x + rest.passes_s + y + b;

  TailBound tail{.round_trip_s = t + rest_s, .num_stages = rest.num_stages + 1};
  tail.passes_s = std::max({work_s, rounds_s, link_s, nested_s});
  const int most = std::min(tail.num_stages, TailBound::kMostInWindow);
  tail.windows_s[0] = t;
  for (int k = 2; k <= most; ++k) {
    tail.windows_s[k - 1] = t + x + y + rest.windows_s[k - 2];
  }
  if (num_microbatches > n) {
    const int steady = num_microbatches - 1 - n;
    const QuotientsByWindow quotients = QuotientsOf(steady);
    const double cool_down_s = std::max(n * b, rest_s + b);
    for (int k = 1; k <= most; ++k) {
      const int q = quotients[k - 1];
      tail.passes_s =
          std::max(tail.passes_s, warm_up_s + b + q * tail.windows_s[k - 1] +
                                      (steady - q * k) * t + f + cool_down_s);
    }
  }
  tail.iteration_s = std::max(tail.passes_s + stage.sync_s + stage.optimizer_s,
                              f + x + rest.iteration_s);
  return tail;
}

}  // namespace tangram
