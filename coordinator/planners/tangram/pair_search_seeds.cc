// The part of PairSearch that asks the first pairs.
#include <iterator>
#include <vector>

#include "absl/algorithm/container.h"
#include "common/base/status_macros.h"
#include "coordinator/planners/tangram/pair_search.h"
#include "coordinator/planners/tangram/seed_pairs.h"

namespace tangram {
namespace {

// How often seeds are asked by what the answers say.
constexpr int kMeasuredRounds = 3;

}  // namespace

// One microbatch size after the other, the most promising first, so that most
// of the others are beyond the limit by then. A search for a runtime also
// learns from the answers what its islands reach, so it asks all.
absl::Status PairSearch::AskSeeds(absl::Span<const PairId> seeds) {
  std::vector<int> sizes(space_.bounds.size());
  absl::c_iota(sizes, 0);
  absl::c_stable_sort(sizes, [this](int a, int b) {
    return space_.bounds[a].IterationSeconds() <
           space_.bounds[b].IterationSeconds();
  });
  std::vector<PairId> batch(seeds.begin(), seeds.end());
  for (const int size : sizes) {
    if (!rules_.fit) {
      batch.clear();
      absl::c_copy_if(seeds, std::back_inserter(batch),
                      [&](const PairId& pair) {
                        return pair.microbatch == size && Matters(pair);
                      });
    }
    TANGRAM_RETURN_IF_ERROR(
        Ask(batch.size(), [&](size_t i) { return FirstQuestion(batch[i]); }));
    std::erase_if(open_,
                  [&](const PairId& pair) { return store_.Asked(pair); });
    TANGRAM_RETURN_IF_ERROR(ComposeAll());
    if (rules_.fit) break;
  }
  return absl::OkStatus();
}

// Each round has better answers to cut the model by.
absl::Status PairSearch::AskMeasuredSeeds(std::vector<PairId>& asked) {
  for (int round = 0; round < kMeasuredRounds; ++round) {
    const std::vector<PairId> wanted = MeasuredSeedPairs(space_, store_);
    std::vector<PairId> seeds;
    absl::c_copy_if(wanted, std::back_inserter(seeds), [&](const PairId& pair) {
      return space_.PairIterationSeconds(pair) <= Limit() &&
             absl::c_binary_search(open_, pair);
    });
    if (seeds.empty()) return absl::OkStatus();
    TANGRAM_RETURN_IF_ERROR(
        Ask(seeds.size(), [&](size_t i) { return FirstQuestion(seeds[i]); }));
    absl::c_copy(seeds, std::back_inserter(asked));
    std::erase_if(open_,
                  [&](const PairId& pair) { return store_.Asked(pair); });
    TANGRAM_RETURN_IF_ERROR(ComposeAll());
  }
  return absl::OkStatus();
}

}  // namespace tangram
