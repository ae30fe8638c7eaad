#include "tests/testing/fake_slice_plan_source.h"

#include "common/parallelizer/keep_within.h"

namespace tangram::testing {

absl::StatusOr<std::vector<ModelSlice>> FakeSlicePlanSource::SliceModel(
    const ModelSpec& model) {
  return SliceByLayer(model);
}

absl::StatusOr<std::vector<ModelSlice>> FakeSlicePlanSource::Concatenate(
    absl::Span<const ConcatenateQuery> joins) {
  ++concatenations;
  std::vector<ModelSlice> joined;
  for (const ConcatenateQuery& query : joins) {
    joined.push_back(JoinSlices(query.head, query.tail));
  }
  return joined;
}

absl::StatusOr<std::vector<PerformanceProfile>> FakeSlicePlanSource::Profile(
    const PairContext& context,
    absl::Span<const ProfileQuery> profile_queries) {
  std::vector<PerformanceProfile> profiles;
  for (const ProfileQuery& query : profile_queries) {
    profiles.push_back(
        {.min_gpu_seconds = seconds_per_layer(context.islands[query.island]) *
                            context.slices[query.slice].num_layers() *
                            query.pipeline_microbatch_size,
         .min_total_bytes = min_total_bytes});
  }
  return profiles;
}

absl::StatusOr<std::vector<SlicePlanSet>> FakeSlicePlanSource::Parallelize(
    const PairContext& context, absl::Span<const PairQuery> pair_queries,
    const Progress& progress) {
  if (!parallelize_status.ok()) return parallelize_status;
  limits.clear();
  for (const IslandSpec& island : context.islands) {
    limits.push_back(island.limits);
  }
  std::vector<SlicePlanSet> answers;
  for (const PairQuery& query : pair_queries) {
    queries.push_back(query);
    SlicePlanSet& answer = answers.emplace_back();
    answer.search_steps = query.max_search_steps;
    answer.truncated = truncated;
    if (infeasible) {
      answer.infeasible = {.reason = "does not fit in memory",
                           .bytes_short = 5e9};
      continue;
    }
    const int layers = context.slices[query.slice].num_layers();
    const double seconds = seconds_per_layer(context.islands[query.island]) *
                           layers * query.pipeline_microbatch_size;
    answer.plans.push_back(
        {.stages = {{.plan = {.begin = {0, 0},
                              .end = {layers, 0},
                              .recompute = {{.num_layers = layers}}},
                     .time_s = seconds,
                     .backward_s = seconds / 2}},
         .max_trailing_stages = bears(query.trailing_stages),
         .made_by = "fake"});
    KeepUseful({.training = context.training,
                .pipeline_microbatch_size = query.pipeline_microbatch_size,
                .trailing_stages = query.trailing_stages,
                .limit_s = query.limit_s},
               answer);
  }
  progress(static_cast<int>(pair_queries.size()),
           static_cast<int>(pair_queries.size()));
  return answers;
}

}  // namespace tangram::testing
