#include "coordinator/islands/agglomerate.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/algorithm/container.h"
#include "coordinator/islands/node_links.h"

namespace tangram {
namespace {

constexpr double kNoLink = std::numeric_limits<double>::infinity();

// States of a group while blocks are made.
constexpr int kNodesApart = -2;
constexpr int kNoBlockYet = -1;

// What the dendrogram starts from: one node, or nodes of one group.
struct Block {
  int group = 0;
  std::vector<int> nodes;
  double slowest_inside = kNoLink;
};

// A cluster of the dendrogram: block `left` itself if `right` is negative,
// else two earlier clusters.
struct Dendron {
  int left = 0;
  int right = -1;
  double slowest_inside = kNoLink;
};

// Nodes of one group are one block if their inner link is at least as fast as
// every link from the group to the rest of the class: complete linkage would
// merge them first. It keeps large clusters of few groups cheap.
std::vector<Block> MakeBlocks(const Cluster& cluster,
                              absl::Span<const int> nodes, bool whole_groups) {
  std::vector<int> block_of(cluster.groups.size(), kNodesApart);
  std::vector<double> inner(cluster.groups.size(), kNoLink);
  const std::vector<GroupShare> groups = GroupsOf(cluster, nodes);
  for (const GroupShare& share : groups) {
    const double link = PairBandwidth(cluster, share.group, share.group);
    const bool tight =
        whole_groups || absl::c_all_of(groups, [&](const GroupShare& other) {
          return PairBandwidth(cluster, share.group, other.group) <= link;
        });
    if (!tight || share.num_nodes == 1) continue;
    block_of[share.group] = kNoBlockYet;
    inner[share.group] = link;
  }
  std::vector<Block> blocks;
  for (const int node : nodes) {
    const int group = cluster.nodes[node].group;
    if (block_of[group] >= 0) {
      blocks[block_of[group]].nodes.push_back(node);
      continue;
    }
    if (block_of[group] == kNoBlockYet) {
      block_of[group] = static_cast<int>(blocks.size());
    }
    blocks.push_back(
        {.group = group, .nodes = {node}, .slowest_inside = inner[group]});
  }
  return blocks;
}

// Greedy complete linkage: merge the two clusters whose slowest link between
// them is fastest. A cluster's row stands at its smallest block. Merging only
// lowers linkages, so a remembered best partner is an upper bound until it is
// looked at again, and one whose linkage has not changed is still best.
class CompleteLinkage {
 public:
  CompleteLinkage(const Cluster& cluster, absl::Span<const Block> blocks)
      : size_(static_cast<int>(blocks.size())) {
    for (int i = 0; i < size_; ++i) {
      tree_.push_back({.left = i, .slowest_inside = blocks[i].slowest_inside});
      cluster_at_.push_back(i);
      for (int j = 0; j < size_; ++j) {
        linkage_.push_back(
            PairBandwidth(cluster, blocks[i].group, blocks[j].group));
      }
    }
    for (int i = 0; i < size_; ++i) best_.push_back(FindPartner(i));
  }

  // Clusters in order of creation: all blocks first, the root last. Empty if it
  // was stopped.
  std::vector<Dendron> Run(const std::function<bool()>& should_stop) {
    for (int merges = 1; merges < size_; ++merges) {
      if (should_stop && should_stop()) return {};
      const int row = RowToMerge();
      Merge(row, best_[row].row);
    }
    return std::move(tree_);
  }

 private:
  struct Partner {
    int row = -1;
    double linkage = -1;
  };

  double& Linkage(int i, int j) { return linkage_[i * size_ + j]; }
  bool Live(int row) const { return cluster_at_[row] >= 0; }

  Partner FindPartner(int row) {
    Partner best;
    for (int j = row + 1; j < size_; ++j) {
      if (Live(j) && Linkage(row, j) > best.linkage) {
        best = {.row = j, .linkage = Linkage(row, j)};
      }
    }
    return best;
  }

  int RowToMerge() {
    while (true) {
      int row = -1;
      for (int i = 0; i < size_; ++i) {
        if (!Live(i) || best_[i].row < 0) continue;
        if (row < 0 || best_[i].linkage > best_[row].linkage) row = i;
      }
      const Partner& best = best_[row];
      if (Live(best.row) && Linkage(row, best.row) == best.linkage) return row;
      best_[row] = FindPartner(row);
    }
  }

  void Merge(int row, int other) {
    const int left = cluster_at_[row];
    const int right = cluster_at_[other];
    tree_.push_back({.left = left,
                     .right = right,
                     .slowest_inside = std::min({tree_[left].slowest_inside,
                                                 tree_[right].slowest_inside,
                                                 Linkage(row, other)})});
    cluster_at_[row] = static_cast<int>(tree_.size()) - 1;
    cluster_at_[other] = -1;
    for (int k = 0; k < size_; ++k) {
      Linkage(row, k) = Linkage(k, row) =
          std::min(Linkage(row, k), Linkage(other, k));
    }
  }

  int size_ = 0;
  std::vector<double> linkage_;  // Rows × rows, symmetric.
  std::vector<int> cluster_at_;  // Row → Dendron; −1 once merged away.
  std::vector<Partner> best_;    // Among the rows after it.
  std::vector<Dendron> tree_;
};

std::vector<int> BlocksUnder(absl::Span<const Dendron> tree, int root) {
  std::vector<int> blocks;
  std::vector<int> pending = {root};
  while (!pending.empty()) {
    const Dendron& dendron = tree[pending.back()];
    pending.pop_back();
    if (dendron.right < 0) {
      blocks.push_back(dendron.left);
    } else {
      pending.push_back(dendron.right);
      pending.push_back(dendron.left);
    }
  }
  return blocks;
}

// Fastest link of each block to nodes of the cluster outside the class.
std::vector<double> FastestLeavingClass(const Cluster& cluster,
                                        absl::Span<const int> nodes,
                                        absl::Span<const Block> blocks) {
  std::vector<int> outside(cluster.groups.size(), 0);
  for (const Node& node : cluster.nodes) ++outside[node.group];
  for (const int node : nodes) --outside[cluster.nodes[node].group];
  std::vector<double> fastest;
  for (const Block& block : blocks) {
    double best = 0;
    for (size_t group = 0; group < outside.size(); ++group) {
      if (outside[group] == 0) continue;
      best = std::max(
          best, PairBandwidth(cluster, block.group, static_cast<int>(group)));
    }
    fastest.push_back(best);
  }
  return fastest;
}

// Cuts the dendrogram from the root. Going down, each block remembers its
// fastest link to anything outside the cluster that it is now in; every pair of
// blocks is looked at once, where their clusters part.
class DendrogramCut {
 public:
  DendrogramCut(const Cluster& cluster, absl::Span<const Block> blocks,
                absl::Span<const Dendron> tree, std::vector<double> leaving,
                double tolerance)
      : cluster_(cluster),
        blocks_(blocks),
        tree_(tree),
        leaving_(std::move(leaving)),
        tolerance_(tolerance) {}

  std::vector<std::vector<int>> Run() {
    std::vector<int> pending = {static_cast<int>(tree_.size()) - 1};
    while (!pending.empty()) {
      const Dendron& dendron = tree_[pending.back()];
      const std::vector<int> members = BlocksUnder(tree_, pending.back());
      pending.pop_back();
      if (Satisfies(dendron, members)) {
        Keep(members);
      } else if (dendron.right < 0) {
        KeepNodesApart(dendron.left);
      } else {
        Part(dendron);
        pending.push_back(dendron.right);
        pending.push_back(dendron.left);
      }
    }
    return std::move(kept_);
  }

 private:
  bool Satisfies(const Dendron& dendron, absl::Span<const int> members) const {
    double leaving = 0;
    for (const int block : members) {
      leaving = std::max(leaving, leaving_[block]);
    }
    return dendron.slowest_inside >= leaving / (1 + tolerance_);
  }

  void Keep(absl::Span<const int> members) {
    std::vector<int> nodes;
    for (const int block : members) {
      nodes.insert(nodes.end(), blocks_[block].nodes.begin(),
                   blocks_[block].nodes.end());
    }
    kept_.push_back(std::move(nodes));
  }

  // Any two nodes of a block violate the constraint as the whole block does.
  void KeepNodesApart(int block) {
    for (const int node : blocks_[block].nodes) kept_.push_back({node});
  }

  void Part(const Dendron& dendron) {
    const std::vector<int> right = BlocksUnder(tree_, dendron.right);
    for (const int i : BlocksUnder(tree_, dendron.left)) {
      for (const int j : right) {
        const double link =
            PairBandwidth(cluster_, blocks_[i].group, blocks_[j].group);
        leaving_[i] = std::max(leaving_[i], link);
        leaving_[j] = std::max(leaving_[j], link);
      }
    }
  }

  const Cluster& cluster_;
  absl::Span<const Block> blocks_;
  absl::Span<const Dendron> tree_;
  std::vector<double> leaving_;
  double tolerance_ = 0;
  std::vector<std::vector<int>> kept_;
};

}  // namespace

std::vector<std::vector<int>> AgglomerateByLinks(
    const Cluster& cluster, absl::Span<const int> nodes, double tolerance,
    const std::function<bool()>& should_stop) {
  if (nodes.empty()) return {};
  std::vector<Block> blocks = MakeBlocks(cluster, nodes, false);
  if (blocks.size() > kMaxBlocks) blocks = MakeBlocks(cluster, nodes, true);
  const std::vector<Dendron> tree =
      CompleteLinkage(cluster, blocks).Run(should_stop);
  if (tree.empty()) return {};
  return DendrogramCut(cluster, blocks, tree,
                       FastestLeavingClass(cluster, nodes, blocks), tolerance)
      .Run();
}

}  // namespace tangram
