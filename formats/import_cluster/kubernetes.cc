#include "formats/import_cluster/kubernetes.h"

#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "formats/config/group_fields.h"
#include "formats/import_cluster/json_fields.h"
#include "formats/import_cluster/node_set.h"

namespace tangram {
namespace {

using ::nlohmann::json;

constexpr double kMebibyte = 1 << 20;

// Labels of a node's network block, the innermost first: of NVIDIA's topograph,
// of AWS, of Google Cloud, and of Kubernetes itself.
constexpr absl::string_view kBlockLabels[] = {
    "network.topology.nvidia.com/leaf", "topology.k8s.aws/network-node-layer-3",
    "cloud.google.com/gce-topology-block", "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/zone"};

struct Vendor {
  absl::string_view resource;
  absl::string_view product_label;
};
constexpr Vendor kVendors[] = {
    {"nvidia.com/gpu", "nvidia.com/gpu.product"},
    {"amd.com/gpu", "amd.com/gpu.product-name"},
};
constexpr absl::string_view kSlicePrefix = "nvidia.com/mig-";

int CountOf(const json& value) {
  int count = 0;
  const bool is_count = absl::SimpleAtoi(TextOf(value), &count);
  return is_count && count >= 0 && count <= kMaxGpusPerNode ? count : 0;
}

bool IsReady(const json& node) {
  return absl::c_any_of(Elements(At(node, {"status", "conditions"})),
                        [](const json& condition) {
                          return TextOf(At(condition, {"type"})) == "Ready" &&
                                 TextOf(At(condition, {"status"})) == "True";
                        });
}

bool HasSlices(const json& allocatable) {
  if (!allocatable.is_object()) return false;
  for (const auto& [resource, count] : allocatable.items()) {
    if (absl::StartsWith(resource, kSlicePrefix) && CountOf(count) > 0) {
      return true;
    }
  }
  return false;
}

bool IsShared(const json& labels, absl::string_view product) {
  const std::string strategy =
      TextOf(At(labels, {"nvidia.com/gpu.sharing-strategy"}));
  return absl::EndsWith(product, "-SHARED") ||
         CountOf(At(labels, {"nvidia.com/gpu.replicas"})) > 1 ||
         (!strategy.empty() && strategy != "none");
}

std::string WhyUnusable(const json& node, const InventoryNode& found) {
  const json& labels = At(node, {"metadata", "labels"});
  const std::string product = found.gpus.empty() ? "" : found.gpus[0].name;
  if (At(node, {"spec", "unschedulable"}) == json(true)) return "cordoned";
  if (!IsReady(node)) return "not ready";
  if (absl::StrContains(product, "-MIG-") ||
      HasSlices(At(node, {"status", "allocatable"}))) {
    return "its GPUs are cut into MIG slices";
  }
  if (IsShared(labels, product)) {
    return absl::StrCat("pods share its GPUs (",
                        TextOf(At(labels, {"nvidia.com/gpu.replicas"})),
                        " to a GPU)");
  }
  if (found.gpus.empty()) return "no GPU can be allocated";
  return "";
}

InventoryNode ReadNode(const json& node) {
  const json& labels = At(node, {"metadata", "labels"});
  InventoryNode found{.name = TextOf(At(node, {"metadata", "name"}))};
  for (const Vendor& vendor : kVendors) {
    const int count =
        CountOf(At(node, {"status", "allocatable", vendor.resource}));
    if (count == 0) continue;
    found.gpus.push_back(
        {.name = TextOf(At(labels, {vendor.product_label})), .count = count});
  }
  double mebibytes = 0;
  if (absl::SimpleAtod(TextOf(At(labels, {"nvidia.com/gpu.memory"})),
                       &mebibytes) &&
      mebibytes > 0) {
    found.gpu_memory_bytes = mebibytes * kMebibyte;
  }
  for (const absl::string_view label : kBlockLabels) {
    if (found.network_block.empty()) {
      found.network_block = TextOf(At(labels, {label}));
    }
  }
  found.unusable = WhyUnusable(node, found);
  return found;
}

}  // namespace

absl::StatusOr<std::vector<InventoryNode>> ParseKubernetesNodes(
    absl::string_view text) {
  TANGRAM_ASSIGN_OR_RETURN(const json root, ParseJson(text));
  NodeSet nodes;
  // `kubectl get node NAME` prints a node without a list around it.
  if (TextOf(At(root, {"kind"})) == "Node") nodes.Add(ReadNode(root));
  for (const json& item : Elements(At(root, {"items"}))) {
    nodes.Add(ReadNode(item));
  }
  return nodes.Take();
}

}  // namespace tangram
