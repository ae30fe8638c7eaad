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

// How and where an answer was made. Only these fields may differ between two
// runs of the same request.
struct Provenance {
  std::string tool_version;
  std::string parallelizer;  // Name and version.
  std::vector<PhaseTime> phases;
  double wall_s = 0;
  int num_workers = 0;  // Connected workers; without a coordinator, threads.
  int64_t cache_hits = 0;
  std::string coordinator;  // Address; empty: planned in this process.
  bool operator==(const Provenance&) const = default;
};

// The public answer: the request, the plan or the reason why there is none, and
// the predicted times and memory.
struct PlanFile {
  Shared<Cluster> cluster;
  ModelSpec model;
  TrainingOptions training;
  PlanConstraints constraints;
  std::string planner;  // Name of the planner. Empty in old files: tangram.
  // Options that the request gave.
  std::map<std::string, std::string> planner_options;
  PlanResult result;
  std::vector<std::string> explanation;
  Provenance provenance;
};

v1::PlanFile ToProto(const PlanFile& file);
absl::StatusOr<PlanFile> FromProto(const v1::PlanFile& message);

// Returns a plan file as Proto3 JSON laid out for people, ending in a newline.
// Deterministic.
absl::StatusOr<std::string> PlanFileToJson(const PlanFile& file);

// Reads a plan file. Returns kInvalidArgument starting with `source_name` if
// the text is truncated, is not a plan file or has another format version.
// ValidatePlan checks whether the plan can run.
absl::StatusOr<PlanFile> PlanFileFromJson(absl::string_view text,
                                          absl::string_view source_name);

// Returns the name in Provenance and metrics, e.g. "slice_plans".
const char* PhaseName(PlanPhase phase);

}  // namespace tangram

#endif  // TANGRAM_COMMON_WIRE_PLAN_FILE_H_
