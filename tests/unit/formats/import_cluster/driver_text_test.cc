#include "formats/import_cluster/driver_text.h"

#include <string>

#include "formats/import_cluster/inventory_format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::tangram::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kMiB = 1 << 20;

// Two cards as recent drivers print them.
constexpr char kTable[] = R"(Mon Jan  5 10:00:00 2026
+-----------------------------------------------------------------------------+
| NVIDIA-SMI 550.54.15   Driver Version: 550.54.15    CUDA Version: 12.4      |
|-------------------------------+----------------------+----------------------|
| GPU  Name       Persistence-M | Bus-Id        Disp.A | Volatile Uncorr. ECC |
| Fan  Temp  Perf Pwr:Usage/Cap |         Memory-Usage | GPU-Util  Compute M. |
|===============================+======================+======================|
|   0  NVIDIA A100-SXM4-80GB On | 00000000:17:00.0 Off |                    0 |
| N/A   30C    P0    60W / 400W |      0MiB / 81920MiB |      0%      Default |
|                               |                      |             Disabled |
+-------------------------------+----------------------+----------------------+
|   1  NVIDIA A100-SXM4-80GB On | 00000000:31:00.0 Off |                    0 |
| N/A   31C    P0    61W / 400W |   1024MiB / 81920MiB |      0%      Default |
|                               |                      |             Disabled |
+-------------------------------+----------------------+----------------------+

+-----------------------------------------------------------------------------+
| Processes:                                                                  |
|    0   N/A  N/A      4242      C   python                          1020MiB  |
+-----------------------------------------------------------------------------+
)";

TEST(NvidiaSmiTableTest, CountsCardsAndTheirMemory) {
  ASSERT_OK_AND_ASSIGN(const InventoryNode node, ParseNvidiaSmiTable(kTable));
  EXPECT_THAT(node.gpus, ElementsAre(InventoryGpus{
                             .name = "NVIDIA A100-SXM4-80GB", .count = 2}));
  EXPECT_EQ(node.gpu_memory_bytes, 81920 * kMiB);
  EXPECT_EQ(node.unusable, "");
  EXPECT_EQ(DetectFormat(kTable), InventoryFormat::kNvidiaSmiTable);
}

std::string OldRow(const std::string& name, const std::string& memory) {
  return "|   0  " + name + "  Off  | 00000000:00:1E.0 Off |    0 |\n" +
         "| N/A   34C    P0    23W / 300W |      0MiB / " + memory +
         " |      0%      Default |\n";
}

// Older drivers print the first 16 characters of a name.
TEST(NvidiaSmiTableTest, CompletesNamesThatAreCutShortByTheirMemory) {
  ASSERT_OK_AND_ASSIGN(
      const InventoryNode small,
      ParseNvidiaSmiTable(OldRow("Tesla V100-SXM2...", "16160MiB")));
  EXPECT_EQ(small.gpus[0].name, "V100-SXM2-16GB");
  ASSERT_OK_AND_ASSIGN(
      const InventoryNode large,
      ParseNvidiaSmiTable(OldRow("Tesla V100-SXM2...", "32510MiB")));
  EXPECT_EQ(large.gpus[0].name, "V100-SXM2-32GB");
  ASSERT_OK_AND_ASSIGN(
      const InventoryNode unknown,
      ParseNvidiaSmiTable(OldRow("GRID P40-24Q X...", "24220MiB")));
  EXPECT_EQ(unknown.gpus[0].name, "GRID P40-24Q X...");
}

// hl-smi prints the same rows.
TEST(NvidiaSmiTableTest, ReadsGaudi) {
  ASSERT_OK_AND_ASSIGN(
      const InventoryNode node,
      ParseNvidiaSmiTable(
          "|   0  HL-225              N/A  | 0000:21:00.0     N/A |     0  |\n"
          "| N/A   31C   N/A  90W / 600W | 1024MiB / 98304MiB |  0%    N/A "
          "|\n"));
  EXPECT_THAT(node.gpus,
              ElementsAre(InventoryGpus{.name = "HL-225", .count = 1}));
  EXPECT_EQ(node.gpu_memory_bytes, 98304 * kMiB);
}

TEST(NvidiaSmiTableTest, SaysThatCardsAreCutIntoSlices) {
  ASSERT_OK_AND_ASSIGN(
      const InventoryNode node,
      ParseNvidiaSmiTable(std::string(kTable) + "| MIG devices:  |\n"));
  EXPECT_THAT(node.unusable, HasSubstr("MIG"));
}

TEST(NvidiaSmiTableTest, TellsCardsInMigModeFromWholeOnes) {
  std::string table = kTable;
  const size_t first = table.find("             Disabled |");
  table.replace(first, 23, "              Enabled |");
  ASSERT_OK_AND_ASSIGN(const InventoryNode node, ParseNvidiaSmiTable(table));
  EXPECT_EQ(node.unusable, "");
  EXPECT_THAT(
      node.gpus,
      ElementsAre(
          InventoryGpus{.name = "NVIDIA A100-SXM4-80GB-MIG-mode", .count = 1},
          InventoryGpus{.name = "NVIDIA A100-SXM4-80GB", .count = 1}));
}

TEST(NvidiaSmiTableTest, RefusesATableThatIsCut) {
  const std::string table = kTable;
  const size_t second = table.find("|   1  NVIDIA");
  EXPECT_THAT(
      ParseNvidiaSmiTable(table.substr(0, table.find('\n', second))),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("the table ends within GPU 1; expected the whole")));
}

// The text is of two nodes, or was printed every second.
TEST(DriverTextTest, RefusesAGpuThatIsThereTwice) {
  const std::string list = "GPU 0: Tesla T4 (UUID: GPU-0)\n";
  const std::string csv =
      "timestamp, name, pci.bus_id, memory.total [MiB]\n"
      "10:00, Tesla T4, 00000000:17:00.0, 15360 MiB\n";
  const std::string csv_row = "10:05, Tesla T4, 00000000:17:00.0, 15360 MiB\n";
  const std::string pci =
      "17:00.0 3D controller: NVIDIA Corporation TU104GL [Tesla T4]\n";
  const std::string rocm = "GPU[0] : Card Series: AMD Instinct MI210\n";
  const std::string amd = "GPU: 0\n    ASIC:\n        MARKET_NAME: MI300X\n";
  const auto refuses = [](const absl::StatusOr<InventoryNode>& node) {
    EXPECT_THAT(node, StatusIs(absl::StatusCode::kInvalidArgument,
                               HasSubstr("for the second time; expected the "
                                         "output of one node, printed once")));
  };
  refuses(ParseNvidiaSmiTable(std::string(kTable) + kTable));
  refuses(ParseNvidiaSmiList(list + list));
  refuses(ParseNvidiaSmiCsv(csv + csv_row));
  refuses(ParseLspci(pci + pci));
  refuses(ParseRocmSmi(rocm + rocm));
  refuses(ParseAmdSmi(amd + amd));
}

TEST(NvidiaSmiTableTest, RefusesATableWithoutCards) {
  EXPECT_THAT(
      ParseNvidiaSmiTable("| NVIDIA-SMI 550  Driver Version: 550 |\n"),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("0 GPUs")));
}

TEST(NvidiaSmiListTest, CountsCards) {
  constexpr char kList[] =
      "GPU 0: NVIDIA L40S (UUID: GPU-00000000-0000-0000-0000-000000000000)\n"
      "GPU 1: NVIDIA L40S (UUID: GPU-00000000-0000-0000-0000-000000000001)\n"
      "GPU 2: Tesla T4 (UUID: GPU-00000000-0000-0000-0000-000000000002)\n";
  ASSERT_OK_AND_ASSIGN(const InventoryNode node, ParseNvidiaSmiList(kList));
  EXPECT_THAT(node.gpus,
              ElementsAre(InventoryGpus{.name = "NVIDIA L40S", .count = 2},
                          InventoryGpus{.name = "Tesla T4", .count = 1}));
  EXPECT_EQ(DetectFormat(kList), InventoryFormat::kNvidiaSmiList);
}

// As PyTorch's collect_env describes it.
TEST(NvidiaSmiListTest, ReadsOneGpuAfterItsTitle) {
  constexpr char kText[] = "GPU models and configuration: GPU 0: Tesla T4\n";
  ASSERT_OK_AND_ASSIGN(const InventoryNode node, ParseNvidiaSmiList(kText));
  EXPECT_THAT(node.gpus,
              ElementsAre(InventoryGpus{.name = "Tesla T4", .count = 1}));
  EXPECT_EQ(DetectFormat(kText), InventoryFormat::kNvidiaSmiList);
}

// As forms of bug trackers join them.
TEST(NvidiaSmiListTest, ReadsLinesThatWereJoined) {
  ASSERT_OK_AND_ASSIGN(
      const InventoryNode node,
      ParseNvidiaSmiList("GPU 0: NVIDIA L40S (UUID: GPU-0) GPU 1: NVIDIA L40S "
                         "(UUID: GPU-1) GPU 2: NVIDIA L40S (UUID: GPU-2)\n"));
  EXPECT_THAT(node.gpus,
              ElementsAre(InventoryGpus{.name = "NVIDIA L40S", .count = 3}));
}

TEST(NvidiaSmiListTest, SlicesStandForTheirCard) {
  ASSERT_OK_AND_ASSIGN(
      const InventoryNode node,
      ParseNvidiaSmiList("GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-0)\n"
                         "  MIG 3g.40gb     Device  0: (UUID: MIG-0)\n"
                         "  MIG 3g.40gb     Device  1: (UUID: MIG-1)\n"
                         "GPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-1)\n"));
  EXPECT_THAT(
      node.gpus,
      ElementsAre(InventoryGpus{.name = "MIG-3g.40gb", .count = 2},
                  InventoryGpus{.name = "NVIDIA H100 80GB HBM3", .count = 1}));
}

TEST(NvidiaSmiCsvTest, ReadsColumnsByTheirTitles) {
  constexpr char kCsv[] =
      "index, name, memory.total [MiB], memory.reserved [MiB], "
      "pcie.link.gen.max, pcie.link.width.max, mig.mode.current\n"
      "0, NVIDIA H200, 143771 MiB, 583 MiB, 5, 16, Disabled\n"
      "1, NVIDIA H200, 143771 MiB, 583 MiB, 5, 16, Disabled\n";
  ASSERT_OK_AND_ASSIGN(const InventoryNode node, ParseNvidiaSmiCsv(kCsv));
  EXPECT_THAT(node.gpus,
              ElementsAre(InventoryGpus{.name = "NVIDIA H200", .count = 2}));
  EXPECT_EQ(node.gpu_memory_bytes, 143771 * kMiB);
  EXPECT_EQ(node.usable_gpu_memory_bytes, (143771 - 583) * kMiB);
  EXPECT_EQ(node.pcie_generation, 5);
  EXPECT_EQ(node.pcie_lanes, 16);
  EXPECT_EQ(DetectFormat(kCsv), InventoryFormat::kNvidiaSmiCsv);
}

TEST(NvidiaSmiCsvTest, PassesOverTheCommandAboveIt) {
  ASSERT_OK_AND_ASSIGN(
      const InventoryNode node,
      ParseNvidiaSmiCsv("$ nvidia-smi --query-gpu=name --format=csv\n"
                        "name\nNVIDIA L40S\nNVIDIA L40S\n"));
  EXPECT_THAT(node.gpus,
              ElementsAre(InventoryGpus{.name = "NVIDIA L40S", .count = 2}));
}

TEST(NvidiaSmiCsvTest, NamesWhatIsWrong) {
  EXPECT_THAT(ParseNvidiaSmiCsv("memory.total [MiB]\n1 MiB\n"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("--query-gpu=name")));
  EXPECT_THAT(ParseNvidiaSmiCsv("name, memory.total [MiB]\nT4\n"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("line 2: T4; expected 2 columns")));
}

TEST(RocmSmiTest, ReadsSeriesAndMemory) {
  constexpr char kText[] =
      "============ ROCm System Management Interface ============\n"
      "GPU[0]\t\t: Card Series: \t\tAMD Instinct MI300X OAM\n"
      "GPU[0]\t\t: Card Model: \t\t0x74a1\n"
      "GPU[0]\t\t: VRAM Total Memory (B): 206141652992\n"
      "GPU[1]\t\t: Card series:\t\tAMD Instinct MI300X OAM\n"
      "==========================================================\n";
  ASSERT_OK_AND_ASSIGN(const InventoryNode node, ParseRocmSmi(kText));
  EXPECT_THAT(node.gpus, ElementsAre(InventoryGpus{
                             .name = "AMD Instinct MI300X OAM", .count = 2}));
  EXPECT_EQ(node.gpu_memory_bytes, 206141652992);
  EXPECT_EQ(DetectFormat(kText), InventoryFormat::kRocmSmi);
}

TEST(RocmSmiTest, TakesTheProductOfAChip) {
  ASSERT_OK_AND_ASSIGN(
      const InventoryNode node,
      ParseRocmSmi("GPU[0] : Card Series: Aqua Vanjaram [Instinct MI300X]\n"));
  EXPECT_EQ(node.gpus[0].name, "Instinct MI300X");
}

TEST(AmdSmiTest, ReadsNameAndMemory) {
  constexpr char kText[] =
      "GPU: 0\n    ASIC:\n        MARKET_NAME: AMD Instinct MI300X\n"
      "    BUS:\n        MAX_PCIE_WIDTH: 16\n"
      "    VRAM:\n        TYPE: HBM\n        SIZE: 196592 MB\n"
      "    CACHE_INFO:\n        SIZE: 4 MB\n"
      "GPU: 1\n    ASIC:\n        MARKET_NAME: AMD Instinct MI300X\n";
  ASSERT_OK_AND_ASSIGN(const InventoryNode node, ParseAmdSmi(kText));
  EXPECT_THAT(node.gpus, ElementsAre(InventoryGpus{
                             .name = "AMD Instinct MI300X", .count = 2}));
  EXPECT_EQ(node.gpu_memory_bytes, 196592 * kMiB);
  EXPECT_EQ(DetectFormat(kText), InventoryFormat::kAmdSmi);
}

// Each part has the name of the whole GPU.
TEST(AmdSmiTest, TellsPartitionsFromWholeGpus) {
  ASSERT_OK_AND_ASSIGN(
      const InventoryNode node,
      ParseAmdSmi("GPU: 0\n    ASIC:\n        MARKET_NAME: MI300X\n"
                  "    PARTITION:\n        COMPUTE_PARTITION: SPX\n"
                  "GPU: 1\n    ASIC:\n        MARKET_NAME: MI300X\n"
                  "    PARTITION:\n        COMPUTE_PARTITION: CPX\n"));
  EXPECT_THAT(
      node.gpus,
      ElementsAre(InventoryGpus{.name = "MI300X", .count = 1},
                  InventoryGpus{.name = "MI300X partition CPX", .count = 1}));
}

// Some versions print no partition, but fewer compute units.
TEST(AmdSmiTest, TellsPartsByTheirComputeUnits) {
  ASSERT_OK_AND_ASSIGN(
      const InventoryNode node,
      ParseAmdSmi("GPU: 0\n    ASIC:\n        MARKET_NAME: MI350X\n"
                  "        NUM_COMPUTE_UNITS: 256\n"
                  "GPU: 1\n    ASIC:\n        MARKET_NAME: MI350X\n"
                  "        NUM_COMPUTE_UNITS: 64\n"
                  "GPU: 2\n    ASIC:\n        MARKET_NAME: Another\n"
                  "        NUM_COMPUTE_UNITS: 64\n"));
  EXPECT_THAT(
      node.gpus,
      ElementsAre(
          InventoryGpus{.name = "MI350X", .count = 1},
          InventoryGpus{.name = "MI350X part of 64 compute units", .count = 1},
          InventoryGpus{.name = "Another", .count = 1}));
}

TEST(LspciTest, ReadsProductsWithAndWithoutNumbers) {
  constexpr char kText[] =
      "00:1f.0 ISA bridge: Intel Corporation C621 LPC Controller\n"
      "17:00.0 3D controller: NVIDIA Corporation GA100 [A100 SXM4 80GB] (rev "
      "a1)\n"
      "31:00.0 3D controller [0302]: NVIDIA Corporation GA100 [A100 SXM4 80GB] "
      "[10de:20b2] (rev a1)\n"
      "03:00.0 VGA compatible controller: ASPEED Technology, Inc. ASPEED\n";
  ASSERT_OK_AND_ASSIGN(const InventoryNode node, ParseLspci(kText));
  EXPECT_THAT(node.gpus,
              ElementsAre(InventoryGpus{.name = "A100 SXM4 80GB", .count = 2}));
  EXPECT_EQ(DetectFormat(kText), InventoryFormat::kLspci);
}

TEST(LspciTest, CountsNoViewOfACard) {
  constexpr char kCard[] =
      "85:00.0 Processing accelerators: Advanced Micro Devices, Inc. "
      "[AMD/ATI] Aqua Vanjaram [Instinct MI300X]\n";
  constexpr char kView[] =
      "85:02.0 Processing accelerators: Advanced Micro Devices, Inc. "
      "[AMD/ATI] Aqua Vanjaram [Instinct MI300X VF]\n";
  ASSERT_OK_AND_ASSIGN(const InventoryNode host,
                       ParseLspci(std::string(kCard) + kView));
  EXPECT_THAT(host.gpus, ElementsAre(InventoryGpus{.name = "Instinct MI300X",
                                                   .count = 1}));
  // A virtual machine sees nothing else.
  ASSERT_OK_AND_ASSIGN(const InventoryNode guest, ParseLspci(kView));
  EXPECT_EQ(guest.gpus.size(), 1u);
}

}  // namespace
}  // namespace tangram
