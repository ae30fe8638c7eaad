#ifndef TANGRAM_COORDINATOR_COMPOSITION_EARLIER_ALIKE_H_
#define TANGRAM_COORDINATOR_COMPOSITION_EARLIER_ALIKE_H_

#include <cstdint>
#include <functional>
#include <vector>

namespace tangram {

// Alike islands can change places in any pipeline. A search that builds
// pipelines from the back leaves out none but such copies if it takes an island
// only when all that are alike and before it are in use. Then n alike islands
// have n + 1 sets, not 2^n.
//
// Returns for each island those before it (a bit each) to which it is alike.
inline std::vector<uint32_t> EarlierAlike(
    int num_islands, const std::function<bool(int a, int b)>& are_alike) {
  std::vector<uint32_t> earlier(num_islands);
  for (int island = 0; island < num_islands; ++island) {
    for (int other = 0; other < island; ++other) {
      if (are_alike(other, island)) earlier[island] |= uint32_t{1} << other;
    }
  }
  return earlier;
}

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_COMPOSITION_EARLIER_ALIKE_H_
