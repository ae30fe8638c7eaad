#ifndef TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_START_H_
#define TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_START_H_

#include <optional>

#include "worker/adapters/aceso/aceso_config.h"
#include "worker/adapters/aceso/aceso_tables.h"

namespace tangram::aceso {

// Returns a complete configuration of `num_stages` stages from which to search.
// Stages have about equal numbers of GPUs, the degrees that suit each best, and
// balanced cuts. Empty if the slice or the island is too small for that many
// stages.
std::optional<Configuration> StartConfiguration(CostTables& tables,
                                                int num_stages);

}  // namespace tangram::aceso

#endif  // TANGRAM_WORKER_ADAPTERS_ACESO_ACESO_START_H_
