#include "coordinator/planners/portfolio/narrower_requests.h"

#include <iterator>
#include <map>
#include <numeric>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/cost/kernels.h"

namespace tangram {
namespace {

// Beyond, a second search would take too long.
constexpr int kMostGpus = 256;

// With so many kinds of nodes, the search is also for plans without the weakest
// of them: it often looks only at plans that use all.
constexpr size_t kManyKinds = 3;

// Nodes of one island and one group, which are alike, in order.
using LikeNodes = std::vector<int>;

std::vector<LikeNodes> LikeNodesOf(const Cluster& cluster,
                                   absl::Span<const Island> islands) {
  std::vector<LikeNodes> alike;
  for (const Island& island : islands) {
    std::map<int, LikeNodes> by_group;
    for (const int node : island.nodes) {
      by_group[cluster.nodes[node].group].push_back(node);
    }
    for (auto& [group, nodes] : by_group) alike.push_back(std::move(nodes));
  }
  return alike;
}

// Returns whether `n` has a prime factor that is neither 2 nor one of `batch`.
bool IsAwkward(int n, int batch) {
  for (int common = std::gcd(n, 2 * batch); common > 1;
       common = std::gcd(n, 2 * batch)) {
    n /= common;
  }
  return n > 1;
}

// How many of each like nodes are used.
using Numbers = std::vector<int>;

Numbers All(const std::vector<LikeNodes>& alike) {
  Numbers all;
  for (const LikeNodes& nodes : alike) {
    all.push_back(static_cast<int>(nodes.size()));
  }
  return all;
}

class Narrower {
 public:
  Narrower(const PlanRequest& request, absl::Span<const Island> islands)
      : request_(request),
        alike_(LikeNodesOf(*request.cluster, islands)),
        all_(All(alike_)) {}

  std::vector<NarrowerRequest> Requests() && {
    int num_gpus = 0;
    for (const LikeNodes& nodes : alike_) {
      for (const int node : nodes) {
        num_gpus += request_.cluster->nodes[node].num_gpus;
      }
    }
    if (num_gpus <= kMostGpus) LeaveOutNodes();
    return std::move(requests_);
  }

 private:
  void Add(PlanRequest request, std::string what) {
    requests_.push_back({std::move(request), std::move(what)});
  }

  void LeaveOutNodes() {
    const Numbers handy = HandyNumbers();
    if (handy != all_) AddPiece(handy);
    if (alike_.size() < kManyKinds) return;
    const Numbers others = WithoutWeakest();
    if (others != handy) AddPiece(others);
  }

  // Returns all nodes but the weakest kind.
  Numbers WithoutWeakest() const {
    const auto peak_flops = [&](const LikeNodes& nodes) {
      const DeviceSpec& device = request_.cluster->nodes[nodes.front()].device;
      return device.efficiency.gemm_max_fraction *
             MatmulPeakFlops(device.peak_flops, request_.training.precision);
    };
    const auto weakest = absl::c_min_element(
        alike_, [&](const LikeNodes& a, const LikeNodes& b) {
          return peak_flops(a) < peak_flops(b);
        });
    Numbers others = all_;
    others[weakest - alike_.begin()] = 0;
    return others;
  }

  // Returns the most of each nodes that are not awkward.
  Numbers HandyNumbers() const {
    Numbers handy = all_;
    for (size_t i = 0; i < handy.size(); ++i) {
      const int gpus = request_.cluster->nodes[alike_[i].front()].num_gpus;
      while (handy[i] > 1 &&
             IsAwkward(handy[i] * gpus, request_.training.global_batch_size)) {
        --handy[i];
      }
    }
    return handy;
  }

  void AddPiece(const Numbers& numbers) {
    PlanRequest request = request_;
    std::vector<std::string> left_out;
    for (size_t i = 0; i < numbers.size(); ++i) {
      for (size_t n = numbers[i]; n < alike_[i].size(); ++n) {
        left_out.push_back(request_.cluster->nodes[alike_[i][n]].name);
      }
    }
    absl::c_copy(left_out,
                 std::back_inserter(request.constraints.exclude_nodes));
    Add(std::move(request),
        absl::StrCat("without ", absl::StrJoin(left_out, ", ")));
  }

  const PlanRequest& request_;
  const std::vector<LikeNodes> alike_;
  const Numbers all_;
  std::vector<NarrowerRequest> requests_;
};

}  // namespace

std::vector<NarrowerRequest> NarrowerRequests(
    const PlanRequest& request, absl::Span<const Island> islands) {
  return Narrower(request, islands).Requests();
}

}  // namespace tangram
