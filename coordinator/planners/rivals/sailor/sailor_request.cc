#include "coordinator/planners/rivals/sailor/sailor_request.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <utility>

namespace tangram::sailor {
namespace {

// The slowest links between the nodes of types, and within them.
class TypeLinks {
 public:
  TypeLinks(const Cluster& cluster, const TypedNodes& typed)
      : cluster_(cluster) {
    for (const std::vector<int>& nodes : typed.nodes) {
      std::map<int, int> count;
      for (const int node : nodes) ++count[cluster.nodes[node].group];
      groups_.push_back(std::move(count));
      first_.push_back(nodes.front());
    }
  }

  // The path from `sending` GPUs of a node to `receiving` ones of another.
  Path Between(int from, int to, int sending, int receiving) const {
    Path slowest;
    const int pairs = std::min(sending, receiving);
    const auto look = [&](const Link& link, double node_rate) {
      const double rate =
          std::min(node_rate, pairs * link.pair_bandwidth_bytes_per_s);
      if (slowest.most_bytes_per_s == 0 || rate < slowest.most_bytes_per_s) {
        slowest = {.c = rate / 1e9,
                   .most_bytes_per_s = rate,
                   .latency_s = link.latency_s};
      }
    };
    for (const auto& [a, count_a] : groups_[from]) {
      for (const auto& [b, count_b] : groups_[to]) {
        if (from == to && a == b && count_a == 1) continue;
        const Link& link = cluster_.links[a][b];
        look(link, link.bandwidth_bytes_per_s);
      }
    }
    if (slowest.most_bytes_per_s == 0) {
      const Link& inside = cluster_.nodes[first_[from]].intra_node;
      look(inside, pairs * inside.bandwidth_bytes_per_s);
    }
    return slowest;
  }

 private:
  const Cluster& cluster_;
  std::vector<std::map<int, int>> groups_;  // Nodes by group, by type.
  std::vector<int> first_;                  // A node of each type.
};

// The type indexes of the profiles by name.
std::vector<int> TypesByName(const LayerProfiles& profiles) {
  std::vector<int> order(profiles.types.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return profiles.types[a].name < profiles.types[b].name;
  });
  return order;
}

Profile ProfileFor(const std::vector<LayerProfile>& layers, int tp,
                   double reserved_bytes, Mode mode) {
  Profile profile{.layers = {}, .reserved_bytes = reserved_bytes};
  const bool own = mode == Mode::kCorrected;
  if (!own) profile.reserved_bytes = tp == 1 ? 2e9 : 3e9;
  const double bytes_a_parameter = mode == Mode::kUpstream ? 24 : 16;
  for (const LayerProfile& layer : layers) {
    profile.layers.push_back(
        {.pass_s = layer.forward_s + layer.backward_s,
         .update_s = layer.optimizer_s,
         .state_bytes =
             own ? layer.state_bytes : bytes_a_parameter * layer.parameters,
         .activation_bytes = layer.activation_bytes,
         .transient_bytes = own ? layer.transient_bytes : 0});
  }
  return profile;
}

void AddLayers(const LayerProfiles& profiles, Input& input) {
  if (profiles.layers.empty()) return;
  // The key of the least degree is among the first of its type.
  const auto& [key, layers] = *profiles.layers.begin();
  for (const LayerProfile& layer : layers) {
    input.gradient_bytes.push_back(key.tp_degree * layer.gradient_bytes);
    input.boundary_bytes.push_back(profiles.boundary_bytes_per_sample);
  }
}

}  // namespace

Rules RulesOf(Mode mode) {
  if (mode == Mode::kCorrected) return {};
  Rules rules = UpstreamRules();
  rules.tests_regions = mode == Mode::kUpstream;
  return rules;
}

Input InputOf(const Cluster& cluster, const LayerProfiles& profiles,
              int global_batch, Mode mode, TypedNodes& typed) {
  Input input;
  input.global_batch = global_batch;
  const std::vector<int> by_name = TypesByName(profiles);
  const int types = static_cast<int>(by_name.size());
  std::vector<int> index(types);
  typed.nodes.assign(types, {});
  for (int i = 0; i < types; ++i) {
    const ProfiledType& type = profiles.types[by_name[i]];
    index[by_name[i]] = i;
    input.types.push_back(
        {.name = type.name, .memory_bytes = type.memory_bytes});
  }
  input.zones = {{.name = "cluster",
                  .region = "cluster",
                  .gpus = std::vector<int>(types, 0)}};
  for (int node = 0; node < static_cast<int>(cluster.nodes.size()); ++node) {
    const int type = index[profiles.type_of_node[node]];
    typed.nodes[type].push_back(node);
    input.zones[0].gpus[type] += cluster.nodes[node].num_gpus;
  }
  AddLayers(profiles, input);
  std::set<std::pair<int, int>> degrees;  // By type.
  for (const auto& [key, layers] : profiles.layers) {
    const int type = index[key.type];
    degrees.emplace(type, key.tp_degree);
    input.profiles[{type, key.tp_degree, key.samples}] = ProfileFor(
        layers, key.tp_degree, profiles.types[key.type].reserved_bytes, mode);
  }
  const TypeLinks links(cluster, typed);
  for (const auto& [from, sending] : degrees) {
    for (const auto& [to, receiving] : degrees) {
      input.paths[{{0, from, sending}, {0, to, receiving}}] =
          links.Between(from, to, sending, receiving);
    }
  }
  return input;
}

}  // namespace tangram::sailor
