#include "coordinator/planners/tangram/search_limits.h"

#include "absl/strings/str_cat.h"
#include "coordinator/planners/tangram/planning_limits.h"

namespace tangram {

std::vector<std::string> NotesOn(const SearchLimits& limits) {
  std::vector<std::string> notes;
  if (limits.left_unasked) {
    notes.push_back(absl::StrCat(
        "slice plans took ", kMaxAnswerBytes >> 20,
        " MiB: no more were asked for, so a better plan may exist; fewer "
        "microbatch sizes or layers leave room"));
  }
  if (limits.narrowest_beam < kUnlimitedBeam) {
    notes.push_back(absl::StrCat(
        "composition kept the best ", limits.narrowest_beam,
        " partial pipelines of each slice boundary, so a better plan may "
        "exist"));
  }
  return notes;
}

std::vector<std::string> HidingLimits(const SearchLimits& limits) {
  std::vector<std::string> hiding;
  if (limits.left_unasked) {
    hiding.push_back(absl::StrCat(
        "slice plans took ", kMaxAnswerBytes >> 20,
        " MiB, so some were not asked for: --microbatch asks for fewer"));
  }
  if (limits.cut_short > 0) {
    hiding.push_back(
        absl::StrCat("the parallelizer cut ", limits.cut_short,
                     " answers short: more --effort or a longer --timeout "
                     "gives it more time"));
  }
  if (limits.narrowest_beam < kUnlimitedBeam) {
    hiding.push_back(absl::StrCat(
        "composition kept the best ", limits.narrowest_beam,
        " partial pipelines of each slice boundary: --exclude-island leaves "
        "fewer"));
  }
  return hiding;
}

}  // namespace tangram
