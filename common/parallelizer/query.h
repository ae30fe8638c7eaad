#ifndef TANGRAM_COMMON_PARALLELIZER_QUERY_H_
#define TANGRAM_COMMON_PARALLELIZER_QUERY_H_

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/parallelizer/parallelizer.h"
#include "common/parallelizer/slice_plan_source.h"

// Calls of the Parallelizer interface as data, to be queued, sent to workers
// and cached.
namespace tangram {

struct SliceModelQuery {
  ModelSpec model;
};

// The alternatives of a query and of its answer are in the same order.
using Query =
    std::variant<SliceModelQuery, ConcatenateQuery, ProfileQuery, PairQuery>;
using Answer = std::variant<std::vector<ModelSlice>, ModelSlice,
                            PerformanceProfile, SlicePlanSet>;

// Returns the name of the call in metrics and traces: "parallelize".
const char* KindOf(const Query& query);
const char* KindOf(const Answer& answer);

// The adapter that must answer. Versions are never mixed, because their answers
// may differ.
struct AdapterId {
  std::string name;
  std::string version;
  auto operator<=>(const AdapterId&) const = default;
};

struct AdapterInfo {
  AdapterId id;
  ParallelizerFeatures features;
};

// Returns kInvalidArgument if `query` has an index outside `context`.
absl::Status CheckIndices(const PairContext& context, const Query& query);

// Makes the call. CheckIndices must accept `query`. `memory` may be null.
absl::StatusOr<Answer> AnswerQuery(const Parallelizer& parallelizer,
                                   const PairContext& context,
                                   const Query& query,
                                   const std::function<bool()>& should_stop,
                                   SearchMemory* memory = nullptr);

}  // namespace tangram

#endif  // TANGRAM_COMMON_PARALLELIZER_QUERY_H_
