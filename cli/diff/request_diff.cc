#include "cli/diff/request_diff.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "formats/config/training_names.h"

namespace tangram {
namespace {

constexpr int kAbsent = -1;  // No index of a group.

// A group of nodes, which are all alike: its first node and their number.
struct Group {
  const Node* node = nullptr;
  int64_t num_nodes = 0;
};

Group GroupAt(const Cluster& cluster, int index) {
  Group group;
  for (const Node& node : cluster.nodes) {
    if (node.group != index) continue;
    if (group.node == nullptr) group.node = &node;
    ++group.num_nodes;
  }
  return group;
}

int FindGroup(const Cluster& cluster, const std::string& name) {
  const auto it = std::find(cluster.groups.begin(), cluster.groups.end(), name);
  return it == cluster.groups.end()
             ? kAbsent
             : static_cast<int>(it - cluster.groups.begin());
}

void AddLink(const std::string& name, const Link& a, const Link& b,
             Differences& differences) {
  differences.Figure(absl::StrCat(name, ".bandwidth_bytes_per_s"),
                     a.bandwidth_bytes_per_s, b.bandwidth_bytes_per_s);
  differences.Figure(absl::StrCat(name, ".pair_bandwidth_bytes_per_s"),
                     a.pair_bandwidth_bytes_per_s,
                     b.pair_bandwidth_bytes_per_s);
  differences.Figure(absl::StrCat(name, ".latency_s"), a.latency_s,
                     b.latency_s);
}

void AddDevice(const std::string& group, const DeviceSpec& a,
               const DeviceSpec& b, Differences& differences) {
  const auto name = [&](const char* field) {
    return absl::StrCat("groups.", group, ".", field);
  };
  differences.Name(name("gpu"), a.type, b.type);
  differences.Figure(name("memory_bytes"), a.memory_bytes, b.memory_bytes);
  differences.Figure(name("memory_bandwidth_bytes_per_s"),
                     a.memory_bandwidth_bytes_per_s,
                     b.memory_bandwidth_bytes_per_s);
  const auto rest = [](DeviceSpec device) {
    device.type.clear();
    device.memory_bytes = device.memory_bandwidth_bytes_per_s = 0;
    return device;
  };
  if (rest(a) != rest(b)) {
    differences.Name(name("throughput_and_measurements"), "one set", "another");
  }
}

void AddGroup(const std::string& name, const Group& a, const Group& b,
              Differences& differences) {
  const auto field = [&](const char* what) {
    return absl::StrCat("groups.", name, ".", what);
  };
  differences.Number(field("nodes"), a.num_nodes, b.num_nodes);
  if (a.node == nullptr || b.node == nullptr) return;
  differences.Number(field("gpus_per_node"), a.node->num_gpus,
                     b.node->num_gpus);
  AddDevice(name, a.node->device, b.node->device, differences);
  AddLink(field("intra_node"), a.node->intra_node, b.node->intra_node,
          differences);
}

void AddLinksBetweenGroups(const Cluster& a, const Cluster& b,
                           Differences& differences) {
  for (size_t from = 0; from < a.groups.size(); ++from) {
    const int from_b = FindGroup(b, a.groups[from]);
    for (size_t to = 0; to < a.groups.size() && from_b != kAbsent; ++to) {
      const int to_b = FindGroup(b, a.groups[to]);
      if (to_b == kAbsent) continue;
      AddLink(absl::StrCat("links.", a.groups[from], ".", a.groups[to]),
              a.links[from][to], b.links[from_b][to_b], differences);
    }
  }
}

// Adds the first layer that differs, if both models have as many layers.
void AddFirstOtherLayer(const ModelSpec& a, const ModelSpec& b,
                        Differences& differences) {
  if (a.num_layers() != b.num_layers()) return;
  const auto [in_a, in_b] =
      std::mismatch(a.layers.begin(), a.layers.end(), b.layers.begin());
  if (in_a == a.layers.end()) return;
  const std::string layer =
      absl::StrCat("layer ", in_a - a.layers.begin(), " of ", a.name);
  differences.Name("first_other_layer", layer,
                   absl::StrCat("that of ", b.name));
}

}  // namespace

std::vector<Difference> DiffModels(const ModelSpec& a, const ModelSpec& b) {
  Differences differences;
  differences.Number("layers", a.num_layers(), b.num_layers());
  differences.Figure("parameters", ParameterCount(a), ParameterCount(b));
  AddFirstOtherLayer(a, b, differences);
  return std::move(differences).Take();
}

std::vector<Difference> DiffClusters(const Cluster& a, const Cluster& b) {
  Differences differences;
  for (size_t g = 0; g < a.groups.size(); ++g) {
    const int other = FindGroup(b, a.groups[g]);
    AddGroup(a.groups[g], GroupAt(a, static_cast<int>(g)),
             other == kAbsent ? Group() : GroupAt(b, other), differences);
  }
  for (size_t g = 0; g < b.groups.size(); ++g) {
    if (FindGroup(a, b.groups[g]) != kAbsent) continue;
    AddGroup(b.groups[g], Group(), GroupAt(b, static_cast<int>(g)),
             differences);
  }
  AddLinksBetweenGroups(a, b, differences);
  return std::move(differences).Take();
}

std::vector<Difference> DiffTraining(const TrainingOptions& a,
                                     const TrainingOptions& b) {
  Differences differences;
  differences.Number("global_batch_size", a.global_batch_size,
                     b.global_batch_size);
  differences.Number("sequence_length", a.sequence_length, b.sequence_length);
  differences.Name("precision", std::string(PrecisionName(a.precision)),
                   std::string(PrecisionName(b.precision)));
  differences.Name("optimizer", std::string(OptimizerName(a.optimizer)),
                   std::string(OptimizerName(b.optimizer)));
  const auto add = [&](const char* field, bool TrainingOptions::*value) {
    differences.Switch(field, a.*value, b.*value);
  };
  add("flash_attention", &TrainingOptions::flash_attention);
  add("dropout", &TrainingOptions::dropout);
  add("fp32_gradients", &TrainingOptions::fp32_gradients);
  add("overlap_grad_reduce", &TrainingOptions::overlap_grad_reduce);
  add("blocking_transfers", &TrainingOptions::blocking_transfers);
  add("buffered_sends", &TrainingOptions::buffered_sends);
  add("gradient_copy", &TrainingOptions::gradient_copy);
  add("bf16_moments", &TrainingOptions::bf16_moments);
  add("fused_loss", &TrainingOptions::fused_loss);
  return std::move(differences).Take();
}

}  // namespace tangram
