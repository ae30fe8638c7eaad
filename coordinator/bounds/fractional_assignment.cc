#include "coordinator/bounds/fractional_assignment.h"

#include <algorithm>
#include <cstddef>

#include "common/base/infinity.h"

namespace tangram {
namespace {

using Prices = std::vector<double>;

// Each round improves every price once. Bounds hardly grow after the first two.
constexpr int kRounds = 4;

// Returns the cost of the job at its cheapest kind other than `left_out`.
double CheapestCost(absl::Span<const double> job_s, const Prices& prices,
                    size_t left_out) {
  double least = kInfinity;
  for (size_t k = 0; k < prices.size(); ++k) {
    if (k != left_out) least = std::min(least, prices[k] * job_s[k]);
  }
  return least;
}

// Σ_j min_k y_k job_jk / Σ_k machines_k y_k.
double BoundAt(const Prices& prices,
               absl::Span<const std::vector<double>> job_s,
               absl::Span<const double> machines) {
  double cost = 0;
  for (const std::vector<double>& job : job_s) {
    cost += CheapestCost(job, prices, prices.size());
  }
  double price = 0;
  for (size_t k = 0; k < prices.size(); ++k) price += machines[k] * prices[k];
  return cost / price;
}

}  // namespace

// As a function of one price, the numerator is concave and linear between the
// prices at which a job costs the same on this kind as on its cheapest other
// one, and the denominator is linear. So the best price is one of these.
double LeastDividedSeconds(absl::Span<const std::vector<double>> job_s,
                           absl::Span<const double> machines) {
  if (job_s.empty()) return 0;
  const size_t num_kinds = machines.size();
  // All jobs together cost the same on each kind.
  Prices prices(num_kinds);
  for (size_t k = 0; k < num_kinds; ++k) {
    double all_s = 0;
    for (const std::vector<double>& job : job_s) all_s += job[k];
    prices[k] = 1 / all_s;
  }
  double best_s = BoundAt(prices, job_s, machines);
  for (int round = 0; round < kRounds && num_kinds > 1; ++round) {
    for (size_t k = 0; k < num_kinds; ++k) {
      double best_price = prices[k];
      for (const std::vector<double>& job : job_s) {
        Prices tried = prices;
        tried[k] = CheapestCost(job, prices, k) / job[k];
        const double bound_s = BoundAt(tried, job_s, machines);
        if (bound_s <= best_s) continue;
        best_s = bound_s;
        best_price = tried[k];
      }
      prices[k] = best_price;
    }
  }
  return best_s;
}

}  // namespace tangram
