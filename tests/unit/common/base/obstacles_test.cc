#include "common/base/obstacles.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using testing::IsOk;

TEST(ObstaclesTest, NoneIsOk) {
  Obstacles obstacles;
  obstacles.Add(absl::OkStatus());
  EXPECT_THAT(obstacles.AsStatus(), IsOk());
}

TEST(ObstaclesTest, ListsAllAndCountsThoseOfOneExpectation) {
  Obstacles obstacles;
  obstacles.Refuse("stages[1].gpus", "1 GPUs", "2 as in the first stage");
  obstacles.Add(absl::UnimplementedError("warm_up: given; expected none"));
  obstacles.Refuse("stages[2].gpus", "4 GPUs", "2 as in the first stage");
  const absl::Status status = obstacles.AsStatus();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "stages[1].gpus: 1 GPUs; expected 2 as in the first stage (and 1 "
            "more like it). Also: warm_up: given; expected none");
  EXPECT_EQ(FirstObstacle("a: b; expected c. Also: d"), "a: b; expected c");
  EXPECT_EQ(FirstObstacle("a: b; expected c"), "a: b; expected c");
}

}  // namespace
}  // namespace tangram
