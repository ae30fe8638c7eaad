#include "common/change/plan_move.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace tangram {
namespace {

// Fractions that are closer are the same border, rounded.
constexpr double kSameBorder = 1e-9;

// The part [begin, end) of a tensor on a GPU, which can send it.
struct Source {
  double begin = 0;
  double end = 0;
  const NamedGpu* gpu = nullptr;
  // Whether it was fetched before in the same move: by a GPU of the new plan,
  // on which the loss of a node has no influence.
  bool is_new = false;
};
using Sources = std::vector<Source>;  // By begin, ascending.

std::map<StateTensor, Sources> ByTensor(const HeldState& held) {
  std::map<StateTensor, Sources> by_tensor;
  for (const HeldPart& part : held.parts) {
    by_tensor[part.tensor].push_back(
        {part.begin, part.end, &held.gpus[part.holder]});
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
    std::map<StateTensor, Sources> held = ByTensor(before_.held);
    for (const HeldPart& need : after_.held.parts) {
      Fetch(need, held[need.tensor]);
    }
    return Finish();
  }

 private:
  NodeMove& At(const std::string& node) {
    NodeMove& move = nodes_[node];
    move.node = node;
    return move;
  }

  // Walks from the begin to the end of the part. Each step takes the longest
  // piece from the best source of what comes next. The GPU can send it on: a
  // replica's copy need not come from afar, or from the checkpoint, again.
  void Fetch(const HeldPart& need, Sources& sources) {
    const NamedGpu& gpu = after_.held.gpus[need.holder];
    double at = need.begin;
    while (at < need.end - kSameBorder) {
      const Source* const best = BestSource(gpu, sources, at);
      double until = need.end;
      if (best != nullptr) {
        until = std::min(until, best->end);
        // A GPU's own part that begins later ends a piece of another's.
        for (const Source& part : sources) {
          if (*part.gpu == gpu && part.begin > at + kSameBorder) {
            until = std::min(until, part.begin);
          }
        }
      } else {
        for (const Source& part : sources) {
          if (IsLost(part) || part.begin <= at + kSameBorder) continue;
          until = std::min(until, part.begin);
        }
      }
      Take(gpu, best, (until - at) * need.tensor_bytes);
      const bool is_kept = best != nullptr && *best->gpu == gpu;
      if (!is_kept) Add({at, until, &gpu, /*is_new=*/true}, sources);
      at = until;
    }
  }

  static void Add(const Source& source, Sources& sources) {
    const auto after = std::upper_bound(
        sources.begin(), sources.end(), source,
        [](const Source& a, const Source& b) { return a.begin < b.begin; });
    sources.insert(after, source);
  }

  bool IsLost(const Source& part) const {
    return !part.is_new && lost_.contains(part.gpu->node);
  }

  // Returns the best source of the place `at`. Null: there is none.
  const Source* BestSource(const NamedGpu& gpu, const Sources& sources,
                           double at) {
    const Source* best = nullptr;
    std::pair<int, double> best_cost;
    for (const Source& part : sources) {
      if (part.begin > at + kSameBorder) break;  // They ascend.
      if (part.end <= at + kSameBorder || IsLost(part)) continue;
      const int distance = *part.gpu == gpu             ? 0
                           : part.gpu->node == gpu.node ? 1
                                                        : 2;
      const double sent_bytes = distance == 2   ? At(part.gpu->node).out_bytes
                                : distance == 1 ? inside_out_[*part.gpu]
                                                : 0;
      const std::pair<int, double> cost = {distance, sent_bytes};
      if (best != nullptr && cost >= best_cost) continue;
      best = &part;
      best_cost = cost;
    }
    return best;
  }

  void Take(const NamedGpu& gpu, const Source* from, double bytes) {
    NodeMove& here = At(gpu.node);
    move_.needed_bytes += bytes;
    if (from == nullptr) {
      here.checkpoint_bytes += bytes;
      move_.checkpoint_bytes += bytes;
      return;
    }
    const NamedGpu& sender = *from->gpu;
    if (sender == gpu) {
      here.kept_bytes += bytes;
      move_.kept_bytes += bytes;
      return;
    }
    move_.moved_bytes += bytes;
    if (sender.node == gpu.node) {
      here.from_inside_bytes += bytes;
      inside_[gpu] += bytes;
      inside_out_[sender] += bytes;
      return;
    }
    here.in_bytes += bytes;
    At(sender.node).out_bytes += bytes;
    between_[{sender.node, gpu.node}] += bytes;
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
