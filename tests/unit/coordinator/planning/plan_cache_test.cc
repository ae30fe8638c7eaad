#include "coordinator/planning/plan_cache.h"

#include <grpcpp/support/slice.h>

#include <string>

#include "gtest/gtest.h"

namespace tangram {
namespace {

grpc::ByteBuffer Bytes(const std::string& text) {
  const grpc::Slice slice(text);
  return grpc::ByteBuffer(&slice, 1);
}

TEST(PlanCacheTest, AnAnswerUnderWayWhenAllHadToGoIsNotKept) {
  PlanCache cache(1 << 20);
  const PlanScope scope;
  const int64_t before = cache.era();
  cache.Insert(scope, Bytes("one"), Bytes("answer"), before);
  EXPECT_TRUE(cache.Find(scope, Bytes("one")).has_value());
  cache.Clear();
  EXPECT_FALSE(cache.Find(scope, Bytes("one")).has_value());
  cache.Insert(scope, Bytes("two"), Bytes("answer"), before);
  EXPECT_FALSE(cache.Find(scope, Bytes("two")).has_value());
  cache.Insert(scope, Bytes("three"), Bytes("answer"), cache.era());
  EXPECT_TRUE(cache.Find(scope, Bytes("three")).has_value());
}

TEST(PlanCacheTest, TheAnswersOfATenantStayWhateverOthersAsk) {
  PlanCache cache(10'000);
  const PlanScope small{.owner = "small"};
  const PlanScope big{.owner = "big"};
  cache.Insert(small, Bytes("one"), Bytes("answer"), cache.era());
  for (int i = 0; i < 100; ++i) {
    cache.Insert(big, Bytes("frontier" + std::to_string(i)),
                 Bytes(std::string(1000, 'x')), cache.era());
  }
  EXPECT_TRUE(cache.Find(small, Bytes("one")).has_value());
  // Tenants that share answers find those of others.
  EXPECT_TRUE(cache.Find(big, Bytes("one")).has_value());
}

}  // namespace
}  // namespace tangram
