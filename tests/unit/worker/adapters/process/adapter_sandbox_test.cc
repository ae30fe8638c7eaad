#include "worker/adapters/process/adapter_sandbox.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"
#include "worker/adapters/process/child_process.h"

namespace tangram {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

constexpr double kLongestS = 30;

class AdapterSandboxTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const absl::Status works = SandboxesWork();
    if (!works.ok()) GTEST_SKIP() << works.message();
    std::string path = ::testing::TempDir() + "sandbox-XXXXXX";
    ASSERT_NE(mkdtemp(path.data()), nullptr);
    folder_ = path;
    std::filesystem::create_directory(folder_ / "own");
    std::filesystem::create_directory(folder_ / "secrets");
    secret_ = folder_ / "secrets" / "token";
    std::ofstream(secret_) << "secret";
  }
  void TearDown() override {
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }

  std::unique_ptr<ChildProcess> Start(const std::string& command,
                                      double max_memory_bytes = 1e9) {
    return *ChildProcess::Start(
        {.wrapper = SandboxWords(folder_ / "own", {secret_, "/no/such/file"}),
         .command = command,
         .environment = {"PATH=/usr/bin:/bin"},
         .max_memory_bytes = max_memory_bytes});
  }

  std::string EndingInSandbox(const std::string& command) {
    const auto child = Start(command);
    EXPECT_TRUE(child->EndsWithin(kLongestS));
    return child->Ending();
  }

  // A command that no other process has, which sleeps.
  std::string Sleeper() const { return absl::StrCat("sleep 1000.", getpid()); }

  // Returns whether a process with these words runs.
  static bool Runs(const std::string& command) {
    const std::unique_ptr<DIR, int (*)(DIR*)> proc(opendir("/proc"), &closedir);
    while (const dirent* entry = readdir(proc.get())) {
      std::ifstream file(absl::StrCat("/proc/", entry->d_name, "/cmdline"));
      std::stringstream text;
      text << file.rdbuf();
      std::string words = text.str();
      for (char& c : words) {
        if (c == '\0') c = ' ';
      }
      if (words == command + " ") return true;
    }
    return false;
  }

  static bool Eventually(const std::function<bool()>& condition) {
    for (int i = 0; i < 3'000; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }

  std::filesystem::path folder_;
  std::filesystem::path secret_;
};

// A daemon's way to leave: new sessions, and a parent that has ended.
std::string AsDaemon(const std::string& command) {
  return absl::StrCat("setsid sh -c \"setsid ", command,
                      " &\" </dev/null "
                      ">/dev/null 2>&1; ");
}

TEST_F(AdapterSandboxTest, ADaemonThatItStartedDiesWithIt) {
  const auto child = Start(AsDaemon(Sleeper()) + "sleep 1000");
  ASSERT_TRUE(Eventually([&] { return Runs(Sleeper()); }));
  child->Kill("was not needed any more");
  EXPECT_TRUE(child->EndsWithin(kLongestS));
  EXPECT_TRUE(Eventually([&] { return !Runs(Sleeper()); }));
}

TEST_F(AdapterSandboxTest, ADaemonDoesNotOutliveItsEnd) {
  const std::string begun = folder_ / "own/begun";
  const auto child = Start(absl::StrCat(AsDaemon(Sleeper()), "touch ", begun,
                                        "; while [ ! -e ", begun,
                                        "2 ]; do "
                                        "sleep 0.01; done"));
  ASSERT_TRUE(Eventually([&] { return Runs(Sleeper()); }));
  std::ofstream(begun + "2") << "go on";
  EXPECT_TRUE(child->EndsWithin(kLongestS));
  EXPECT_EQ(child->Ending(), "exited with code 0");
  EXPECT_TRUE(Eventually([&] { return !Runs(Sleeper()); }));
}

TEST_F(AdapterSandboxTest, MemoryOfADaemonCounts) {
  const auto greedy = Start(
      "setsid sh -c \"setsid sh -c 'head -c 300000000 /dev/zero | tail "
      "-n 1 | (read line; sleep 1000)' &\"; sleep 1000",
      /*max_memory_bytes=*/0.1e9);
  ASSERT_TRUE(greedy->EndsWithin(kLongestS));
  EXPECT_THAT(greedy->Ending(), HasSubstr("more than the 0.10 GB"));
}

TEST_F(AdapterSandboxTest, ItReachesNoNetwork) {
  const int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {.sin_family = AF_INET};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  socklen_t length = sizeof(address);
  ASSERT_EQ(bind(listening, any, length), 0);
  ASSERT_EQ(listen(listening, 1), 0);
  ASSERT_EQ(getsockname(listening, any, &length), 0);
  const std::string dial = absl::StrCat(
      "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", ",
      ntohs(address.sin_port), "), 5)'");
  EXPECT_THAT(EndingInSandbox(dial), HasSubstr("ConnectionRefusedError"));
  EXPECT_EQ(std::system(dial.c_str()), 0);  // NOLINT(concurrency-mt-unsafe)
  close(listening);
}

TEST_F(AdapterSandboxTest, ItWritesToItsFolderAlone) {
  EXPECT_EQ(EndingInSandbox(absl::StrCat("echo hello > ", folder_.string(),
                                         "/own/file && cat ", folder_.string(),
                                         "/own/file")),
            "exited with code 0; output: hello");
  EXPECT_THAT(
      EndingInSandbox(absl::StrCat("echo hello > ", folder_.string(), "/file")),
      HasSubstr("Read-only file system"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "own/file"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "file"));
}

TEST_F(AdapterSandboxTest, ItSeesNoSecret) {
  EXPECT_THAT(EndingInSandbox(absl::StrCat("cat ", secret_.string())),
              HasSubstr("No such file"));
  const std::string open = folder_ / "open";
  std::ofstream(open) << "no secret";
  EXPECT_EQ(EndingInSandbox(absl::StrCat("cat ", open)),
            "exited with code 0; output: no secret");
}

TEST_F(AdapterSandboxTest, ItIsAnotherUserWithFewProcesses) {
  EXPECT_EQ(EndingInSandbox("id -u; id -g"),
            "exited with code 0; output: 65534 | 65534");
  EXPECT_EQ(EndingInSandbox(absl::StrCat("kill -0 ", getpid())).substr(0, 18),
            "exited with code 1");
}

TEST_F(AdapterSandboxTest, ItsEndIsToldAsWithoutASandbox) {
  EXPECT_EQ(EndingInSandbox("exit 3"), "exited with code 3");
  EXPECT_THAT(EndingInSandbox("kill -SEGV $$"),
              HasSubstr("was killed by signal 11 (Segmentation fault)"));
}

TEST(IsolationTest, OtherWordsAreRefused) {
  ASSERT_OK_AND_ASSIGN(const Isolation isolation, ParseIsolation("required"));
  EXPECT_EQ(isolation, Isolation::kRequired);
  EXPECT_THAT(ParseIsolation("perhaps"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "--adapter_isolation: perhaps; expected auto, required "
                       "or none"));
}

TEST_F(AdapterSandboxTest, ASecretThatIsReplacedStaysHidden) {
  const auto child =
      Start(absl::StrCat("while ! [ -e ", folder_.string(),
                         "/own/replaced ]; do sleep 0.01; done; ! cat ",
                         secret_.string(), " 2>/dev/null"));
  std::ofstream(folder_ / "new") << "another secret";
  std::filesystem::rename(folder_ / "new", secret_);
  std::ofstream(folder_ / "own" / "replaced") << "";
  EXPECT_TRUE(child->EndsWithin(kLongestS));
  EXPECT_EQ(child->Ending(), "exited with code 0");
}

TEST_F(AdapterSandboxTest, SocketsOfServicesAreNotThere) {
  EXPECT_EQ(
      EndingInSandbox("[ -z \"$(ls /run)\" ] && ! touch /run/file 2>/dev/null"),
      "exited with code 0");
}

TEST_F(AdapterSandboxTest, SharedMemoryIsSmall) {
  EXPECT_EQ(
      EndingInSandbox("! head -c 100M /dev/zero > /dev/shm/much 2>/dev/null"),
      "exited with code 0");
}

}  // namespace
}  // namespace tangram
