#include "formats/import_cluster/resource_slices.h"

#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "formats/config/units.h"
#include "formats/import_cluster/json_fields.h"

namespace tangram {
namespace {

using ::nlohmann::json;

constexpr absl::string_view kDrivers[] = {"gpu.nvidia.com", "gpu.amd.com",
                                          "gpu.intel.com"};

// The attributes of a device: under "basic" in v1beta1, later beside its name.
const json& Part(const json& device, absl::string_view part) {
  const json& basic = At(device, {"basic", part});
  return basic.is_null() ? At(device, {part}) : basic;
}

// Returns the text of the first attribute that the device has, whatever
// domain stands before its name.
std::string Attribute(const json& device,
                      std::initializer_list<absl::string_view> names) {
  const json& attributes = Part(device, "attributes");
  if (!attributes.is_object()) return "";
  for (const absl::string_view wanted : names) {
    for (const auto& [key, value] : attributes.items()) {
      const absl::string_view name =
          absl::string_view(key).substr(key.find('/') + 1);
      if (name == wanted) return TextOf(At(value, {"string"}));
    }
  }
  return "";
}

double MemoryOf(const json& device) {
  const json& capacity = Part(device, "capacity");
  if (!capacity.is_object()) return 0;
  for (const auto& [key, value] : capacity.items()) {
    if (!absl::EndsWith(key, "memory") && !absl::EndsWith(key, "Memory")) {
      continue;
    }
    std::string text = TextOf(At(value, {"value"}));
    // Kubernetes writes 80Gi for 80 GiB.
    if (absl::EndsWith(text, "i")) absl::StrAppend(&text, "B");
    return ParseQuantity(text, Dimension::kBytes, 1).value_or(0);
  }
  return 0;
}

}  // namespace

std::string ResourceSliceDrivers() { return absl::StrJoin(kDrivers, ", "); }

bool IsResourceSlice(const json& object) {
  return TextOf(At(object, {"kind"})) == "ResourceSlice";
}

void AddResourceSlice(const json& object, NodeSet& nodes) {
  if (!IsResourceSlice(object)) return;
  const std::string driver = TextOf(At(object, {"spec", "driver"}));
  if (!absl::c_linear_search(kDrivers, driver)) return;
  InventoryNode node{.name = TextOf(At(object, {"spec", "nodeName"}))};
  if (node.name.empty()) return;
  for (const json& device : Elements(At(object, {"spec", "devices"}))) {
    std::string name = Attribute(device, {"productName", "model"});
    const std::string profile = Attribute(device, {"profile"});
    if (Attribute(device, {"type"}) == "mig") {
      name = absl::StrCat("MIG-", profile);
    } else if (absl::EndsWith(Attribute(device, {"type"}), "partition")) {
      absl::StrAppend(&name, " partition ",
                      Attribute(device, {"partitionProfile"}));
    } else if (const double bytes = MemoryOf(device); bytes > 0) {
      node.gpu_memory_bytes = node.gpu_memory_bytes == 0
                                  ? bytes
                                  : std::min(node.gpu_memory_bytes, bytes);
    }
    const auto same = absl::c_find_if(
        node.gpus,
        [&name](const InventoryGpus& gpus) { return gpus.name == name; });
    if (same != node.gpus.end()) {
      ++same->count;
    } else {
      node.gpus.push_back({.name = name, .count = 1});
    }
  }
  nodes.Add(std::move(node));
}

}  // namespace tangram
