#include "coordinator/dispatch/local_slice_plan_source.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/parallelizer/query.h"
#include "common/sync/mutex.h"

namespace tangram {
namespace {

// Runs task(0, place) … task(count − 1, place) on the caller's thread and those
// that are free, also if they become so later. Threads take indices in order,
// and none after a failure. So the failure with the lowest index is the same
// for any number of threads.
class Batch {
 public:
  using Task = absl::FunctionRef<absl::Status(int, TaskThreads::Place&)>;

  Batch(int count, TaskThreads& threads, Task task,
        const SlicePlanSource::Progress& progress)
      : count_(count), threads_(threads), task_(task), progress_(progress) {}

  absl::Status Run() {
    Work();
    while (true) {
      std::vector<std::jthread> helpers;
      const MutexLock lock(mutex_);
      helpers.swap(helpers_);
      if (helpers.empty()) return error_;
      const MutexUnlock unlock(mutex_);
      helpers.clear();  // Joins. They may have called others.
    }
  }

 private:
  void Work() {
    std::unique_ptr<TaskThreads::Place> place = threads_.TakePlace();
    while (!failed_) {
      const int index = next_++;
      if (index >= count_) break;
      if (index + 1 < count_) CallHelper();
      Take(index, task_(index, *place));
    }
    threads_.GiveBack(std::move(place));
  }

  void CallHelper() {
    if (threads_.TakeUpTo(1) == 0) return;
    const MutexLock lock(mutex_);
    helpers_.emplace_back([this] {
      Work();
      threads_.GiveBack(1);
    });
  }

  void Take(int index, absl::Status status) {
    const MutexLock lock(mutex_);
    if (!status.ok()) {
      if (!failed_.exchange(true) || index < first_failure_) {
        first_failure_ = index;
        error_ = std::move(status);
      }
      return;
    }
    ++done_;
    if (progress_) progress_(done_, count_);
  }

  const int count_;
  TaskThreads& threads_;
  const Task task_;
  const SlicePlanSource::Progress& progress_;
  std::atomic<int> next_ = 0;
  std::atomic<bool> failed_ = false;
  Mutex mutex_;  // Serialises `progress_` too.
  int done_ ABSL_GUARDED_BY(mutex_) = 0;
  int first_failure_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status error_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::jthread> helpers_ ABSL_GUARDED_BY(mutex_);
};

class LocalSlicePlanSource : public SlicePlanSource {
 public:
  LocalSlicePlanSource(const Parallelizer& parallelizer, int num_threads,
                       std::function<bool()> should_stop,
                       const LocalQueryLog& log, TaskThreads* threads)
      : parallelizer_(parallelizer),
        adapter_{parallelizer.name(), parallelizer.version()},
        own_threads_(num_threads),
        threads_(threads == nullptr ? own_threads_ : *threads),
        should_stop_(std::move(should_stop)),
        log_(log) {}

  absl::StatusOr<std::vector<ModelSlice>> SliceModel(
      const ModelSpec& model) override {
    return parallelizer_.SliceModel(model);
  }

  absl::StatusOr<std::vector<ModelSlice>> Concatenate(
      absl::Span<const ConcatenateQuery> queries) override {
    std::vector<ModelSlice> joined;
    joined.reserve(queries.size());
    for (const ConcatenateQuery& query : queries) {
      if (should_stop_ && should_stop_()) {
        return absl::CancelledError("stopped by the caller");
      }
      TANGRAM_ASSIGN_OR_RETURN(
          joined.emplace_back(),
          parallelizer_.Concatenate(query.head, query.tail));
    }
    return joined;
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
                                        const Progress& progress) {
    std::vector<T> answers(queries.size());
    const double asked_s = log_.log == nullptr ? 0 : log_.now_s();
    const auto ask = [&](int i, TaskThreads::Place& place) -> absl::Status {
      if (should_stop_ && should_stop_()) {
        return absl::CancelledError("stopped by the caller");
      }
      const double began_s = log_.log == nullptr ? 0 : log_.now_s();
      absl::StatusOr<Answer> answer = AnswerQuery(
          parallelizer_, context, queries[i], should_stop_, &place.memory);
      if (log_.log != nullptr) {
        Report(context, queries[i], asked_s, began_s, place.number,
               answer.status());
      }
      TANGRAM_RETURN_IF_ERROR(answer.status());
      answers[i] = std::get<T>(*std::move(answer));
      return absl::OkStatus();
    };
    const auto count = static_cast<int>(queries.size());
    TANGRAM_RETURN_IF_ERROR(Batch(count, threads_, ask, progress).Run());
    return answers;
  }

  void Report(const PairContext& context, const Query& query, double asked_s,
              double began_s, int thread, const absl::Status& status) const {
    const double ended_s = log_.now_s();
    log_.log->OnQuery(
        {.adapter = adapter_,
         .context = &context,
         .query = query,
         .asked_s = asked_s,
         .ended_s = ended_s,
         .code = status.code(),
         .attempts = {{.worker = absl::StrCat("thread-", thread + 1),
                       .leased_s = began_s,
                       .ended_s = ended_s,
                       .outcome = status.ok() ? QueryEvent::kAnswered
                                              : QueryEvent::kFailed,
                       .search_s = ended_s - began_s}}});
  }

  const Parallelizer& parallelizer_;
  const AdapterId adapter_;
  TaskThreads own_threads_;
  TaskThreads& threads_;
  const std::function<bool()> should_stop_;
  const LocalQueryLog log_;
};

}  // namespace

std::unique_ptr<SlicePlanSource> CreateLocalSlicePlanSource(
    const Parallelizer& parallelizer, int num_threads,
    std::function<bool()> should_stop, const LocalQueryLog& log,
    TaskThreads* threads) {
  if (num_threads <= 0) {
    num_threads = static_cast<int>(std::thread::hardware_concurrency());
  }
  return std::make_unique<LocalSlicePlanSource>(
      parallelizer, std::max(num_threads, 1), std::move(should_stop), log,
      threads);
}

}  // namespace tangram
