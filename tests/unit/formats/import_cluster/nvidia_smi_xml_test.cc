#include "formats/import_cluster/nvidia_smi_xml.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::tangram::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Gpu(const std::string& name, const std::string& memory,
                const std::string& more = "") {
  return absl::StrCat("<gpu id=\"0\"><product_name>", name,
                      "</product_name><fb_memory_usage>", memory,
                      "</fb_memory_usage>", more, "</gpu>");
}

std::string Log(const std::string& gpus) {
  return absl::StrCat(
      "<?xml version=\"1.0\" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "
      "\"nvsmi_device_v12.dtd\">\n<nvidia_smi_log>",
      gpus, "</nvidia_smi_log>");
}

TEST(ParseNvidiaSmiXmlTest, CountsGpusAndKeepsTheLeast) {
  const std::string pcie =
      "<pci><pci_gpu_link_info><pcie_gen><max_link_gen>4</max_link_gen>"
      "<max_host_link_gen>3</max_host_link_gen></pcie_gen><link_widths>"
      "<max_link_width>16x</max_link_width></link_widths></pci_gpu_link_info>"
      "</pci>";
  ASSERT_OK_AND_ASSIGN(
      const InventoryNode node,
      ParseNvidiaSmiXml(Log(Gpu("Tesla T4",
                                "<total>15360 MiB</total><reserved>448 "
                                "MiB</reserved>",
                                pcie) +
                            Gpu("Tesla T4", "<total>15109 MiB</total>"))));
  EXPECT_THAT(node.gpus,
              ElementsAre(InventoryGpus{.name = "Tesla T4", .count = 2}));
  EXPECT_DOUBLE_EQ(node.gpu_memory_bytes, 15109.0 * 1048576);
  // 15,360 less 448.
  EXPECT_DOUBLE_EQ(node.usable_gpu_memory_bytes, 14912.0 * 1048576);
  EXPECT_EQ(node.pcie_generation, 3);
  EXPECT_EQ(node.pcie_lanes, 16);
}

TEST(ParseNvidiaSmiXmlTest, SeesSlices) {
  ASSERT_OK_AND_ASSIGN(
      const InventoryNode node,
      ParseNvidiaSmiXml(
          Log(Gpu("A100", "",
                  "<mig_mode><current_mig>Enabled</current_mig></mig_mode>"))));
  EXPECT_THAT(node.gpus,
              ElementsAre(InventoryGpus{.name = "A100-MIG-mode", .count = 1}));
}

TEST(ParseNvidiaSmiXmlTest, RefusesOtherFiles) {
  EXPECT_THAT(
      ParseNvidiaSmiXml("<a><b></a>"),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("expected XML")));
  EXPECT_THAT(ParseNvidiaSmiXml("<html/>"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("0 GPUs; expected the output of nvidia-smi")));
}

}  // namespace
}  // namespace tangram
