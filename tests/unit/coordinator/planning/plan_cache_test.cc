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

}  // namespace
}  // namespace tangram
