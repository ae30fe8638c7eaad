#include "coordinator/islands/merge_parts.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "common/base/infinity.h"
#include "coordinator/islands/agglomerate.h"
#include "coordinator/islands/homogeneous_classes.h"
#include "coordinator/islands/node_links.h"

namespace tangram {
namespace {

// w of the header: the loss of a useless link relative to that of a useless
// GPU. In the plans of the paper's clusters, about a tenth of an iteration is
// communication between nodes.
constexpr double kLinkWeight = 0.1;
// More than any other loss: compute, memory and links lose at most
// 1 + 1 + kLinkWeight = 2.1.
constexpr double kLossOfMark = 10;

// The properties of a part that losses depend on.
struct Figures {
  int num_nodes = 0;
  int gpus_per_node = 0;              // The fewest of any node.
  double flops = 0;                   // FLOP/s of the weakest GPU.
  double bytes = 0;                   // Bytes of the smallest GPU.
  double slowest_inside = kInfinity;  // Bytes per second; one node: infinite.
  int mark = 0;

  // N_x of the header.
  double num_gpus() const { return double{1} * num_nodes * gpus_per_node; }
};

// Merges parts greedily. A merged part keeps the row of the first of its parts.
// Each live row remembers its best partner among the later rows, so every pair
// is remembered once. A step takes O(n) unless partners have to be looked up
// again. Equal losses cause no such look-up: the first row of all has the first
// of the best partners, and no earlier row remembers either of them.
class Merger {
 public:
  Merger(const Cluster& cluster, Precision precision,
         const IslandLimits& limits, std::vector<Part> parts)
      : limits_(limits), parts_(std::move(parts)), size_(parts_.size()) {
    for (const std::vector<Link>& row : cluster.links) {
      for (const Link& link : row) {
        fastest_link_ = std::max(fastest_link_, link.bandwidth_bytes_per_s);
      }
    }
    std::vector<std::vector<GroupShare>> groups;
    for (const Part& part : parts_) {
      groups.push_back(GroupsOf(cluster, part.nodes));
      figures_.push_back(FiguresOf(cluster, precision, part, groups.back()));
      const Figures& own = figures_.back();
      all_gpus_ += own.num_gpus();
      all_flops_ += own.num_gpus() * own.flops;
      all_bytes_ += own.num_gpus() * own.bytes;
    }
    between_.resize(size_ * size_);
    for (size_t i = 0; i < size_ && !ShouldStop(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        Between(i, j) = Between(j, i) =
            SlowestBetween(cluster, groups[i], groups[j]);
      }
    }
    is_live_.assign(size_, true);
    best_.resize(size_);
    for (size_t i = 0; i < size_ && !ShouldStop(); ++i) FindPartner(i);
  }

  // Returns the parts that are left, in the order of their rows.
  std::vector<Part> Run() {
    for (size_t left = size_; left > Most(); --left) {
      if (ShouldStop()) break;
      MergeBest();
    }
    std::vector<Part> merged;
    for (size_t i = 0; i < size_; ++i) {
      if (is_live_[i]) merged.push_back(std::move(parts_[i]));
    }
    return merged;
  }

 private:
  struct Partner {
    size_t part = 0;
    double loss = kInfinity;
    // Whether it comes before `other`: by loss, then by row.
    bool operator<(const Partner& other) const {
      return std::pair(loss, part) < std::pair(other.loss, other.part);
    }
  };

  bool ShouldStop() {
    stopped_ = stopped_ || (limits_.should_stop && limits_.should_stop());
    return stopped_;
  }

  // The number of parts that may be left.
  size_t Most() const {
    return static_cast<size_t>(std::max(limits_.max_islands, 1));
  }

  static double Share(double part, double all) {
    return all > 0 ? part / all : 0;
  }

  double& Between(size_t i, size_t j) { return between_[i * size_ + j]; }

  // Returns the figures of a part: minima over its nodes and inner links.
  Figures FiguresOf(const Cluster& cluster, Precision precision,
                    const Part& part,
                    const std::vector<GroupShare>& groups) const {
    Figures figures{.num_nodes = static_cast<int>(part.nodes.size()),
                    .gpus_per_node = std::numeric_limits<int>::max(),
                    .flops = kInfinity,
                    .bytes = kInfinity};
    for (const int index : part.nodes) {
      const Node& node = cluster.nodes[index];
      figures.gpus_per_node = std::min(figures.gpus_per_node, node.num_gpus);
      figures.flops =
          std::min(figures.flops, ComputeOf(node.device, precision));
      figures.bytes = std::min(figures.bytes, node.device.memory_bytes);
    }
    for (const GroupShare& a : groups) {
      for (const GroupShare& b : groups) {
        if (a.group == b.group && a.num_nodes == 1) continue;
        figures.slowest_inside = std::min(
            figures.slowest_inside, PairBandwidth(cluster, a.group, b.group));
      }
    }
    if (!limits_.marks.empty()) {
      figures.mark = limits_.marks[part.nodes.front()];
    }
    return figures;
  }

  // Returns the slowest link between two parts, in bytes per second.
  static double SlowestBetween(const Cluster& cluster,
                               const std::vector<GroupShare>& a,
                               const std::vector<GroupShare>& b) {
    double slowest = kInfinity;
    for (const GroupShare& from : a) {
      for (const GroupShare& to : b) {
        slowest =
            std::min(slowest, PairBandwidth(cluster, from.group, to.group));
      }
    }
    return slowest;
  }

  // Returns the figures of the union: l_ab = min(l_a, l_b, slowest between).
  Figures Union(const Figures& a, const Figures& b, double between) const {
    return {.num_nodes = a.num_nodes + b.num_nodes,
            .gpus_per_node = std::min(a.gpus_per_node, b.gpus_per_node),
            .flops = std::min(a.flops, b.flops),
            .bytes = std::min(a.bytes, b.bytes),
            .slowest_inside =
                std::min({a.slowest_inside, b.slowest_inside, between}),
            .mark = a.mark};
  }

  // Returns loss(i, j) of the header. C_x is N_x · flops, M_x is N_x · bytes.
  double Loss(size_t i, size_t j) {
    const Figures& a = figures_[i];
    const Figures& b = figures_[j];
    const Figures joined = Union(a, b, Between(i, j));
    const double flops = a.num_gpus() * a.flops + b.num_gpus() * b.flops -
                         joined.num_gpus() * joined.flops;
    const double bytes = a.num_gpus() * a.bytes + b.num_gpus() * b.bytes -
                         joined.num_gpus() * joined.bytes;
    double links = 0;
    for (const Figures* own : {&a, &b}) {
      const double before = std::min(own->slowest_inside, fastest_link_);
      if (before <= 0) continue;
      links += own->num_gpus() * (1 - joined.slowest_inside / before);
    }
    return Share(flops, all_flops_) + Share(bytes, all_bytes_) +
           kLinkWeight * Share(links, all_gpus_) +
           (a.mark == b.mark ? 0 : kLossOfMark);
  }

  // Sets best_[i] to the live part after part i that loses least with it.
  void FindPartner(size_t i) {
    best_[i] = {};
    for (size_t j = i + 1; j < size_; ++j) {
      if (!is_live_[j]) continue;
      const double loss = Loss(i, j);
      if (loss < best_[i].loss) best_[i] = {.part = j, .loss = loss};
    }
  }

  // Merges the two parts with the least loss, and updates the partners. The
  // loss of other pairs has not changed, so only partners that were merged are
  // looked up again. Earlier rows are compared with the union as well.
  void MergeBest() {
    size_t row = size_;
    for (size_t i = 0; i < size_; ++i) {
      if (!is_live_[i]) continue;
      if (row == size_ || best_[i].loss < best_[row].loss) row = i;
    }
    const size_t other = best_[row].part;
    figures_[row] = Union(figures_[row], figures_[other], Between(row, other));
    Part& into = parts_[row];
    into.nodes.insert(into.nodes.end(), parts_[other].nodes.begin(),
                      parts_[other].nodes.end());
    into.num_merged += parts_[other].num_merged;
    is_live_[other] = false;
    for (size_t k = 0; k < size_; ++k) {
      Between(row, k) = Between(k, row) =
          std::min(Between(row, k), Between(other, k));
    }
    FindPartner(row);
    for (size_t k = 0; k < other; ++k) {
      if (!is_live_[k] || k == row) continue;
      if (best_[k].part == row || best_[k].part == other) {
        FindPartner(k);
      } else if (k < row) {
        best_[k] = std::min(best_[k], {.part = row, .loss = Loss(k, row)});
      }
    }
  }

  const IslandLimits& limits_;
  std::vector<Part> parts_;
  const size_t size_;
  double fastest_link_ = 0;
  double all_gpus_ = 0;
  double all_flops_ = 0;
  double all_bytes_ = 0;
  std::vector<Figures> figures_;  // By row, as all below.
  std::vector<double> between_;   // Slowest links; rows × rows, symmetric.
  std::vector<bool> is_live_;     // False once merged away.
  std::vector<Partner> best_;     // Among the later rows.
  bool stopped_ = false;
};

// Merges all parts whose first nodes have the same class, group and mark.
std::vector<Part> MergeGroups(const Cluster& cluster,
                              const IslandLimits& limits,
                              std::vector<Part> parts) {
  struct Key {
    int homogeneous_class;
    int group;
    int mark;
    auto operator<=>(const Key&) const = default;
  };
  std::map<Key, size_t> place_of;
  std::vector<Part> merged;
  for (Part& part : parts) {
    const int first = part.nodes.front();
    const Key key{part.homogeneous_class, cluster.nodes[first].group,
                  limits.marks.empty() ? 0 : limits.marks[first]};
    const auto [place, is_new] = place_of.try_emplace(key, merged.size());
    if (is_new) {
      merged.push_back(std::move(part));
      continue;
    }
    Part& into = merged[place->second];
    into.nodes.insert(into.nodes.end(), part.nodes.begin(), part.nodes.end());
    into.num_merged += part.num_merged;
  }
  return merged;
}

}  // namespace

// Merging groups first bounds the tables of the merger to kMaxBlocks² entries,
// unless there are more classes and groups than that.
std::vector<Part> MergeParts(const Cluster& cluster, Precision precision,
                             const IslandLimits& limits,
                             std::vector<Part> parts) {
  if (parts.size() <= static_cast<size_t>(std::max(limits.max_islands, 1))) {
    return parts;
  }
  if (parts.size() > kMaxBlocks) {
    parts = MergeGroups(cluster, limits, std::move(parts));
  }
  return Merger(cluster, precision, limits, std::move(parts)).Run();
}

}  // namespace tangram
