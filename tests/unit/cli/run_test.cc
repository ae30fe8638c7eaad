#include "cli/run.h"

#include <sstream>

#include "gmock/gmock.h"
#include "tests/testing/run_tangram.h"

namespace tangram {
namespace {

using ::tangram::testing::Outcome;
using ::tangram::testing::RunWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

TEST(RunTangramTest, AnswersGoToStandardOutput) {
  const Outcome outcome = RunWith({"parallelizers"});

  EXPECT_EQ(outcome.code, ExitCode::kOk);
  EXPECT_THAT(outcome.out, HasSubstr("aceso"));
  EXPECT_THAT(outcome.out,
              HasSubstr("ours, after the abstract of HyperTron (SC '25)"));
  EXPECT_THAT(outcome.err, IsEmpty());
}

TEST(RunTangramTest, HelpIsAnAnswer) {
  const Outcome outcome = RunWith({"--help"});

  EXPECT_EQ(outcome.code, ExitCode::kOk);
  EXPECT_THAT(outcome.out, HasSubstr("Exit codes"));
}

TEST(RunTangramTest, ErrorsAreOneLine) {
  const Outcome outcome = RunWith({"islands", "--cluster", "/no/such.yaml"});

  EXPECT_EQ(outcome.code, ExitCode::kBadInput);
  EXPECT_THAT(outcome.out, IsEmpty());
  EXPECT_THAT(outcome.err, StartsWith("tangram: /no/such.yaml: "));
  EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1);
}

TEST(RunTangramTest, ErrorsHaveNoControlCharacters) {
  EXPECT_EQ(RunWith({"islands", "--cluster", "/no/\x1b[2J.yaml"}).err,
            "tangram: /no/\\x1b[2J.yaml: no such file\n");
}

TEST(RunTangramTest, ErrorsAreJsonWithFormatJson) {
  const std::string error =
      "{\"error\":{\"code\":\"NOT_FOUND\",\"exit_code\":2,\"message\":"
      "\"/no/such.yaml: no such file\"}}\n";
  EXPECT_EQ(
      RunWith({"--format", "json", "islands", "--cluster", "/no/such.yaml"})
          .err,
      error);
  EXPECT_EQ(
      RunWith({"islands", "--cluster", "/no/such.yaml", "--format=json"}).err,
      error);
  EXPECT_EQ(
      RunWith({"islands", "--cluster", "/no/such.yaml", "--format=text"}).err,
      "tangram: /no/such.yaml: no such file\n");
}

TEST(RunTangramTest, ErrorsOfTheCommandLineAreJsonToo) {
  const Outcome outcome = RunWith({"--format=json", "plan", "\xff"});

  EXPECT_EQ(outcome.code, ExitCode::kBadInput);
  EXPECT_THAT(outcome.err, StartsWith("{\"error\":{\"code\":"));
}

TEST(RunTangramTest, FailedOutputIsAnError) {
  std::ostringstream out;
  std::ostringstream err;
  out.setstate(std::ios::badbit);
  Console console{.out = out, .err = err};

  EXPECT_EQ(RunTangram({"version"}, console), ExitCode::kInternal);
}

}  // namespace
}  // namespace tangram
