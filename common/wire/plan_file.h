#ifndef TANGRAM_COMMON_WIRE_PLAN_FILE_H_
#define TANGRAM_COMMON_WIRE_PLAN_FILE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/planner/cluster_planner.h"

namespace tangram::v1 {
class PlanFile;
}  // namespace tangram::v1

namespace tangram {

inline constexpr char kPlanFileFormat[] = "tangram.plan/v1";

struct PhaseTime {
  std::string phase;
  double wall_s = 0;
  bool operator==(const PhaseTime&) const = default;
};

// How and where an answer was made: all that may differ between two runs of
// the same request.
struct Provenance {
  std::string tool_version;
  std::string parallelizer;  // Name and version.
  std::vector<PhaseTime> phases;
  double wall_s = 0;
  int num_workers = 0;  // Threads, without a coordinator.
  int64_t cache_hits = 0;
  std::string coordinator;  // Empty: planned in this process.
  bool operator==(const Provenance&) const = default;
};

// The public answer: what was planned for, the plan or why there is none, and
// what it will take.
struct PlanFile {
  Cluster cluster;
  ModelSpec model;
  TrainingOptions training;
  PlanConstraints constraints;
  std::string
      planner;  // Empty in files from before there were others: tangram.
  std::map<std::string, std::string> planner_options;  // That were given.
  PlanResult result;
  std::vector<std::string> explanation;
  Provenance provenance;
};

v1::PlanFile ToProto(const PlanFile& file);
absl::StatusOr<PlanFile> FromProto(const v1::PlanFile& message);

// Proto3 JSON laid out for people, ending in a newline. Deterministic.
absl::StatusOr<std::string> PlanFileToJson(const PlanFile& file);

// kInvalidArgument starting with `source_name` for text that is truncated, not
// a plan file, or of another format version. Whether the plan can be run is
// ValidatePlan's.
absl::StatusOr<PlanFile> PlanFileFromJson(absl::string_view text,
                                          absl::string_view source_name);

// "slice_plans"; as used in Provenance and metrics.
const char* PhaseName(PlanPhase phase);

}  // namespace tangram

#endif  // TANGRAM_COMMON_WIRE_PLAN_FILE_H_
