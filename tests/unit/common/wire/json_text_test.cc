#include "common/wire/json_text.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::HasSubstr;
using testing::IsOk;
using testing::StatusIs;

TEST(CheckJsonSyntaxTest, AcceptsEveryKindOfValue) {
  EXPECT_THAT(CheckJsonSyntax(R"( {"a": [1, -2.5e+3, true, null], "b\"": {},
                                   "c": [], "d": "\\"} )"),
              IsOk());
}

struct BadJson {
  std::string name;
  std::string text;
  std::string error;
};

class BadJsonTest : public ::testing::TestWithParam<BadJson> {};

TEST_P(BadJsonTest, IsRefusedWithItsOffset) {
  EXPECT_THAT(CheckJsonSyntax(GetParam().text),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr(GetParam().error)));
}

INSTANTIATE_TEST_SUITE_P(
    CheckJsonSyntaxTest, BadJsonTest,
    ::testing::Values(
        BadJson{"Empty", "", "not valid JSON at offset 0: expected a value"},
        BadJson{"Truncated", R"({"a": [1, 2)",
                "offset 11: expected ',' or ']'"},
        BadJson{"OpenString", R"({"a)", "offset 3: expected the end of a str"},
        BadJson{"OpenEscape", "\"\\", "offset 2: expected the end of a string"},
        BadJson{"NoColon", R"({"a" 1})", "offset 5: expected ':'"},
        BadJson{"TwoValues", "1 2", "offset 2: expected the end of the text"},
        BadJson{"Number", "[1.]", "offset 3: expected a digit"},
        BadJson{"Yaml", "cluster: c1", "offset 0: expected a value"},
        BadJson{"Deep", std::string(100000, '['), "expected less nesting"}),
    [](const auto& test) { return test.param.name; });

TEST(CheckJsonSyntaxTest, AKeyTwiceInAnObjectIsRefused) {
  EXPECT_THAT(CheckJsonSyntax(R"({"a": {"b": 1}, "b": [{"b": 1}, {"b": 2}]})"),
              testing::IsOk());
  EXPECT_THAT(CheckJsonSyntax(R"({"a": {"b": 1, "c": 2, "b": 1}})"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("field \"b\" at offset 23: a second time; "
                                 "expected each field once")));
}

// Protobuf takes a field by its own name and by its JSON name.
TEST(CheckJsonSyntaxTest, AFieldByBothOfItsNamesIsRefused) {
  EXPECT_THAT(
      CheckJsonSyntax(R"({"made_by": 1, "madeBy": 2})"),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("field \"madeBy\" at offset 15: a second time; "
                         "expected each field once")));
  EXPECT_THAT(CheckJsonSyntax(R"({"made\u005fby": 1, "made_by": 2})"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("field \"made_by\"")));
  EXPECT_THAT(CheckJsonSyntax(R"({"\u006dade_by": 1, "madeBy": 2})"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("field \"madeBy\"")));
}

TEST(CheckJsonSyntaxTest, KeysThatAreOnlyAlikeAreAccepted) {
  EXPECT_THAT(CheckJsonSyntax(R"({"a_b": 1, "ab": 2, "\u00e9": 3, "\u00e8": 4,
                          "\\u0061": 5, "a": 6, "\u": 7, "\u00": 8, "": 9})"),
              IsOk());
}

TEST(LayOutJsonTest, KeepsShortContainersOnOneLine) {
  EXPECT_EQ(LayOutJson(R"({"a":[1,2,{"b":"x,y:z"}],"c":{}})"),
            "{\"a\": [1, 2, {\"b\": \"x,y:z\"}], \"c\": {}}\n");
}

TEST(LayOutJsonTest, BreaksLongObjectsByMember) {
  const std::string long_name(70, 'n');
  EXPECT_EQ(LayOutJson("{\"name\":\"" + long_name + "\",\"gpus\":[1,2]}"),
            "{\n  \"name\": \"" + long_name + "\",\n  \"gpus\": [1, 2]\n}\n");
}

TEST(LayOutJsonTest, FillsLinesWithScalars) {
  std::string compact = "[";
  for (int i = 0; i < 20; ++i) compact += "\"node-1\",";
  compact.back() = ']';
  // Seven elements of 8 columns with ", " between them: 2 + 7 · 10 − 1 = 71.
  const std::string line =
      "  \"node-1\", \"node-1\", \"node-1\", \"node-1\", \"node-1\", "
      "\"node-1\", \"node-1\"";
  EXPECT_EQ(LayOutJson(compact),
            "[\n" + line + ",\n" + line + ",\n" + line.substr(0, 60) + "\n]\n");
}

}  // namespace
}  // namespace tangram
