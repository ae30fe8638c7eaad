#include "formats/import_cluster/gpu_names.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;

std::string TypeOf(const std::string& name, double memory_mib = 0) {
  const GpuMatch match = MatchGpu(name, memory_mib * 1048576);
  return match.device == nullptr ? "" : match.device->device.type;
}

TEST(MatchGpuTest, KnowsTheSpellingsOfDriversLabelsAndSlurm) {
  EXPECT_EQ(TypeOf("NVIDIA A100-SXM4-40GB"), "A100-40");
  EXPECT_EQ(TypeOf("NVIDIA-A100-SXM4-40GB"), "A100-40");
  EXPECT_EQ(TypeOf("nvidia_a100-sxm4-40gb"), "A100-40");
  EXPECT_EQ(TypeOf("nvidia_h100_80gb_hbm3"), "H100");
  EXPECT_EQ(TypeOf("Tesla-V100-SXM2-16GB"), "V100-16-SXM2");
  EXPECT_EQ(TypeOf("rtx4090"), "RTX-4090");
  EXPECT_EQ(TypeOf("t4"), "T4");
  EXPECT_EQ(TypeOf("rtx_6000"), "Quadro-RTX-6000");
  EXPECT_EQ(TypeOf("rtx_6000", 49140), "RTX-6000-Ada");
  // The memory in its name is that of the host.
  EXPECT_EQ(TypeOf("GH200 120GB", 97871), "GH200");
  EXPECT_EQ(TypeOf("Q6K"), "");
  EXPECT_EQ(TypeOf(""), "");
}

TEST(MatchGpuTest, TellsVariantsByMemory) {
  EXPECT_EQ(TypeOf("a100", 81920), "A100-80");
  EXPECT_EQ(TypeOf("a100", 40960), "A100-40");
  EXPECT_EQ(TypeOf("v100", 16384), "V100-16");
}

// Driver 595 cuts the name of an RTX 2080 SUPER to this.
TEST(MatchGpuTest, TakesNoCardForAnotherOfTheSameBeginning) {
  EXPECT_EQ(TypeOf("NVIDIA GeForce RTX 2080 ...", 8192), "");
  EXPECT_EQ(TypeOf("NVIDIA GeForce RTX 2080", 8192), "");
  EXPECT_EQ(TypeOf("NVIDIA GeForce RTX 2080 ...", 11264), "RTX-2080-Ti");
  EXPECT_EQ(TypeOf("NVIDIA H100 80GB HBM3", 40448), "H100");
}

TEST(MatchGpuTest, ListsWhatElseANameMayMean) {
  EXPECT_EQ(TypeOf("a100"), "A100-80");
  EXPECT_THAT(MatchGpu("a100", 0).others, Contains("A100-40-PCIe"));
  EXPECT_THAT(MatchGpu("t4", 0).others, IsEmpty());
  EXPECT_THAT(MatchGpu("l4", 0).others, IsEmpty());  // L40S is another GPU.
  // Without its memory, a card whose name is the beginning of another's.
  EXPECT_TRUE(MatchGpu("GeForce RTX 2080", 0).is_beginning);
  EXPECT_FALSE(MatchGpu("GeForce RTX 2080", 11264.0 * 1048576).is_beginning);
  EXPECT_FALSE(MatchGpu("GeForce RTX 2080 Ti", 0).is_beginning);
  EXPECT_FALSE(MatchGpu("h100", 0).is_beginning);
}

TEST(IsGpuSliceTest, KnowsMig) {
  EXPECT_TRUE(IsGpuSlice("a100_3g.20gb"));
  EXPECT_TRUE(IsGpuSlice("NVIDIA-A100-SXM4-40GB-MIG-3g.20gb"));
  EXPECT_FALSE(IsGpuSlice("nvidia_h100_80gb_hbm3"));
}

// As labels of AMD's, amd-smi and AWS ParallelCluster spell them.
TEST(MatchGpuTest, KnowsNamesOfModulesAndServers) {
  EXPECT_EQ(TypeOf("AMD_Instinct_MI325_OAM"), "MI325X");
  EXPECT_EQ(TypeOf("MI300X-O"), "MI300X");
  EXPECT_EQ(TypeOf("AMD-MI300X-192G"), "MI300X");
  EXPECT_EQ(TypeOf("tesla_a100_80g"), "A100-80");
  EXPECT_EQ(TypeOf("NVIDIA A10G"), "A10G");
  EXPECT_EQ(TypeOf("rtxproserver6000"), "RTX-PRO-6000");
}

// As lspci and drivers name cards that differ in the module alone.
TEST(MatchGpuTest, KnowsNamesOfPciIds) {
  EXPECT_EQ(TypeOf("H200 SXM 141GB"), "H200");
  EXPECT_EQ(TypeOf("H100L 94GB"), "H100-NVL");
  EXPECT_EQ(TypeOf("GH200 120GB / 480GB"), "GH200");
  EXPECT_EQ(TypeOf("HGX GB200"), "GB200");
  EXPECT_EQ(TypeOf("A30 PCIe"), "A30");
  EXPECT_EQ(TypeOf("A100-SXM-80GB"), "A100-80");
  EXPECT_EQ(TypeOf("Tesla V100-SXM3-32GB"), "V100-32");
  EXPECT_EQ(TypeOf("Tesla V100 DGXS 16GB"), "V100-16-SXM2");
}

TEST(ProductInBracketsTest, LeavesOutTheChip) {
  EXPECT_EQ(ProductInBrackets("Aqua Vanjaram [Instinct MI300A]"),
            "Instinct MI300A");
  EXPECT_EQ(ProductInBrackets("AMD Instinct MI210"), "AMD Instinct MI210");
}

}  // namespace
}  // namespace tangram
