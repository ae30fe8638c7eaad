#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/programs/python_adapter.h"
#include "tests/testing/builders.h"
#include "tests/testing/status_matchers.h"
#include "worker/adapters/process/parallelizer_spec.h"

// Whatever a program does, its worker survives and reports it.
namespace tangram::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

constexpr absl::StatusCode kInternal = absl::StatusCode::kInternal;
constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

class BadProgramsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!PythonHasGrpc()) GTEST_SKIP() << "python3-grpcio is not installed";
    std::string path = ::testing::TempDir() + "bad-XXXXXX";
    ASSERT_NE(mkdtemp(path.data()), nullptr);
    folder_ = path;
  }
  void TearDown() override {
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }

  std::string file() const { return folder_ / "number"; }

  // Starts the program that misbehaves in the way `how`. It writes a file and
  // tells its process number, which a sandbox would hide.
  absl::StatusOr<std::unique_ptr<Parallelizer>> Start(
      const std::string& how, ProcessOptions limits = {}) {
    limits.isolation = Isolation::kNone;
    return CreateParallelizer(
        absl::StrCat(
            "exec:", PythonCommand("tests/integration/programs/bad_adapter.py"),
            " ", how, " ", file()),
        std::move(limits));
  }

  // Returns the answer of such a program to a search.
  absl::StatusOr<SlicePlanSet> Ask(const std::string& how,
                                   ProcessOptions limits = {}) {
    const auto parallelizer = Start(how, std::move(limits));
    if (!parallelizer.ok()) return parallelizer.status();
    return Search(**parallelizer);
  }

  static absl::StatusOr<SlicePlanSet> Search(
      const Parallelizer& parallelizer,
      std::function<bool()> should_stop = nullptr) {
    const ModelSpec model = TestModel(4);
    return parallelizer.Parallelize(MakeSlice({0, 6}, model.layers),
                                    TestIsland(1, 4),
                                    {.training = TestTraining(32),
                                     .pipeline_microbatch_size = 4,
                                     .should_stop = std::move(should_stop)});
  }

  // Returns the number that the program announces; 0 if it never does.
  int AwaitNumber() const {
    int number = 0;
    Eventually([&] { return bool(std::ifstream(file()) >> number); });
    return number;
  }

  static bool Eventually(const std::function<bool()>& condition) {
    for (int i = 0; i < 3'000; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }

  std::filesystem::path folder_;
};

TEST_F(BadProgramsTest, OneThatIsKilledIsReplacedAndAskedAgain) {
  ASSERT_OK_AND_ASSIGN(const auto parallelizer, Start("wait_once"));
  std::thread killer([this] { kill(AwaitNumber(), SIGKILL); });

  const auto answer = Search(*parallelizer);
  killer.join();

  ASSERT_THAT(answer, IsOk());
  ASSERT_EQ(answer->plans.size(), 1);
  EXPECT_EQ(answer->plans[0].made_by, "bad");
  EXPECT_GT(answer->plans[0].stages[0].time_s, 0);
}

TEST_F(BadProgramsTest, TwoDeathsAreAnErrorWithTheirCauses) {
  EXPECT_THAT(
      Ask("die"),
      StatusIs(kInternal,
               ContainsRegex("^bad: was killed by signal 9 .Killed.; output: "
                             "about to die.*; asked again: was killed")));
  EXPECT_THAT(Ask("leave"),
              StatusIs(kInternal,
                       "bad: exited with code 7; asked again: exited with code "
                       "7"));
}

TEST_F(BadProgramsTest, AfterItsDeathItIsThereAgain) {
  ASSERT_OK_AND_ASSIGN(const auto parallelizer, Start("die"));
  EXPECT_THAT(Search(*parallelizer), StatusIs(kInternal, HasSubstr("killed")));
  EXPECT_THAT(parallelizer->SliceModel(TestModel(4)), IsOk());
}

TEST_F(BadProgramsTest, OneThatHangsIsKilled) {
  EXPECT_THAT(Ask("hang", {.max_search_s = 0.2}),
              StatusIs(kInternal, "bad: took longer than 0.2 s"));
}

TEST_F(BadProgramsTest, ItsChildrenDieWithIt) {
  EXPECT_THAT(Ask("hang_with_child", {.max_search_s = 1}),
              StatusIs(kInternal, "bad: took longer than 1 s"));
  const int child = AwaitNumber();
  ASSERT_GT(child, 0);
  EXPECT_TRUE(Eventually([child] { return kill(child, 0) != 0; }));
}

TEST_F(BadProgramsTest, OneThatTakesTooMuchMemoryIsKilled) {
  EXPECT_THAT(
      Ask("eat", {.max_memory_bytes = 0.3e9}),
      StatusIs(kInternal, ContainsRegex("^bad: took [0-9.]+ GB of memory, more "
                                        "than the 0.30 GB that it may; asked "
                                        "again: took")));
}

TEST_F(BadProgramsTest, ItsErrorsArePassedOnWithItsName) {
  EXPECT_THAT(Ask("fail"),
              StatusIs(kInternal, ContainsRegex("^bad: RuntimeError: cannot "
                                                "think .line [0-9]+ of "
                                                "bad_adapter.py.$")));
  EXPECT_THAT(Ask("refuse"),
              StatusIs(kInvalid, "bad: device: \"T4\"; expected another"));
}

TEST_F(BadProgramsTest, SenselessAnswersAreItsFault) {
  EXPECT_THAT(Ask("bytes"), StatusIs(kInternal, HasSubstr("bad")));
  EXPECT_THAT(
      Ask("degree"),
      StatusIs(kInternal,
               AllOf(HasSubstr("bad answered nonsense: plans[0].stages[0]."),
                     HasSubstr("tp_degree: -1"))));
  EXPECT_THAT(
      Ask("gpus"),
      StatusIs(kInternal, AllOf(HasSubstr("bad"), HasSubstr("dp_degree: 8"))));
  EXPECT_THAT(Ask("zero"),
              StatusIs(kInternal, AllOf(HasSubstr("bad: "),
                                        HasSubstr(".plan: zero; expected"))));
}

TEST_F(BadProgramsTest, TheCostModelSaysWhatPlansTake) {
  ASSERT_OK_AND_ASSIGN(const SlicePlanSet honest, Ask("honest"));
  // Two equal plans, one of which claims times and memory.
  ASSERT_OK_AND_ASSIGN(const SlicePlanSet boasting, Ask("times"));

  EXPECT_EQ(boasting.plans, honest.plans);
}

TEST_F(BadProgramsTest, AStoppedSearchIsTruncated) {
  ASSERT_OK_AND_ASSIGN(const auto parallelizer, Start("wait_once"));
  ASSERT_OK_AND_ASSIGN(const SlicePlanSet answer, Search(*parallelizer, [this] {
                         return std::filesystem::exists(file());
                       }));
  EXPECT_TRUE(answer.truncated);
  EXPECT_TRUE(answer.plans.empty());
}

TEST_F(BadProgramsTest, ItGetsNothingThatItDoesNotNeed) {
  // No other thread reads the environment here.
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  setenv("TANGRAM_TEST_SECRET", "secret", 1);
  const int opened = dup(STDOUT_FILENO);
  const auto answer = Ask("tell");
  close(opened);
  unsetenv("TANGRAM_TEST_SECRET");  // NOLINT(concurrency-mt-unsafe)
  ASSERT_EQ(answer.status().code(), kInternal);
  const std::string told(answer.status().message());
  EXPECT_THAT(told, AllOf(HasSubstr("'PATH'"), HasSubstr("'TMPDIR'"),
                          HasSubstr("'TANGRAM_ADAPTER_SOCKET'")));
  EXPECT_FALSE(absl::StrContains(told, "SECRET")) << told;
  // The three of every program, and the folder in which it sees them.
  EXPECT_THAT(told, HasSubstr("['0', '1', '2', '3']"));
}

TEST_F(BadProgramsTest, AProgramThatIsNoAdapterIsRefused) {
  EXPECT_THAT(CreateParallelizer("exec:echo no; exit 3"),
              StatusIs(kInvalid,
                       "exec:echo no; exit 3: not an adapter: exited with code "
                       "3; output: no"));
  EXPECT_THAT(CreateParallelizer("exec:sleep 1000", {.max_reply_s = 0.2}),
              StatusIs(kInvalid, HasSubstr("did not listen on its socket")));
  EXPECT_THAT(Start("noise", {.max_reply_s = 1}),
              StatusIs(kInvalid, HasSubstr("not an adapter")));
  EXPECT_THAT(CreateParallelizer("apollo"),
              StatusIs(kInvalid, HasSubstr("parallelizer: \"apollo\"")));
}

}  // namespace
}  // namespace tangram::testing
