#ifndef TANGRAM_COMMON_WIRE_ALLOCATION_ANSWER_H_
#define TANGRAM_COMMON_WIRE_ALLOCATION_ANSWER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/wire/plan_file.h"

namespace tangram::v1 {
class AllocationAnswer;
}  // namespace tangram::v1

namespace tangram {

// The figures of the plan for one allocation of a cluster.
struct AllocationAnswer {
  enum class State { kPending, kPlanned, kNoPlan };
  State state = State::kPending;
  // With a plan.
  double iteration_time_s = 0;
  double memory_fraction = 0;  // The fullest GPU's.
  int num_gpus = 0;            // Those that it uses.
  int num_stages = 0;
  // GPU-seconds of work in an iteration, by group of the whole cluster.
  std::vector<double> busy_gpu_s;
  // The factor that 95 % of measured times stay below; 0: unknown.
  double band_high = 0;
  std::string why_none;  // Without a plan.
  // Name of the plan on the coordinator; empty: it is not kept there.
  std::string plan_id;
  bool from_cache = false;

  bool has_plan() const { return state == State::kPlanned; }
  bool operator==(const AllocationAnswer&) const = default;
};

// Returns what is kept of an answer. `groups` are those of the whole cluster.
AllocationAnswer AllocationAnswerOf(const absl::StatusOr<PlanFile>& answer,
                                    absl::Span<const std::string> groups);

// Returns why an answer has no plan: the error, or the reason and the missing
// bytes.
std::string WhyNone(const absl::StatusOr<PlanFile>& answer);

v1::AllocationAnswer ToProto(const AllocationAnswer& answer);
// kInvalidArgument for an answer that is none for `num_groups` groups.
absl::StatusOr<AllocationAnswer> FromProto(const v1::AllocationAnswer& message,
                                           size_t num_groups);

}  // namespace tangram

#endif  // TANGRAM_COMMON_WIRE_ALLOCATION_ANSWER_H_
