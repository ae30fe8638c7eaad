#include "common/obs/log.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using testing::IsOkAndHolds;
using testing::StatusIs;

TEST(LogTest, TextLinesQuoteWhatHasSpaces) {
  EXPECT_EQ(FormatLogLine(LogFormat::kText, "plan finished",
                          {{"model", "gpt 3"},
                           {"gpus", 16},
                           {"wall_s", 1.5},
                           {"peer", "host:1"}}),
            "plan finished model=\"gpt 3\" gpus=16 wall_s=1.5 peer=host:1");
}

TEST(LogTest, NoValueMakesALineOfItsOwn) {
  EXPECT_EQ(FormatLogLine(LogFormat::kText, "worker lost",
                          {{"worker", "a\ninfo:\tb"}, {"job", "\""}}),
            R"(worker lost worker="a\u000ainfo:\u0009b" job="\"")");
}

TEST(LogTest, JsonLinesEscapeStringsAndKeepNumbers) {
  EXPECT_EQ(FormatLogLine(LogFormat::kJson, "say \"hi\"",
                          {{"path", "a\\b\n"}, {"gpus", 16}, {"wall_s", 0.25}}),
            R"("message":"say \"hi\"","path":"a\\b\u000a","gpus":16,)"
            R"("wall_s":0.25)");
}

TEST(LogTest, UnknownNamesAreRefused) {
  EXPECT_THAT(ParseLogFormat("json"), IsOkAndHolds(LogFormat::kJson));
  EXPECT_THAT(ParseLogFormat("xml"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "log format: \"xml\"; expected text or json"));
  EXPECT_THAT(ParseLogLevel("warning"), IsOkAndHolds(LogLevel::kWarning));
  EXPECT_THAT(ParseLogLevel("loud"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "log level: \"loud\"; expected debug, info, warning or "
                       "error"));
}

TEST(LogTest, LinesGoToStandardError) {
  StartLog(LogFormat::kJson, LogLevel::kInfo);
  ::testing::internal::CaptureStderr();
  Log(LogLevel::kInfo, "ready", {{"port", 7070}});
  Log(LogLevel::kDebug, "too much");
  const std::string out = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(out, ::testing::MatchesRegex(
                       "\\{\"time\":\"[0-9T:.-]+Z\",\"level\":\"info\","
                       "\"message\":\"ready\",\"port\":7070\\}\n"));
}

}  // namespace
}  // namespace tangram
