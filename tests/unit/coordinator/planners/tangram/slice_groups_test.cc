#include "coordinator/planners/tangram/slice_groups.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Two atoms on two islands. Slice i has `bounds[i]`: first island 0 and 1 with
// atom 0, then with atom 1.
class AroundSlicesTest : public ::testing::Test {
 protected:
  // Returns the slices on atom `atom` and the island that are left.
  std::vector<int> Left(int atom, int island, double limit_s) {
    std::vector<std::vector<SliceGroup>> ending(3);
    for (int slice = 0; slice < 4; ++slice) {
      SliceGroup group{.begin = slice / 2, .island = slice % 2};
      group.Add(slice, bounds_[slice]);
      ending[slice / 2 + 1].push_back(group);
    }
    std::vector<std::vector<PrefixBound>> prefixes(3,
                                                   std::vector<PrefixBound>(4));
    prefixes[0][0] = {0, 0};
    for (const int i : {0, 1}) {
      prefixes[1][1 << i] = {bounds_[i].closing_s + bounds_[i].latency_s,
                             bounds_[i].closing_s + bounds_[i].busiest_s};
    }
    SliceGroup group = ending[atom + 1][island];
    const AroundSlices around(2, ending, prefixes);
    around.KeepUseful(
        atom + 1, limit_s,
        [this](int slice) -> const SliceBound& { return bounds_[slice]; },
        group);
    return group.slices;
  }

  std::vector<SliceBound> bounds_ = {
      {.latency_s = 1, .busiest_s = 10, .closing_s = 2},
      {.latency_s = 1, .busiest_s = 20, .closing_s = 2},
      {.latency_s = 3, .busiest_s = 15},
      {.latency_s = 3, .busiest_s = 30}};
};

// The other island has 2 + max(20, 1 + 15) = 22 s with atom 0 in front of
// atom 1, and 2 + max(10, 1 + 30) = 33 s the other way round.
TEST_F(AroundSlicesTest, TheOtherIslandHoldsTheOtherAtomInTime) {
  EXPECT_THAT(Left(1, 0, 22.1), ElementsAre(2));
  EXPECT_THAT(Left(0, 1, 22.1), ElementsAre(1));
  EXPECT_THAT(Left(1, 0, 21.9), IsEmpty());
  EXPECT_THAT(Left(0, 1, 21.9), IsEmpty());
  EXPECT_THAT(Left(0, 0, 32.9), IsEmpty());
  EXPECT_THAT(Left(1, 1, 32.9), IsEmpty());
  EXPECT_THAT(Left(0, 0, 33.1), ElementsAre(0));
  EXPECT_THAT(Left(1, 1, 33.1), ElementsAre(3));
}

}  // namespace
}  // namespace tangram
