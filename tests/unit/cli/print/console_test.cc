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

}  // namespace
}  // namespace tangram
