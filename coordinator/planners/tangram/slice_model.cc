#include "coordinator/planners/tangram/slice_model.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "absl/functional/function_ref.h"
#include "common/base/status_macros.h"
#include "coordinator/planners/tangram/planning_limits.h"

namespace tangram {
namespace {

// Returns `slice` moved so that its first atom is number `begin`.
ModelSlice At(ModelSlice slice, int begin) {
  const int distance = begin - slice.atoms.begin;
  slice.atoms.begin += distance;
  slice.atoms.end += distance;
  return slice;
}

// Asks joins 0 to `num_joins` − 1, at most kMaxBatchQueries at a time. Only the
// joins of one batch are in memory, because each holds copies of its slices.
absl::StatusOr<std::vector<ModelSlice>> JoinAll(
    size_t num_joins, absl::FunctionRef<ConcatenateQuery(size_t)> join,
    SlicePlanSource& source, PlanObserver& observer) {
  std::vector<ModelSlice> joined;
  joined.reserve(num_joins);
  while (joined.size() < num_joins) {
    if (observer.ShouldStop()) return absl::CancelledError("planning stopped");
    std::vector<ConcatenateQuery> batch;
    while (batch.size() < kMaxBatchQueries &&
           joined.size() + batch.size() < num_joins) {
      batch.push_back(join(joined.size() + batch.size()));
    }
    TANGRAM_ASSIGN_OR_RETURN(std::vector<ModelSlice> some,
                             source.Concatenate(batch));
    std::move(some.begin(), some.end(), std::back_inserter(joined));
  }
  return joined;
}

// Returns h(n), the number of atoms in the first part of a slice of n ≥ 2.
int HeadLength(int length) {
  return static_cast<int>(std::bit_ceil(static_cast<unsigned>(length)) / 2);
}

// Returns the classes by the HeadLength of their slices: [0] holds slices of
// two atoms, [1] of three and four, [2] of five to eight.
std::vector<std::vector<int>> ClassesByLevel(const SliceTable& table) {
  std::vector<std::vector<int>> levels;
  for (int c = 0; c < table.num_classes(); ++c) {
    const int length = table.MembersOf(c).front().size();
    if (length < 2) continue;
    const size_t level =
        std::countr_zero(static_cast<unsigned>(HeadLength(length)));
    if (levels.size() <= level) levels.resize(level + 1);
    levels[level].push_back(c);
  }
  return levels;
}

}  // namespace

absl::StatusOr<std::vector<ModelSlice>> JoinGroups(
    std::vector<ModelSlice> atoms, absl::Span<const AtomRange> groups,
    SlicePlanSource& source, PlanObserver& observer) {
  if (groups.size() == atoms.size()) return atoms;
  // The parts of each group that are not joined yet.
  std::vector<std::vector<ModelSlice>> parts;
  for (const AtomRange& group : groups) {
    parts.emplace_back(std::make_move_iterator(atoms.begin() + group.begin),
                       std::make_move_iterator(atoms.begin() + group.end));
  }
  while (true) {
    // Joins neighbours in each group, two by two.
    std::vector<ConcatenateQuery> joins;
    for (const std::vector<ModelSlice>& group : parts) {
      for (size_t i = 0; i + 1 < group.size(); i += 2) {
        joins.push_back({group[i], group[i + 1]});
      }
    }
    if (joins.empty()) break;
    TANGRAM_ASSIGN_OR_RETURN(
        std::vector<ModelSlice> joined,
        JoinAll(
            joins.size(), [&](size_t i) { return std::move(joins[i]); }, source,
            observer));
    auto next = joined.begin();
    for (std::vector<ModelSlice>& group : parts) {
      std::vector<ModelSlice> fewer;
      for (size_t i = 0; i + 1 < group.size(); i += 2) {
        fewer.push_back(std::move(*next++));
      }
      if (group.size() % 2 == 1) fewer.push_back(std::move(group.back()));
      group = std::move(fewer);
    }
  }
  std::vector<ModelSlice> joined;
  for (std::vector<ModelSlice>& group : parts) {
    joined.push_back(std::move(group.front()));
  }
  return joined;
}

absl::StatusOr<std::vector<ModelSlice>> RepresentativeSlices(
    const SliceTable& table, absl::Span<const ModelSlice> atoms,
    SlicePlanSource& source, PlanObserver& observer) {
  std::vector<ModelSlice> slices(table.num_classes());
  for (int a = 0; a < table.num_atoms(); ++a) {
    const int slice_class = table.ClassOf({a, a + 1});
    if (table.MembersOf(slice_class).front().begin != a) continue;
    slices[slice_class] = atoms[a];
  }
  for (const std::vector<int>& classes : ClassesByLevel(table)) {
    const auto join = [&](size_t i) -> ConcatenateQuery {
      const AtomRange range = table.MembersOf(classes[i]).front();
      const int middle = range.begin + HeadLength(range.size());
      return {At(slices[table.ClassOf({range.begin, middle})],
                 atoms[range.begin].atoms.begin),
              At(slices[table.ClassOf({middle, range.end})],
                 atoms[middle].atoms.begin)};
    };
    TANGRAM_ASSIGN_OR_RETURN(std::vector<ModelSlice> joined,
                             JoinAll(classes.size(), join, source, observer));
    for (size_t i = 0; i < classes.size(); ++i) {
      slices[classes[i]] = std::move(joined[i]);
    }
  }
  return slices;
}

}  // namespace tangram
