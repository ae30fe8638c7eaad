#include "coordinator/rpc/keyed_count.h"

#include <memory>

#include "gtest/gtest.h"

namespace tangram {
namespace {

TEST(KeyedCountTest, LimitsEachKey) {
  KeyedCount count({.max_of_key = 2});
  const std::shared_ptr<void> first = count.Begin("a");
  std::shared_ptr<void> second = count.Begin("a");
  ASSERT_NE(first, nullptr);
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(count.Begin("a"), nullptr);
  const std::shared_ptr<void> other = count.Begin("b");
  EXPECT_NE(other, nullptr);

  second.reset();
  second = count.Begin("a");
  EXPECT_NE(second, nullptr);
  EXPECT_EQ(count.Begin("a"), nullptr);
}

TEST(KeyedCountTest, LimitsAllTogether) {
  KeyedCount count({.max_of_key = 2, .max_of_all = 3});
  const std::shared_ptr<void> a = count.Begin("a");
  std::shared_ptr<void> b = count.Begin("b");
  const std::shared_ptr<void> c = count.Begin("c");
  ASSERT_NE(c, nullptr);
  EXPECT_EQ(count.Begin("d"), nullptr);

  b.reset();
  const std::shared_ptr<void> d = count.Begin("d");
  EXPECT_NE(d, nullptr);
  EXPECT_EQ(count.Begin("a"), nullptr);
}

TEST(KeyedCountTest, HasNoLimitsUnlessTold) {
  KeyedCount count({});
  std::shared_ptr<void> handles[100];
  for (auto& handle : handles) {
    handle = count.Begin("a");
    EXPECT_NE(handle, nullptr);
  }
}

}  // namespace
}  // namespace tangram
