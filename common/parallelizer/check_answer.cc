#include "common/parallelizer/check_answer.h"

#include <iterator>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/base/field_error.h"
#include "common/base/status_macros.h"
#include "common/parallelizer/check_answers.h"
#include "common/parallelizer/check_figures.h"

namespace tangram {
namespace {

absl::Status CheckMakers(const SlicePlanSet& answer,
                         absl::string_view adapter) {
  if (adapter.empty()) return absl::OkStatus();
  for (size_t i = 0; i < answer.plans.size(); ++i) {
    if (answer.plans[i].made_by == adapter) continue;
    return FieldError(absl::StrCat("plans[", i, "].made_by"),
                      answer.plans[i].made_by, adapter);
  }
  return absl::OkStatus();
}

// Has an overload for each query and its answer. Any other pair is an answer of
// the wrong kind.
struct Checker {
  const PairContext& context;
  absl::string_view adapter;

  absl::Status operator()(const SliceModelQuery& query,
                          const std::vector<ModelSlice>& atoms) const {
    return CheckAtoms(atoms, query.model);
  }

  absl::Status operator()(const ConcatenateQuery& query,
                          const ModelSlice& joined) const {
    return CheckJoined(joined, query.head, query.tail);
  }

  absl::Status operator()(const ProfileQuery& /*query*/,
                          const PerformanceProfile& profile) const {
    return CheckProfile(profile);
  }

  absl::Status operator()(const PairQuery& query,
                          const SlicePlanSet& answer) const {
    return CheckPlans(
        answer, context.slices[query.slice], context.islands[query.island],
        {.training = context.training,
         .pipeline_microbatch_size = query.pipeline_microbatch_size,
         .trailing_stages = query.trailing_stages,
         .max_search_steps = query.max_search_steps,
         .limit_s = query.limit_s},
        adapter);
  }

  template <typename OtherQuery, typename OtherAnswer>
  absl::Status operator()(const OtherQuery& query,
                          const OtherAnswer& answer) const {
    return FieldError("answer", KindOf(Answer(answer)), KindOf(Query(query)));
  }
};

}  // namespace

absl::Status CheckPlans(const SlicePlanSet& answer, const ModelSlice& slice,
                        const IslandSpec& island,
                        const ParallelizeOptions& options,
                        absl::string_view adapter) {
  TANGRAM_RETURN_IF_ERROR(CheckSlicePlanSet(answer, slice, island, options));
  TANGRAM_RETURN_IF_ERROR(CheckMakers(answer, adapter));
  return CheckFigures(answer, slice, island, options);
}

absl::Status CheckAnswer(const PairContext& context, const Query& query,
                         const Answer& answer, absl::string_view adapter) {
  return std::visit(Checker{context, adapter}, query, answer);
}

}  // namespace tangram
