#include "cli/args/precision_choice.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"

namespace tangram {
namespace {

using ::testing::IsEmpty;

// A node each of T4 and V100, which have no bf16, and of A100.
Cluster ThreeKinds() {
  DeviceSpec t4 = testing::TestDevice("T4");
  DeviceSpec v100 = testing::TestDevice("V100");
  t4.peak_flops.bf16 = 0;
  v100.peak_flops.bf16 = 0;
  return testing::TestCluster(
      {{.name = "a", .num_nodes = 1, .device = t4},
       {.name = "b", .num_nodes = 1, .device = v100},
       {.name = "c", .num_nodes = 1, .device = testing::TestDevice("A100")}});
}

std::string NoteOn(const char* dtype, const Cluster& cluster) {
  ModelSpec model = testing::TestModel(2);
  model.details.dtype = dtype;
  return ChoosePrecision(model, "models/config.json", cluster).note;
}

TEST(ChoosePrecisionTest, TheNoteNamesTheGpusWithoutUnits) {
  EXPECT_EQ(NoteOn("bfloat16", ThreeKinds()),
            "config.json says bf16, for which T4, V100 have no units: planned "
            "in fp16, unless bf16 without them is faster; --precision bf16 to "
            "insist");
}

TEST(ChoosePrecisionTest, TheNoteSaysWhyFp32IsNotTaken) {
  EXPECT_EQ(NoteOn("float32", ThreeKinds()),
            "config.json says fp32; 16 bits with fp32 masters train faster: "
            "planned in fp16; --precision fp32 to insist");
}

TEST(ChoosePrecisionTest, NothingIsNotedWhereTheModelIsFollowed) {
  EXPECT_THAT(NoteOn("float16", ThreeKinds()), IsEmpty());
  EXPECT_THAT(NoteOn("", ThreeKinds()), IsEmpty());
  EXPECT_THAT(NoteOn("float8_e4m3fn", ThreeKinds()), IsEmpty());
}

}  // namespace
}  // namespace tangram
