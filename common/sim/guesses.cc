#include "common/sim/guesses.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/format.h"
#include "common/cost/kernels.h"

namespace tangram {
namespace {

// With more assumed pairs of groups than this, all are one guess: each takes
// two evaluations.
constexpr size_t kMostPairs = 12;

void ScaleLink(double factor, Link& link) {
  link.bandwidth_bytes_per_s *= factor;
  link.pair_bandwidth_bytes_per_s *= factor;
}

std::string LinkValue(const Link& link) {
  return FormatBandwidth(link.bandwidth_bytes_per_s);
}

// Collects the guesses of one cluster.
class Guesser {
 public:
  Guesser(const Cluster& cluster, Precision precision,
          absl::Span<const GpuId> used)
      : cluster_(cluster), precision_(precision) {
    for (const Assumption& assumption : cluster.assumptions) {
      sources_.emplace(assumption.field, assumption.source);
    }
    nodes_.resize(cluster.groups.size());
    std::map<int, int> gpus_of_node;
    for (const GpuId& gpu : used) {
      const int group = cluster.nodes[gpu.node].group;
      nodes_[group].insert(gpu.node);
      has_pairs_.resize(cluster.groups.size());
      if (++gpus_of_node[gpu.node] > 1) has_pairs_[group] = true;
    }
    has_pairs_.resize(cluster.groups.size());
  }

  std::vector<Guess> All() {
    AddLinksBetweenGroups();
    for (int g = 0; g < num_groups(); ++g) {
      if (nodes_[g].size() > 1) AddLinkBetweenNodes(g);
    }
    for (int g = 0; g < num_groups(); ++g) {
      if (has_pairs_[g]) AddLinkInsideNodes(g);
    }
    AddDevices();
    return std::move(guesses_);
  }

 private:
  int num_groups() const { return static_cast<int>(nodes_.size()); }

  // Returns the source of a field if it was assumed.
  std::optional<std::string> SourceOf(const std::string& field) const {
    const auto it = sources_.find(field);
    if (it == sources_.end()) return std::nullopt;
    return it->second;
  }
  // Likewise of a field of a group, or of a node that is a group of its own. A
  // file may give the fields of a GPU in a mapping of their own.
  std::optional<std::string> SourceOf(int group,
                                      absl::string_view field) const {
    for (const char* list : {"groups[", "nodes["}) {
      for (const char* mapping : {"].", "].gpu."}) {
        const auto source = SourceOf(
            absl::StrCat(list, cluster_.groups[group], mapping, field));
        if (source) return source;
      }
    }
    return std::nullopt;
  }
  std::optional<std::string> SourceOfLink(int a, int b) const {
    const auto source = SourceOf(absl::StrCat("links[", cluster_.groups[a],
                                              " to ", cluster_.groups[b], "]"));
    // Many assumed pairs are listed by their number alone.
    return source ? source : SourceOf("links");
  }

  void AddLinksBetweenGroups() {
    std::vector<std::pair<int, int>> pairs;
    std::optional<std::string> source;
    for (int a = 0; a < num_groups(); ++a) {
      for (int b = a + 1; b < num_groups(); ++b) {
        if (nodes_[a].empty() || nodes_[b].empty()) continue;
        auto from = SourceOfLink(a, b);
        if (!from) from = SourceOfLink(b, a);
        if (!from) continue;
        pairs.emplace_back(a, b);
        source = from;
      }
    }
    if (pairs.size() > kMostPairs) {
      AddPairs(absl::StrCat("links of ", pairs.size(), " pairs of groups"),
               *source, pairs);
      return;
    }
    for (const auto& [a, b] : pairs) {
      auto from = SourceOfLink(a, b);
      if (!from) from = SourceOfLink(b, a);
      AddPairs(
          absl::StrCat("link ", cluster_.groups[a], " to ", cluster_.groups[b]),
          *from, {{a, b}});
    }
  }

  void AddPairs(std::string name, std::string source,
                std::vector<std::pair<int, int>> pairs) {
    const auto [a, b] = pairs.front();
    const bool all_equal = absl::c_all_of(pairs, [&, a = a,
                                                  b = b](const auto& pair) {
      return cluster_.links[pair.first][pair.second] == cluster_.links[a][b];
    });
    guesses_.push_back(
        {.name = std::move(name),
         .value = all_equal ? LinkValue(cluster_.links[a][b]) : "various",
         .source = std::move(source),
         .between_groups = true,
         .scale = [pairs = std::move(pairs)](double factor, Cluster& cluster) {
           for (const auto& [from, to] : pairs) {
             ScaleLink(factor, cluster.links[from][to]);
             ScaleLink(factor, cluster.links[to][from]);
           }
         }});
  }

  void AddLinkBetweenNodes(int group) {
    const auto source = SourceOf(group, "inter_node");
    if (!source) return;
    guesses_.push_back(
        {.name = absl::StrCat("between nodes of ", cluster_.groups[group]),
         .value = LinkValue(cluster_.links[group][group]),
         .source = *source,
         .scale = [group](double factor, Cluster& cluster) {
           ScaleLink(factor, cluster.links[group][group]);
         }});
  }

  void AddLinkInsideNodes(int group) {
    const auto source = SourceOf(group, "intra_node");
    if (!source) return;
    guesses_.push_back(
        {.name = absl::StrCat("inside nodes of ", cluster_.groups[group]),
         .value = LinkValue(cluster_.nodes[*nodes_[group].begin()].intra_node),
         .source = *source,
         .scale = [group](double factor, Cluster& cluster) {
           for (Node& node : cluster.nodes) {
             if (node.group == group) ScaleLink(factor, node.intra_node);
           }
         }});
  }

  // Adds compute and memory bandwidth of each type of GPU that is used.
  void AddDevices() {
    std::set<std::string> types;
    std::set<std::string> bandwidths;
    for (int g = 0; g < num_groups(); ++g) {
      if (nodes_[g].empty()) continue;
      const DeviceSpec& device = cluster_.nodes[*nodes_[g].begin()].device;
      const auto efficiency = SourceOf(g, "efficiency");
      if (efficiency && types.insert(device.type).second) {
        const double flops = MatmulPeakFlops(device.peak_flops, precision_) *
                             device.efficiency.gemm_max_fraction;
        AddDevice(absl::StrCat("compute of ", device.type),
                  absl::StrFormat("%.3g TFLOP/s", flops / 1e12), *efficiency,
                  device.type, [](double factor, DeviceSpec& spec) {
                    spec.efficiency.gemm_max_fraction *= factor;
                  });
      }
      const auto bandwidth = SourceOf(g, "memory_bandwidth");
      if (bandwidth && bandwidths.insert(device.type).second) {
        AddDevice(absl::StrCat("memory rate of ", device.type),
                  FormatBandwidth(device.memory_bandwidth_bytes_per_s),
                  *bandwidth, device.type, [](double factor, DeviceSpec& spec) {
                    spec.memory_bandwidth_bytes_per_s *= factor;
                  });
      }
    }
  }

  void AddDevice(std::string name, std::string value, std::string source,
                 const std::string& type,
                 void (*scale)(double factor, DeviceSpec& device)) {
    guesses_.push_back(
        {.name = std::move(name),
         .value = std::move(value),
         .source = std::move(source),
         .scale = [type, scale](double factor, Cluster& cluster) {
           for (Node& node : cluster.nodes) {
             if (node.device.type == type) {
               scale(factor, node.device);
             }
           }
         }});
  }

  const Cluster& cluster_;
  const Precision precision_;
  std::map<std::string, std::string> sources_;  // By field.
  std::vector<std::set<int>> nodes_;            // The used ones, by group.
  std::vector<bool> has_pairs_;  // Two GPUs of one node, by group.
  std::vector<Guess> guesses_;
};

}  // namespace

double GuessEffect::size() const {
  return std::max(std::abs(if_less), std::abs(if_more));
}

std::vector<Guess> GuessesOf(const Cluster& cluster, Precision precision,
                             absl::Span<const GpuId> used) {
  return Guesser(cluster, precision, used).All();
}

std::vector<GuessEffect> EffectsOf(
    std::vector<Guess> guesses, const Cluster& cluster, double seconds,
    const std::function<absl::StatusOr<double>(const Cluster&)>& judge) {
  std::vector<GuessEffect> effects;
  const auto change = [&](const Guess& guess, double factor) {
    Cluster other = cluster;
    guess.scale(factor, other);
    absl::StatusOr<double> judged = judge(other);
    if (judged.ok()) *judged = *judged / seconds - 1;
    return judged;
  };
  for (Guess& guess : guesses) {
    const absl::StatusOr<double> less = change(guess, 1 - kGuessError);
    const absl::StatusOr<double> more = change(guess, 1 + kGuessError);
    if (!less.ok() || !more.ok()) continue;
    effects.push_back(
        {.guess = std::move(guess), .if_less = *less, .if_more = *more});
  }
  absl::c_stable_sort(effects, [](const GuessEffect& a, const GuessEffect& b) {
    if (a.guess.between_groups != b.guess.between_groups) {
      return a.guess.between_groups;
    }
    return a.size() > b.size();
  });
  return effects;
}

}  // namespace tangram
