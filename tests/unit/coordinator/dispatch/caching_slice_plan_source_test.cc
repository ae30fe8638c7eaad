#include "coordinator/dispatch/caching_slice_plan_source.h"

#include "coordinator/dispatch/local_slice_plan_source.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/coordinator/dispatch/counting_parallelizer.h"

namespace tangram {
namespace {

using testing::CountingParallelizer;

std::vector<PairQuery> Queries(const std::vector<int>& steps) {
  std::vector<PairQuery> queries;
  for (const int step : steps) queries.push_back({.max_search_steps = step});
  return queries;
}

class CachingSlicePlanSourceTest : public ::testing::Test {
 protected:
  CountingParallelizer parallelizer_;
  const PairContext context_ = testing::CountingContext();
  const std::unique_ptr<SlicePlanSource> threads_ =
      CreateLocalSlicePlanSource(parallelizer_, 1);
  const std::unique_ptr<SlicePlanSource> cache_ =
      CreateCachingSlicePlanSource(*threads_, 1 << 20);
};

TEST_F(CachingSlicePlanSourceTest, AsksOnlyWhatItDoesNotKnow) {
  ASSERT_THAT(cache_->Parallelize(context_, Queries({1, 2}), nullptr),
              testing::IsOk());
  EXPECT_EQ(parallelizer_.num_calls, 2);

  ASSERT_OK_AND_ASSIGN(
      const std::vector<SlicePlanSet> answers,
      cache_->Parallelize(context_, Queries({3, 2, 4, 1}), nullptr));

  EXPECT_EQ(parallelizer_.num_calls, 4);
  ASSERT_EQ(answers.size(), 4u);
  EXPECT_EQ(answers[0].search_steps, 3);
  EXPECT_EQ(answers[1].search_steps, 2);
  EXPECT_EQ(answers[2].search_steps, 4);
  EXPECT_EQ(answers[3].search_steps, 1);
}

TEST_F(CachingSlicePlanSourceTest, ProfilesAreKeptToo) {
  const std::vector<ProfileQuery> queries = {{.pipeline_microbatch_size = 3}};
  ASSERT_THAT(cache_->Profile(context_, queries), testing::IsOk());
  ASSERT_OK_AND_ASSIGN(const auto again, cache_->Profile(context_, queries));

  EXPECT_EQ(parallelizer_.num_calls, 1);
  EXPECT_EQ(again.front().min_gpu_seconds, 3);
}

TEST_F(CachingSlicePlanSourceTest, BatchesOfOtherContextsAreToldApart) {
  PairContext other_training = context_;
  ++other_training.training.sequence_length;
  PairContext other_island = context_;
  other_island.islands.front().limits.tp_degree = 2;
  PairContext other_slice = context_;
  other_slice.slices.front().runs.front().count += 1;
  // The second time, all answers are known.
  for (int round = 0; round < 2; ++round) {
    for (const PairContext& context :
         {context_, other_training, other_island, other_slice}) {
      ASSERT_THAT(cache_->Parallelize(context, Queries({1}), nullptr),
                  testing::IsOk());
    }
    EXPECT_EQ(parallelizer_.num_calls, 4);
  }
}

TEST_F(CachingSlicePlanSourceTest, ErrorsAreAskedAgain) {
  parallelizer_.fail = [](int64_t step) { return step == 1; };
  EXPECT_FALSE(cache_->Parallelize(context_, Queries({1}), nullptr).ok());
  parallelizer_.fail = nullptr;

  EXPECT_THAT(cache_->Parallelize(context_, Queries({1}), nullptr),
              testing::IsOk());
}

// An answer that another asks for is awaited once all others are there.
TEST(SharedAnswersTest, AQuestionThatAnotherAsksIsNotAskedAgain) {
  CountingParallelizer parallelizer;
  const auto threads = CreateLocalSlicePlanSource(parallelizer, 1);
  const auto answers = std::make_shared<SharedAnswers>(1 << 20);
  const auto source = CreateCachingSlicePlanSource(*threads, answers);
  const QueryContext context(testing::CountingContext());
  const std::vector<PairQuery> queries = Queries({1, 2});
  const QueryKey other = QuestionWriter({}, &context).KeyOf(queries[0]);
  ASSERT_TRUE(answers->FindOrClaim(other, /*may_claim=*/true).is_claimed);
  EXPECT_FALSE(answers->FindOrClaim(other, /*may_claim=*/true).is_claimed);
  parallelizer.fail = [&](int64_t step) {
    EXPECT_EQ(step, 2);
    answers->Insert(other, SlicePlanSet{.search_steps = 7});
    return false;
  };
  ASSERT_OK_AND_ASSIGN(const std::vector<SlicePlanSet> found,
                       source->Parallelize(context.pairs, queries, nullptr));
  EXPECT_EQ(found[0].search_steps, 7);
  EXPECT_EQ(found[1].search_steps, 2);
  EXPECT_EQ(answers->num_asked(), 1);
}

TEST(SharedAnswersTest, AnswersAreSharedUnderTheirNames) {
  CountingParallelizer parallelizer;
  const auto threads = CreateLocalSlicePlanSource(parallelizer, 1);
  const auto make_source = [&](int64_t max_unpacked_stages) {
    return CreateCachingSlicePlanSource(
        *threads, std::make_shared<SharedAnswers>(1 << 20, /*most_claims=*/4,
                                                  max_unpacked_stages));
  };
  const auto source = make_source(2);
  const auto ask = [&](SlicePlanSource& from, int step) {
    return from
        .ParallelizeShared(testing::CountingContext(), Queries({step}), nullptr)
        ->front();
  };
  const SharedAnswer first = ask(*source, 1);
  const SharedAnswer second = ask(*source, 2);
  EXPECT_EQ(second.set->search_steps, 2);
  EXPECT_NE(first.name, SharedAnswer::Name());
  EXPECT_NE(first.name, second.name);
  EXPECT_EQ(ask(*source, 1).set, first.set);
  EXPECT_EQ(ask(*source, 1).name, first.name);
  // There is room for two. The third is unpacked each time.
  const SharedAnswer third = ask(*source, 3);
  EXPECT_NE(ask(*source, 3).set, third.set);
  EXPECT_EQ(ask(*source, 3).name, third.name);
  EXPECT_EQ(parallelizer.num_calls, 3);
  // Other answers may be those of another parallelizer.
  EXPECT_NE(ask(*make_source(2), 1).name, first.name);
}

TEST(SharedAnswersTest, TruncatedAnswersHaveNoName) {
  SharedAnswers answers(1 << 20, /*most_claims=*/1, /*max_unpacked_stages=*/9);
  const QueryKey key;
  EXPECT_EQ(answers.KeepUnpacked(key, {.truncated = true}).name,
            SharedAnswer::Name());
  EXPECT_EQ(answers.FindUnpacked(key).set, nullptr);
}

TEST(SharedAnswersTest, AnEndedClaimWithoutAnswerLeavesTheQuestionToOthers) {
  SharedAnswers answers(1 << 20);
  const std::vector<QueryKey> key(1);
  ASSERT_TRUE(answers.FindOrClaim(key[0], /*may_claim=*/true).is_claimed);
  answers.Release(key);
  answers.Wait(key[0]);
  ASSERT_TRUE(answers.FindOrClaim(key[0], /*may_claim=*/true).is_claimed);
  // Not kept.
  answers.Insert(key[0], SlicePlanSet{.truncated = true});
  EXPECT_EQ(answers.FindOrClaim(key[0], /*may_claim=*/false).answer, nullptr);
  EXPECT_TRUE(answers.FindOrClaim(key[0], /*may_claim=*/true).is_claimed);
}

TEST(SharedAnswersTest, BatchesAreOfAsManyQuestionsAsMayBeClaimed) {
  CountingParallelizer parallelizer;
  const auto threads = CreateLocalSlicePlanSource(parallelizer, 1);
  const auto answers =
      std::make_shared<SharedAnswers>(1 << 20, /*most_claims=*/2);
  const auto source = CreateCachingSlicePlanSource(*threads, answers);
  ASSERT_OK_AND_ASSIGN(const std::vector<SlicePlanSet> found,
                       source->Parallelize(testing::CountingContext(),
                                           Queries({1, 2, 3, 2, 4}), nullptr));
  EXPECT_EQ(found[3].search_steps, 2);
  EXPECT_EQ(found[4].search_steps, 4);
  EXPECT_EQ(parallelizer.num_calls, 4);
}

}  // namespace
}  // namespace tangram
