#include "common/sim/max_plus_program.h"

#include <cstdint>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/random_max_plus.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;

TEST(MaxPlusProgramTest, AnAdditionJoinsTheMaximumThatOnlyItReads) {
  // t2 = max(x0, x1), t3 = t2 + 5, t4 = t3 + 1 (not needed), y = {t3, x1}.
  const MaxPlusProgram program = {.steps = {{0, 1, 0}, {2, 2, 5}, {3, 3, 1}},
                                  .outputs = {3, 1}};
  const MaxPlusProgram simple = Simplified(program);
  EXPECT_THAT(simple.steps, ElementsAre(MaxPlusStep{0, 1, 5}));
  EXPECT_THAT(simple.outputs, ElementsAre(2, 1));
}

TEST(MaxPlusProgramTest, AMaximumThatOthersReadStays) {
  const MaxPlusProgram program = {.steps = {{0, 1, 0}, {2, 2, 5}},
                                  .outputs = {3, 2}};
  EXPECT_EQ(Simplified(program).steps, program.steps);
}

TEST(MaxPlusProgramTest, OnlyInputsThatAreReadStay) {
  // x0 is overwritten unread, x1 keeps its value, output 0 reads x2.
  const MaxPlusProgram program = {.steps = {{2, 2, 7}}, .outputs = {2, 1, 3}};
  std::vector<int32_t> read;
  const MaxPlusProgram only = OnlyRead(program, read);
  EXPECT_THAT(read, ElementsAre(2));
  EXPECT_THAT(only.steps, ElementsAre(MaxPlusStep{0, 0, 7}));
  EXPECT_THAT(only.outputs, ElementsAre(1));
}

TEST(MaxPlusProgramPropertyTest, OtherFormsGiveTheSameTimes) {
  testing::RandomMaxPlus random(7);
  for (int i = 0; i < 300; ++i) {
    const MaxPlusProgram program = random.NextProgram();
    const std::vector<Ticks> x = random.NextTimes(program.num_inputs());
    const std::vector<Ticks> y = testing::Apply(program, x);
    ASSERT_EQ(testing::Apply(Simplified(program), x), y);
    ASSERT_EQ(testing::Apply(SortedByDepth(program), x), y);
    std::vector<int32_t> read;
    const MaxPlusProgram only = OnlyRead(program, read);
    std::vector<Ticks> read_x;
    std::vector<Ticks> read_y;
    for (const int32_t r : read) {
      read_x.push_back(x[r]);
      read_y.push_back(y[r]);
    }
    ASSERT_EQ(testing::Apply(only, read_x), read_y);
  }
}

}  // namespace
}  // namespace tangram
