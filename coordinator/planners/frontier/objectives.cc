#include "coordinator/planners/frontier/objectives.h"

#include <algorithm>
#include <cmath>

namespace tangram {
namespace {

constexpr double kSecondsPerHour = 3600;
constexpr double kJoulesPerKwh = 3.6e6;
constexpr double kBandQuantile = 0.95;

// Sets the share of progress and the interval of checkpoints.
void AddProgress(const ObjectiveTerms& terms,
                 const PlannedAllocation& allocation, ObjectiveValues& values) {
  double failures_per_s = 0;
  for (size_t g = 0; g < terms.groups.size(); ++g) {
    failures_per_s += allocation.nodes[g] * terms.groups[g].failures_per_hour /
                      kSecondsPerHour;
  }
  if (failures_per_s == 0) return;
  const double interval_s = std::sqrt(2 * terms.checkpoint_s / failures_per_s);
  values.checkpoint_interval_s = interval_s;
  const double writing = interval_s > 0 ? terms.checkpoint_s / interval_s : 0;
  values.progress = std::max(
      0.0, 1 - writing - failures_per_s * (interval_s / 2 + terms.restart_s));
}

void AddEnergy(const ObjectiveTerms& terms, const PlannedAllocation& allocation,
               ObjectiveValues& values) {
  if (allocation.busy_gpu_s.empty()) return;
  double joules = 0;
  for (size_t g = 0; g < terms.groups.size(); ++g) {
    const GroupTerms& group = terms.groups[g];
    if (allocation.nodes[g] == 0) continue;
    if (!group.idle_w.has_value() || !group.busy_w.has_value()) return;
    joules += allocation.nodes[g] * group.gpus_per_node *
                  allocation.iteration_time_s * *group.idle_w +
              allocation.busy_gpu_s[g] * (*group.busy_w - *group.idle_w);
  }
  const double kwh = joules * terms.power_usage_effectiveness / kJoulesPerKwh;
  // Time that is no progress takes as much power.
  const double per_million_tokens =
      kwh * 1e6 / static_cast<double>(terms.tokens_per_iteration) /
      values.progress;
  values.kwh_per_iteration = kwh / values.progress;
  values.kwh_per_million_tokens = per_million_tokens;
  if (terms.grams_per_kwh.has_value()) {
    values.grams_per_million_tokens = per_million_tokens * *terms.grams_per_kwh;
  }
}

void AddPrices(const ObjectiveTerms& terms, const PlannedAllocation& allocation,
               ObjectiveValues& values) {
  double price = 0;
  for (size_t g = 0; g < terms.groups.size(); ++g) {
    if (allocation.nodes[g] == 0) continue;
    if (!terms.groups[g].node_hour_price.has_value()) return;
    price += allocation.nodes[g] * *terms.groups[g].node_hour_price;
  }
  values.price_per_hour = price;
  values.price_per_iteration =
      price * allocation.iteration_time_s / kSecondsPerHour / values.progress;
  values.price_per_million_tokens =
      price / kSecondsPerHour / (values.tokens_per_s * values.progress) * 1e6;
  if (price > 0) {
    values.tokens_per_price =
        kSecondsPerHour * values.tokens_per_s * values.progress / price;
  }
  if (values.hours.has_value()) values.total_price = price * *values.hours;
}

}  // namespace

double NormalQuantile(double p) {
  const double t = std::sqrt(-2 * std::log(std::min(p, 1 - p)));
  const double z = t - (2.515517 + t * (0.802853 + t * 0.010328)) /
                           (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
  return p < 0.5 ? -z : z;
}

ObjectiveValues Evaluate(const ObjectiveTerms& terms,
                         const PlannedAllocation& allocation) {
  ObjectiveValues values{
      .tokens_per_s = static_cast<double>(terms.tokens_per_iteration) /
                      allocation.iteration_time_s,
      .memory_free = 1 - allocation.memory_fraction};
  AddProgress(terms, allocation, values);
  if (!values.makes_progress()) return values;
  if (terms.tokens.has_value()) {
    values.hours =
        *terms.tokens / values.tokens_per_s / values.progress / kSecondsPerHour;
    values.hours_at_certainty = values.hours;
    // The approximation of the quantile of 0.5 is not quite 0.
    if (allocation.band_high > 1 && terms.certainty != 0.5) {
      *values.hours_at_certainty *=
          std::pow(allocation.band_high, NormalQuantile(terms.certainty) /
                                             NormalQuantile(kBandQuantile));
    }
  }
  AddPrices(terms, allocation, values);
  AddEnergy(terms, allocation, values);
  if (terms.price_of_an_hour.has_value() && values.hours.has_value()) {
    values.waiting = *values.hours * (*terms.price_of_an_hour +
                                      values.price_per_hour.value_or(0));
  }
  return values;
}

}  // namespace tangram
