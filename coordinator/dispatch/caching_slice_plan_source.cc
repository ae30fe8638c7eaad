#include "coordinator/dispatch/caching_slice_plan_source.h"

#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "common/base/status_macros.h"
#include "coordinator/dispatch/query_key.h"

namespace tangram {
namespace {

bool IsSame(const PairContext& a, const PairContext& b) {
  return a.training == b.training && a.islands == b.islands &&
         a.slices == b.slices;
}

class CachingSource : public SlicePlanSource {
 public:
  CachingSource(SlicePlanSource& source, std::shared_ptr<SharedAnswers> answers,
                bool ignores_steps)
      : source_(source),
        answers_(std::move(answers)),
        ignores_steps_(ignores_steps) {}

  absl::StatusOr<std::vector<ModelSlice>> SliceModel(
      const ModelSpec& model) override {
    return source_.SliceModel(model);
  }

  absl::StatusOr<std::vector<ModelSlice>> Concatenate(
      absl::Span<const ConcatenateQuery> queries) override {
    std::vector<ModelSlice> joined(queries.size());
    std::vector<size_t> unknown;
    std::vector<ConcatenateQuery> asked;
    {
      const MutexLock lock(mutex_);
      for (size_t i = 0; i < queries.size(); ++i) {
        const auto known = joined_.find(JoinOf(queries[i]));
        if (known != joined_.end() && known->second.head == queries[i].head &&
            known->second.tail == queries[i].tail) {
          joined[i] = known->second.joined;
        } else {
          unknown.push_back(i);
          asked.push_back(queries[i]);
        }
      }
    }
    if (asked.empty()) return joined;
    TANGRAM_ASSIGN_OR_RETURN(std::vector<ModelSlice> answers,
                             source_.Concatenate(asked));
    const MutexLock lock(mutex_);
    for (size_t i = 0; i < unknown.size(); ++i) {
      joined[unknown[i]] = answers[i];
      if (joined_.size() >= kMostJoined) joined_.clear();
      joined_[JoinOf(asked[i])] = {.head = std::move(asked[i].head),
                                   .tail = std::move(asked[i].tail),
                                   .joined = std::move(answers[i])};
    }
    return joined;
  }

  absl::StatusOr<std::vector<PerformanceProfile>> Profile(
      const PairContext& context,
      absl::Span<const ProfileQuery> queries) override {
    return Ask<PerformanceProfile>(context, queries,
                                   [&](absl::Span<const ProfileQuery> unknown) {
                                     return source_.Profile(context, unknown);
                                   });
  }

  absl::StatusOr<std::vector<SlicePlanSet>> Parallelize(
      const PairContext& context, absl::Span<const PairQuery> queries,
      const Progress& progress) override {
    return Ask<SlicePlanSet>(
        context, queries, [&](absl::Span<const PairQuery> unknown) {
          answers_->NoteAsked(static_cast<int64_t>(unknown.size()));
          return source_.Parallelize(context, unknown, progress);
        });
  }

  absl::StatusOr<std::vector<SharedAnswer>> ParallelizeShared(
      const PairContext& context, absl::Span<const PairQuery> queries,
      const Progress& progress) override {
    const SharedContext named = Named(context);
    QuestionWriter questions(QueryScope{}, named.get());
    std::vector<SharedAnswer> answers;
    std::vector<QueryKey> keys;
    std::vector<size_t> unknown;
    std::vector<PairQuery> asked;
    for (size_t i = 0; i < queries.size(); ++i) {
      keys.push_back(questions.KeyOf(AsKnown(queries[i])));
      answers.push_back(answers_->FindUnpacked(keys[i]));
      if (answers[i].set != nullptr) continue;
      unknown.push_back(i);
      asked.push_back(queries[i]);
    }
    if (asked.empty()) return answers;
    TANGRAM_ASSIGN_OR_RETURN(std::vector<SlicePlanSet> sets,
                             Parallelize(context, asked, progress));
    for (size_t k = 0; k < unknown.size(); ++k) {
      const size_t i = unknown[k];
      answers[i] = answers_->KeepUnpacked(keys[i], std::move(sets[k]));
    }
    return answers;
  }

 private:
  // Returns the digests of the parts of a context. A search asks all its
  // batches with the same one, and digests take longer than comparing. Several
  // searches may ask at a time.
  SharedContext Named(const PairContext& context) {
    std::vector<SharedContext> known;
    {
      const MutexLock lock(mutex_);
      known = named_;
    }
    for (SharedContext& named : known) {
      if (IsSame(context, named->pairs)) return std::move(named);
    }
    auto named = std::make_shared<const QueryContext>(context);
    const MutexLock lock(mutex_);
    if (named_.size() == kMostNamed) named_.pop_back();
    named_.insert(named_.begin(), named);
    return named;
  }

  // Returns the query by which an answer is known.
  static const ProfileQuery& AsKnown(const ProfileQuery& query) {
    return query;
  }
  PairQuery AsKnown(PairQuery query) const {
    if (ignores_steps_) query.max_search_steps = 0;
    return query;
  }

  // Returns the answers to `queries` in their order. Asks the source for those
  // that are neither known nor asked by another.
  template <typename T, typename PlacedQuery, typename AskSource>
  absl::StatusOr<std::vector<T>> Ask(const PairContext& context,
                                     absl::Span<const PlacedQuery> queries,
                                     const AskSource& ask_source) {
    const SharedContext named = Named(context);
    QuestionWriter questions(QueryScope{}, named.get());
    std::vector<QueryKey> keys;
    std::vector<size_t> open;
    for (const PlacedQuery& query : queries) {
      open.push_back(keys.size());
      keys.push_back(questions.KeyOf(AsKnown(query)));
    }
    std::vector<T> answers(queries.size());
    while (!open.empty()) {
      std::vector<size_t> claimed;
      std::vector<size_t> others;
      for (const size_t i : open) {
        const SharedAnswers::Found found = answers_->FindOrClaim(
            keys[i], claimed.size() < answers_->most_claims());
        if (found.answer != nullptr) {
          answers[i] = std::get<T>(found.answer->Unpack());
        } else {
          (found.is_claimed ? claimed : others).push_back(i);
        }
      }
      TANGRAM_RETURN_IF_ERROR(
          AskClaimed(queries, keys, claimed, ask_source, answers));
      if (claimed.empty() && !others.empty()) {
        answers_->Wait(keys[others.front()]);
      }
      open = std::move(others);
    }
    return answers;
  }

  template <typename T, typename PlacedQuery, typename AskSource>
  absl::Status AskClaimed(absl::Span<const PlacedQuery> queries,
                          absl::Span<const QueryKey> keys,
                          absl::Span<const size_t> claimed,
                          const AskSource& ask_source,
                          std::vector<T>& answers) {
    if (claimed.empty()) return absl::OkStatus();
    std::vector<PlacedQuery> unknown;
    std::vector<QueryKey> unknown_keys;
    for (const size_t i : claimed) {
      unknown.push_back(queries[i]);
      unknown_keys.push_back(keys[i]);
    }
    absl::StatusOr<std::vector<T>> asked = ask_source(unknown);
    if (!asked.ok()) {
      answers_->Release(unknown_keys);
      return asked.status();
    }
    for (size_t k = 0; k < claimed.size(); ++k) {
      answers_->Insert(unknown_keys[k], (*asked)[k]);
      answers[claimed[k]] = std::move((*asked)[k]);
    }
    return absl::OkStatus();
  }

  SlicePlanSource& source_;
  const std::shared_ptr<SharedAnswers> answers_;
  const bool ignores_steps_;
  // A join is found by where the slices are, and what they hold.
  using Join = std::array<int64_t, 5>;
  static Join JoinOf(const ConcatenateQuery& query) {
    return {query.head.atoms.begin, query.head.atoms.end, query.tail.atoms.end,
            static_cast<int64_t>(query.head.fingerprint),
            static_cast<int64_t>(query.tail.fingerprint)};
  }
  struct Joined {
    ModelSlice head;
    ModelSlice tail;
    ModelSlice joined;
  };
  static constexpr size_t kMostJoined = 1 << 14;

  static constexpr size_t kMostNamed = 3;
  Mutex mutex_;
  // The last contexts, the newest first.
  std::vector<SharedContext> named_ ABSL_GUARDED_BY(mutex_);
  // Every search for a model joins the same slices.
  absl::flat_hash_map<Join, Joined> joined_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<SlicePlanSource> CreateCachingSlicePlanSource(
    SlicePlanSource& source, std::shared_ptr<SharedAnswers> answers,
    bool ignores_steps) {
  return std::make_unique<CachingSource>(source, std::move(answers),
                                         ignores_steps);
}

std::unique_ptr<SlicePlanSource> CreateCachingSlicePlanSource(
    SlicePlanSource& source, int64_t max_bytes) {
  return CreateCachingSlicePlanSource(
      source, std::make_shared<SharedAnswers>(max_bytes));
}

}  // namespace tangram
