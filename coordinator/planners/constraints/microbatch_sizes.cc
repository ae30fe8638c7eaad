#include "coordinator/planners/constraints/microbatch_sizes.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/domain/limits.h"

namespace tangram {

std::vector<int> DivisorsOf(int n) {
  std::vector<int> divisors;
  for (int64_t small = 1; small * small <= n; ++small) {
    if (n % small != 0) continue;
    divisors.push_back(static_cast<int>(small));
    if (small * small != n) divisors.push_back(static_cast<int>(n / small));
  }
  std::sort(divisors.begin(), divisors.end());
  return divisors;
}

absl::StatusOr<std::vector<int>> MicrobatchSizes(const PlanRequest& request) {
  const int batch = request.training.global_batch_size;
  if (batch <= 0 || batch > kMaxBatch) {
    return absl::InvalidArgumentError(absl::StrCat(
        "training.global_batch_size: ", batch, "; expected ",
        batch <= 0 ? "a positive number of sequences"
                   : absl::StrCat("at most ", kMaxBatch, " sequences")));
  }
  std::vector<int> sizes = DivisorsOf(batch);
  const int wanted = request.pipeline_microbatch_size;
  if (wanted == 0) return sizes;
  if (wanted < 0 || batch % wanted != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("pipeline_microbatch_size: ", wanted,
                     "; expected a divisor of the global batch size ", batch,
                     " (", absl::StrJoin(sizes, ", "), ") or 0 to try all"));
  }
  return std::vector<int>{wanted};
}

}  // namespace tangram
