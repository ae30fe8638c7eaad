#ifndef TANGRAM_CLI_PRINT_PRINT_FRONTIER_H_
#define TANGRAM_CLI_PRINT_PRINT_FRONTIER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/print/console.h"
#include "cli/print/plan_figures.h"

namespace tangram {

// One allocation and what a plan makes of it.
struct FrontierPoint {
  std::vector<int> nodes;  // By group.
  int num_gpus = 0;
  enum class State { kPlanned, kNoPlan, kPending };
  State state = State::kPending;
  PlanFigures figures;  // With a plan.
  std::string why_none;
  // The fastest plan of the allocation or of one within it, and its point.
  std::optional<double> envelope_s;
  int64_t envelope_at = 0;
  bool on_front = false;

  bool has_plan() const { return state == State::kPlanned; }
  // Part of the lattice, but nothing to plan or to print.
  bool is_empty() const { return num_gpus == 0; }
};

// Allocations with what they cost. Prices are in a currency of the user's.
struct Frontier {
  std::vector<std::string> groups;
  std::vector<FrontierPoint> points;
  int64_t tokens_per_iteration = 0;
  std::vector<double> node_hour_prices;  // By group; empty: unknown.
  std::optional<double> tokens;          // To train.
  std::optional<double> deadline_hours;
  std::optional<double> budget;

  bool has_prices() const { return !node_hour_prices.empty(); }
  double TokensPerSecond(const FrontierPoint& point) const;
  // An hour of the allocation. There must be prices.
  double PricePerHour(const FrontierPoint& point) const;
  // A million tokens. There must be prices.
  double PricePerMillionTokens(const FrontierPoint& point) const;
  // Hours to train `tokens`, which must be given.
  double HoursToTrain(const FrontierPoint& point) const;
};

// Marks the points that no other beats in time without more GPUs, or a higher
// price if there are prices.
void MarkFront(Frontier& frontier);

// Prints a table of the allocations, and those that answer usual questions.
void PrintFrontier(const Frontier& frontier, Console& console);

// Prints the same in the format tangram.frontier/v1 (docs/frontier.md).
void PrintFrontierAsJson(const Frontier& frontier, Console& console);

// Returns the table as CSV with a header.
std::string FrontierAsCsv(const Frontier& frontier);

}  // namespace tangram

#endif  // TANGRAM_CLI_PRINT_PRINT_FRONTIER_H_
