#include "worker/adapters/process/child_process.h"

#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kLongS = 30;

std::unique_ptr<ChildProcess> StartShell(const std::string& command,
                                         double max_memory_bytes = 1e9) {
  return *ChildProcess::Start({.command = command,
                               .environment = {"GREETING=hello"},
                               .max_memory_bytes = max_memory_bytes});
}

std::string EndingOf(const std::string& command) {
  const auto child = StartShell(command);
  EXPECT_TRUE(child->EndsWithin(kLongS));
  return child->Ending();
}

TEST(ChildProcessTest, SaysHowItEnded) {
  EXPECT_EQ(EndingOf("exit 3"), "exited with code 3");
  EXPECT_EQ(EndingOf("kill -SEGV $$"),
            "was killed by signal 11 (Segmentation fault)");
  EXPECT_EQ(EndingOf("sh -c 'kill -TERM $$'; exit $?"),
            "was killed by signal 15 (Terminated); output: Terminated");
}

// Some of them end before the thread that started them runs again.
TEST(ChildProcessTest, ManyShortOnesStartAtOnce) {
  std::vector<std::thread> starters;
  for (int i = 0; i < 16; ++i) {
    starters.emplace_back([] {
      for (int j = 0; j < 20; ++j) {
        const auto child =
            ChildProcess::Start({.command = "exit 3", .max_memory_bytes = 1e9});
        EXPECT_TRUE(child.ok()) << child.status();
      }
    });
  }
  for (std::thread& starter : starters) starter.join();
}

TEST(ChildProcessTest, KeepsTheLastLinesOfItsOutput) {
  EXPECT_EQ(EndingOf("for i in 1 2 3 4 5 6; do echo $i >&2; done; printf 7"),
            "exited with code 0; output: 3 | 4 | 5 | 6 | 7");
}

TEST(ChildProcessTest, PassesOnItsOutputByLine) {
  std::mutex mutex;
  std::vector<std::string> lines;
  const auto child = *ChildProcess::Start(
      {.command = "echo $GREETING; echo $HOME; printf world",
       .environment = {"GREETING=hello"},
       .max_memory_bytes = 1e9,
       .on_line = [&](absl::string_view line) {
         const std::lock_guard lock(mutex);
         lines.emplace_back(line);
       }});
  ASSERT_TRUE(child->EndsWithin(kLongS));
  EXPECT_THAT(lines, ElementsAre("hello", "world"));
}

TEST(ChildProcessTest, LeavesOutLinesOfAFlood) {
  std::vector<std::string> lines;
  const auto child = *ChildProcess::Start(
      {.command = "seq 1000",
       .max_memory_bytes = 1e9,
       .on_line = [&](absl::string_view line) { lines.emplace_back(line); }});
  ASSERT_TRUE(child->EndsWithin(kLongS));
  ASSERT_EQ(lines.size(), 101);
  EXPECT_EQ(lines[99], "100");
  EXPECT_EQ(lines[100], "900 lines left out");
  EXPECT_EQ(child->Ending(),
            "exited with code 0; output: 996 | 997 | 998 | 999 | 1000");
}

TEST(ChildProcessTest, AFloodDoesNotHideItsMemory) {
  const auto greedy = *ChildProcess::Start(
      {.command = "yes & head -c 300000000 /dev/zero | tail -n 1 | "
                  "(read line; sleep 1000)",
       .environment = {},
       .max_memory_bytes = 0.1e9,
       // Imitates a log that is slower than the program.
       .on_line = [](absl::string_view) {
         std::this_thread::sleep_for(std::chrono::milliseconds(1));
       }});
  ASSERT_TRUE(greedy->EndsWithin(kLongS));
  EXPECT_THAT(greedy->Ending(), HasSubstr("more than the 0.10 GB"));
}

TEST(ChildProcessTest, HasNoStandardInput) {
  EXPECT_EQ(EndingOf("read line; echo read $?"),
            "exited with code 0; output: read 1");
}

TEST(ChildProcessTest, TheFirstReasonForKillingItCounts) {
  const auto child = StartShell("sleep 1000");
  EXPECT_FALSE(child->EndsWithin(0));
  child->Kill("was too slow");
  child->Kill("was ugly");
  EXPECT_TRUE(child->EndsWithin(kLongS));
  EXPECT_EQ(child->Ending(), "was too slow");
}

TEST(ChildProcessTest, EndsThoughItsChildHoldsTheOutput) {
  EXPECT_EQ(EndingOf("sleep 1000 & exit 4"), "exited with code 4");
}

TEST(ChildProcessTest, MemoryOfItsChildrenCounts) {
  // tail keeps the only line.
  const auto greedy = StartShell(
      "head -c 300000000 /dev/zero | tail -n 1 | (read line; sleep 1000)",
      /*max_memory_bytes=*/0.1e9);
  ASSERT_TRUE(greedy->EndsWithin(kLongS));
  EXPECT_THAT(greedy->Ending(), HasSubstr("more than the 0.10 GB"));
}

}  // namespace
}  // namespace tangram
