#include "cli/print/print_diff.h"

#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"

namespace tangram {
namespace {

using ::tangram::testing::TestModel;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Printed(PlanDiff diff) {
  PlanFile file;
  file.model = TestModel(4);
  std::ostringstream out;
  std::ostringstream err;
  Console console{.out = out, .err = err};
  PrintDiff({.name_a = "a.json",
             .name_b = "b.json",
             .a = file,
             .b = file,
             .diff = std::move(diff)},
            console);
  return out.str();
}

TEST(PrintDiffTest, FiguresHaveTheUnitsOfTheirNames) {
  const std::string text =
      Printed({.cluster = {{"links.x.y.bandwidth_bytes_per_s", 1e9, 2e9},
                           {"groups.x.memory_bytes", 16e9, 32e9}},
               .training = {{"dropout", true, false}},
               .prediction = {{"iteration_time_s", 10.0, 12.0},
                              {"tokens_per_s", 20000.0, 16000.0},
                              {"bubble_fraction", 0.25, 0.5},
                              {"violations", int64_t{0}, int64_t{1}}}});

  // A fraction has no relative change.
  EXPECT_EQ(text, R"(Differences
                                a.json     b.json
  iteration time                10.0 s     12.0 s      +20.0 %
  tokens/s                      20,000     16,000      -20.0 %
  bubble                        25.0 %     50.0 %
  violations                    0          1
  cluster: links.x.y.bandwidth  1.00 GB/s  2.00 GB/s  +100.0 %
  cluster: groups.x.memory      16.0 GB    32.0 GB    +100.0 %
  training: dropout             yes        no
)");
}

TEST(PrintDiffTest, LongValuesAreWrapped) {
  const std::string cuts(150, 'c');
  const std::string text =
      Printed({.plan = {{"cuts", cuts + " " + cuts, "none"}}});
  EXPECT_THAT(text, HasSubstr("  cuts:\n    " + cuts + "\n"));
  EXPECT_THAT(text, HasSubstr(" -> none\n"));
}

TEST(PrintDiffTest, StagesShowOnlyWhatDiffers) {
  const std::string text =
      Printed({.stages = {{.begin = {0, 0},
                           .end = {3, 0},
                           .differences = {{"tp_degree", 1, 2},
                                           {"peak_bytes", 4e9, 4.0001e9}}},
                          {.begin = {3, 0}, .end = {4, 0}, .stage_b = 1},
                          {.begin = {4, 0},
                           .end = {6, 0},
                           .stage_a = 1,
                           .stage_b = 1,
                           .differences = {{"recompute", "none", "attn"}}}}});
  EXPECT_THAT(text, HasSubstr("How the same layers are run\n"
                              "  layers  stage  tp      recompute\n"
                              "  emb-2   0      1 -> 2\n"
                              "  4-head  1              none -> attn\n"));
  // Both print as 4.00 GB.
  EXPECT_THAT(text, Not(HasSubstr("What their stages take")));
}

TEST(PrintDiffTest, EqualPlansAreOneLine) {
  EXPECT_EQ(Printed({}), "a.json and b.json are the same plan\n");
}

}  // namespace
}  // namespace tangram
