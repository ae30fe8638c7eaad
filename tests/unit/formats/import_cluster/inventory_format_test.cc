#include "formats/import_cluster/inventory_format.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

TEST(DetectFormatTest, KnowsEachFormatByItsLooks) {
  EXPECT_EQ(DetectFormat("\n{\"apiVersion\": \"v1\"}"),
            InventoryFormat::kKubernetes);
  EXPECT_EQ(DetectFormat("{\"nodes\": []}"), InventoryFormat::kSlurmJson);
  EXPECT_EQ(DetectFormat("<?xml?>"), InventoryFormat::kNvidiaSmiXml);
  EXPECT_EQ(DetectFormat("NodeName=a State=IDLE"),
            InventoryFormat::kScontrolNodes);
  EXPECT_EQ(DetectFormat("SwitchName=s"), InventoryFormat::kScontrolTopology);
  EXPECT_EQ(DetectFormat("Sat Nov 21\nNODELIST STATE GRES"),
            InventoryFormat::kSinfo);
  EXPECT_EQ(DetectFormat("\t\x1b[4mGPU0\tGPU1\x1b[0m\n"),
            InventoryFormat::kGpuTopology);
  EXPECT_EQ(DetectFormat("[1,0]<stdout>:# size count time algbw busbw\n"),
            InventoryFormat::kNcclTests);
  EXPECT_EQ(DetectFormat("| NVIDIA-SMI 610.62    KMD Version: 610.62    CUDA "
                         "UMD Version: 13.3 |"),
            InventoryFormat::kNvidiaSmiTable);
  EXPECT_EQ(DetectFormat("name\nNVIDIA L40S\n"),
            InventoryFormat::kNvidiaSmiCsv);
  EXPECT_EQ(DetectFormat("uuid, name, vbios_version, memory.used [MiB]"),
            InventoryFormat::kNvidiaSmiCsv);
  EXPECT_EQ(DetectFormat(R"({"items": [{"metadata": {"name": "n1"}}]})"),
            InventoryFormat::kKubernetes);
  EXPECT_EQ(
      DetectFormat(R"([{"metadata": {}, "status": {"allocatable": {}}}])"),
      InventoryFormat::kKubernetes);
  EXPECT_EQ(DetectFormat("HOSTNAMES;CPUS;MEMORY\n"), InventoryFormat::kSinfo);
  EXPECT_EQ(DetectFormat("| HL-SMI Version:        hl-1.20.0 |\n"),
            InventoryFormat::kHlSmi);
  EXPECT_EQ(DetectFormat("< NodeName=a Gres=gpu:8\n"), std::nullopt);
  EXPECT_EQ(DetectFormat("NodeName=a Name=gpu File=/dev/nvidia0\n"),
            std::nullopt);
  EXPECT_EQ(DetectFormat("name: c1\n"), std::nullopt);
  EXPECT_EQ(DetectFormat(""), std::nullopt);
}

}  // namespace
}  // namespace tangram
