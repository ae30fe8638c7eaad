#include "common/parallelizer/query.h"

#include <iterator>
#include <variant>

#include "absl/strings/str_cat.h"
#include "common/base/field_error.h"

namespace tangram {
namespace {

// Names in the order of Query's alternatives.
constexpr const char* kKinds[] = {"slice_model", "concatenate", "profile",
                                  "parallelize"};
static_assert(std::size(kKinds) == std::variant_size_v<Query>);
static_assert(std::size(kKinds) == std::variant_size_v<Answer>);

absl::Status CheckIndex(const char* field, int index, size_t size) {
  if (index >= 0 && index < static_cast<int>(size)) return absl::OkStatus();
  return FieldError(field, index, absl::StrCat("an index below ", size));
}

struct IndexChecker {
  const PairContext& context;

  absl::Status operator()(const SliceModelQuery&) { return absl::OkStatus(); }
  absl::Status operator()(const ConcatenateQuery&) { return absl::OkStatus(); }
  template <typename PlacedQuery>
  absl::Status operator()(const PlacedQuery& query) {
    absl::Status status =
        CheckIndex("slice", query.slice, context.slices.size());
    status.Update(CheckIndex("island", query.island, context.islands.size()));
    return status;
  }
};

struct Caller {
  const Parallelizer& parallelizer;
  const PairContext& context;
  const std::function<bool()>& should_stop;
  SearchMemory* const memory;

  absl::StatusOr<Answer> operator()(const SliceModelQuery& query) {
    return parallelizer.SliceModel(query.model);
  }
  absl::StatusOr<Answer> operator()(const ConcatenateQuery& query) {
    return parallelizer.Concatenate(query.head, query.tail);
  }
  absl::StatusOr<Answer> operator()(const ProfileQuery& query) {
    return parallelizer.Profile(
        context.slices[query.slice], context.islands[query.island],
        {.training = context.training,
         .pipeline_microbatch_size = query.pipeline_microbatch_size,
         .memory = memory});
  }
  absl::StatusOr<Answer> operator()(const PairQuery& query) {
    return parallelizer.Parallelize(
        context.slices[query.slice], context.islands[query.island],
        {.training = context.training,
         .pipeline_microbatch_size = query.pipeline_microbatch_size,
         .trailing_stages = query.trailing_stages,
         .max_search_steps = query.max_search_steps,
         .limit_s = query.limit_s,
         .should_stop = should_stop,
         .memory = memory});
  }
};

}  // namespace

const char* KindOf(const Query& query) { return kKinds[query.index()]; }

const char* KindOf(const Answer& answer) { return kKinds[answer.index()]; }

absl::Status CheckIndices(const PairContext& context, const Query& query) {
  return std::visit(IndexChecker{context}, query);
}

absl::StatusOr<Answer> AnswerQuery(const Parallelizer& parallelizer,
                                   const PairContext& context,
                                   const Query& query,
                                   const std::function<bool()>& should_stop,
                                   SearchMemory* memory) {
  return std::visit(Caller{parallelizer, context, should_stop, memory}, query);
}

}  // namespace tangram
