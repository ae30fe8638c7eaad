#include "common/domain/model_slice.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;
using testing::TestModel;

ModelSlice SliceOf(const ModelSpec& model, int begin, int end) {
  return MakeSlice({begin, end},
                   absl::MakeSpan(model.layers).subspan(begin, end - begin));
}

TEST(MakeSliceTest, GathersEqualNeighboursIntoRuns) {
  const ModelSpec model = TestModel(4);
  const ModelSlice slice = SliceOf(model, 0, 6);
  EXPECT_THAT(slice.runs, ElementsAre(LayerRun{model.layers[0], 1},
                                      LayerRun{model.layers[1], 4},
                                      LayerRun{model.layers[5], 1}));
  EXPECT_EQ(slice.num_layers(), 6);
  EXPECT_EQ(LayersOf(slice), model.layers);
}

TEST(MakeSliceTest, FingerprintDoesNotDependOnThePosition) {
  const ModelSpec model = TestModel(6);
  EXPECT_EQ(SliceOf(model, 1, 3).fingerprint, SliceOf(model, 4, 6).fingerprint);
  EXPECT_NE(SliceOf(model, 1, 3), SliceOf(model, 4, 6));  // Other atoms.
}

TEST(MakeSliceTest, FingerprintDependsOnNumberKindAndOrderOfLayers) {
  const ModelSpec model = TestModel(6);
  EXPECT_NE(SliceOf(model, 1, 3).fingerprint, SliceOf(model, 1, 4).fingerprint);
  EXPECT_NE(SliceOf(model, 0, 2).fingerprint, SliceOf(model, 1, 3).fingerprint);
  const std::vector<LayerSpec> swapped = {model.layers[1], model.layers[0]};
  EXPECT_NE(SliceOf(model, 0, 2).fingerprint,
            MakeSlice({0, 2}, swapped).fingerprint);
}

TEST(SliceByLayerTest, MakesOneAtomOfEachLayer) {
  const ModelSpec model = TestModel(2);
  const std::vector<ModelSlice> atoms = SliceByLayer(model);
  ASSERT_THAT(atoms, SizeIs(4));
  EXPECT_EQ(atoms[2], SliceOf(model, 2, 3));
  EXPECT_EQ(atoms[1].fingerprint, atoms[2].fingerprint);
}

TEST(JoinSlicesTest, EqualsTheSliceMadeAtOnceWhereverItIsCut) {
  const ModelSpec model = TestModel(4);
  for (int cut = 1; cut < 6; ++cut) {
    SCOPED_TRACE(cut);
    EXPECT_EQ(JoinSlices(SliceOf(model, 0, cut), SliceOf(model, cut, 6)),
              SliceOf(model, 0, 6));
  }
}

TEST(JoinSlicesDeathTest, RefusesSlicesThatDoNotMeet) {
  const ModelSpec model = TestModel(4);
  EXPECT_DEATH(JoinSlices(SliceOf(model, 0, 2), SliceOf(model, 3, 4)),
               "check failed");
}

}  // namespace
}  // namespace tangram
