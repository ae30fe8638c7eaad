#include "formats/config/document.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "formats/config/text_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::tangram::testing::IsOk;
using ::tangram::testing::kBadInput;
using ::tangram::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

using Kind = ConfigValue::Kind;

std::string Repeat(absl::string_view text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) absl::StrAppend(&result, text);
  return result;
}

TEST(ParseConfigTextTest, ReadsYaml) {
  ASSERT_OK_AND_ASSIGN(
      const ConfigValue root,
      ParseConfigText("a: 1\nb: [x, 'null', null]\nc:\n", "f"));
  EXPECT_EQ(root.kind, Kind::kMapping);
  EXPECT_THAT(root.keys, ElementsAre("a", "b", "c"));
  EXPECT_EQ(root.items[0].scalar, "1");
  const ConfigValue& list = root.items[1];
  ASSERT_EQ(list.items.size(), 3);
  EXPECT_EQ(list.items[0].scalar, "x");
  EXPECT_EQ(list.items[1].kind, Kind::kScalar);
  EXPECT_EQ(list.items[2].kind, Kind::kNull);
  EXPECT_EQ(root.items[2].kind, Kind::kNull);
}

TEST(ParseConfigTextTest, ReadsJson) {
  ASSERT_OK_AND_ASSIGN(
      const ConfigValue root,
      ParseConfigText("{\n\t\"a\": {\"b\": [1, true, null]},\n\t\"c\": "
                      "\"x\\/\\u00e9\"\n}",
                      "f"));
  EXPECT_EQ(root.items[0].items[0].items[1].scalar, "true");
  EXPECT_EQ(root.items[1].scalar, "x/é");
}

TEST(ParseConfigTextTest, SaysWhereTheSyntaxIsWrong) {
  EXPECT_THAT(ParseConfigText("a: 1\nb: [1, 2\nc: 3\n", "c1.yaml"),
              StatusIs(kBadInput, StartsWith("c1.yaml: line ")));
  EXPECT_THAT(ParseConfigText("a: 1\n  b: 2\n", "c1.yaml"),
              StatusIs(kBadInput, StartsWith("c1.yaml: line 2, column 4: ")));
}

TEST(ParseConfigTextTest, RefusesTextThatIsNoText) {
  using namespace std::string_literals;
  const std::string cases[] = {"\xff\xfe a"s,
                               "a: \x80"s,
                               "a: \xc0\xaf"s,
                               "a: \xed\xa0\x80"s,
                               "a: \xf4\x90\x80\x80"s,
                               "a: \xe2\x82"s,
                               "a: \0 b"s,
                               "\x01"s};
  for (const std::string& text : cases) {
    EXPECT_THAT(ParseConfigText(text, "f"),
                StatusIs(kBadInput, HasSubstr("expected UTF-8 text")));
  }
  EXPECT_THAT(ParseConfigText("a: µ€𝄞", "f"), IsOk());
}

TEST(ParseConfigTextTest, RefusesEmptyText) {
  for (const std::string text : {"", " \n\t\n", "# only a comment\n"}) {
    EXPECT_THAT(ParseConfigText(text, "f"),
                StatusIs(kBadInput, HasSubstr("empty")));
  }
}

TEST(ParseConfigTextTest, RefusesSeveralDocuments) {
  EXPECT_THAT(ParseConfigText("a: 1\n---\nb: 2\n", "f"),
              StatusIs(kBadInput, HasSubstr("several documents")));
}

TEST(ParseConfigTextTest, RefusesAliases) {
  EXPECT_THAT(ParseConfigText("a: &x [1]\nb: [*x, *x]\n", "f"),
              StatusIs(kBadInput, HasSubstr("line 1, column 4: an anchor")));
}

TEST(ParseConfigTextTest, RefusesKeysThatAreNoText) {
  for (const std::string text :
       {"? [a]\n: 1\n", "? {a: b}\n: 1\n", "~: 1\n", "? ? ? ? a"}) {
    EXPECT_THAT(ParseConfigText(text, "f"),
                StatusIs(kBadInput, HasSubstr("a key that is not plain text")));
  }
}

TEST(ParseConfigTextTest, RefusesDeepNesting) {
  for (const std::string& text :
       {Repeat("[", 100'000), Repeat("{a: ", 100'000), Repeat("- ", 100'000),
        Repeat("- ", 40) + "a"}) {
    EXPECT_THAT(ParseConfigText(text, "f"),
                StatusIs(kBadInput, HasSubstr("nested more than 32 deep")));
  }
  EXPECT_THAT(ParseConfigText(Repeat("[", 32) + Repeat("]", 32), "f"), IsOk());
}

TEST(ParseConfigTextTest, RefusesTooManyValues) {
  EXPECT_THAT(ParseConfigText("[" + Repeat("1,", 200'001) + "]", "f"),
              StatusIs(kBadInput, HasSubstr("more than 200000 values")));
}

TEST(ParseConfigTextTest, RefusesLargeTextBeforeParsingIt) {
  EXPECT_THAT(ParseConfigText(std::string(50'000'000, '['), "f"),
              StatusIs(kBadInput, "f: 50.0 MB; expected at most 8 MiB"));
}

}  // namespace
}  // namespace tangram
