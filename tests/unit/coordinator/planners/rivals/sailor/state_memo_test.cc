#include "coordinator/planners/rivals/sailor/state_memo.h"

#include <map>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace tangram::sailor {
namespace {

TEST(StateMemoTest, HoldsWhatAMapHolds) {
  std::mt19937 rng(7);
  StateMemo memo(3);
  std::map<std::vector<int32_t>, int> expected;
  for (int i = 0; i < 20000; ++i) {
    const std::vector<int32_t> key = {static_cast<int32_t>(rng() % 40) - 20,
                                      static_cast<int32_t>(rng() % 40),
                                      static_cast<int32_t>(rng() % 10)};
    const auto found = expected.find(key);
    ASSERT_EQ(memo.Find(key),
              found == expected.end() ? StateMemo::kAbsent : found->second);
    memo.Set(key, i);
    expected[key] = i;
  }
  memo.Clear();
  for (const auto& [key, value] : expected) {
    ASSERT_EQ(memo.Find(key), StateMemo::kAbsent);
  }
}

}  // namespace
}  // namespace tangram::sailor
