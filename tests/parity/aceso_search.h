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

// Limit on the primitives of each search.
inline constexpr int64_t kStepsPerSearch = 128;

struct ModelWidth {
  int hidden_size = 0;
  int num_heads = 0;
};

// A question to our search. The cost library answers it with upstream's
// measurements: the times of all operators with their tp collectives, the
// activations that whole layers keep, and the links. As in Aceso's formula,
// data parallelism costs nothing. Ours has fewer operators, because it counts
// attention's four as one, and its own rules for memory. The sender pays for a
// transfer or, as in Aceso's formula, both ends do; on one node, both are
// searched.
class Question {
 public:
  Question(const Setting& setting, const ModelWidth& width, int num_gpus);

  // Returns the fastest plan of each stage count under Aceso's formula, among
  // the plans of our search that fit under it. Runs one search of at most
  // `max_steps` for each of `stage_counts`, each microbatch size and each
  // memory size. Cuts and degrees are ours; recomputation follows Aceso's rule.
  std::map<int, ScoredPlan> Ask(const std::set<int>& stage_counts,
                                int64_t max_steps) const;

 private:
  void AddMeasurements(const LayerSpec& layer,
                       std::vector<MeasuredOperator>& operators,
                       std::vector<MeasuredLayer>& layers) const;
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
