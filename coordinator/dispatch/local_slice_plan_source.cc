#include "coordinator/dispatch/local_slice_plan_source.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "common/base/status_macros.h"
#include "common/parallelizer/query.h"

namespace tangram {
namespace {

// Runs task(0) … task(count − 1) on up to `num_threads` threads. Indices are
// handed out in order and none is handed out after a failure, so that the
// failure with the lowest index is the same whatever the number of threads.
absl::Status RunInOrder(int num_threads, int count,
                        const std::function<absl::Status(int)>& task,
                        const SlicePlanSource::Progress& progress) {
  std::atomic<int> next = 0;
  std::atomic<bool> failed = false;
  std::mutex mutex;  // Guards what follows and serialises `progress`.
  int done = 0;
  int first_failure = count;
  absl::Status error;
  const auto work = [&] {
    while (!failed) {
      const int index = next++;
      if (index >= count) return;
      absl::Status status = task(index);
      std::lock_guard lock(mutex);
      if (!status.ok()) {
        failed = true;
        if (index < first_failure) {
          first_failure = index;
          error = std::move(status);
        }
        continue;
      }
      ++done;
      if (progress) progress(done, count);
    }
  };

  std::vector<std::jthread> helpers;
  for (int i = 1; i < std::min(num_threads, count); ++i) {
    helpers.emplace_back(work);
  }
  work();
  helpers.clear();  // Joins.
  return error;
}

class LocalSlicePlanSource : public SlicePlanSource {
 public:
  LocalSlicePlanSource(const Parallelizer& parallelizer, int num_threads,
                       std::function<bool()> should_stop)
      : parallelizer_(parallelizer),
        num_threads_(num_threads),
        should_stop_(std::move(should_stop)) {}

  absl::StatusOr<std::vector<ModelSlice>> SliceModel(
      const ModelSpec& model) override {
    return parallelizer_.SliceModel(model);
  }

  absl::StatusOr<ModelSlice> Concatenate(const ModelSlice& head,
                                         const ModelSlice& tail) override {
    return parallelizer_.Concatenate(head, tail);
  }

  absl::StatusOr<std::vector<PerformanceProfile>> Profile(
      const PairContext& context,
      absl::Span<const ProfileQuery> queries) override {
    return AskAll<PerformanceProfile>(context, queries, nullptr);
  }

  absl::StatusOr<std::vector<SlicePlanSet>> Parallelize(
      const PairContext& context, absl::Span<const PairQuery> queries,
      const Progress& progress) override {
    return AskAll<SlicePlanSet>(context, queries, progress);
  }

 private:
  template <typename T, typename PlacedQuery>
  absl::StatusOr<std::vector<T>> AskAll(const PairContext& context,
                                        absl::Span<const PlacedQuery> queries,
                                        const Progress& progress) const {
    std::vector<T> answers(queries.size());
    const auto ask = [&](int i) -> absl::Status {
      if (should_stop_ && should_stop_()) {
        return absl::CancelledError("stopped by the caller");
      }
      TANGRAM_ASSIGN_OR_RETURN(
          Answer answer,
          AnswerQuery(parallelizer_, context, queries[i], should_stop_));
      answers[i] = std::get<T>(std::move(answer));
      return absl::OkStatus();
    };
    TANGRAM_RETURN_IF_ERROR(RunInOrder(
        num_threads_, static_cast<int>(queries.size()), ask, progress));
    return answers;
  }

  const Parallelizer& parallelizer_;
  const int num_threads_;
  const std::function<bool()> should_stop_;
};

}  // namespace

std::unique_ptr<SlicePlanSource> CreateLocalSlicePlanSource(
    const Parallelizer& parallelizer, int num_threads,
    std::function<bool()> should_stop) {
  if (num_threads <= 0) {
    num_threads = static_cast<int>(std::thread::hardware_concurrency());
  }
  return std::make_unique<LocalSlicePlanSource>(
      parallelizer, std::max(num_threads, 1), std::move(should_stop));
}

}  // namespace tangram
