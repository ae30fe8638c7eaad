#include "coordinator/islands/agglomerate.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "common/base/infinity.h"
#include "coordinator/islands/node_links.h"

namespace tangram {
namespace {

constexpr double kNoLink = kInfinity;

// States of a group in MakeBlocks, besides the index of its block.
constexpr int kNodesApart = -2;  // Each node is a block of its own.
constexpr int kNoBlockYet = -1;  // One block, not begun yet.

// A leaf of the dendrogram: one node, or several nodes of one group.
struct Block {
  int group = 0;
  std::vector<int> nodes;
  double slowest_inside = kNoLink;  // Bytes per second; one node: infinite.
};

// A node of the dendrogram. A leaf has a negative `right` and is block `left`.
// Other nodes join the earlier nodes `left` and `right`.
struct DendrogramNode {
  int left = 0;
  int right = -1;
  double slowest_inside = kNoLink;  // Bytes per second, of any link below it.
};

// Returns the leaves of the dendrogram. A group is one block if its inner link
// is at least as fast as every link from it to the rest of the class:
//
//   e(g, g) ≥ max over groups h of the class of e(g, h).
//
// Complete linkage would merge its nodes first, so the result is the same, and
// large clusters of few groups stay cheap. With `whole_groups`, every group is
// one block. Nodes keep the order of `nodes`.
std::vector<Block> MakeBlocks(const Cluster& cluster,
                              absl::Span<const int> nodes, bool whole_groups) {
  std::vector<int> block_of(cluster.groups.size(), kNodesApart);
  std::vector<double> inner(cluster.groups.size(), kNoLink);
  const std::vector<GroupShare> groups = GroupsOf(cluster, nodes);
  for (const GroupShare& share : groups) {
    const double link = PairBandwidth(cluster, share.group, share.group);
    // True if complete linkage merges the group before anything else.
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

// Greedy agglomerative clustering with complete linkage (paper §4.1). Each step
// merges the two clusters a ≠ b with the greatest linkage
//
//   L(a, b) = min of e(i, j) over blocks i of a and j of b,
//
// the slowest link between them. After a merge,
//
//   L(a ∪ b, c) = min(L(a, c), L(b, c)).
//
// A cluster occupies the row of its smallest block. Merging only lowers
// linkages. So a remembered best partner is an upper bound, and a partner whose
// linkage has not changed is still the best.
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

  // Returns the dendrogram in order of creation: all leaves first, the root
  // last. Empty if `should_stop` returned true.
  std::vector<DendrogramNode> Run(const std::function<bool()>& should_stop) {
    for (int merges = 1; merges < size_; ++merges) {
      if (should_stop && should_stop()) return {};
      const int row = RowToMerge();
      Merge(row, best_[row].row);
    }
    return std::move(tree_);
  }

 private:
  struct Partner {
    int row = -1;         // −1: no live row comes after.
    double linkage = -1;  // Bytes per second.
  };

  double& Linkage(int i, int j) { return linkage_[i * size_ + j]; }
  // True if a cluster still occupies the row.
  bool Live(int row) const { return cluster_at_[row] >= 0; }

  // Returns the live row after `row` with the greatest linkage; of equal ones,
  // the first.
  Partner FindPartner(int row) {
    Partner best;
    for (int j = row + 1; j < size_; ++j) {
      if (Live(j) && Linkage(row, j) > best.linkage) {
        best = {.row = j, .linkage = Linkage(row, j)};
      }
    }
    return best;
  }

  // Returns the row whose best partner has the greatest linkage of all; of
  // equal ones, the first. Remembered partners are checked only when they come
  // first, since others are upper bounds that do not reach the greatest.
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

  // Merges the cluster of `other` into `row`, where row < other.
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
  std::vector<double> linkage_;  // Bytes per second; rows × rows, symmetric.
  std::vector<int> cluster_at_;  // Row → index in tree_; −1 once merged away.
  std::vector<Partner> best_;    // By row: its partner among the later rows.
  std::vector<DendrogramNode> tree_;
};

// Returns the blocks below node `root`, from left to right.
std::vector<int> BlocksUnder(absl::Span<const DendrogramNode> tree, int root) {
  std::vector<int> blocks;
  std::vector<int> pending = {root};
  while (!pending.empty()) {
    const DendrogramNode& node = tree[pending.back()];
    pending.pop_back();
    if (node.right < 0) {
      blocks.push_back(node.left);
    } else {
      pending.push_back(node.right);
      pending.push_back(node.left);
    }
  }
  return blocks;
}

// Returns, for each block, its fastest link to nodes outside the class, in
// bytes per second; 0 if all nodes of the cluster are in the class.
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

// Cuts the dendrogram from the root down and keeps the first node on each path
// that satisfies constraint 3 (paper §4.1):
//
//   slowest_inside(c) ≥ max over blocks i of c of leaving(i) / (1 + tolerance),
//
// where leaving(i) is the fastest link of block i to any node outside of c.
// When a node splits into l and r, leaving(i) of each i in l rises to its
// fastest link into r, and the other way round. So every pair of blocks is
// visited once.
class DendrogramCut {
 public:
  DendrogramCut(const Cluster& cluster, absl::Span<const Block> blocks,
                absl::Span<const DendrogramNode> tree,
                std::vector<double> leaving, double tolerance)
      : cluster_(cluster),
        blocks_(blocks),
        tree_(tree),
        leaving_(std::move(leaving)),
        tolerance_(tolerance) {}

  std::vector<std::vector<int>> Run() {
    std::vector<int> pending = {static_cast<int>(tree_.size()) - 1};
    while (!pending.empty()) {
      const DendrogramNode& node = tree_[pending.back()];
      const std::vector<int> members = BlocksUnder(tree_, pending.back());
      pending.pop_back();
      if (Satisfies(node, members)) {
        Keep(members);
      } else if (node.right < 0) {
        KeepNodesApart(node.left);
      } else {
        Part(node);
        pending.push_back(node.right);
        pending.push_back(node.left);
      }
    }
    return std::move(kept_);
  }

 private:
  bool Satisfies(const DendrogramNode& node,
                 absl::Span<const int> members) const {
    double leaving = 0;
    for (const int block : members) {
      leaving = std::max(leaving, leaving_[block]);
    }
    return node.slowest_inside >= leaving / (1 + tolerance_);
  }

  void Keep(absl::Span<const int> members) {
    std::vector<int> nodes;
    for (const int block : members) {
      nodes.insert(nodes.end(), blocks_[block].nodes.begin(),
                   blocks_[block].nodes.end());
    }
    kept_.push_back(std::move(nodes));
  }

  // All links inside a block are equal, so if the block violates the
  // constraint, any two of its nodes do.
  void KeepNodesApart(int block) {
    for (const int node : blocks_[block].nodes) kept_.push_back({node});
  }

  // Raises leaving_ for the split of a node into its children.
  void Part(const DendrogramNode& node) {
    const std::vector<int> right = BlocksUnder(tree_, node.right);
    for (const int i : BlocksUnder(tree_, node.left)) {
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
  absl::Span<const DendrogramNode> tree_;
  std::vector<double> leaving_;  // By block, in bytes per second.
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
  const std::vector<DendrogramNode> tree =
      CompleteLinkage(cluster, blocks).Run(should_stop);
  if (tree.empty()) return {};
  return DendrogramCut(cluster, blocks, tree,
                       FastestLeavingClass(cluster, nodes, blocks), tolerance)
      .Run();
}

}  // namespace tangram
