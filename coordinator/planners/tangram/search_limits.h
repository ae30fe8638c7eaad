#ifndef TANGRAM_COORDINATOR_PLANNERS_TANGRAM_SEARCH_LIMITS_H_
#define TANGRAM_COORDINATOR_PLANNERS_TANGRAM_SEARCH_LIMITS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "coordinator/composition/compose_pipeline.h"

namespace tangram {

// The limits that a search of pairs met.
struct SearchLimits {
  bool left_unasked = false;  // The store was full before all were asked.
  int64_t cut_short = 0;      // Answers that the parallelizer cut short.
  int narrowest_beam = kUnlimitedBeam;  // In all compositions.
};

// Returns notes for people on what the search skipped.
std::vector<std::string> NotesOn(const SearchLimits& limits);

// Returns the limits that may hide a plan, each with the option that lifts it.
std::vector<std::string> HidingLimits(const SearchLimits& limits);

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_TANGRAM_SEARCH_LIMITS_H_
