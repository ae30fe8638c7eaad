#include "formats/import_cluster/read_sources.h"

#include <map>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "formats/import_cluster/driver_reports.h"
#include "formats/import_cluster/driver_text.h"
#include "formats/import_cluster/format_hints.h"
#include "formats/import_cluster/gpu_names.h"
#include "formats/import_cluster/hostfile.h"
#include "formats/import_cluster/hostlist.h"
#include "formats/import_cluster/kubernetes.h"
#include "formats/import_cluster/node_set.h"
#include "formats/import_cluster/nvidia_smi_xml.h"
#include "formats/import_cluster/slurm_scontrol.h"
#include "formats/import_cluster/slurm_sinfo.h"
#include "formats/import_cluster/text_parts.h"

namespace tangram {
namespace {

using Nodes = std::vector<InventoryNode>;

// Returns whether `product` identifies GPUs better than their `name` does.
bool SaysMore(const std::string& product, const std::string& name) {
  const GpuMatch by_product = MatchGpu(product, 0);
  const GpuMatch by_name = MatchGpu(name, 0);
  return by_product.device != nullptr && !name.empty() &&
         (by_product.device != by_name.device || !by_name.others.empty());
}

// Parses sources one by one, and joins them in Finish().
class Reader {
 public:
  absl::Status Read(const ClusterSource& source, InventoryFormat format) {
    switch (format) {
      case InventoryFormat::kScontrolNodes:
        return AddNodes(source, ParseScontrolNodes(source.text));
      case InventoryFormat::kSinfo:
        return AddNodes(source, ParseSinfoTable(source.text));
      case InventoryFormat::kSlurmJson:
        return AddNodes(source, ParseSlurmJson(source.text));
      case InventoryFormat::kKubernetes:
        return AddNodes(source, ParseKubernetesNodes(source.text));
      case InventoryFormat::kScontrolTopology:
        return AddBlocks(source);
      case InventoryFormat::kHostfile:
        return AddNodes(source, ParseHostfile(source.text));
      case InventoryFormat::kNvidiaSmiXml:
        return AddDriver(source, ParseNvidiaSmiXml(source.text));
      case InventoryFormat::kNvidiaSmiTable:
      case InventoryFormat::kHlSmi:
        return AddDriver(source, ParseNvidiaSmiTable(source.text));
      case InventoryFormat::kNvidiaSmiList:
        return AddDriver(source, ParseNvidiaSmiList(source.text));
      case InventoryFormat::kNvidiaSmiCsv:
        return AddDriver(source, ParseNvidiaSmiCsv(source.text));
      case InventoryFormat::kNvidiaSmiRows:
        return AddDriver(source, ParseNvidiaSmiRows(source.text));
      case InventoryFormat::kNvidiaSmiQuery:
        return AddDriver(source, ParseNvidiaSmiQuery(source.text));
      case InventoryFormat::kRocmSmiJson:
        return AddDriver(source, ParseRocmSmiJson(source.text));
      case InventoryFormat::kRocmSmiCsv:
        return AddDriver(source, ParseRocmSmiCsv(source.text));
      case InventoryFormat::kGpustat:
        return AddDriver(source, ParseGpustat(source.text));
      case InventoryFormat::kRocmInfo:
        return AddDriver(source, ParseRocmInfo(source.text));
      case InventoryFormat::kAmdSmiTable:
        return AddDriver(source, ParseAmdSmiTable(source.text));
      case InventoryFormat::kRocmSmi:
        return AddDriver(source, ParseRocmSmi(source.text));
      case InventoryFormat::kAmdSmi:
        return AddDriver(source, ParseAmdSmi(source.text));
      case InventoryFormat::kAmdSmiJson:
        return AddDriver(source, ParseAmdSmiJson(source.text));
      case InventoryFormat::kLspci:
        return AddDriver(source, ParseLspci(source.text));
      case InventoryFormat::kGpuTopology:
        return AddTopology(source);
      case InventoryFormat::kNcclTests:
        inventory_.runs.push_back(
            {source.name, source.scope, ReadNcclRun(source.text, source.name)});
        return absl::OkStatus();
    }
    return absl::OkStatus();
  }

  // Joins drivers' reports after all nodes are known, since schedulers may name
  // the same nodes.
  Inventory Finish() {
    for (InventoryNode& node : driver_nodes_) JoinDriver(std::move(node));
    for (const ScopedRun& run : inventory_.runs) LearnFrom(run);
    inventory_.nodes = nodes_.Take();
    NameProducts();
    for (InventoryNode& node : inventory_.nodes) {
      const auto block = blocks_.find(node.name);
      if (block != blocks_.end()) node.network_block = block->second;
    }
    return std::move(inventory_);
  }

 private:
  absl::Status AddNodes(const ClusterSource& source,
                        absl::StatusOr<Nodes> nodes) {
    TANGRAM_RETURN_IF_ERROR(nodes.status());
    if (nodes->empty()) return absl::InvalidArgumentError("no nodes");
    for (InventoryNode& node : *nodes) {
      node.source = source.name;
      nodes_.Add(std::move(node));
    }
    return absl::OkStatus();
  }

  absl::Status AddBlocks(const ClusterSource& source) {
    TANGRAM_ASSIGN_OR_RETURN(const std::vector<NetworkBlock> blocks,
                             ParseScontrolTopology(source.text));
    for (const NetworkBlock& block : blocks) {
      for (const std::string& node : block.nodes) blocks_[node] = block.name;
    }
    return absl::OkStatus();
  }

  absl::Status AddDriver(const ClusterSource& source,
                         absl::StatusOr<InventoryNode> read) {
    TANGRAM_ASSIGN_OR_RETURN(InventoryNode node, std::move(read));
    if (source.scope.empty()) {
      return absl::InvalidArgumentError(
          "does not say of which node it is; expected NODE=FILE, such as "
          "node1=FILE");
    }
    TANGRAM_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                             ExpandHostlist(source.scope));
    node.source = source.name;
    for (const std::string& name : names) {
      node.name = name;
      driver_nodes_.push_back(node);
    }
    return absl::OkStatus();
  }

  absl::Status AddTopology(const ClusterSource& source) {
    TANGRAM_ASSIGN_OR_RETURN(GpuTopology topology,
                             ParseGpuTopology(source.text));
    inventory_.topologies.push_back(
        {source.name, source.scope, std::move(topology)});
    return absl::OkStatus();
  }

  struct Product {
    std::string name;
    std::string source;
    bool is_only = true;
  };

  // Records that GPUs of that name are that product, unless another one is
  // known.
  void Learn(const std::string& name, const std::string& product,
             const std::string& source) {
    const auto [it, inserted] =
        products_.try_emplace(name, Product{.name = product, .source = source});
    if (!inserted && it->second.name != product) it->second.is_only = false;
  }

  // Learns from a run of nccl-tests, which prints the product of its GPUs.
  void LearnFrom(const ScopedRun& run) {
    if (run.run.gpus.size() != 1) return;
    for (const std::string& host : run.run.hosts) {
      const InventoryNode* node = nodes_.Find(host);
      if (node == nullptr) node = nodes_.Find(host.substr(0, host.find('.')));
      if (node == nullptr || node->gpus.size() != 1) continue;
      Learn(node->gpus[0].name, *run.run.gpus.begin(), run.source);
    }
  }

  // Gives the learned products to all GPUs of those names.
  void NameProducts() {
    for (const auto& [name, product] : products_) {
      if (!product.is_only || !SaysMore(product.name, name)) continue;
      inventory_.notes.push_back(absl::StrCat("GPU ", Shown(name), " is ",
                                              Shown(product.name), ", as ",
                                              Shown(product.source), " says"));
      for (InventoryNode& node : inventory_.nodes) {
        for (InventoryGpus& gpus : node.gpus) {
          if (gpus.name == name && gpus.product.empty()) {
            gpus.product = product.name;
          }
        }
      }
    }
  }

  // Adds a driver's report to its node, which is new if no scheduler named it.
  void JoinDriver(InventoryNode driver) {
    InventoryNode* node = nodes_.Find(driver.name);
    if (node == nullptr) {
      nodes_.Add(std::move(driver));
      return;
    }
    // The scheduler's count holds, since a driver reports every GPU plugged in.
    // But only a driver knows which of them are cut into slices.
    if (absl::c_any_of(driver.gpus, [](const InventoryGpus& gpus) {
          return IsGpuSlice(gpus.name);
        })) {
      node->gpus = std::move(driver.gpus);
    } else if (node->gpus.size() == 1 && driver.gpus.size() == 1) {
      node->gpus[0].product = driver.gpus[0].name;
      Learn(node->gpus[0].name, driver.gpus[0].name, driver.source);
    } else if (node->gpus.empty()) {
      node->gpus = std::move(driver.gpus);
    }
    node->gpu_memory_bytes = driver.gpu_memory_bytes;
    node->usable_gpu_memory_bytes = driver.usable_gpu_memory_bytes;
    node->pcie_generation = driver.pcie_generation;
    node->pcie_lanes = driver.pcie_lanes;
    if (node->unusable.empty()) node->unusable = std::move(driver.unusable);
    absl::StrAppend(&node->source, ", ", driver.source);
  }

  NodeSet nodes_;
  Nodes driver_nodes_;
  absl::flat_hash_map<std::string, std::string> blocks_;  // Keys are nodes.
  std::map<std::string, Product> products_;               // Keys are GPU names.
  Inventory inventory_;
};

absl::StatusOr<InventoryFormat> FormatOf(const ClusterSource& source) {
  if (source.format.has_value()) return *source.format;
  const std::optional<InventoryFormat> format = DetectFormat(source.text);
  if (format.has_value()) return *format;
  if (absl::StripAsciiWhitespace(source.text).empty()) {
    return absl::InvalidArgumentError(
        "empty; expected an inventory, such as the output of scontrol show "
        "node");
  }
  const std::string hint = HintFor(source.text);
  if (!hint.empty()) return absl::InvalidArgumentError(hint);
  return absl::InvalidArgumentError(
      "of no known format; expected the output of scontrol show node, scontrol "
      "show topology, sinfo, kubectl get nodes -o json, nvidia-smi with or "
      "without -q -x, -q, -L or --format=csv, nvidia-smi topo -m, rocm-smi, "
      "rocminfo, amd-smi, lspci, nccl-tests or a hostfile");
}

}  // namespace

absl::StatusOr<Inventory> ReadSources(absl::Span<const ClusterSource> sources) {
  Reader reader;
  for (const ClusterSource& source : sources) {
    const auto in_source = [&source](const absl::Status& status) {
      return absl::Status(status.code(),
                          absl::StrCat(source.name, ": ", status.message()));
    };
    const absl::StatusOr<InventoryFormat> format = FormatOf(source);
    if (!format.ok()) return in_source(format.status());
    if (const absl::Status status = reader.Read(source, *format);
        !status.ok()) {
      return in_source(status);
    }
  }
  return reader.Finish();
}

}  // namespace tangram
