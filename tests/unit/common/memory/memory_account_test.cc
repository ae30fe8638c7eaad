#include "common/memory/memory_account.h"

#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace tangram {
namespace {

struct alignas(64) WideBlock {
  char bytes[64];
};

TEST(MemoryAccountTest, CountsWhatIsHeld) {
  MemoryAccount account(0);
  {
    const ChargeScope scope(&account);
    std::vector<char> large(1'000'000);
    EXPECT_GE(account.bytes(), 1'000'000);
    EXPECT_LT(account.bytes(), 1'100'000);
  }
  EXPECT_EQ(account.bytes(), 0);
  EXPECT_GE(account.peak_bytes(), 1'000'000);
  EXPECT_FALSE(account.IsOver());
}

TEST(MemoryAccountTest, EveryFormOfNewCounts) {
  MemoryAccount account(0);
  const ChargeScope scope(&account);
  const std::unique_ptr<WideBlock> aligned(new WideBlock());
  EXPECT_GE(account.bytes(), 64);
  const std::unique_ptr<WideBlock[]> several(new WideBlock[10]);
  EXPECT_GE(account.bytes(), 11 * 64);
  const std::unique_ptr<char> quiet(new (std::nothrow) char());
  const std::unique_ptr<int[]> numbers(new int[1000]);
  EXPECT_GE(account.bytes(), 11 * 64 + 4000);
}

TEST(MemoryAccountTest, OnlyTheThreadOfTheScopeIsCharged) {
  MemoryAccount account(1'000'000);
  const ChargeScope scope(&account);
  const int64_t before = account.bytes();
  std::thread other([] { std::vector<char> large(100'000'000); });
  other.join();
  EXPECT_LT(account.peak_bytes() - before, 10'000);
}

TEST(MemoryAccountTest, WithinASlackItOnlySaysSo) {
  MemoryAccount account(1'000'000);
  const ChargeScope scope(&account);
  std::vector<char> large(1'100'000);
  EXPECT_TRUE(account.IsOver());
  large = std::vector<char>();
  EXPECT_TRUE(account.IsOver());  // The work that did it is still to end.
}

TEST(MemoryAccountTest, BeyondTheSlackItThrowsOnce) {
  MemoryAccount account(1'000'000);
  const ChargeScope scope(&account);
  EXPECT_THROW(std::vector<char>(2'000'000), std::bad_alloc);
  EXPECT_TRUE(account.IsOver());
  EXPECT_EQ(account.bytes(), 0);
  std::vector<char> cleaning_up(2'000'000);
  EXPECT_GE(account.bytes(), 2'000'000);
}

TEST(MemoryAccountTest, AnInnerScopeChargesNobody) {
  MemoryAccount account(1'000'000);
  const ChargeScope scope(&account);
  {
    const ChargeScope shared(nullptr);
    std::vector<char> large(100'000'000);
  }
  EXPECT_EQ(account.peak_bytes(), 0);
  std::vector<char> small(1'000);
  EXPECT_GE(account.bytes(), 1'000);
}

// What is less than nothing must not let a later request overflow.
TEST(MemoryAccountTest, AHugeRequestIsRefused) {
  MemoryAccount account(1'000'000);
  const ChargeScope scope(&account);
  EXPECT_THROW(std::string(size_t{1} << 62, 'x'), std::bad_alloc);
}

}  // namespace
}  // namespace tangram
