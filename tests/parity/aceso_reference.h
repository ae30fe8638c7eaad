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

// The V100-32 measurements that upstream's reference runs used.
// `operators` and `links` are tables in CSV.
Setting ReadSetting(absl::string_view operators, absl::string_view links,
                    absl::string_view model, int num_layers, int gpus_per_node);

struct RecordedStageCount {
  int num_stages = 0;
  double iteration_ms = 0;  // Of the best plan.
  double cpu_s = 0;
  double cpu_s_to_best = 0;  // Until that plan was found.
};

// What upstream's search answered, stage count by stage count.
struct RecordedSearch {
  std::string name;
  Setting setting;
  ModelWidth width;
  int num_gpus = 0;
  std::vector<RecordedStageCount> stage_counts;  // With a plan.

  double cpu_s() const;
  const RecordedStageCount& fastest() const;
};

// All recorded searches; empty where the reference data is not there.
std::vector<RecordedSearch> ReadSearches();

// What our search answers instead, by stage count, of those that upstream
// searched.
std::map<int, ScoredPlan> AskOurs(const RecordedSearch& recorded);

// The fastest of `plans`, of the stage counts that upstream searched too. Null
// where there is none.
const ScoredPlan* FastestOf(const RecordedSearch& recorded,
                            const std::map<int, ScoredPlan>& plans);

// A configuration of the fixtures, its lists as runs of [value, count].
ScoredPlan ReadConfiguration(const nlohmann::json& config);

}  // namespace tangram::aceso::reference

#endif  // TANGRAM_TESTS_PARITY_ACESO_REFERENCE_H_
