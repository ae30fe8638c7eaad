#include "formats/config/device_list.h"

#include <optional>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "formats/config/config_field.h"
#include "formats/config/device_fields.h"
#include "formats/config/efficiency_fields.h"
#include "formats/config/group_fields.h"
#include "formats/config/host_fields.h"
#include "formats/config/link_fields.h"

namespace tangram {
namespace {

// Keys that describe a device in a cluster file, except the user's `profile`.
constexpr absl::string_view kSpecKeys[] = {"memory",      "memory_bandwidth",
                                           "peak_tflops", "flash_attention",
                                           "host",        "efficiency"};
constexpr int kMaxComputeUnits = 10000;
constexpr absl::string_view kExpectedSource = "where the value is from";

absl::StatusOr<std::string> RequireText(const ConfigField& parent,
                                        absl::string_view key,
                                        absl::string_view expected) {
  TANGRAM_ASSIGN_OR_RETURN(const ConfigField field,
                           parent.Require(key, expected));
  return field.AsText();
}

// Efficiency constants, each with its source. The source of a constant that was
// not given is empty.
struct EfficiencyBlock {
  std::string name;
  DeviceEfficiency efficiency;
  std::vector<std::string> sources =
      std::vector<std::string>(EfficiencyFields().size());
  // The block from which it descends, itself perhaps, but for the first block,
  // which holds what all generations share.
  std::string generation;
};

// Returns the block that `field` is `like`, or an empty block without `like`.
absl::StatusOr<EfficiencyBlock> ReadLike(
    const ConfigField& field, absl::Span<const EfficiencyBlock> blocks) {
  const std::optional<ConfigField> like = field.Find("like");
  if (!like.has_value()) return EfficiencyBlock();
  TANGRAM_ASSIGN_OR_RETURN(const std::string name, like->AsName());
  for (const EfficiencyBlock& block : blocks) {
    if (block.name == name) return block;
  }
  return like->Error("the name of an efficiency block further up");
}

// Reads a constant and its source: 0.7 or {value: 0.7, source: where from}. A
// plain number has the source of the mapping that it stands in.
absl::Status ReadSourced(const ConfigField& mapping, const ConfigField& given,
                         const EfficiencyField& constant, double& value,
                         std::string& source) {
  const bool sourced = given.is_mapping();
  std::optional<ConfigField> field = given;
  if (sourced) {
    TANGRAM_RETURN_IF_ERROR(given.CheckKeys({"value", "source"}));
    TANGRAM_ASSIGN_OR_RETURN(field, given.Require("value", "a number"));
  }
  TANGRAM_ASSIGN_OR_RETURN(value, ReadConstant(*field, constant));
  TANGRAM_ASSIGN_OR_RETURN(source, RequireText(sourced ? given : mapping,
                                               "source", kExpectedSource));
  return absl::OkStatus();
}

// Lays the constants of `field` over those of the block that it is like.
absl::StatusOr<EfficiencyBlock> ReadEfficiency(
    const ConfigField& field, absl::Span<const EfficiencyBlock> blocks) {
  TANGRAM_RETURN_IF_ERROR(
      field.CheckKeys(Join({"name", "like", "source"}, EfficiencyKeys())));
  TANGRAM_ASSIGN_OR_RETURN(EfficiencyBlock block, ReadLike(field, blocks));
  for (size_t i = 0; i < EfficiencyFields().size(); ++i) {
    const EfficiencyField& constant = EfficiencyFields()[i];
    const std::optional<ConfigField> given = field.Find(constant.key);
    if (!given.has_value()) continue;
    TANGRAM_RETURN_IF_ERROR(ReadSourced(field, *given, constant,
                                        block.efficiency.*constant.value,
                                        block.sources[i]));
  }
  return block;
}

absl::StatusOr<std::vector<EfficiencyBlock>> ReadBlocks(
    const ConfigField& root) {
  TANGRAM_ASSIGN_OR_RETURN(const ConfigField list,
                           root.Require("efficiency", "a list of blocks"));
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<ConfigField> fields,
                           list.Elements());
  std::vector<EfficiencyBlock> blocks;
  for (const ConfigField& field : fields) {
    TANGRAM_ASSIGN_OR_RETURN(EfficiencyBlock block,
                             ReadEfficiency(field, blocks));
    TANGRAM_ASSIGN_OR_RETURN(
        block.name, RequireText(field, "name", "the name of the block"));
    if (!blocks.empty() && block.generation.empty()) {
      block.generation = block.name;
    }
    blocks.push_back(std::move(block));
  }
  return blocks;
}

absl::Status CheckComplete(const ConfigField& field,
                           const EfficiencyBlock& block) {
  for (size_t i = 0; i < EfficiencyFields().size(); ++i) {
    if (!block.sources[i].empty()) continue;
    return field.MissingError(EfficiencyFields()[i].key,
                              "a value, here or in the block that it is like");
  }
  return absl::OkStatus();
}

absl::Status ReadDeviceEfficiency(const ConfigField& entry,
                                  absl::Span<const EfficiencyBlock> blocks,
                                  CatalogueDevice& device) {
  TANGRAM_ASSIGN_OR_RETURN(const ConfigField field,
                           entry.Require("efficiency", "a mapping"));
  TANGRAM_ASSIGN_OR_RETURN(EfficiencyBlock block,
                           ReadEfficiency(field, blocks));
  TANGRAM_RETURN_IF_ERROR(CheckComplete(field, block));
  device.device.efficiency = block.efficiency;
  device.efficiency_sources = std::move(block.sources);
  device.generation = std::move(block.generation);
  return absl::OkStatus();
}

absl::Status ReadSourcedLink(const ConfigField& entry, absl::string_view key,
                             LinkPlace place, Link& link, std::string& source) {
  TANGRAM_ASSIGN_OR_RETURN(const ConfigField field,
                           entry.Require(key, "a link with its source"));
  TANGRAM_RETURN_IF_ERROR(field.CheckKeys(Join({"source"}, LinkKeys())));
  for (const absl::string_view part : LinkKeys()) {
    TANGRAM_RETURN_IF_ERROR(field.Require(part, "a value").status());
  }
  TANGRAM_ASSIGN_OR_RETURN(source,
                           RequireText(field, "source", kExpectedSource));
  std::vector<Assumption> none;
  TANGRAM_ASSIGN_OR_RETURN(link,
                           ReadLink(field, GeneralLinkDefaults(place), none));
  return absl::OkStatus();
}

absl::Status ReadSourcedHost(const ConfigField& entry,
                             CatalogueDevice& device) {
  TANGRAM_ASSIGN_OR_RETURN(
      const ConfigField field,
      entry.Require("host", "a host link with its source"));
  TANGRAM_RETURN_IF_ERROR(field.CheckKeys(Join({"source"}, HostKeys())));
  TANGRAM_ASSIGN_OR_RETURN(device.host_source,
                           RequireText(field, "source", kExpectedSource));
  TANGRAM_ASSIGN_OR_RETURN(device.device.host, ReadHost(field));
  return absl::OkStatus();
}

absl::StatusOr<CatalogueDevice> ReadEntry(
    const ConfigField& entry, absl::Span<const EfficiencyBlock> blocks) {
  TANGRAM_RETURN_IF_ERROR(entry.CheckKeys(
      Join({"gpu", "aliases", "source", "gpus_per_node", "compute_units",
            "intra_node", "inter_node", "collective_library"},
           kSpecKeys)));
  for (const absl::string_view key : kSpecKeys) {
    TANGRAM_RETURN_IF_ERROR(entry.Require(key, "a value").status());
  }
  CatalogueDevice device;
  TANGRAM_ASSIGN_OR_RETURN(const std::string type,
                           RequireText(entry, "gpu", "a GPU type"));
  std::vector<Assumption> lacking;  // Precisions without units; not reported.
  TANGRAM_ASSIGN_OR_RETURN(
      device.device, ReadDatasheet(entry, type, /*known=*/nullptr, lacking));
  TANGRAM_ASSIGN_OR_RETURN(device.source,
                           RequireText(entry, "source", kExpectedSource));
  TANGRAM_RETURN_IF_ERROR(ReadDeviceEfficiency(entry, blocks, device));
  TANGRAM_RETURN_IF_ERROR(ReadSourcedHost(entry, device));
  TANGRAM_ASSIGN_OR_RETURN(
      const ConfigField gpus,
      entry.Require("gpus_per_node", "a positive integer"));
  TANGRAM_ASSIGN_OR_RETURN(device.gpus_per_node,
                           gpus.AsInt(1, kMaxGpusPerNode));
  if (const std::optional<ConfigField> units = entry.Find("compute_units")) {
    TANGRAM_ASSIGN_OR_RETURN(device.compute_units,
                             units->AsInt(1, kMaxComputeUnits));
  }
  TANGRAM_RETURN_IF_ERROR(
      ReadSourcedLink(entry, "intra_node", LinkPlace::kIntraNode,
                      device.intra_node, device.intra_node_source));
  TANGRAM_RETURN_IF_ERROR(
      ReadSourcedLink(entry, "inter_node", LinkPlace::kInterNode,
                      device.inter_node, device.inter_node_source));
  return device;
}

// Returns the aliases of `entry`. Its type and aliases must not be in `taken`,
// ignoring case, and are added to it.
absl::StatusOr<std::vector<std::string>> ReadAliases(
    const ConfigField& entry, absl::flat_hash_set<std::string>& taken) {
  std::vector<ConfigField> fields = {*entry.Find("gpu")};
  if (const std::optional<ConfigField> list = entry.Find("aliases")) {
    TANGRAM_ASSIGN_OR_RETURN(const std::vector<ConfigField> elements,
                             list->Elements());
    fields.insert(fields.end(), elements.begin(), elements.end());
  }
  std::vector<std::string> names;
  for (const ConfigField& field : fields) {
    TANGRAM_ASSIGN_OR_RETURN(names.emplace_back(), field.AsText());
    if (!taken.insert(absl::AsciiStrToLower(names.back())).second) {
      return field.Error("a name that no device has yet");
    }
  }
  names.erase(names.begin());
  return names;
}

}  // namespace

absl::StatusOr<std::vector<CatalogueDevice>> ParseDevices(
    absl::string_view text, absl::string_view source_name) {
  TANGRAM_ASSIGN_OR_RETURN(const ConfigValue value,
                           ParseConfigText(text, source_name));
  const ConfigField root(value, std::string(source_name));
  TANGRAM_RETURN_IF_ERROR(root.CheckKeys({"efficiency", "devices"}));
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<EfficiencyBlock> blocks,
                           ReadBlocks(root));
  TANGRAM_ASSIGN_OR_RETURN(const ConfigField list,
                           root.Require("devices", "a list of devices"));
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<ConfigField> entries,
                           list.Elements());
  std::vector<CatalogueDevice> devices;
  absl::flat_hash_set<std::string> names;
  for (const ConfigField& entry : entries) {
    TANGRAM_ASSIGN_OR_RETURN(devices.emplace_back(), ReadEntry(entry, blocks));
    TANGRAM_ASSIGN_OR_RETURN(devices.back().aliases, ReadAliases(entry, names));
  }
  return devices;
}

absl::StatusOr<DeviceEfficiency> ParseGeneralEfficiency(
    absl::string_view text, absl::string_view source_name) {
  TANGRAM_ASSIGN_OR_RETURN(const ConfigValue value,
                           ParseConfigText(text, source_name));
  const ConfigField root(value, std::string(source_name));
  TANGRAM_ASSIGN_OR_RETURN(const ConfigField list,
                           root.Require("efficiency", "a list of blocks"));
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<ConfigField> fields,
                           list.Elements());
  if (fields.empty()) return list.Error("a list with a block");
  TANGRAM_ASSIGN_OR_RETURN(const EfficiencyBlock block,
                           ReadEfficiency(fields.front(), {}));
  TANGRAM_RETURN_IF_ERROR(CheckComplete(fields.front(), block));
  return block.efficiency;
}

}  // namespace tangram
