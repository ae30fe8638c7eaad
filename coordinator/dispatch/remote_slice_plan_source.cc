#include "coordinator/dispatch/remote_slice_plan_source.h"

#include <utility>
#include <variant>
#include <vector>

#include "common/base/status_macros.h"

namespace tangram {
namespace {

class PooledSource : public RemoteSlicePlanSource {
 public:
  PooledSource(WorkerPool& pool, AdapterId adapter,
               std::function<bool()> should_stop, QueryLog* log,
               BatchShare share, WaitHooks hooks)
      : pool_(pool),
        adapter_(std::move(adapter)),
        should_stop_(std::move(should_stop)),
        log_(log),
        share_(std::move(share)),
        hooks_(std::move(hooks)) {}

  // Asks for the layers alone. Answers do not depend on the name of the model
  // or on its details, which may tell a worker what the caller works on.
  absl::StatusOr<std::vector<ModelSlice>> SliceModel(
      const ModelSpec& model) override {
    return AskOne<std::vector<ModelSlice>>(
        SliceModelQuery{{.layers = model.layers}});
  }

  // Asks as if each head began at atom 0. The answer does not depend on the
  // position otherwise, so one cached answer serves every position.
  absl::StatusOr<std::vector<ModelSlice>> Concatenate(
      absl::Span<const ConcatenateQuery> queries) override {
    std::vector<Query> moved;
    moved.reserve(queries.size());
    for (const ConcatenateQuery& query : queries) {
      ConcatenateQuery at_zero = query;
      Move(at_zero.head, -query.head.atoms.begin);
      Move(at_zero.tail, -query.head.atoms.begin);
      moved.push_back(std::move(at_zero));
    }
    TANGRAM_ASSIGN_OR_RETURN(std::vector<ModelSlice> joined,
                             Ask<ModelSlice>(nullptr, moved, nullptr));
    for (size_t i = 0; i < joined.size(); ++i) {
      Move(joined[i], queries[i].head.atoms.begin);
    }
    return joined;
  }

  absl::StatusOr<std::vector<PerformanceProfile>> Profile(
      const PairContext& context,
      absl::Span<const ProfileQuery> queries) override {
    return Ask<PerformanceProfile>(ContextOf(context),
                                   {queries.begin(), queries.end()}, nullptr);
  }

  absl::StatusOr<std::vector<SlicePlanSet>> Parallelize(
      const PairContext& context, absl::Span<const PairQuery> queries,
      const Progress& progress) override {
    return Ask<SlicePlanSet>(ContextOf(context),
                             {queries.begin(), queries.end()}, progress);
  }

  int64_t cache_hits() const override { return cache_hits_; }
  const absl::Status& failure() const override { return failure_; }
  bool failed_unproven() const override { return failed_unproven_; }

 private:
  static void Move(ModelSlice& slice, int distance) {
    slice.atoms.begin += distance;
    slice.atoms.end += distance;
  }

  static SharedContext ContextOf(const PairContext& context) {
    return std::make_shared<const QueryContext>(context);
  }

  template <typename T>
  absl::StatusOr<T> AskOne(Query query) {
    TANGRAM_ASSIGN_OR_RETURN(std::vector<T> answers,
                             Ask<T>(nullptr, {std::move(query)}, nullptr));
    return std::move(answers.front());
  }

  template <typename T>
  absl::StatusOr<std::vector<T>> Ask(const SharedContext& context,
                                     const std::vector<Query>& queries,
                                     const Progress& progress) {
    if (hooks_.on_wait) hooks_.on_wait();
    absl::StatusOr<WorkerPool::BatchResult> result =
        pool_.Run(adapter_, context, queries,
                  {.progress = progress,
                   .should_stop = should_stop_,
                   .log = log_,
                   .failed_unproven = &failed_unproven_},
                  share_);
    if (hooks_.on_resume) hooks_.on_resume();
    if (!result.ok()) {
      // A caller that stops is no failure.
      if (!absl::IsCancelled(result.status())) failure_ = result.status();
      return result.status();
    }
    cache_hits_ += result->cache_hits;
    std::vector<T> answers;
    answers.reserve(result->answers.size());
    for (Answer& answer : result->answers) {
      answers.push_back(std::get<T>(std::move(answer)));
    }
    return answers;
  }

  WorkerPool& pool_;
  const AdapterId adapter_;
  const std::function<bool()> should_stop_;
  QueryLog* const log_;
  const BatchShare share_;
  const WaitHooks hooks_;
  int64_t cache_hits_ = 0;
  absl::Status failure_;
  bool failed_unproven_ = false;
};

}  // namespace

std::unique_ptr<RemoteSlicePlanSource> CreateRemoteSlicePlanSource(
    WorkerPool& pool, const AdapterId& adapter,
    std::function<bool()> should_stop, QueryLog* log, BatchShare share,
    WaitHooks hooks) {
  return std::make_unique<PooledSource>(pool, adapter, std::move(should_stop),
                                        log, std::move(share),
                                        std::move(hooks));
}

}  // namespace tangram
