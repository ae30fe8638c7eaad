#include "coordinator/planners/tangram/atom_groups.h"

#include "common/domain/limits.h"
#include "coordinator/planners/tangram/planning_limits.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"

namespace tangram {
namespace {

// The most islands times microbatch sizes of a request.
constexpr int64_t kMostQuestions = int64_t{16} * 504;

// A model whose layers all differ.
std::vector<AtomOutline> DifferentAtoms(int count) {
  std::vector<AtomOutline> atoms;
  for (int i = 0; i < count; ++i) {
    atoms.push_back({.content = static_cast<Fingerprint>(i + 1)});
  }
  return atoms;
}

void ExpectToCover(const AtomGroups& grouped, int num_atoms) {
  int next = 0;
  for (const AtomRange& group : grouped.groups) {
    EXPECT_EQ(group.begin, next);
    EXPECT_GT(group.size(), 0);
    EXPECT_LE(group.size(), grouped.atoms_per_group);
    next = group.end;
  }
  EXPECT_EQ(next, num_atoms);
}

TEST(AtomGroupsTest, ModelsInUseKeepTheirAtoms) {
  // Llama 3.1 405B has 126 layers, here on 8 islands with 12 microbatch sizes.
  const AtomGroups grouped =
      GroupAtoms(OutlinesOf(testing::TestModel(126)), true, 8 * 12);
  EXPECT_EQ(grouped.atoms_per_group, 1);
  EXPECT_EQ(grouped.size.num_atoms, 128);
  // 126 lengths of inner layers, each alone, after the embedding and before the
  // head; the whole model; the embedding and the head alone.
  EXPECT_EQ(grouped.size.num_slices, 3 * 126 + 1 + 2);
  EXPECT_EQ(grouped.size.num_pairs, 381 * 96);
  ExpectToCover(grouped, 128);
}

TEST(AtomGroupsTest, DeepModelsMoveInGroupsWithTheirEndsAlone) {
  const int layers = kMaxTransformerLayers;
  const AtomGroups grouped =
      GroupAtoms(OutlinesOf(testing::TestModel(layers)), true, 2 * 8);
  // 16,382 layers in 254 groups: 65 each.
  EXPECT_EQ(grouped.atoms_per_group, 65);
  EXPECT_LE(grouped.size.num_atoms, kMaxAtoms);
  EXPECT_EQ(grouped.groups.front().size(), 1);
  EXPECT_EQ(grouped.groups.back().size(), 1);
  ExpectToCover(grouped, kMaxLayers);
}

TEST(AtomGroupsTest, EveryLegalRequestFitsTheLimits) {
  for (const int num_atoms : {1, 2, 3, 8, 255, 256, 257, 5000, kMaxLayers}) {
    for (const bool merge_equal : {true, false}) {
      SCOPED_TRACE(::testing::Message() << num_atoms << " " << merge_equal);
      const AtomGroups grouped =
          GroupAtoms(DifferentAtoms(num_atoms), merge_equal, kMostQuestions);
      EXPECT_TRUE(grouped.size.IsSmall());
      ExpectToCover(grouped, num_atoms);
    }
  }
}

}  // namespace
}  // namespace tangram
