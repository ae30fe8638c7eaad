#ifndef TANGRAM_CLI_PRINT_PRINT_CERTIFICATE_H_
#define TANGRAM_CLI_PRINT_PRINT_CERTIFICATE_H_

#include "cli/print/console.h"
#include "common/planner/cluster_planner.h"

namespace tangram {

// Prints how much longer the plan of `result` takes at most than the best plan
// of each scope: compositions of the slice plans that were answered, of all
// that could have been, and any plan at all.
void PrintCertificate(const PlanResult& result, Console& console);

}  // namespace tangram

#endif  // TANGRAM_CLI_PRINT_PRINT_CERTIFICATE_H_
