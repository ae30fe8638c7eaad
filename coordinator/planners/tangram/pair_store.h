#ifndef TANGRAM_COORDINATOR_PLANNERS_TANGRAM_PAIR_STORE_H_
#define TANGRAM_COORDINATOR_PLANNERS_TANGRAM_PAIR_STORE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "common/domain/slice_plan.h"
#include "common/parallelizer/slice_plan_source.h"
#include "coordinator/composition/candidate.h"

namespace tangram {

// Identifies a question to the parallelizer, apart from the number of trailing
// stages. The fields are indices into the microbatch sizes, the slice classes
// and the island classes of a SearchSpace.
struct PairId {
  int microbatch = 0;
  int slice_class = 0;
  int island_class = 0;
  auto operator<=>(const PairId&) const = default;
};

// Holds all answers of the parallelizer, by pair. References stay valid. A pair
// that was not asked takes the size of a pointer. Not thread-safe.
class PairStore {
 public:
  PairStore(int num_microbatch_sizes, int num_slice_classes,
            int num_island_classes);

  bool Asked(const PairId& id) const { return entries_[Index(id)] != nullptr; }
  // Returns whether the answers have reached kMaxAnswerBytes. Then nothing more
  // should be asked.
  bool is_full() const;

  // Adds an answer to a question with this limit (PairQuery::limit_s), at least
  // that of earlier questions for the pair, with its coverage of trailing
  // stages (SettledCoverage). Its plans join those of earlier answers for the
  // same pair. A plan with the stages of an earlier one is not kept twice: it
  // only raises the claim of that one.
  void Add(const PairId& id, double limit_s, int covers_trailing_stages,
           SharedAnswer answer);
  // Likewise for an answer that nothing else holds, with its own coverage.
  void Add(const PairId& id, double limit_s, SlicePlanSet answer);

  const PairCandidates& CandidatesOf(const PairId& id) const {
    return EntryOf(id).candidates;
  }
  // Returns the plans in the order of CandidatesOf(id).candidates.
  absl::Span<const SlicePlan> PlansOf(const PairId& id) const {
    return EntryOf(id).plans();
  }
  // Returns the name of the plans; all 0: they have none.
  SharedAnswer::Name NameOf(const PairId& id) const {
    return EntryOf(id).only.name;
  }
  // Returns the limit in seconds with which the pair was asked; 0: not asked.
  double LimitOf(const PairId& id) const { return EntryOf(id).limit_s; }
  const std::optional<Infeasible>& InfeasibleOf(const PairId& id) const {
    return EntryOf(id).infeasible;
  }

 private:
  struct Entry {
    PairCandidates candidates;
    SharedAnswer only;                  // As long as there is just one.
    std::vector<SlicePlan> of_several;  // Afterwards.
    std::optional<Infeasible> infeasible;
    double limit_s = 0;

    absl::Span<const SlicePlan> plans() const {
      if (only.set != nullptr) return only.set->plans;
      return of_several;
    }
  };

  void Merge(const SlicePlanSet& answer, Entry& entry);

  size_t Index(const PairId& id) const {
    return (static_cast<size_t>(id.microbatch) * num_slice_classes_ +
            id.slice_class) *
               num_island_classes_ +
           id.island_class;
  }

  const Entry& EntryOf(const PairId& id) const {
    const std::unique_ptr<Entry>& entry = entries_[Index(id)];
    return entry == nullptr ? not_asked_ : *entry;
  }

  int num_slice_classes_;
  int num_island_classes_;
  std::vector<std::unique_ptr<Entry>> entries_;
  const Entry not_asked_;
  int64_t bytes_ = 0;  // Estimated memory of all entries.
};

}  // namespace tangram

#endif  // TANGRAM_COORDINATOR_PLANNERS_TANGRAM_PAIR_STORE_H_
