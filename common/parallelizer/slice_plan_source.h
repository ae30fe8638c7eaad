#ifndef TANGRAM_COMMON_PARALLELIZER_SLICE_PLAN_SOURCE_H_
#define TANGRAM_COMMON_PARALLELIZER_SLICE_PLAN_SOURCE_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/base/infinity.h"
#include "common/base/status_macros.h"
#include "common/parallelizer/parallelizer.h"

namespace tangram {

// `tail` starts where `head` ends.
struct ConcatenateQuery {
  ModelSlice head;
  ModelSlice tail;
};

struct ProfileQuery {
  int slice = 0;   // Index into PairContext::slices.
  int island = 0;  // Index into PairContext::islands.
  int pipeline_microbatch_size = 1;
};

struct PairQuery {
  int slice = 0;   // Index into PairContext::slices.
  int island = 0;  // Index into PairContext::islands.
  int pipeline_microbatch_size = 1;
  int trailing_stages = 0;
  int64_t max_search_steps = 0;
  double limit_s = kInfinity;
};

// The data that the queries of one batch refer to, sent once per batch.
struct PairContext {
  TrainingOptions training;
  std::vector<ModelSlice> slices;
  std::vector<IslandSpec> islands;
};

// An answer that several searches may hold, so that it is not copied.
struct SharedAnswer {
  // Answers of one name are equal. 128 bits of the content of the question; all
  // 0: the answer has no name.
  using Name = std::array<uint64_t, 2>;

  std::shared_ptr<const SlicePlanSet> set;
  Name name = {};
};

// The source of slice plans for the planner: threads in this process, or
// workers behind a coordinator. The planner asks in batches and never sees
// threads. The source decides on fan-out, cache, retry and deadline.
//
// Answers come in the order of the queries and do not depend on the number of
// workers. Errors: the error of the first failing query in order, kCancelled,
// kDeadlineExceeded, or kUnavailable if no worker is left. Thread-safety: one
// call at a time.
class SlicePlanSource {
 public:
  // Called from time to time from any thread, one call at a time.
  using Progress = std::function<void(int done, int total)>;

  virtual ~SlicePlanSource() = default;

  virtual absl::StatusOr<std::vector<ModelSlice>> SliceModel(
      const ModelSpec& model) = 0;

  // One batch is one round trip for any number of joins.
  virtual absl::StatusOr<std::vector<ModelSlice>> Concatenate(
      absl::Span<const ConcatenateQuery> queries) = 0;

  virtual absl::StatusOr<std::vector<PerformanceProfile>> Profile(
      const PairContext& context, absl::Span<const ProfileQuery> queries) = 0;

  virtual absl::StatusOr<std::vector<SlicePlanSet>> Parallelize(
      const PairContext& context, absl::Span<const PairQuery> queries,
      const Progress& progress) = 0;

  // Answers as Parallelize does.
  virtual absl::StatusOr<std::vector<SharedAnswer>> ParallelizeShared(
      const PairContext& context, absl::Span<const PairQuery> queries,
      const Progress& progress) {
    TANGRAM_ASSIGN_OR_RETURN(std::vector<SlicePlanSet> sets,
                             Parallelize(context, queries, progress));
    std::vector<SharedAnswer> answers;
    for (SlicePlanSet& set : sets) {
      answers.push_back(
          {.set = std::make_shared<const SlicePlanSet>(std::move(set))});
    }
    return answers;
  }
};

}  // namespace tangram

#endif  // TANGRAM_COMMON_PARALLELIZER_SLICE_PLAN_SOURCE_H_
