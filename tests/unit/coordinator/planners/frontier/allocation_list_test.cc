#include "coordinator/planners/frontier/allocation_list.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using ::testing::Eq;
using testing::IsOkAndHolds;
using ::testing::Optional;
using testing::StatusIs;

TEST(PlanningOrderTest, FewGpusComeFirst) {
  EXPECT_THAT(PlanningOrder({{{2, 0}, {0, 1}, {1, 0}, {1, 1}}}, {{2, 4}}),
              ElementsAre(2, 0, 1, 3));
}

TEST(EnvelopeOfTest, WorksOnAnyList) {
  // (0, 2) holds neither of the others; (2, 2) holds all, (1, 3) holds (0, 2).
  const std::vector<Allocation> list = {{0, 2}, {1, 0}, {1, 3}, {2, 2}};
  const std::vector<std::optional<double>> seconds = {5, 4, 6, std::nullopt};
  EXPECT_THAT(
      EnvelopeOf(list, seconds),
      IsOkAndHolds(ElementsAre(
          Optional(EnvelopePoint{5, 0}), Optional(EnvelopePoint{4, 1}),
          Optional(EnvelopePoint{4, 1}), Optional(EnvelopePoint{4, 1}))));
}

TEST(EnvelopeOfTest, RefusesTooSparseAList) {
  std::vector<Allocation> list;
  for (int i = 0; i < 5000; ++i) list.push_back({i, i});
  const std::vector<std::optional<double>> seconds(list.size());
  EXPECT_THAT(EnvelopeOf(list, seconds),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       ::testing::HasSubstr("combinations; expected fewer")));
}

TEST(AllocationSetsTest, NeighboursStayWithinTheCluster) {
  EXPECT_THAT(NeighboursOf({0, 2}, {{1, 2}}),
              ElementsAre(Allocation{0, 1}, Allocation{0, 2}, Allocation{1, 1},
                          Allocation{1, 2}));
  // No nodes at all is no allocation.
  EXPECT_THAT(NeighboursOf({0}, {{1}}), ElementsAre(Allocation{1}));
}

TEST(AllocationSetsTest, PowersEndWithAllNodes) {
  EXPECT_THAT(PowersOfOneGroup({{3, 1}}),
              ElementsAre(Allocation{0, 1}, Allocation{1, 0}, Allocation{2, 0},
                          Allocation{3, 0}));
}

TEST(AllocationSetsTest, OneGroupHasAllGpus) {
  EXPECT_THAT(OneGroupWithGpus(8, {{4, 2, 9}}, {{2, 8, 3}}),
              ElementsAre(Allocation{0, 1, 0}, Allocation{4, 0, 0}));
}

}  // namespace
}  // namespace tangram
