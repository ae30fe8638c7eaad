#include "coordinator/dispatch/answer_cache.h"

#include <memory>

#include "gtest/gtest.h"

namespace tangram {
namespace {

Answer AnswerOf(int64_t steps) { return SlicePlanSet{.search_steps = steps}; }

int64_t BytesOf(const Answer& answer) {
  return ApproximateBytes(PackedAnswer(answer));
}

QueryKey CacheKey(uint8_t number) { return {.digest = {{number}}}; }

int64_t StepsOf(const std::shared_ptr<const PackedAnswer>& answer) {
  if (answer == nullptr) return -1;
  return std::get<SlicePlanSet>(answer->Unpack()).search_steps;
}

TEST(AnswerCacheTest, FindsWhatWasInserted) {
  AnswerCache cache(1 << 20);
  EXPECT_FALSE(cache.Contains(CacheKey(1)));
  EXPECT_EQ(cache.Find(CacheKey(1)), nullptr);
  cache.Insert(CacheKey(1), PackIfReproducible(AnswerOf(10)));
  EXPECT_TRUE(cache.Contains(CacheKey(1)));
  EXPECT_EQ(StepsOf(cache.Find(CacheKey(1))), 10);
  EXPECT_EQ(cache.num_bytes(), BytesOf(AnswerOf(10)));
}

TEST(AnswerCacheTest, DropsTheLeastRecentlyUsed) {
  AnswerCache cache(2 * BytesOf(AnswerOf(0)));
  cache.Insert(CacheKey(1), PackIfReproducible(AnswerOf(10)));
  cache.Insert(CacheKey(2), PackIfReproducible(AnswerOf(20)));
  EXPECT_EQ(StepsOf(cache.Find(CacheKey(1))), 10);
  cache.Insert(CacheKey(3), PackIfReproducible(AnswerOf(30)));
  EXPECT_EQ(StepsOf(cache.Find(CacheKey(1))), 10);
  EXPECT_EQ(cache.Find(CacheKey(2)), nullptr);
  EXPECT_EQ(StepsOf(cache.Find(CacheKey(3))), 30);
  EXPECT_EQ(cache.num_entries(), 2);
  EXPECT_EQ(cache.num_bytes(), 2 * BytesOf(AnswerOf(0)));
}

TEST(AnswerCacheTest, DoesNotKeepTruncatedAnswers) {
  AnswerCache cache(1 << 20);
  cache.Insert(CacheKey(1),
               PackIfReproducible(SlicePlanSet{.truncated = true}));
  EXPECT_EQ(cache.Find(CacheKey(1)), nullptr);
}

TEST(AnswerCacheTest, DoesNotKeepWhatIsLargerThanItself) {
  AnswerCache cache(BytesOf(AnswerOf(0)));
  cache.Insert(CacheKey(1), PackIfReproducible(AnswerOf(10)));
  cache.Insert(CacheKey(2),
               PackIfReproducible(SlicePlanSet{
                   .plans = {{.stages = {{.time_s = 1}, {.time_s = 2}}}}}));
  EXPECT_EQ(cache.Find(CacheKey(2)), nullptr);
  EXPECT_EQ(StepsOf(cache.Find(CacheKey(1))), 10);
}

}  // namespace
}  // namespace tangram
