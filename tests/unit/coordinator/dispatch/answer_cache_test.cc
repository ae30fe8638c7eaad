#include "coordinator/dispatch/answer_cache.h"

#include <optional>

#include "gtest/gtest.h"

namespace tangram {
namespace {

Answer AnswerOf(int64_t steps) { return SlicePlanSet{.search_steps = steps}; }

int64_t BytesOf(const Answer& answer) {
  return ApproximateBytes(PackedAnswer(answer));
}

QueryKey CacheKey(uint8_t number) { return {.digest = {{number}}}; }

int64_t StepsOf(const std::optional<Answer>& answer) {
  return answer.has_value() ? std::get<SlicePlanSet>(*answer).search_steps : -1;
}

TEST(AnswerCacheTest, FindsWhatWasInserted) {
  AnswerCache cache(1 << 20);
  EXPECT_FALSE(cache.Contains(CacheKey(1)));
  EXPECT_EQ(cache.Find(CacheKey(1)), std::nullopt);
  cache.Insert(CacheKey(1), AnswerOf(10));
  EXPECT_TRUE(cache.Contains(CacheKey(1)));
  EXPECT_EQ(StepsOf(cache.Find(CacheKey(1))), 10);
  EXPECT_EQ(cache.num_bytes(), BytesOf(AnswerOf(10)));
}

TEST(AnswerCacheTest, DropsTheLeastRecentlyUsed) {
  AnswerCache cache(2 * BytesOf(AnswerOf(0)));
  cache.Insert(CacheKey(1), AnswerOf(10));
  cache.Insert(CacheKey(2), AnswerOf(20));
  EXPECT_EQ(StepsOf(cache.Find(CacheKey(1))), 10);
  cache.Insert(CacheKey(3), AnswerOf(30));
  EXPECT_EQ(StepsOf(cache.Find(CacheKey(1))), 10);
  EXPECT_EQ(cache.Find(CacheKey(2)), std::nullopt);
  EXPECT_EQ(StepsOf(cache.Find(CacheKey(3))), 30);
  EXPECT_EQ(cache.num_entries(), 2);
  EXPECT_EQ(cache.num_bytes(), 2 * BytesOf(AnswerOf(0)));
}

TEST(AnswerCacheTest, DoesNotKeepTruncatedAnswers) {
  AnswerCache cache(1 << 20);
  cache.Insert(CacheKey(1), SlicePlanSet{.truncated = true});
  EXPECT_EQ(cache.Find(CacheKey(1)), std::nullopt);
}

TEST(AnswerCacheTest, DoesNotKeepWhatIsLargerThanItself) {
  AnswerCache cache(BytesOf(AnswerOf(0)));
  cache.Insert(CacheKey(1), AnswerOf(10));
  cache.Insert(
      CacheKey(2),
      SlicePlanSet{.plans = {{.stages = {{.time_s = 1}, {.time_s = 2}}}}});
  EXPECT_EQ(cache.Find(CacheKey(2)), std::nullopt);
  EXPECT_EQ(StepsOf(cache.Find(CacheKey(1))), 10);
}

}  // namespace
}  // namespace tangram
