#include "coordinator/dispatch/answer_cache.h"

#include "gtest/gtest.h"

namespace tangram {
namespace {

Answer AnswerOf(int64_t steps) { return SlicePlanSet{.search_steps = steps}; }

QueryKey CacheKey(uint8_t number) { return {.bytes = {number}}; }

int64_t StepsOf(const Answer* answer) {
  return answer == nullptr ? -1 : std::get<SlicePlanSet>(*answer).search_steps;
}

TEST(AnswerCacheTest, FindsWhatWasInserted) {
  AnswerCache cache(1 << 20);
  EXPECT_EQ(cache.Find(CacheKey(1)), nullptr);
  cache.Insert(CacheKey(1), AnswerOf(10));
  EXPECT_EQ(StepsOf(cache.Find(CacheKey(1))), 10);
  EXPECT_EQ(cache.num_bytes(), ApproximateBytes(AnswerOf(10)));
}

TEST(AnswerCacheTest, DropsTheLeastRecentlyUsed) {
  AnswerCache cache(2 * ApproximateBytes(AnswerOf(0)));
  cache.Insert(CacheKey(1), AnswerOf(10));
  cache.Insert(CacheKey(2), AnswerOf(20));
  EXPECT_EQ(StepsOf(cache.Find(CacheKey(1))), 10);
  cache.Insert(CacheKey(3), AnswerOf(30));
  EXPECT_EQ(StepsOf(cache.Find(CacheKey(1))), 10);
  EXPECT_EQ(cache.Find(CacheKey(2)), nullptr);
  EXPECT_EQ(StepsOf(cache.Find(CacheKey(3))), 30);
  EXPECT_EQ(cache.num_entries(), 2);
  EXPECT_EQ(cache.num_bytes(), 2 * ApproximateBytes(AnswerOf(0)));
}

TEST(AnswerCacheTest, DoesNotKeepTruncatedAnswers) {
  AnswerCache cache(1 << 20);
  cache.Insert(CacheKey(1), SlicePlanSet{.truncated = true});
  EXPECT_EQ(cache.Find(CacheKey(1)), nullptr);
}

TEST(AnswerCacheTest, DoesNotKeepWhatIsLargerThanItself) {
  AnswerCache cache(ApproximateBytes(AnswerOf(0)));
  cache.Insert(CacheKey(1), AnswerOf(10));
  cache.Insert(CacheKey(2), SlicePlanSet{.plans = {SlicePlan(), SlicePlan()}});
  EXPECT_EQ(cache.Find(CacheKey(2)), nullptr);
  EXPECT_EQ(StepsOf(cache.Find(CacheKey(1))), 10);
}

TEST(AnswerCacheTest, CountsWhatAnswersHold) {
  const int64_t empty = ApproximateBytes(SlicePlanSet());
  SlicePlanSet set{.plans = {{.stages = {SliceStage(), SliceStage()}}}};
  EXPECT_EQ(
      ApproximateBytes(set),
      empty + static_cast<int64_t>(sizeof(SlicePlan) + 2 * sizeof(SliceStage)));
}

}  // namespace
}  // namespace tangram
