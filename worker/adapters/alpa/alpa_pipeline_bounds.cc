#include "worker/adapters/alpa/alpa_pipeline_bounds.h"

#include <algorithm>

#include "common/base/infinity.h"

namespace tangram::alpa {
namespace {

// Sums of the same stages in another order differ in their last digits.
constexpr double kRoundedDown = 1 - 1e-9;

}  // namespace

PipelineBounds::PipelineBounds(const InterOperatorProblem& problem,
                               int trailing_stages, StopPoll* poll,
                               double StageOption::*const time) {
  const auto stops = [poll](int steps) {
    return poll != nullptr && poll->After(steps);
  };
  const int num_layers = problem.num_layers();
  std::vector<Least> of_row(problem.num_rows(), {kInfinity, kInfinity});
  for (int row = 0; row < problem.num_rows(); ++row) {
    for (int submesh = 0; submesh < problem.num_submeshes(); ++submesh) {
      for (const StageOption& option : problem.OptionsOf(row, submesh)) {
        if (option.max_trailing_stages < trailing_stages) continue;
        const double seconds = option.*time * kRoundedDown;
        Least& least = of_row[row];
        least.latency_s = std::min(least.latency_s, seconds);
        least.device_seconds =
            std::min(least.device_seconds, problem.size_of(submesh) * seconds);
      }
    }
  }
  // least(interval) = min over its last (or first) stage of least(rest) + that
  // stage, separately for latency and device-seconds.
  const auto extend = [&](int begin, int end, const Least& by, Least& least) {
    const int row = problem.RowOf(begin, end);
    if (row < 0) return;
    least.latency_s =
        std::min(least.latency_s, by.latency_s + of_row[row].latency_s);
    least.device_seconds = std::min(
        least.device_seconds, by.device_seconds + of_row[row].device_seconds);
  };
  before_.assign(num_layers + 1, {kInfinity, kInfinity});
  from_ = before_;
  before_[0] = from_[num_layers] = {};
  for (int end = 1; end <= num_layers && !stops(end); ++end) {
    for (int begin = 0; begin < end; ++begin) {
      extend(begin, end, before_[begin], before_[end]);
    }
  }
  for (int begin = num_layers - 1; begin >= 0 && !stops(num_layers - begin);
       --begin) {
    for (int end = begin + 1; end <= num_layers; ++end) {
      extend(begin, end, from_[end], from_[begin]);
    }
  }
}

}  // namespace tangram::alpa
