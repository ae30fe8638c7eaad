#include "coordinator/dispatch/fair_cache.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

using Cache = FairCache<std::string, int>;

TEST(FairCacheTest, WhoeverAddsMuchEvictsNothingWithinTheShareOfOthers) {
  Cache cache(100);
  for (int i = 0; i < 5; ++i)
    cache.Insert("small", absl::StrCat("s", i), i, 10);
  for (int i = 0; i < 1000; ++i) {
    cache.Insert("big", absl::StrCat("b", i), i, 10);
  }
  for (int i = 0; i < 5; ++i) {
    EXPECT_NE(cache.Find(absl::StrCat("s", i)), nullptr) << i;
  }
  EXPECT_EQ(cache.Find("b994"), nullptr);
  EXPECT_NE(cache.Find("b999"), nullptr);
  EXPECT_EQ(cache.num_bytes(), 100);
}

TEST(FairCacheTest, OneOwnerMayHaveAllUntilAnotherComes) {
  Cache cache(100);
  for (int i = 0; i < 10; ++i) cache.Insert("a", absl::StrCat(i), i, 10);
  EXPECT_EQ(cache.num_bytes(), 100);
  EXPECT_NE(cache.Find("0"), nullptr);  // Now the latest that was used.
  cache.Insert("b", "new", 1, 20);
  EXPECT_NE(cache.Find("0"), nullptr);
  EXPECT_EQ(cache.Find("1"), nullptr);
  EXPECT_EQ(cache.Find("2"), nullptr);
  EXPECT_NE(cache.Find("3"), nullptr);
}

TEST(FairCacheTest, WhoIsGoneMakesRoom) {
  Cache cache(100);
  for (int i = 0; i < 5; ++i) cache.Insert("gone", absl::StrCat("g", i), i, 10);
  for (int i = 0; i < 4; ++i) cache.Insert("back", absl::StrCat("k", i), i, 10);
  cache.EndPeriod();
  cache.Insert("busy", "b0", 0, 10);
  // A whole period without use counts, not a part of one.
  cache.Insert("busy", "b1", 1, 10);
  EXPECT_EQ(cache.Find("g0"), nullptr);
  EXPECT_NE(cache.Find("g1"), nullptr);
  cache.EndPeriod();
  cache.EndPeriod();
  EXPECT_NE(cache.Find("k0"), nullptr);
  cache.Insert("busy", "b2", 2, 10);
  for (int i = 3; i < 100; ++i) {
    EXPECT_NE(cache.Find("b2"), nullptr);
    cache.Insert("busy", absl::StrCat("b", i), i, 10);
  }
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(cache.Find(absl::StrCat("g", i)), nullptr) << i;
  }
  for (int i = 0; i < 4; ++i) {
    EXPECT_NE(cache.Find(absl::StrCat("k", i)), nullptr) << i;
  }
  EXPECT_EQ(cache.num_owners(), 2);
  EXPECT_EQ(cache.num_bytes(), 100);
}

TEST(FairCacheTest, AnEntryIsThatOfWhoeverAddedItFirst) {
  Cache cache(30);
  cache.Insert("a", "x", 1, 20);
  cache.Insert("b", "x", 2, 20);
  EXPECT_EQ(*cache.Find("x"), 1);
  EXPECT_EQ(cache.num_owners(), 1);
  cache.Insert("b", "y", 3, 15);
  EXPECT_EQ(cache.Find("x"), nullptr);
  EXPECT_EQ(*cache.Find("y"), 3);
  EXPECT_EQ(cache.num_owners(), 1);
  cache.Insert("b", "too large", 4, 31);
  EXPECT_EQ(cache.Find("too large"), nullptr);
  cache.Clear();
  EXPECT_EQ(cache.Find("y"), nullptr);
  EXPECT_EQ(cache.num_bytes(), 0);
  cache.Insert("a", "y", 5, 1);
  EXPECT_EQ(*cache.Find("y"), 5);
}

}  // namespace
}  // namespace tangram
