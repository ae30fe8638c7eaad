#ifndef TANGRAM_TESTS_PARITY_ACESO_SEARCH_H_
#define TANGRAM_TESTS_PARITY_ACESO_SEARCH_H_

#include <cstdint>
#include <map>
#include <set>

#include "common/domain/island.h"
#include "common/domain/model_slice.h"
#include "common/parallelizer/parallelizer.h"
#include "tests/parity/aceso_cost.h"
#include "worker/adapters/aceso/aceso_tables.h"

namespace tangram::aceso::reference {

// Primitives for each of these searches.
inline constexpr int64_t kStepsPerSearch = 128;

struct ModelWidth {
  int hidden_size = 0;
  int num_heads = 0;
};

// What our search is asked, so that its cost library answers with upstream's
// measurements: the times of all operators, with the tp collectives in them,
// what whole layers keep, and the links. Data parallelism costs nothing, as in
// Aceso's formula. Ours has fewer operators, attention's four being one, and
// its own rules for memory. A transfer is paid for by its sender or, as in
// Aceso's formula, by both ends: on one node both are searched.
class Question {
 public:
  Question(const Setting& setting, const ModelWidth& width, int num_gpus);

  // By stage count, the fastest plan under Aceso's formula of those that our
  // search found and that fit in memory under it. There is one search of at
  // most `max_steps` for each of `stage_counts`, microbatch size and guess at
  // the memory. Cuts and degrees are ours, recomputation is by Aceso's rule.
  std::map<int, ScoredPlan> Ask(const std::set<int>& stage_counts,
                                int64_t max_steps) const;

 private:
  void AddMeasurements(const LayerSpec& layer);
  void Search(TransferPayer payer, int microbatch, double memory_bytes,
              const std::set<int>& stage_counts, int64_t max_steps,
              std::map<int, ScoredPlan>& fastest) const;

  const Setting& setting_;
  TrainingOptions training_;
  ModelSlice slice_;
  IslandSpec island_;
};

}  // namespace tangram::aceso::reference

#endif  // TANGRAM_TESTS_PARITY_ACESO_SEARCH_H_
