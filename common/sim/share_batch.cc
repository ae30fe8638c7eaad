#include "common/sim/share_batch.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace tangram {

// Adds pipelines in order of fill while they lower the level
//   L = (B + Σ fill/microbatch) / Σ 1/microbatch.
double WaterLevelSeconds(absl::Span<const PipelinePace> pipelines,
                         int64_t num_microbatches) {
  std::vector<PipelinePace> by_fill(pipelines.begin(), pipelines.end());
  std::sort(by_fill.begin(), by_fill.end(),
            [](const PipelinePace& a, const PipelinePace& b) {
              return a.fill_s < b.fill_s;
            });
  double level_s = 0;
  double weighted_fill = static_cast<double>(num_microbatches);
  double rate_per_s = 0;
  for (const PipelinePace& pace : by_fill) {
    // A pipeline that is still filling when the others are done adds nothing.
    if (rate_per_s > 0 && pace.fill_s >= level_s) break;
    weighted_fill += pace.fill_s / pace.microbatch_s;
    rate_per_s += 1 / pace.microbatch_s;
    level_s = weighted_fill / rate_per_s;
  }
  return level_s;
}

// Takes ⌊(L − fill_r) / microbatch_r⌋ − 1 microbatches for pipeline r, and
// assigns the rest one by one to the pipeline that then ends first.
std::vector<int64_t> ShareMicrobatches(absl::Span<const PipelinePace> pipelines,
                                       int64_t num_microbatches) {
  const double level_s = WaterLevelSeconds(pipelines, num_microbatches);
  // The greedy rule gives each pipeline at least its fractional share, rounded
  // down. One less allows for a division that was rounded up.
  std::vector<int64_t> shares(pipelines.size());
  int64_t given = 0;
  for (size_t r = 0; r < pipelines.size(); ++r) {
    const double share =
        (level_s - pipelines[r].fill_s) / pipelines[r].microbatch_s;
    shares[r] = std::max<int64_t>(0, static_cast<int64_t>(share) - 1);
    given += shares[r];
  }
  for (; given < num_microbatches; ++given) {
    size_t first = 0;
    double first_end_s = HUGE_VAL;
    for (size_t r = 0; r < pipelines.size(); ++r) {
      const double end_s = EndSeconds(pipelines[r], shares[r] + 1);
      if (end_s < first_end_s) {
        first = r;
        first_end_s = end_s;
      }
    }
    ++shares[first];
  }
  return shares;
}

}  // namespace tangram
