#include "common/obs/log.h"

#include <google/protobuf/wrappers.pb.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
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

TEST(LogTest, TextLinesHaveOnlyWhatCanBePrinted) {
  EXPECT_EQ(FormatLogLine(LogFormat::kText, "\x1b[2J\xFF",
                          {{"a", "\xFE"}, {"b", "c \x7f\u202E"}}),
            "\\x1b[2J\\xff a=\\xfe b=\"c \\x7f\\xe2\\x80\\xae\"");
}

TEST(LogTest, JsonLinesEscapeStringsAndKeepNumbers) {
  EXPECT_EQ(FormatLogLine(LogFormat::kJson, "say \"hi\"",
                          {{"path", "a\\b\n"}, {"gpus", 16}, {"wall_s", 0.25}}),
            R"("message":"say \"hi\"","path":"a\\b\u000a","gpus":16,)"
            R"("wall_s":0.25)");
}

TEST(LogTest, NumbersThatJsonDoesNotHaveAreStrings) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(FormatLogLine(LogFormat::kJson, "odd",
                          {{"a", std::numeric_limits<double>::quiet_NaN()},
                           {"b", kInfinity},
                           {"c", -kInfinity}}),
            R"("message":"odd","a":"nan","b":"inf","c":"-inf")");
}

TEST(LogTest, BytesThatAreNotUtf8BecomeReplacementCharacters) {
  const std::string bad = "\xEF\xBF\xBD";  // U+FFFD
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"caf\xC3\xA9", "caf\xC3\xA9"},            // U+00E9
      {"\xE2\x82\xAC", "\xE2\x82\xAC"},          // U+20AC
      {"\xF0\x9F\x98\x80", "\xF0\x9F\x98\x80"},  // U+1F600
      {"a\xFFz", "a" + bad + "z"},               // No lead byte.
      {"\x80", bad},                             // A continuation alone.
      {"\xC3", bad},                             // Cut off.
      {"\xC3(", bad + "("},
      {"\xC0\xAF", bad + bad},                      // '/' in two bytes.
      {"\xE0\x80\xAF", bad + bad + bad},            // '/' in three.
      {"\xED\xA0\x80", bad + bad + bad},            // U+D800, a surrogate.
      {"\xF4\x90\x80\x80", bad + bad + bad + bad},  // U+110000.
  };
  for (const auto& [text, expected] : cases) {
    EXPECT_EQ(FormatLogLine(LogFormat::kJson, text, {}),
              "\"message\":\"" + expected + "\"");
  }
}

// nlohmann's parser is strict about UTF-8, escapes and numbers.
TEST(LogTest, EveryLineIsValidJson) {
  std::string all_bytes;
  for (int byte = 0; byte < 256; ++byte) {
    all_bytes.push_back(static_cast<char>(byte));
  }
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      const std::string pair = {static_cast<char>(first),
                                static_cast<char>(second)};
      const std::string line = FormatLogLine(
          LogFormat::kJson, pair,
          {{pair, pair},
           {"x", std::bit_cast<double>(uint64_t{0x7FF0} << 48 | second)}});
      ASSERT_TRUE(nlohmann::json::accept("{" + line + "}")) << line;
    }
  }
  EXPECT_TRUE(nlohmann::json::accept(
      "{" + FormatLogLine(LogFormat::kJson, all_bytes, {}) + "}"));
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

// Any caller can send bytes that are not UTF-8 where a string should be.
TEST(LogTest, LinesOfProtocolBuffersAreLinesOfTheLog) {
  const std::string bad = "\x0a\x01\xff";  // Field 1 has one byte, 0xff.
  StartLog(LogFormat::kJson, LogLevel::kInfo);
  ::testing::internal::CaptureStderr();
  for (int i = 0; i < 100; ++i) {
    google::protobuf::StringValue value;
    EXPECT_FALSE(value.ParseFromString(bad));
  }
  const std::string out = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), 1) << out;
  const auto line = nlohmann::json::parse(out);
  EXPECT_EQ(line.at("source"), "protobuf");
  EXPECT_EQ(line.at("level"), "warning");
}

}  // namespace
}  // namespace tangram
