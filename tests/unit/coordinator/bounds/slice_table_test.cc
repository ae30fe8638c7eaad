#include "coordinator/bounds/slice_table.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;

TEST(SliceTableTest, MergesSlicesOfTheSameComposition) {
  // Embedding, 3 equal layers, head. A slice has 1, 2 or 3 layers, alone or
  // with the embedding or the head, or is the whole model, the embedding or the
  // head.
  const auto atoms = SliceByLayer(testing::TestModel(3));
  const SliceTable table(atoms, /*merge_equal=*/true);
  EXPECT_EQ(table.num_slices(), 15);  // 5 · 6 / 2
  // 3 + 3 with embedding + 3 with head + 1 with both + 2 alone.
  EXPECT_EQ(table.num_classes(), 12);
  EXPECT_EQ(table.ClassOf({1, 3}), table.ClassOf({2, 4}));
  EXPECT_NE(table.ClassOf({0, 2}), table.ClassOf({1, 3}));
  EXPECT_THAT(table.MembersOf(table.ClassOf({1, 2})),
              ElementsAre(AtomRange{1, 2}, AtomRange{2, 3}, AtomRange{3, 4}));
}

TEST(SliceTableTest, WithoutMergingEverySliceIsItsOwnClass) {
  const auto atoms = SliceByLayer(testing::TestModel(3));
  const SliceTable table(atoms, /*merge_equal=*/false);
  EXPECT_EQ(table.num_classes(), 15);
  EXPECT_THAT(table.MembersOf(table.ClassOf({1, 3})),
              ElementsAre(AtomRange{1, 3}));
}

TEST(SliceTableTest, OrderMattersToComposition) {
  ModelSpec model = testing::TestModel(4);
  model.layers[2] = testing::TestMoeModel(1).layers[1];  // E D M D D H
  const SliceTable table(SliceByLayer(model), /*merge_equal=*/true);
  EXPECT_NE(table.ClassOf({1, 3}), table.ClassOf({2, 4}));  // D M, M D
}

}  // namespace
}  // namespace tangram
