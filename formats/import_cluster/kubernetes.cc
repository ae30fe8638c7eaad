#include "formats/import_cluster/kubernetes.h"

#include <cmath>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/types/span.h"
#include "common/base/status_macros.h"
#include "formats/catalogue/instances.h"
#include "formats/config/group_fields.h"
#include "formats/import_cluster/driver_node.h"
#include "formats/import_cluster/gpu_names.h"
#include "formats/import_cluster/json_fields.h"
#include "formats/import_cluster/node_set.h"
#include "formats/import_cluster/resource_slices.h"

namespace tangram {
namespace {

using ::nlohmann::json;

// Labels of a node's network block, the innermost first: of NVIDIA's topograph,
// of AWS, of Google Cloud, and of Kubernetes itself.
constexpr absl::string_view kBlockLabels[] = {
    "network.topology.nvidia.com/leaf", "topology.k8s.aws/network-node-layer-3",
    "cloud.google.com/gce-topology-block", "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/zone"};

// A resource of a device plugin, and the labels that name its product, the
// vendor's own first, then those of clouds: GKE, Karpenter, EKS and its older
// autoscaler.
struct Vendor {
  absl::string_view resource;
  std::vector<absl::string_view> product_labels;
  std::vector<absl::string_view> memory_labels;  // In MiB, or as "144G".
};
const std::vector<Vendor>& Vendors() {
  static const auto* const kVendors = new std::vector<Vendor>{
      {"nvidia.com/gpu",
       {"nvidia.com/gpu.product", "cloud.google.com/gke-accelerator",
        "karpenter.k8s.aws/instance-gpu-name",
        "eks.amazonaws.com/instance-gpu-name", "k8s.amazonaws.com/accelerator",
        "karpenter.azure.com/sku-gpu-name"},
       {"nvidia.com/gpu.memory", "karpenter.k8s.aws/instance-gpu-memory",
        "eks.amazonaws.com/instance-gpu-memory"}},
      {"amd.com/gpu",
       {"amd.com/gpu.product-name", "beta.amd.com/gpu.product-name"},
       {"amd.com/gpu.vram", "beta.amd.com/gpu.vram"}},
      {"gpu.intel.com/i915", {"gpu.intel.com/product"}, {}},
      {"gpu.intel.com/xe", {"gpu.intel.com/product"}, {}},
      {"habana.ai/gaudi", {"habana.ai/product"}, {}},
  };
  return *kVendors;
}
// Labels of the type of a cloud instance.
constexpr absl::string_view kInstanceLabels[] = {
    "node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type"};
constexpr absl::string_view kSlicePrefix = "nvidia.com/mig-";

int CountOf(const json& value) {
  int count = 0;
  const bool is_count = absl::SimpleAtoi(TextOf(value), &count);
  return is_count && count >= 0 && count <= kMaxGpusPerNode ? count : 0;
}

// Returns bytes for a label in MiB or GiB ("144G"). 0: it tells none.
double MemoryOf(absl::string_view label) {
  const double unit = absl::ConsumeSuffix(&label, "G") ? 1024 : 1;
  double value = 0;
  const bool is_number = absl::SimpleAtod(label, &value) && value > 0;
  return is_number && std::isfinite(value) ? value * unit * kMebibyte : 0;
}

// A node without conditions is written by hand.
bool IsReady(const json& node) {
  const auto& conditions = At(node, {"status", "conditions"});
  if (conditions.is_null()) return true;
  return absl::c_any_of(Elements(conditions), [](const json& condition) {
    return TextOf(At(condition, {"type"})) == "Ready" &&
           TextOf(At(condition, {"status"})) == "True";
  });
}

// Adds the slices of a node that has them beside whole GPUs, or alone.
void AddSlices(const json& allocatable, InventoryNode& node) {
  if (!allocatable.is_object()) return;
  for (const auto& [resource, value] : allocatable.items()) {
    const int count = CountOf(value);
    absl::string_view slice = resource;
    if (absl::ConsumePrefix(&slice, kSlicePrefix) && count > 0) {
      node.gpus.push_back(
          {.name = absl::StrCat("MIG-", slice), .count = count});
    }
  }
}

// Returns the cloud instance that a node is. Null: none that is known.
const CloudInstance* InstanceOf(const json& labels) {
  for (const absl::string_view label : kInstanceLabels) {
    const CloudInstance* const instance =
        FindInstance(TextOf(At(labels, {label})));
    if (instance != nullptr) return instance;
  }
  return nullptr;
}

// Returns the product of a node: by the first label that has it. A cloud's name
// is less exact than the type of the instance, if that is a known one.
std::string ProductOf(const json& labels, const Vendor& vendor) {
  for (size_t i = 0; i < vendor.product_labels.size(); ++i) {
    std::string product = TextOf(At(labels, {vendor.product_labels[i]}));
    if (i > 0 || product.empty()) {
      const CloudInstance* const instance = InstanceOf(labels);
      if (instance != nullptr) return std::string(instance->gpu);
    }
    if (!product.empty()) return product;
  }
  return "";
}

// Returns the text of the first label that a node has; empty: none.
std::string FirstLabel(const json& labels,
                       absl::Span<const absl::string_view> names) {
  for (const absl::string_view name : names) {
    std::string text = TextOf(At(labels, {name}));
    if (!text.empty()) return text;
  }
  return "";
}

// Says why a GPU that the node offers is no whole one; empty: it is.
std::string WhyInParts(const json& labels, absl::string_view product) {
  std::string slice =
      FirstLabel(labels, {"cloud.google.com/gke-gpu-partition-size"});
  if (absl::StrContains(product, "-MIG-")) slice = std::string(product);
  if (!slice.empty()) {
    return absl::StrCat("its GPUs are cut into MIG slices (", slice, ")");
  }
  int pods = 0;
  const std::string given =
      FirstLabel(labels, {"nvidia.com/gpu.replicas",
                          "cloud.google.com/gke-max-shared-clients-per-gpu"});
  if (absl::SimpleAtoi(given, &pods) && pods > 1) {
    return absl::StrCat("pods share its GPUs (", pods, " to a GPU)");
  }
  const std::string strategy =
      FirstLabel(labels, {"nvidia.com/gpu.sharing-strategy",
                          "cloud.google.com/gke-gpu-sharing-strategy"});
  if (!strategy.empty() && strategy != "none") {
    return absl::StrCat("pods share its GPUs (", strategy, ")");
  }
  return absl::EndsWith(product, "-SHARED") ? "pods share its GPUs" : "";
}

// Returns the GPUs that a node has by its labels, however many its device
// plugin offers to pods. 0: they do not tell.
int GpusInNode(const json& labels) {
  int count = 0;
  const std::string given = FirstLabel(
      labels, {"nvidia.com/gpu.count", "cloud.google.com/gke-accelerator-count",
               "karpenter.k8s.aws/instance-gpu-count",
               "eks.amazonaws.com/instance-gpu-count",
               "karpenter.azure.com/sku-gpu-count"});
  if (absl::SimpleAtoi(given, &count) && count > 0) return count;
  const CloudInstance* const instance = InstanceOf(labels);
  return instance == nullptr ? 0 : instance->gpus;
}

// Says which devices a node has that no plan uses: "; it has google.com/tpu".
std::string OtherDevices(const json& allocatable) {
  constexpr size_t kMaxShown = 4;
  std::vector<std::string> devices;
  if (!allocatable.is_object()) return "";
  for (const auto& [resource, value] : allocatable.items()) {
    if (!absl::StrContains(resource, "/") || CountOf(value) == 0) continue;
    if (devices.size() < kMaxShown) devices.push_back(resource);
  }
  if (devices.empty()) return "";
  return absl::StrCat("; it has ", absl::StrJoin(devices, ", "));
}

std::string WhyUnusable(const json& node, const InventoryNode& found) {
  const json& labels = At(node, {"metadata", "labels"});
  const std::string product = found.gpus.empty() ? "" : found.gpus[0].name;
  if (IsTrue(At(node, {"spec", "unschedulable"}))) return "cordoned";
  if (!IsReady(node)) return "not ready";
  const std::string parts = WhyInParts(labels, product);
  if (!parts.empty()) return parts;
  if (found.gpus.empty()) {
    return absl::StrCat(kNoGpuAllocatable,
                        OtherDevices(At(node, {"status", "allocatable"})));
  }
  const int in_node = GpusInNode(labels);
  if (in_node > 0 && found.gpus[0].count > in_node &&
      !IsGpuSlice(found.gpus[0].name)) {
    return absl::StrCat("pods share its GPUs (it offers ", found.gpus[0].count,
                        " and has ", in_node, ")");
  }
  if (!At(node, {"metadata", "annotations", "hami.io/node-nvidia-register"})
           .is_null()) {
    return "pods share its GPUs (HAMi)";
  }
  return "";
}

InventoryNode ReadNode(const json& node) {
  const json& labels = At(node, {"metadata", "labels"});
  InventoryNode found{.name = TextOf(At(node, {"metadata", "name"}))};
  for (const Vendor& vendor : Vendors()) {
    const int count =
        CountOf(At(node, {"status", "allocatable", vendor.resource}));
    if (count == 0) continue;
    // AMD's plugin offers partitions under the name of GPUs.
    const std::string mode = absl::AsciiStrToUpper(
        FirstLabel(labels, {"amd.com/compute-memory-partition",
                            "amd.com/gpu.compute-memory-partition",
                            "beta.amd.com/gpu.compute-memory-partition"}));
    found.gpus.push_back(
        {.name = NameInPartition(ProductOf(labels, vendor), mode),
         .count = count});
    for (const absl::string_view label : vendor.memory_labels) {
      if (found.gpu_memory_bytes > 0) break;
      found.gpu_memory_bytes = MemoryOf(TextOf(At(labels, {label})));
    }
  }
  AddSlices(At(node, {"status", "allocatable"}), found);
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
  TANGRAM_ASSIGN_OR_RETURN(const json root, ParseJsonOrYaml(text));
  NodeSet nodes;
  // `kubectl get node NAME` prints a node without a list around it.
  if (TextOf(At(root, {"kind"})) == "Node") nodes.Add(ReadNode(root));
  AddResourceSlice(root, nodes);
  for (const json& item :
       Elements(root.is_array() ? root : At(root, {"items"}))) {
    if (IsResourceSlice(item)) {
      AddResourceSlice(item, nodes);
    } else if (!TextOf(At(item, {"metadata", "name"})).empty()) {
      nodes.Add(ReadNode(item));
    }
  }
  std::vector<InventoryNode> found = nodes.Take();
  if (!found.empty()) return found;
  return absl::InvalidArgumentError(absl::StrCat(
      "no nodes; expected kubectl get nodes -o json, or -o yaml, or resource "
      "slices of ",
      ResourceSliceDrivers()));
}

}  // namespace tangram
