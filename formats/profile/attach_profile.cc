#include "formats/profile/attach_profile.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "common/cost/measured_layer.h"
#include "common/cost/operator_cost.h"
#include "formats/profile/fit_collectives.h"

namespace tangram {
namespace {

bool ComesBefore(const MeasuredOperator& a, const MeasuredOperator& b) {
  return a.key < b.key;
}

// Sorts, and keeps the last of equal elements.
template <typename T>
void SortAndKeepLatest(std::vector<T>& all) {
  const auto before = [](const T& a, const T& b) { return ComesBefore(a, b); };
  std::stable_sort(all.begin(), all.end(), before);
  size_t kept = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    const bool superseded =
        i + 1 < all.size() && !ComesBefore(all[i], all[i + 1]);
    if (superseded) continue;
    if (kept != i) all[kept] = std::move(all[i]);
    ++kept;
  }
  all.resize(kept);
}

void AddOperator(const Profile& profile, const ProfileEntry& entry,
                 const TrainingOptions& training,
                 std::vector<MeasuredOperator>& operators) {
  for (const ProfilePoint& point : entry.points) {
    operators.push_back(
        {.key = MeasurementKey(LayerOf(profile, entry), *entry.op,
                               entry.parallelism, point.samples, training),
         .forward_s = point.forward_s,
         .backward_s = point.backward_s});
  }
}

// Replaces a layer that was measured before, with all its batch sizes.
void AddLayer(const Profile& profile, const ProfileEntry& entry,
              const TrainingOptions& training,
              std::vector<MeasuredLayer>& layers) {
  const Fingerprint key =
      LayerMeasurementKey(LayerOf(profile, entry), entry.parallelism, training,
                          entry.flash_attention);
  layers.erase(std::remove_if(
                   layers.begin(), layers.end(),
                   [key](const MeasuredLayer& old) { return old.key == key; }),
               layers.end());
  for (const ProfilePoint& point : entry.points) {
    layers.push_back({.key = key,
                      .samples = point.samples,
                      .forward_s = point.forward_s,
                      .backward_s = point.backward_s,
                      .collectives_included = entry.collectives_included,
                      .saved_bytes = point.saved_bytes,
                      .optimizer_s = entry.optimizer_s,
                      .state_bytes = entry.state_bytes});
  }
}

}  // namespace

void AttachProfile(const Profile& profile, DeviceSpec& device) {
  std::vector<MeasuredOperator> operators = device.measured.list();
  std::vector<MeasuredLayer> layers = device.measured_layers.list();
  std::vector<MeasuredCollective> collectives = device.collectives.list();
  for (const ProfileEntry& entry : profile.entries) {
    const TrainingOptions training = {.sequence_length = entry.sequence_length,
                                      .precision = entry.precision,
                                      .flash_attention = entry.flash_attention};
    if (entry.op.has_value()) {
      AddOperator(profile, entry, training, operators);
    } else {
      AddLayer(profile, entry, training, layers);
    }
  }
  collectives.insert(collectives.end(), profile.collectives.begin(),
                     profile.collectives.end());
  SortAndKeepLatest(operators);
  SortAndKeepLatest(layers);
  SortAndKeepLatest(collectives);
  device.measured = std::move(operators);
  device.measured_layers = std::move(layers);
  device.collectives = std::move(collectives);
  if (profile.context_bytes.has_value()) {
    device.efficiency.reserved_bytes = *profile.context_bytes;
  }
}

Profile WithoutMemory(Profile profile) {
  for (ProfileEntry& entry : profile.entries) {
    entry.state_bytes.reset();
    for (ProfilePoint& point : entry.points) point.saved_bytes.reset();
  }
  profile.context_bytes.reset();
  return profile;
}

void AttachLinks(const Profile& profile, LinkScope scope, Cluster& cluster) {
  std::vector<std::string> types(cluster.groups.size());
  for (const Node& node : cluster.nodes) types[node.group] = node.device.type;
  for (const ProfileLink& measured : profile.links) {
    if (measured.to.empty() != (scope == LinkScope::kInsideNodes)) continue;
    if (measured.to.empty()) {
      for (Node& node : cluster.nodes) {
        if (node.device.type == profile.device) node.intra_node = measured.link;
      }
      continue;
    }
    for (size_t a = 0; a < types.size(); ++a) {
      for (size_t b = 0; b < types.size(); ++b) {
        if (types[a] == profile.device && types[b] == measured.to) {
          cluster.links[a][b] = measured.link;
        }
      }
    }
  }
}

int AttachProfile(const Profile& profile, Cluster& cluster) {
  int num_nodes = 0;
  // Nodes of one group are identical, and share what is attached.
  std::vector<const Node*> attached(cluster.groups.size());
  for (Node& node : cluster.nodes) {
    if (node.device.type != profile.device) continue;
    ++num_nodes;
    const Node*& first = attached[node.group];
    if (first != nullptr) {
      node.device = first->device;
      continue;
    }
    AttachProfile(profile, node.device);
    FitCollectives(node);
    first = &node;
  }
  return num_nodes;
}

}  // namespace tangram
