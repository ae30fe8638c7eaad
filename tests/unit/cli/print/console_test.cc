#include "cli/print/console.h"

#include <sstream>

#include "gtest/gtest.h"

namespace tangram {
namespace {

TEST(StyledTest, IsPlainWithoutColour) {
  std::ostringstream out;
  const Console console{.out = out, .err = out};

  EXPECT_EQ(Styled(console, Style::kBold, "text"), "text");
}

TEST(StyledTest, EndsWhatItBegins) {
  std::ostringstream out;
  const Console console{.out = out, .err = out, .color = true};

  EXPECT_EQ(Styled(console, Style::kBold, "text"), "\x1b[1mtext\x1b[0m");
  EXPECT_EQ(Styled(console, Style::kPlain, "text"), "text");
}

TEST(WidthForTest, IsThatOfColumnsThenOfTheTerminal) {
  EXPECT_EQ(WidthFor(nullptr, 0), kUsualWidth);
  EXPECT_EQ(WidthFor(nullptr, 132), 132);
  EXPECT_EQ(WidthFor("200", 132), 200);
  EXPECT_EQ(WidthFor("", 132), 132);
  EXPECT_EQ(WidthFor("wide", 0), kUsualWidth);
  EXPECT_EQ(WidthFor("-3", 0), kUsualWidth);
}

TEST(WidthForTest, HasBounds) {
  EXPECT_EQ(WidthFor("1", 0), kLeastWidth);
  EXPECT_EQ(WidthFor(nullptr, 10), kLeastWidth);
  EXPECT_EQ(WidthFor("1000000", 0), kMostWidth);
}

}  // namespace
}  // namespace tangram
