#include "coordinator/planners/tangram/slice_model.h"

#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/fake_slice_plan_source.h"
#include "tests/testing/planning/planning.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using testing::FakeSlicePlanSource;
using testing::SilentObserver;

class StoppingObserver : public SilentObserver {
 public:
  bool ShouldStop() override { return true; }
};

// Layers of three kinds in random order between embedding and head.
ModelSpec RandomModel(int num_layers, std::mt19937& rng) {
  ModelSpec model = testing::TestModel(num_layers);
  for (int i = 1; i <= num_layers; ++i) {
    model.layers[i].ffn_hidden_size = 1024 << (rng() % 3);
  }
  return model;
}

TEST(SliceModelTest, RepresentativesAreTheFirstMembersJoinedFromTheLeft) {
  std::mt19937 rng(1);
  for (int round = 0; round < 50; ++round) {
    const int num_layers = 1 + static_cast<int>(rng() % 20);
    const std::vector<ModelSlice> atoms =
        SliceByLayer(RandomModel(num_layers, rng));
    const SliceTable table(atoms, round % 2 == 0);
    FakeSlicePlanSource source;
    SilentObserver observer;
    ASSERT_OK_AND_ASSIGN(const std::vector<ModelSlice> slices,
                         RepresentativeSlices(table, atoms, source, observer));
    for (int c = 0; c < table.num_classes(); ++c) {
      const AtomRange range = table.MembersOf(c).front();
      ModelSlice expected = atoms[range.begin];
      for (int a = range.begin + 1; a < range.end; ++a) {
        expected = JoinSlices(expected, atoms[a]);
      }
      EXPECT_EQ(slices[c], expected);
    }
  }
}

TEST(SliceModelTest, RoundTripsGrowWithTheLogarithmOfTheAtoms) {
  const std::vector<ModelSlice> atoms = SliceByLayer(testing::TestModel(126));
  const SliceTable table(atoms, true);
  FakeSlicePlanSource source;
  SilentObserver observer;
  ASSERT_THAT(RepresentativeSlices(table, atoms, source, observer),
              testing::IsOk());
  EXPECT_EQ(source.concatenations, 7);  // 128 atoms.
}

TEST(SliceModelTest, GroupsAreJoinedInTheirOrder) {
  std::mt19937 rng(2);
  const std::vector<ModelSlice> atoms = SliceByLayer(RandomModel(9, rng));
  const std::vector<AtomRange> groups = {{0, 1}, {1, 6}, {6, 10}, {10, 11}};
  FakeSlicePlanSource source;
  SilentObserver observer;
  ASSERT_OK_AND_ASSIGN(const std::vector<ModelSlice> joined,
                       JoinGroups(atoms, groups, source, observer));
  ASSERT_EQ(joined.size(), groups.size());
  for (size_t g = 0; g < groups.size(); ++g) {
    ModelSlice expected = atoms[groups[g].begin];
    for (int a = groups[g].begin + 1; a < groups[g].end; ++a) {
      expected = JoinSlices(expected, atoms[a]);
    }
    EXPECT_EQ(joined[g], expected);
  }
  EXPECT_EQ(source.concatenations, 3);  // Five parts: 5, 3, 2, 1.
}

TEST(SliceModelTest, StopsBeforeItAsks) {
  const std::vector<ModelSlice> atoms = SliceByLayer(testing::TestModel(4));
  const SliceTable table(atoms, true);
  FakeSlicePlanSource source;
  StoppingObserver observer;
  EXPECT_THAT(RepresentativeSlices(table, atoms, source, observer),
              testing::StatusIs(absl::StatusCode::kCancelled, ::testing::_));
  EXPECT_EQ(source.concatenations, 0);
}

}  // namespace
}  // namespace tangram
