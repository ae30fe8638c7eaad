#include "common/base/printable_text.h"

#include <string>

#include "gtest/gtest.h"

namespace tangram {
namespace {

TEST(PrintableTextTest, ControlCharactersAreReplaced) {
  EXPECT_EQ(PrintableText("plain", 10), "plain");
  EXPECT_EQ(PrintableText("a\x1b[2J\nb\x7f", 20), "a?[2J b?");
  // U+009B begins an escape sequence too; U+00A9 is a letter-like sign.
  EXPECT_EQ(PrintableText("\xC2\x9B"
                          "31m \xC2\xA9",
                          20),
            "?31m \xC2\xA9");
}

TEST(PrintableTextTest, ControlCharactersAreEscapedForTerminals) {
  EXPECT_EQ(EscapedControls("plain µs\n"), "plain µs\n");
  EXPECT_EQ(EscapedControls("a\x1b[2Jb\x7f\xC2\x9B"
                            "c\r"),
            "a\\x1b[2Jb\\x7f\\xc2\\x9bc\\r");
  EXPECT_EQ(EscapedControls(absl::string_view("\0", 1)), "\\x00");
}

TEST(PrintableTextTest, LongTextIsCutBetweenCharacters) {
  EXPECT_EQ(PrintableText("123456", 6), "123456");
  EXPECT_EQ(PrintableText("1234567", 6), "123...");
  EXPECT_EQ(PrintableText("12\xC3\xA9"
                          "456",
                          6),
            "12...");
  EXPECT_EQ(PrintableText(std::string(100'000, 'x'), 300).size(), 300);
}

TEST(PrintableTextTest, TellsWhetherTextIsPrintable) {
  EXPECT_TRUE(IsPrintable(""));
  EXPECT_TRUE(IsPrintable("gpu-7 \xC3\xBC"));
  EXPECT_FALSE(IsPrintable("a\tb"));
  EXPECT_FALSE(IsPrintable("\xC2\x9B"));
}

// "w\u202E7-upg" would be shown as "wgpu-7".
TEST(PrintableTextTest, CharactersThatTurnTheDirectionAreControls) {
  for (const char* control : {"\u061C", "\u200E", "\u200F", "\u2028", "\u2029",
                              "\u202A", "\u202E", "\u2066", "\u2069"}) {
    const std::string text = std::string("w") + control + "7";
    EXPECT_FALSE(IsPrintable(text));
    EXPECT_EQ(PrintableText(text, 20), "w?7");
    EXPECT_EQ(EscapedControls(text).substr(0, 3), "w\\x");
  }
  // Their neighbours, and texts that run from right to left by themselves.
  for (const char* text : {"\u061B", "\u061D", "\u200D", "\u2010", "\u2027",
                           "\u202F", "\u2065", "\u206A", "\u05D0\u05D1"}) {
    EXPECT_TRUE(IsPrintable(text)) << text;
  }
}

TEST(PrintableTextTest, BytesThatAreNotUtf8AreNoText) {
  EXPECT_EQ(PrintableText("x\xC2", 20), "x?");
  EXPECT_EQ(EscapedControls("a\xFF\xC3(\xC3\xA9"), "a\\xff\\xc3(\xC3\xA9");
  EXPECT_FALSE(IsPrintable("\xE2\x80"));  // Cut off.
}

}  // namespace
}  // namespace tangram
