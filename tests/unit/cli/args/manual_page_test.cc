#include "cli/args/manual_page.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;

CommandTree Tree() {
  return {
      .name = "tool",
      .help = "Does things",
      .subcommands = {{.name = "fly",
                       .help = "Fly away",
                       .options = {{.name = "--to",
                                    .value = "TOWN",
                                    .help = ".where\\to",
                                    .default_value = "Rome",
                                    .is_required = true},
                                   {.name = "BAG", .is_positional = true}}}}};
}

TEST(ManualPagesTest, MakesAPageForEachCommand) {
  EXPECT_THAT(ManualPages(Tree()),
              ElementsAre(Field(&ManualPage::name, "tool"),
                          Field(&ManualPage::name, "tool-fly")));
}

TEST(ManualPagesTest, ThePageOfACommandSaysHowToCallIt) {
  const std::string text = ManualPages(Tree())[1].text;
  EXPECT_THAT(text, HasSubstr("tool\\-fly \\- Fly away\n"));
  EXPECT_THAT(text, HasSubstr("\\fBtool fly\\fR \\fB\\-\\-to\\fR \\fITOWN\\fR "
                              "[\\fIoptions\\fR] \\fIBAG\\fR\n"));
}

TEST(ManualPagesTest, TextThatLooksLikeARequestIsEscaped) {
  EXPECT_THAT(ManualPages(Tree())[1].text,
              HasSubstr("\n\\&.where\\eto [Rome]\n"));
}

TEST(ManualPagesTest, ThePageOfTheProgramListsItsCommands) {
  EXPECT_THAT(ManualPages(Tree())[0].text,
              HasSubstr(".TP\n\\fBtool\\-fly(1)\\fR\nFly away\n"));
}

TEST(ManualPagesTest, EveryPageListsTheExitCodes) {
  for (const ManualPage& page : ManualPages(Tree())) {
    EXPECT_THAT(page.text, HasSubstr(".SH EXIT STATUS\n.TP\n0\ndone\n"));
    EXPECT_THAT(page.text, HasSubstr(".TP\n130\ninterrupted\n"));
  }
}

TEST(ManualPagesTest, APageShowsHowTheCommandIsUsed) {
  CommandTree tree = {.name = "tangram",
                      .subcommands = {{.name = "models"}, {.name = "fly"}}};
  const std::vector<ManualPage> pages = ManualPages(tree);
  EXPECT_THAT(pages[1].text,
              HasSubstr(".SH EXAMPLES\n.nf\ntangram models\n.fi\n"));
  EXPECT_THAT(pages[2].text, ::testing::Not(HasSubstr("EXAMPLES")));
}

}  // namespace
}  // namespace tangram
