#include "common/domain/mixed_stage.h"

#include <cstddef>
#include <cstdint>
#include <numeric>

namespace tangram {

const char* StageSharingName(StageSharing sharing) {
  switch (sharing) {
    case StageSharing::kLockStep:
      return "lock-step";
    case StageSharing::kRouted:
      return "routed";
  }
  return "";
}

// Compares (2 taken_a + 1) / share_a with (2 taken_b + 1) / share_b by
// cross-multiplication, so ties are exact.
std::vector<int> RouteMicrobatches(absl::Span<const int> shares) {
  const int64_t total =
      std::accumulate(shares.begin(), shares.end(), int64_t{0});
  std::vector<int64_t> taken(shares.size());
  std::vector<int> route;
  route.reserve(total);
  for (int64_t k = 0; k < total; ++k) {
    size_t next = 0;
    for (size_t g = 1; g < shares.size(); ++g) {
      if ((2 * taken[g] + 1) * shares[next] <
          (2 * taken[next] + 1) * shares[g]) {
        next = g;
      }
    }
    ++taken[next];
    route.push_back(static_cast<int>(next));
  }
  return route;
}

}  // namespace tangram
