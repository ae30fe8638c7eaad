#ifndef TANGRAM_COORDINATOR_PLANNERS_FRONTIER_OBJECTIVES_H_
#define TANGRAM_COORDINATOR_PLANNERS_FRONTIER_OBJECTIVES_H_

#include <cstdint>
#include <optional>
#include <vector>

namespace tangram {

// Costs of a node of a group. Prices are in any one currency.
struct GroupTerms {
  std::optional<double> node_hour_price;
  // Failures, and interruptions of a spot instance, of one node in an hour.
  double failures_per_hour = 0;
  int gpus_per_node = 0;
  // Power of one GPU, in watts, at rest and at work.
  std::optional<double> idle_w;
  std::optional<double> busy_w;
};

// Questions to allocations besides their iteration times.
struct ObjectiveTerms {
  std::vector<GroupTerms> groups;
  int64_t tokens_per_iteration = 0;
  std::optional<double> tokens;          // To train.
  std::optional<double> deadline_hours;  // To train them.
  std::optional<double> budget;          // Price of training them.
  double checkpoint_s = 0;               // To write one.
  double restart_s = 0;                  // From a failure to training again.
  double power_usage_effectiveness = 1;  // Power of the site over its GPUs'.
  std::optional<double> grams_per_kwh;   // Carbon dioxide.
  double least_memory_free = 0;          // A fraction of each GPU's memory.
  // The probability with which deadlines are met; 0.5: as predicted.
  double certainty = 0.5;
  std::optional<double> price_of_an_hour;  // An hour of waiting costs so much.
};

// One allocation with its plan.
struct PlannedAllocation {
  std::vector<int> nodes;  // By group.
  double iteration_time_s = 0;
  double memory_fraction = 0;  // The fullest GPU's.
  // GPU-seconds of work in an iteration, by group. Empty: unknown.
  std::vector<double> busy_gpu_s;
  // The factor that 95 % of measured times stay below; 0: unknown.
  double band_high = 0;
};

// The figures of one allocation. Empty: terms for them are missing.
struct ObjectiveValues {
  double tokens_per_s = 0;
  // Share of time that is progress, beside checkpoints and failures. 0: nodes
  // fail faster than they get on.
  double progress = 1;
  std::optional<double> checkpoint_interval_s;  // Young's, if nodes fail.
  std::optional<double> hours;                  // To train the tokens.
  std::optional<double> hours_at_certainty;
  std::optional<double> price_per_hour;
  std::optional<double> price_per_iteration;
  std::optional<double> price_per_million_tokens;
  std::optional<double> tokens_per_price;
  std::optional<double> total_price;  // All tokens.
  std::optional<double> kwh_per_iteration;
  std::optional<double> kwh_per_million_tokens;
  std::optional<double> grams_per_million_tokens;
  double memory_free = 0;         // A fraction.
  std::optional<double> waiting;  // Price and worth of the time together.
  bool makes_progress() const { return progress > 0; }
};

// Returns the figures of an allocation. With λ the failures of all its nodes in
// a second, C the time of a checkpoint and R that of a restart, a checkpoint
// every τ = √(2 C / λ) seconds (Young, 1974) leaves
//
//   φ = 1 − C/τ − λ (τ/2 + R)
//
// of the time for progress. The energy of an iteration of T seconds is, over
// groups with n GPUs that work u GPU-seconds,
//
//   PUE · Σ (n T idle + u (busy − idle)).
//
// Times at a certainty p grow by band_high^(z(p) / z(0.95)), with z the
// quantiles of the normal distribution: errors of predictions are about
// log-normal.
ObjectiveValues Evaluate(const ObjectiveTerms& terms,
                         const PlannedAllocation& allocation);

// Returns the z with which a normal variable is below z with probability `p`,
// 0 < p < 1. Off by at most 5e-4 (Abramowitz and Stegun, 26.2.23).
double NormalQuantile(double p);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_FRONTIER_OBJECTIVES_H_
