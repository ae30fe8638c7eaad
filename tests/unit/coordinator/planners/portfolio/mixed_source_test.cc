#include "coordinator/planners/portfolio/mixed_source.h"

#include <utility>

#include "common/base/status_macros.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

// Gives the same answer to every question.
class SameAnswer : public SlicePlanSource {
 public:
  SameAnswer(PerformanceProfile profile, SlicePlanSet plans)
      : profile_(profile), plans_(std::move(plans)) {}

  absl::StatusOr<std::vector<ModelSlice>> SliceModel(
      const ModelSpec& model) override {
    return SliceByLayer(model);
  }
  absl::StatusOr<std::vector<ModelSlice>> Concatenate(
      absl::Span<const ConcatenateQuery> queries) override {
    std::vector<ModelSlice> joined;
    for (const ConcatenateQuery& query : queries) {
      joined.push_back(JoinSlices(query.head, query.tail));
    }
    return joined;
  }
  absl::StatusOr<std::vector<PerformanceProfile>> Profile(
      const PairContext&, absl::Span<const ProfileQuery> queries) override {
    return std::vector(queries.size(), profile_);
  }
  absl::StatusOr<std::vector<SlicePlanSet>> Parallelize(
      const PairContext&, absl::Span<const PairQuery> queries,
      const Progress& progress) override {
    if (progress) progress(1, 1);
    return std::vector(queries.size(), plans_);
  }

 private:
  PerformanceProfile profile_;
  SlicePlanSet plans_;
};

SlicePlan PlanWith(StageParallelism parallelism, std::string made_by) {
  return {.stages = {{.plan = {.end = {1, 0},
                               .parallelism = parallelism,
                               .recompute = {{1, kRecomputeNone}}},
                      .time_s = 1}},
          .made_by = std::move(made_by)};
}

class MixedSourceTest : public ::testing::Test {
 protected:
  absl::StatusOr<SlicePlanSet> Ask() {
    const auto source = CreateMixedSource({&a_, &b_});
    TANGRAM_ASSIGN_OR_RETURN(std::vector<SlicePlanSet> answers,
                             source->Parallelize(context_, {PairQuery{}},
                                                 [this](int done, int total) {
                                                   progress_.emplace_back(
                                                       done, total);
                                                 }));
    return std::move(answers.front());
  }

  const PairContext context_ = {
      .slices = {MakeSlice({0, 1}, {testing::TestModel(1).layers[1]})},
      .islands = {testing::TestIsland(1, 2)}};
  SameAnswer a_ = SameAnswer({.min_gpu_seconds = 2, .min_total_bytes = 10},
                             {.plans = {PlanWith({.dp_degree = 2}, "a"),
                                        PlanWith({.cp_degree = 2}, "a")},
                              .covers_trailing_stages = 5,
                              .search_steps = 3});
  SameAnswer b_ =
      SameAnswer({.min_gpu_seconds = 1, .min_total_bytes = 20},
                 {.plans = {PlanWith({.dp_degree = 2, .zero_stage = 1}, "b")},
                  .covers_trailing_stages = 4,
                  .search_steps = 4});
  std::vector<std::pair<int, int>> progress_;
};

TEST_F(MixedSourceTest, UnitesThePlansOfAllMembers) {
  ASSERT_OK_AND_ASSIGN(const SlicePlanSet answer, Ask());

  ASSERT_THAT(answer.plans, SizeIs(3));
  EXPECT_EQ(answer.plans[0].made_by, "a");
  EXPECT_EQ(answer.plans[2].made_by, "b");
  EXPECT_EQ(answer.covers_trailing_stages, 4);
  EXPECT_EQ(answer.search_steps, 7);
  EXPECT_EQ(answer.infeasible, std::nullopt);
}

TEST_F(MixedSourceTest, CoversOnlyWhatEveryMemberCovers) {
  // The plans of a support three trailing stages, those of b seven. For four, a
  // would give another answer.
  SlicePlanSet a{.plans = {PlanWith({.dp_degree = 2}, "a")}};
  a.plans.front().max_trailing_stages = 3;
  SlicePlanSet b{.plans = {PlanWith({.dp_degree = 2}, "b")}};
  b.plans.front().max_trailing_stages = 7;
  a_ = SameAnswer({}, a);
  b_ = SameAnswer({}, b);
  ASSERT_OK_AND_ASSIGN(const SlicePlanSet answer, Ask());

  EXPECT_EQ(answer.covers_trailing_stages, 3);
}

TEST_F(MixedSourceTest, TheClosestMissIsReported) {
  a_ = SameAnswer({}, {.infeasible = Infeasible{"far", 9e9}});
  b_ = SameAnswer({}, {.infeasible = Infeasible{"near", 1e9}});
  ASSERT_OK_AND_ASSIGN(const SlicePlanSet answer, Ask());

  EXPECT_EQ(answer.infeasible, (Infeasible{"near", 1e9}));
}

TEST_F(MixedSourceTest, BoundsAreTheLowest) {
  const auto source = CreateMixedSource({&a_, &b_});

  EXPECT_THAT(source->Profile(context_, {ProfileQuery{}}),
              testing::IsOkAndHolds(ElementsAre(PerformanceProfile{
                  .min_gpu_seconds = 1, .min_total_bytes = 10})));
}

TEST_F(MixedSourceTest, ProgressCountsTheQuestionsToAllMembers) {
  ASSERT_THAT(Ask(), testing::IsOk());

  EXPECT_THAT(progress_, ElementsAre(std::pair(1, 2), std::pair(2, 2)));
}

}  // namespace
}  // namespace tangram
