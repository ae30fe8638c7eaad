#ifndef TANGRAM_CLI_PRINT_FRONTIER_H_
#define TANGRAM_CLI_PRINT_FRONTIER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/wire/allocation_answer.h"
#include "coordinator/planners/frontier/objectives.h"

namespace tangram {

// One allocation and what a plan makes of it.
struct FrontierPoint {
  std::vector<int> nodes;  // By group.
  int num_gpus = 0;
  AllocationAnswer answer;
  // The rest follows from the answers and the terms (Assess).
  ObjectiveValues values;  // With a plan.
  // The fastest plan of the allocation or of one within it, and its point.
  std::optional<double> envelope_s;
  int64_t envelope_at = 0;
  bool on_front = false;       // In time and price.
  bool on_wide_front = false;  // In time, price, energy and free memory.
  bool is_knee = false;        // The knee of the front in time and price.

  bool has_plan() const { return answer.has_plan(); }
};

// Allocations with what they cost.
struct Frontier {
  std::vector<std::string> groups;
  std::vector<std::string> devices;   // By group; empty names: unknown.
  std::vector<FrontierPoint> points;  // By ascending `nodes`.
  ObjectiveTerms terms;
  bool shows_energy = false;  // In the table.

  bool has_prices() const;
  // Returns whether the point has a plan that gets on and leaves enough memory
  // free, so that it may be chosen.
  bool MayChoose(const FrontierPoint& point) const;
};

// Returns what the objectives need to know of a point with a plan.
PlannedAllocation PlannedOf(const FrontierPoint& point);

// Sets what follows from the answers and the terms: figures, envelope, fronts
// and knee. Plans nothing. kInvalidArgument for a list that is too sparse for
// an envelope.
absl::Status Assess(Frontier& frontier);

// An answer to a usual question. Null: no allocation answers it.
struct FrontierChoice {
  std::string key;  // "fastest".
  std::string question;
  const FrontierPoint* point = nullptr;
};
std::vector<FrontierChoice> ChoicesOf(const Frontier& frontier);

// Returns "h100=2 a100=4" with `separator` for the blank.
std::string NameOf(const Frontier& frontier, const FrontierPoint& point,
                   absl::string_view separator);

}  // namespace tangram

#endif  // TANGRAM_CLI_PRINT_FRONTIER_H_
