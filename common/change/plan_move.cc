#include "common/change/plan_move.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace tangram {
namespace {

// Fractions that are closer are the same border, rounded.
constexpr double kSameBorder = 1e-9;

using Parts = std::vector<HeldPart>;

std::map<StateTensor, Parts> ByTensor(const HeldState& held) {
  std::map<StateTensor, Parts> by_tensor;
  for (const HeldPart& part : held.parts) {
    by_tensor[part.tensor].push_back(part);
  }
  return by_tensor;
}

// The links between nodes by name, of the first cluster that has both.
class Links {
 public:
  Links(const Cluster& after, const Cluster& before)
      : clusters_{&after, &before} {
    for (size_t c = 0; c < 2; ++c) {
      for (size_t n = 0; n < clusters_[c]->nodes.size(); ++n) {
        index_[c].emplace(clusters_[c]->nodes[n].name, static_cast<int>(n));
      }
    }
  }

  // Returns bytes a second from one node to another. A node of only one of the
  // clusters has the slowest link of the new one.
  double Between(const std::string& from, const std::string& to) const {
    for (size_t c = 0; c < 2; ++c) {
      const auto a = index_[c].find(from);
      const auto b = index_[c].find(to);
      if (a == index_[c].end() || b == index_[c].end()) continue;
      return clusters_[c]
          ->LinkBetween(a->second, b->second)
          .bandwidth_bytes_per_s;
    }
    double slowest = clusters_[0]->links[0][0].bandwidth_bytes_per_s;
    for (const std::vector<Link>& row : clusters_[0]->links) {
      for (const Link& link : row) {
        slowest = std::min(slowest, link.bandwidth_bytes_per_s);
      }
    }
    return slowest;
  }

  double Inside(const std::string& node) const {
    for (size_t c = 0; c < 2; ++c) {
      const auto at = index_[c].find(node);
      if (at == index_[c].end()) continue;
      return clusters_[c]->nodes[at->second].intra_node.bandwidth_bytes_per_s;
    }
    return 0;
  }

 private:
  const Cluster* clusters_[2];
  std::map<std::string, int> index_[2];
};

class Mover {
 public:
  Mover(const PlacedState& before, const PlacedState& after,
        const std::set<std::string>& lost)
      : before_(before),
        after_(after),
        lost_(lost),
        links_(after.cluster, before.cluster) {}

  PlanMove Move() {
    const std::map<StateTensor, Parts> held = ByTensor(before_.held);
    const Parts none;
    for (const HeldPart& need : after_.held.parts) {
      const auto holders = held.find(need.tensor);
      Fetch(need, holders == held.end() ? none : holders->second);
    }
    return Finish();
  }

 private:
  const NamedGpu& HolderOf(const HeldPart& part) const {
    return before_.held.gpus[part.holder];
  }
  NodeMove& At(const std::string& node) {
    NodeMove& move = nodes_[node];
    move.node = node;
    return move;
  }

  // Walks from the begin to the end of the part. Each step takes the longest
  // piece from the best holder of what comes next.
  void Fetch(const HeldPart& need, const Parts& holders) {
    const NamedGpu& gpu = after_.held.gpus[need.holder];
    double at = need.begin;
    while (at < need.end - kSameBorder) {
      const HeldPart* const best = BestHolder(gpu, holders, at);
      double until = need.end;
      if (best != nullptr) {
        until = std::min(until, best->end);
        // A GPU's own part that begins later ends a piece of another's.
        for (const HeldPart& part : holders) {
          const bool is_own = HolderOf(part) == gpu;
          if (is_own && part.begin > at + kSameBorder) {
            until = std::min(until, part.begin);
          }
        }
      } else {
        for (const HeldPart& part : holders) {
          if (IsLost(part) || part.begin <= at + kSameBorder) continue;
          until = std::min(until, part.begin);
        }
      }
      Take(gpu, best, (until - at) * need.tensor_bytes);
      at = until;
    }
  }

  bool IsLost(const HeldPart& part) const {
    return lost_.contains(HolderOf(part).node);
  }

  // Returns the best part that holds the place `at`. Null: none does.
  const HeldPart* BestHolder(const NamedGpu& gpu, const Parts& holders,
                             double at) {
    const HeldPart* best = nullptr;
    std::pair<int, double> best_cost;
    for (const HeldPart& part : holders) {
      if (part.begin > at + kSameBorder) break;  // They ascend.
      if (part.end <= at + kSameBorder || IsLost(part)) continue;
      const NamedGpu& holder = HolderOf(part);
      const int distance = holder == gpu ? 0 : holder.node == gpu.node ? 1 : 2;
      const std::pair<int, double> cost = {
          distance, distance == 2 ? At(holder.node).out_bytes : 0};
      if (best != nullptr && cost >= best_cost) continue;
      best = &part;
      best_cost = cost;
    }
    return best;
  }

  void Take(const NamedGpu& gpu, const HeldPart* from, double bytes) {
    NodeMove& here = At(gpu.node);
    move_.needed_bytes += bytes;
    if (from == nullptr) {
      here.checkpoint_bytes += bytes;
      move_.checkpoint_bytes += bytes;
      return;
    }
    const NamedGpu& holder = HolderOf(*from);
    if (holder == gpu) {
      here.kept_bytes += bytes;
      move_.kept_bytes += bytes;
      return;
    }
    move_.moved_bytes += bytes;
    if (holder.node == gpu.node) {
      here.from_inside_bytes += bytes;
      inside_[gpu] += bytes;
      inside_out_[holder] += bytes;
      return;
    }
    here.in_bytes += bytes;
    At(holder.node).out_bytes += bytes;
    between_[{holder.node, gpu.node}] += bytes;
  }

  PlanMove Finish() {
    std::map<std::string, double> in_s;
    std::map<std::string, double> out_s;
    for (const auto& [ends, bytes] : between_) {
      move_.transfers.push_back(
          {.from = ends.first, .to = ends.second, .bytes = bytes});
      const double seconds = bytes / links_.Between(ends.first, ends.second);
      move_.seconds = std::max({move_.seconds, out_s[ends.first] += seconds,
                                in_s[ends.second] += seconds});
    }
    for (const auto& of_gpu : {inside_, inside_out_}) {
      for (const auto& [gpu, bytes] : of_gpu) {
        const double rate = links_.Inside(gpu.node);
        if (rate > 0) move_.seconds = std::max(move_.seconds, bytes / rate);
      }
    }
    for (auto& [name, node] : nodes_) move_.nodes.push_back(std::move(node));
    return std::move(move_);
  }

  const PlacedState& before_;
  const PlacedState& after_;
  const std::set<std::string>& lost_;
  const Links links_;
  PlanMove move_;
  std::map<std::string, NodeMove> nodes_;
  std::map<std::pair<std::string, std::string>, double> between_;
  std::map<NamedGpu, double> inside_;
  std::map<NamedGpu, double> inside_out_;
};

}  // namespace

PlanMove MoveBetween(const PlacedState& before, const PlacedState& after,
                     const std::set<std::string>& lost) {
  return Mover(before, after, lost).Move();
}

}  // namespace tangram
