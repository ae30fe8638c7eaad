#ifndef TANGRAM_CLI_PRINT_BAND_TEXT_H_
#define TANGRAM_CLI_PRINT_BAND_TEXT_H_

#include <string>

#include "common/planner/cluster_planner.h"

namespace tangram {

// Returns where the iteration time of a plan is expected, "11.2 s to 14.0 s".
// Empty if the result has no band.
std::string ExpectedTime(const PlanResult& result);

// Returns a band in percent of the prediction, "-8/+14 %".
std::string BandLabel(const Band& band);

// Returns whether the iteration times of two plans differ by less than
// predictions can tell apart. The wider of their bands counts. False without
// bands.
bool Tie(const PlanResult& a, const PlanResult& b);

}  // namespace tangram

#endif  // TANGRAM_CLI_PRINT_BAND_TEXT_H_
