#ifndef TANGRAM_TESTS_PARITY_ACESO_REFERENCE_H_
#define TANGRAM_TESTS_PARITY_ACESO_REFERENCE_H_

#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"
#include "tests/parity/aceso_cost.h"
#include "tests/parity/aceso_search.h"

namespace tangram::aceso::reference {

inline constexpr char kOperatorsFile[] =
    "aceso/profiles/superscaler_op_profiles_gpt.csv";
inline constexpr char kLinksFile[] =
    "aceso/profiles/superscaler_p2p_bandwidth.csv";

// Returns the V100-32 measurements that upstream's reference runs used.
// `operators` and `links` are tables in CSV.
Setting ReadSetting(absl::string_view operators, absl::string_view links,
                    absl::string_view model, int num_layers, int gpus_per_node);

struct RecordedStageCount {
  int num_stages = 0;
  double iteration_ms = 0;  // Iteration time of the best plan.
  double cpu_s = 0;
  double cpu_s_to_best = 0;  // CPU seconds until that plan was found.
};

// The answer of upstream's search, by stage count.
struct RecordedSearch {
  std::string name;
  Setting setting;
  ModelWidth width;
  int num_gpus = 0;
  std::vector<RecordedStageCount> stage_counts;  // Stage counts with a plan.

  double cpu_s() const;
  const RecordedStageCount& fastest() const;
};

// Returns all recorded searches; empty without the reference data.
std::vector<RecordedSearch> ReadSearches();

// Returns the answer of our search for the stage counts that upstream searched.
std::map<int, ScoredPlan> AskOurs(const RecordedSearch& recorded);

// Returns the fastest of `plans` over the stage counts that upstream searched
// too; null if there is none.
const ScoredPlan* FastestOf(const RecordedSearch& recorded,
                            const std::map<int, ScoredPlan>& plans);

// Reads a configuration of the fixtures, whose lists are runs of [value,
// count].
ScoredPlan ReadConfiguration(const nlohmann::json& config);

}  // namespace tangram::aceso::reference

#endif  // TANGRAM_TESTS_PARITY_ACESO_REFERENCE_H_
