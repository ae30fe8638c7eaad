#include "formats/import_cluster/driver_reports.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "formats/import_cluster/inventory_format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::tangram::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kMebibyteHere = 1 << 20;

TEST(NvidiaSmiQueryTest, ReadsNamesMemoryAndMigMode) {
  constexpr char kText[] =
      "==============NVSMI LOG==============\n"
      "Attached GPUs                         : 2\n"
      "GPU 00000000:07:00.0\n"
      "    Product Name                      : NVIDIA H100 PCIe\n"
      "    MIG Mode\n"
      "        Current                       : Disabled\n"
      "    FB Memory Usage\n"
      "        Total                         : 81559 MiB\n"
      "    BAR1 Memory Usage\n"
      "        Total                         : 131072 MiB\n"
      "GPU 00000000:08:00.0\n"
      "    Product Name                      : NVIDIA H100 PCIe\n"
      "    MIG Mode\n"
      "        Current                       : Enabled\n";
  ASSERT_OK_AND_ASSIGN(const InventoryNode node, ParseNvidiaSmiQuery(kText));
  EXPECT_THAT(node.gpus,
              ElementsAre(InventoryGpus{.name = "NVIDIA H100 PCIe", .count = 1},
                          InventoryGpus{.name = "NVIDIA H100 PCIe-MIG-mode",
                                        .count = 1}));
  EXPECT_EQ(node.gpu_memory_bytes, 81559 * kMebibyteHere);
  EXPECT_EQ(DetectFormat(kText), InventoryFormat::kNvidiaSmiQuery);
}

TEST(NvidiaSmiQueryTest, RefusesAQuotedPart) {
  EXPECT_THAT(
      ParseNvidiaSmiQuery("NVSMI LOG\nAttached GPUs       : 4\n"
                          "GPU 00000000:19:00.0\n"
                          "    Product Name    : NVIDIA TITAN RTX\n"),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("describes 1 of 4 attached GPUs; expected the whole "
                         "output of nvidia-smi -q")));
}

TEST(NvidiaSmiRowsTest, ReadsRowsWithoutTitles) {
  constexpr char kRows[] =
      "NVIDIA H100 80GB HBM3, 81559 MiB\nNVIDIA H100 80GB HBM3, 81559 MiB\n";
  ASSERT_OK_AND_ASSIGN(const InventoryNode node, ParseNvidiaSmiRows(kRows));
  EXPECT_THAT(node.gpus, ElementsAre(InventoryGpus{
                             .name = "NVIDIA H100 80GB HBM3", .count = 2}));
  EXPECT_EQ(node.gpu_memory_bytes, 81559 * kMebibyteHere);
  EXPECT_EQ(DetectFormat(kRows), InventoryFormat::kNvidiaSmiRows);
  // With an index in front, and nothing behind.
  ASSERT_OK_AND_ASSIGN(const InventoryNode plain,
                       ParseNvidiaSmiRows("0, Tesla T4\n1, Tesla T4\n"));
  EXPECT_EQ(plain.gpus[0].count, 2);
  EXPECT_EQ(plain.gpu_memory_bytes, 0);
  EXPECT_FALSE(IsNvidiaSmiRows("Tesla T4\nsomething else\n"));
  EXPECT_THAT(
      ParseNvidiaSmiRows("Tesla T4\nelse\n"),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("line 2: else")));
}

TEST(RocmSmiJsonTest, ReadsCards) {
  constexpr char kText[] =
      "{\"card0\": {\"Card Series\": \"AMD Instinct MI210\","
      " \"VRAM Total Memory (B)\": \"68702699520\"},"
      " \"card1\": {\"Device Name\": \"Aqua Vanjaram [Instinct MI300X]\"},"
      " \"system\": {\"Driver version\": \"6.7\"}}";
  ASSERT_OK_AND_ASSIGN(const InventoryNode node, ParseRocmSmiJson(kText));
  EXPECT_THAT(
      node.gpus,
      ElementsAre(InventoryGpus{.name = "AMD Instinct MI210", .count = 1},
                  InventoryGpus{.name = "Instinct MI300X", .count = 1}));
  EXPECT_EQ(node.gpu_memory_bytes, 68702699520);
  EXPECT_EQ(DetectFormat(kText), InventoryFormat::kRocmSmiJson);
}

TEST(RocmSmiCsvTest, ReadsCards) {
  constexpr char kText[] =
      "device,Card Series,Card Model,VRAM Total Memory (B)\n"
      "card0,AMD Instinct MI210,0x740f,68702699520\n"
      "card1,AMD Instinct MI210,0x740f,68702699520\n";
  ASSERT_OK_AND_ASSIGN(const InventoryNode node, ParseRocmSmiCsv(kText));
  EXPECT_THAT(node.gpus, ElementsAre(InventoryGpus{.name = "AMD Instinct MI210",
                                                   .count = 2}));
  EXPECT_EQ(node.gpu_memory_bytes, 68702699520);
  EXPECT_EQ(DetectFormat(kText), InventoryFormat::kRocmSmiCsv);
  // Older versions have a number for the series.
  ASSERT_OK_AND_ASSIGN(const InventoryNode old,
                       ParseRocmSmiCsv("device,Card series,Card model\n"
                                       "card0,0x740c,AMD Instinct MI250X\n"));
  EXPECT_EQ(old.gpus[0].name, "AMD Instinct MI250X");
  EXPECT_THAT(ParseRocmSmiCsv("device,GPU use (%)\ncard0,0\n"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("rocm-smi --showproductname")));
}

TEST(GpustatTest, ReadsNamesAndMemory) {
  constexpr char kText[] =
      "n1   Mon Aug  3 10:00:00 2026  580.95\n"
      "[0] NVIDIA L40S | 30'C,   0 % |     3 / 46068 MB |\n"
      "[1] NVIDIA L40S | 31'C,  90 % | 40000 / 46068 MB | me(39997M)\n";
  ASSERT_OK_AND_ASSIGN(const InventoryNode node, ParseGpustat(kText));
  EXPECT_THAT(node.gpus,
              ElementsAre(InventoryGpus{.name = "NVIDIA L40S", .count = 2}));
  EXPECT_EQ(node.gpu_memory_bytes, 46068 * kMebibyteHere);
  EXPECT_EQ(DetectFormat(kText), InventoryFormat::kGpustat);
}

TEST(RocmInfoTest, CountsAgentsThatAreGpus) {
  constexpr char kText[] =
      "HSA Agents\n"
      "  Marketing Name:          AMD EPYC 9654\n"
      "  Device Type:             CPU\n"
      "  Compute Unit:            96\n"
      "  Marketing Name:          AMD Instinct MI300X\n"
      "  Device Type:             GPU\n"
      "  Marketing Name:          AMD Instinct MI300X\n"
      "  Device Type:             GPU\n";
  ASSERT_OK_AND_ASSIGN(const InventoryNode node, ParseRocmInfo(kText));
  EXPECT_THAT(node.gpus, ElementsAre(InventoryGpus{
                             .name = "AMD Instinct MI300X", .count = 2}));
  EXPECT_EQ(DetectFormat(kText), InventoryFormat::kRocmInfo);
  ASSERT_OK_AND_ASSIGN(
      const InventoryNode part,
      ParseRocmInfo(absl::StrCat(kText, "  Compute Unit:       38\n")));
  EXPECT_EQ(part.gpus[1].name, "AMD Instinct MI300X part of 38 compute units");
}

TEST(AmdSmiTableTest, TellsPartitionsFromWholeGpus) {
  constexpr char kText[] =
      "| AMD-SMI 26.0.0      amdgpu version: 6.14   ROCm version: 7.0.0    |\n"
      "| BDF                        GPU-Name | Mem-Uti   Temp  Power-Usage |\n"
      "|=====================================+=============================|\n"
      "| 0000:05:00.0    AMD Instinct MI355X | 0 %      39 C  228/1400 W   |\n"
      "|   0       0       7        SPX/NPS1 | 0 %  N/A     283/294896 MB  |\n"
      "| 0000:15:00.0    AMD Instinct MI355X | 0 %      39 C  228/1400 W   |\n"
      "|   1       1       6        DPX/NPS1 | 0 %  N/A     283/294896 MB  |\n";
  ASSERT_OK_AND_ASSIGN(const InventoryNode node, ParseAmdSmiTable(kText));
  EXPECT_THAT(
      node.gpus,
      ElementsAre(
          InventoryGpus{.name = "AMD Instinct MI355X", .count = 1},
          InventoryGpus{.name = "AMD Instinct MI355X partition DPX/NPS1",
                        .count = 1}));
  EXPECT_EQ(node.gpu_memory_bytes, 294896 * kMebibyteHere);
  EXPECT_EQ(DetectFormat(kText), InventoryFormat::kAmdSmiTable);
}

TEST(AmdSmiJsonTest, ReadsNamesMemoryAndPartitions) {
  constexpr char kGpus[] = R"([
      {"gpu": 0, "asic": {"market_name": "AMD Instinct MI300X"},
       "vram": {"size": {"value": 196592, "unit": "MB"}},
       "partition": {"compute_partition": "SPX"}},
      {"gpu": 1, "asic": {"market_name": "AMD Instinct MI300X"},
       "partition": {"compute_partition": "CPX"}},
      {"gpu": 2, "asic": {"market_name": "AMD Instinct MI300X",
                          "num_compute_units": 80}}])";
  for (const std::string& text :
       {std::string(kGpus), absl::StrCat("{\"gpu_data\": ", kGpus, "}")}) {
    EXPECT_EQ(DetectFormat(text), InventoryFormat::kAmdSmiJson);
    ASSERT_OK_AND_ASSIGN(const InventoryNode node, ParseAmdSmiJson(text));
    EXPECT_THAT(
        node.gpus,
        ElementsAre(InventoryGpus{.name = "AMD Instinct MI300X", .count = 1},
                    InventoryGpus{.name = "AMD Instinct MI300X partition CPX",
                                  .count = 1},
                    InventoryGpus{
                        .name = "AMD Instinct MI300X part of 80 compute units",
                        .count = 1}));
    EXPECT_EQ(node.gpu_memory_bytes, 196592 * kMebibyteHere);
  }
  EXPECT_THAT(
      ParseAmdSmiJson(R"([{"gpu": 0, "asic": {"vendor_id": "0x1002"}}])"),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("0 GPUs; expected the output of amd-smi static")));
}

TEST(DriverReportsTest, RefuseTextsWithoutGpus) {
  for (const auto& parse : {ParseNvidiaSmiQuery, ParseNvidiaSmiRows,
                            ParseRocmInfo, ParseAmdSmiTable}) {
    EXPECT_THAT(parse(""), StatusIs(absl::StatusCode::kInvalidArgument,
                                    HasSubstr("0 GPUs")));
  }
  EXPECT_THAT(
      ParseRocmSmiJson("{\"card0\": 1}"),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("0 GPUs")));
  EXPECT_FALSE(ParseRocmSmiJson("{\"card0\": ").ok());
}

}  // namespace
}  // namespace tangram
