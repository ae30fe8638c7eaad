#include "worker/adapters/alpa/alpa_inter_operator_problem.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram::alpa {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;

TEST(InterOperatorProblemTest, KeepsOptionsThatNoOtherBeats) {
  InterOperatorProblem problem(1, 1, {1});
  const int row = problem.AddRow();

  // The second bears less and takes longer than the third. The last bears no
  // more than the fourth.
  problem.SetOptions(row, 0,
                     {{.seconds = 3, .max_trailing_stages = 9, .config = 0},
                      {.seconds = 2, .max_trailing_stages = 1, .config = 1},
                      {.seconds = 1, .max_trailing_stages = 2, .config = 2},
                      {.seconds = 2, .max_trailing_stages = 4, .config = 3},
                      {.seconds = 2, .max_trailing_stages = 4, .config = 4}});

  EXPECT_THAT(problem.OptionsOf(row, 0),
              ElementsAre(Field(&StageOption::config, 2),
                          Field(&StageOption::config, 3),
                          Field(&StageOption::config, 0)));
}

TEST(InterOperatorProblemTest, IntervalsWithoutARowHoldNoStage) {
  InterOperatorProblem problem(2, 1, {1});
  const int row = problem.AddRow();
  problem.SetRow(0, 2, row);

  EXPECT_EQ(problem.RowOf(0, 2), row);
  EXPECT_EQ(problem.RowOf(0, 1), -1);
}

TEST(InterOperatorProblemTest, SubmeshesStayWithinTheDevicesAndTheRule) {
  InterOperatorProblem problem(1, 4, {1, 2, 4});
  EXPECT_THAT(problem.SubmeshesAt(0), ElementsAre(0, 1, 2));
  EXPECT_THAT(problem.SubmeshesAt(2), ElementsAre(0, 1));

  problem.RestrictSubmeshes(
      [](int device, int size) { return device % size == 0; });

  EXPECT_THAT(problem.SubmeshesAt(1), ElementsAre(0));
  EXPECT_THAT(problem.SubmeshesAt(2), ElementsAre(0, 1));
}

TEST(InterOperatorProblemTest, TransfersAreKeptByKindOfBoundary) {
  InterOperatorProblem problem(3, 4, {1, 2});
  EXPECT_EQ(problem.TransferSeconds(1, 2, 0, 1), 0);

  problem.SetTransfers(
      {0, 1, 0}, [](int boundary, int device, int from, int to) {
        return 1000.0 * boundary + 100 * device + 10 * from + to;
      });

  EXPECT_EQ(problem.TransferSeconds(1, 2, 0, 1), 1201);
  EXPECT_EQ(problem.TransferSeconds(2, 3, 1, 0), 310);
}

TEST(InterOperatorProblemTest, MostSecondsIsOfTheSlowestOptionAndTransfer) {
  InterOperatorProblem problem(2, 2, {1});
  problem.SetOptions(problem.AddRow(), 0, {{.seconds = 2}});
  problem.SetOptions(
      problem.AddRow(), 0,
      {{.seconds = 3}, {.seconds = 5, .max_trailing_stages = 1}});
  problem.SetTransfers({0, 0}, [](int, int, int, int) { return 0.25; });

  EXPECT_EQ(problem.MostSeconds(), 5.25);
}

}  // namespace
}  // namespace tangram::alpa
