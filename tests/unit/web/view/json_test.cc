#include "web/view/json.h"

#include "gtest/gtest.h"

namespace tangram {
namespace {

TEST(ScriptSafeTextTest, KeepsOrderAndValues) {
  const Json json = {{"b", 1}, {"a", {1.5, "x"}}};
  EXPECT_EQ(ScriptSafeText(json), R"({"b":1,"a":[1.5,"x"]})");
}

TEST(ScriptSafeTextTest, CannotEndTheElementItIsIn) {
  const Json json = {{"</script>", "<!--<script>&amp;]]>"}};
  EXPECT_EQ(ScriptSafeText(json),
            R"({"\u003c/script\u003e":"\u003c!--\u003cscript\u003e)"
            R"(\u0026amp;]]\u003e"})");
  EXPECT_EQ(Json::parse(ScriptSafeText(json)), json);
}

// Line separator U+2028, an emoji beyond the basic plane, a control character.
TEST(ScriptSafeTextTest, IsAscii) {
  const Json json = "\xE2\x80\xA8 \xF0\x9F\x98\x80 \x01 \"\\";
  EXPECT_EQ(ScriptSafeText(json), R"("\u2028 \ud83d\ude00 \u0001 \"\\")");
  EXPECT_EQ(Json::parse(ScriptSafeText(json)), json);
}

TEST(ScriptSafeTextTest, TakesWhatIsNoUtf8) {
  EXPECT_EQ(ScriptSafeText(Json("a\xFF"
                                "b")),
            R"("a\ufffdb")");
}

}  // namespace
}  // namespace tangram
