#include "formats/import_cluster/node_set.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"

namespace tangram {
namespace {

bool LacksGpus(const InventoryNode& node) {
  return absl::StartsWith(node.unusable, kNoGpuAllocatable);
}

}  // namespace

void NodeSet::Add(InventoryNode node) {
  const auto [it, inserted] = index_.try_emplace(node.name, nodes_.size());
  if (inserted) {
    nodes_.push_back(std::move(node));
    return;
  }
  InventoryNode& known = nodes_[it->second];
  for (std::string& partition : node.partitions) {
    if (!absl::c_linear_search(known.partitions, partition)) {
      known.partitions.push_back(std::move(partition));
    }
  }
  // A node without GPUs of a device plugin may have them as slices of
  // resources, which are another object.
  if (known.gpus.empty() && !node.gpus.empty()) {
    known.gpus = std::move(node.gpus);
    if (known.gpu_memory_bytes == 0) {
      known.gpu_memory_bytes = node.gpu_memory_bytes;
    }
    if (LacksGpus(known)) known.unusable.clear();
  }
  if (known.unusable.empty() && !LacksGpus(node)) {
    known.unusable = std::move(node.unusable);
  }
}

InventoryNode* NodeSet::Find(const std::string& name) {
  const auto it = index_.find(name);
  return it == index_.end() ? nullptr : &nodes_[it->second];
}

}  // namespace tangram
