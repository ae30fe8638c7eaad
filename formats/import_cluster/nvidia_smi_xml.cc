#include "formats/import_cluster/nvidia_smi_xml.h"

#include <algorithm>
#include <optional>
#include <pugixml.hpp>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/field_error.h"
#include "formats/config/group_fields.h"
#include "formats/config/units.h"
#include "formats/import_cluster/driver_node.h"
#include "formats/import_cluster/text_parts.h"

namespace tangram {
namespace {

constexpr int kMaxPcie = 64;  // Limit of generations and of lanes.

int SmallNumber(absl::string_view text) {
  int number = 0;
  const bool valid = absl::SimpleAtoi(text, &number);
  return valid && number > 0 && number <= kMaxPcie ? number : 0;
}

void ReadPcie(const pugi::xml_node& link, InventoryNode& node) {
  const pugi::xml_node generations = link.child("pcie_gen");
  // The maximum of card and host together; newer drivers also report each.
  KeepSmaller(SmallNumber(generations.child_value("max_link_gen")),
              node.pcie_generation);
  KeepSmaller(SmallNumber(generations.child_value("max_host_link_gen")),
              node.pcie_generation);
  KeepSmaller(
      SmallNumber(absl::StripSuffix(
          link.child("link_widths").child_value("max_link_width"), "x")),
      node.pcie_lanes);
}

double Bytes(absl::string_view text) {
  return ParseQuantity(text, Dimension::kBytes).value_or(0);
}

void ReadGpu(const pugi::xml_node& gpu, InventoryNode& node) {
  const std::string name = gpu.child_value("product_name");
  const absl::string_view mig =
      gpu.child("mig_mode").child_value("current_mig");
  CountNamed(mig == "Enabled" ? NameInMigMode(name) : name, node);
  const pugi::xml_node memory = gpu.child("fb_memory_usage");
  const double total = Bytes(memory.child_value("total"));
  KeepSmaller(total, node.gpu_memory_bytes);
  // Drivers before 510 subtract the reserve from the total themselves.
  KeepSmaller(total - Bytes(memory.child_value("reserved")),
              node.usable_gpu_memory_bytes);
  ReadPcie(gpu.child("pci").child("pci_gpu_link_info"), node);
  const absl::string_view mode = gpu.child_value("compute_mode");
  if (mode == "Prohibited") node.unusable = "compute mode Prohibited";
}

}  // namespace

absl::StatusOr<InventoryNode> ParseNvidiaSmiXml(absl::string_view text) {
  pugi::xml_document document;
  const pugi::xml_parse_result result =
      document.load_buffer(text.data(), text.size());
  if (!result) {
    return FieldError(absl::StrCat("offset ", result.offset),
                      result.description(), "XML");
  }
  InventoryNode node;
  int count = 0;
  for (const pugi::xml_node& gpu :
       document.child("nvidia_smi_log").children("gpu")) {
    ReadGpu(gpu, node);
    ++count;
  }
  if (count > 0 && count <= kMaxGpusPerNode) return node;
  return absl::InvalidArgumentError(absl::StrCat(
      count, " GPUs; expected the output of nvidia-smi -q -x with 1 to ",
      kMaxGpusPerNode));
}

}  // namespace tangram
