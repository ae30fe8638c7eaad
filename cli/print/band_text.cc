#include "cli/print/band_text.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/format.h"

namespace tangram {

std::string ExpectedTime(const PlanResult& result) {
  if (!result.band) return "";
  const double time_s = result.iteration_time_s();
  return absl::StrCat(FormatSeconds(time_s * result.band->time.low), " to ",
                      FormatSeconds(time_s * result.band->time.high));
}

std::string BandLabel(const Band& band) {
  return absl::StrFormat("%+.0f/%+.0f %%", 100 * (band.low - 1),
                         100 * (band.high - 1));
}

bool Tie(const PlanResult& a, const PlanResult& b) {
  if (!a.band || !b.band) return false;
  const auto [faster_s, slower_s] =
      std::minmax({a.iteration_time_s(), b.iteration_time_s()});
  return slower_s < faster_s * std::max(a.band->tie, b.band->tie);
}

}  // namespace tangram
