#include "coordinator/planners/rivals/amp/partition_program.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "common/base/infinity.h"

namespace tangram {
namespace {

// Equal sums differ by less than this fraction, which is rounding.
constexpr double kRounding = 1e-12;

// Sums over neighbouring layers, for each stage. Stages of equal layers share
// them, so equal sums are equal to the last bit.
class StageSums {
 public:
  explicit StageSums(const PartitionProblem& problem) {
    for (int s = 0; s < problem.num_stages(); ++s) {
      int same = 0;
      while (problem.stage_s[same] != problem.stage_s[s]) ++same;
      if (same == s) {
        row_of_.push_back(static_cast<int>(prefix_.size()));
        prefix_.emplace_back(1, 0.0);
        for (const double layer_s : problem.stage_s[s]) {
          prefix_.back().push_back(prefix_.back().back() + layer_s);
        }
      } else {
        row_of_.push_back(row_of_[same]);
      }
    }
  }

  // Returns the sum over the layers [begin, end).
  double Of(int stage, int begin, int end) const {
    const std::vector<double>& prefix = prefix_[row_of_[stage]];
    return prefix[end] - prefix[begin];
  }

  // Returns all sums of at least `least`, ascending, without repetitions.
  std::vector<double> AtLeast(double least) const {
    std::vector<double> sums;
    for (const std::vector<double>& prefix : prefix_) {
      for (size_t end = 1; end < prefix.size(); ++end) {
        for (size_t begin = 0; begin < end; ++begin) {
          const double sum = prefix[end] - prefix[begin];
          if (sum >= least) sums.push_back(sum);
        }
      }
    }
    std::sort(sums.begin(), sums.end());
    sums.erase(std::unique(sums.begin(), sums.end()), sums.end());
    return sums;
  }

 private:
  std::vector<std::vector<double>> prefix_;
  std::vector<int> row_of_;
};

// The partition of the least latency, all stages and transfers once, among
// those whose slowest stage takes at most some bound.
struct Bounded {
  double bound_s = 0;
  double latency_s = kInfinity;  // Infinite: there is none.
  std::vector<int> bounds;
};

class BoundedProgram {
 public:
  explicit BoundedProgram(const PartitionProblem& problem)
      : problem_(problem), sums_(problem) {}

  const StageSums& sums() const { return sums_; }

  // least[s][l]: of the first l layers in the stages 0 … s. A stage and its
  // transfer count for the stage after it.
  Bounded Solve(double bound_s) const {
    const int stages = problem_.num_stages();
    const int layers = problem_.num_layers();
    std::vector<std::vector<double>> least(
        stages, std::vector<double>(layers + 1, kInfinity));
    std::vector<std::vector<int>> cut(stages, std::vector<int>(layers + 1));
    for (int s = 0; s < stages; ++s) {
      for (int end = s + 1; end <= layers - (stages - 1 - s); ++end) {
        for (int begin = s == 0 ? 0 : end - 1; begin >= s; --begin) {
          const double stage_s = sums_.Of(s, begin, end);
          if (stage_s > bound_s) break;  // More layers take longer.
          const double total_s =
              s == 0 ? stage_s
                     : least[s - 1][begin] + problem_.transfer_s[s - 1][begin] +
                           stage_s;
          if (total_s <= least[s][end] * (1 + kRounding)) {
            least[s][end] = std::min(least[s][end], total_s);
            cut[s][end] = begin;
          }
        }
      }
    }
    Bounded best{.bound_s = bound_s, .latency_s = least[stages - 1][layers]};
    if (best.latency_s == kInfinity) return best;
    best.bounds = {layers};
    for (int s = stages - 1; s >= 0; --s) {
      best.bounds.push_back(cut[s][best.bounds.back()]);
    }
    std::reverse(best.bounds.begin(), best.bounds.end());
    return best;
  }

 private:
  const PartitionProblem& problem_;
  const StageSums sums_;
};

// Upstream's program, as far as its answer depends on it. With V the bound so
// far and B microbatches, the first l layers in s + 1 stages cost
//
//   F(l, s, V) = min over cuts c of F(c, s - 1, max(V, w)) + (B - 1) max(0, w -
//   V)
//
// with w the sum over the layers [c, l), and F(l, 0, V) = (B - 1) max(0, w -
// V). Cuts are tried in ascending order. One replaces the best so far if its
// value and its transfer are together less than the best value without its
// transfer.
class UpstreamProgram {
 public:
  explicit UpstreamProgram(const PartitionProblem& problem)
      : problem_(problem),
        layers_(problem.num_layers()),
        further_(problem.num_microbatches - 1) {
    for (int begin = 0; begin < layers_; ++begin) {
      sums_.emplace_back(layers_ + 1, 0.0);
      for (int end = begin + 1; end <= layers_; ++end) {
        sums_[begin][end] =
            sums_[begin][end - 1] + problem.stage_s.front()[end - 1];
      }
    }
    SetLeastBounds();
  }

  std::vector<int> Solve() {
    std::vector<int> bounds = {layers_};
    double bound_s = 0;
    for (int s = problem_.num_stages() - 1; s > 0; --s) {
      const int end = bounds.back();
      const int cut = Find(end, s, bound_s).cut;
      bound_s = std::max(bound_s, sums_[cut][end]);
      bounds.push_back(cut);
    }
    bounds.push_back(0);
    std::reverse(bounds.begin(), bounds.end());
    return bounds;
  }

 private:
  struct Choice {
    double value_s = 0;
    int cut = 0;
  };

  double Rise(double sum_s, double bound_s) const {
    return further_ * std::max(0.0, sum_s - bound_s);
  }

  // least_[s][l]: the least possible slowest stage of the first l layers in
  // s + 1 stages. Rules out cuts without a look at what is before them.
  void SetLeastBounds() {
    least_.assign(problem_.num_stages(),
                  std::vector<double>(layers_ + 1, kInfinity));
    least_[0] = sums_[0];
    for (int s = 1; s < problem_.num_stages(); ++s) {
      for (int end = s + 1; end <= layers_; ++end) {
        for (int cut = s; cut < end; ++cut) {
          least_[s][end] = std::min(
              least_[s][end], std::max(least_[s - 1][cut], sums_[cut][end]));
        }
      }
    }
  }

  Choice Find(int end, int s, double bound_s) {
    if (s == 0) return {Rise(sums_[0][end], bound_s), 0};
    const std::pair<double, int> key{bound_s, s * (layers_ + 1) + end};
    if (const auto known = known_.find(key); known != known_.end()) {
      return known->second;
    }
    Choice best{kInfinity, -1};
    for (int cut = s; cut < end; ++cut) {
      const double sum_s = sums_[cut][end];
      const double transfer_s = problem_.transfer_s[s - 1][cut];
      const double least_s =
          Rise(std::max(sum_s, least_[s - 1][cut]), bound_s) * (1 - kRounding);
      if (least_s + transfer_s >= best.value_s) continue;
      const double value_s =
          Find(cut, s - 1, std::max(bound_s, sum_s)).value_s +
          Rise(sum_s, bound_s);
      if (value_s + transfer_s < best.value_s) best = {value_s, cut};
    }
    known_[key] = best;
    return best;
  }

  const PartitionProblem& problem_;
  const int layers_;
  const double further_;                    // Microbatches after the first.
  std::vector<std::vector<double>> sums_;   // [begin][end]
  std::vector<std::vector<double>> least_;  // [stage][end]
  absl::flat_hash_map<std::pair<double, int>, Choice> known_;
};

}  // namespace

double PipelineSeconds(const PartitionProblem& problem,
                       const std::vector<int>& bounds) {
  double latency_s = 0;
  double slowest_s = 0;
  for (int s = 0; s < problem.num_stages(); ++s) {
    double stage_s = 0;
    for (int layer = bounds[s]; layer < bounds[s + 1]; ++layer) {
      stage_s += problem.stage_s[s][layer];
    }
    latency_s += stage_s;
    slowest_s = std::max(slowest_s, stage_s);
    if (s > 0) latency_s += problem.transfer_s[s - 1][bounds[s]];
  }
  return latency_s + (problem.num_microbatches - 1) * slowest_s;
}

std::vector<int> FastestPartition(const PartitionProblem& problem) {
  if (problem.num_stages() > problem.num_layers()) return {};
  const BoundedProgram program(problem);
  const std::vector<double> sums = program.sums().AtLeast(0);
  // The least bound for which there is a partition.
  size_t low = 0;
  size_t high = sums.size() - 1;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (program.Solve(sums[middle]).latency_s < kInfinity) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  // A higher bound allows a lower latency. Between two bounds of equal latency
  // there is nothing to find, nor where even the latency of the higher one is
  // too long at the lower bound.
  Bounded best;
  double best_s = kInfinity;
  const auto take = [&](size_t index) {
    Bounded found = program.Solve(sums[index]);
    const double found_s = PipelineSeconds(problem, found.bounds);
    const double latency_s = found.latency_s;
    if (found_s < best_s) {
      best_s = found_s;
      best = std::move(found);
    }
    return latency_s;
  };
  struct Range {
    size_t low, high;
    double low_latency_s, high_latency_s;
  };
  std::vector<Range> open = {
      {low, sums.size() - 1, take(low), take(sums.size() - 1)}};
  while (!open.empty()) {
    const Range range = open.back();
    open.pop_back();
    const double least_s =
        (problem.num_microbatches - 1) * sums[range.low] + range.high_latency_s;
    if (range.high - range.low < 2 || least_s >= best_s ||
        range.low_latency_s == range.high_latency_s) {
      continue;
    }
    const size_t middle = (range.low + range.high) / 2;
    const double latency_s = take(middle);
    open.push_back({middle, range.high, latency_s, range.high_latency_s});
    open.push_back({range.low, middle, range.low_latency_s, latency_s});
  }
  return best.bounds;
}

std::vector<int> UpstreamPartition(const PartitionProblem& problem) {
  if (problem.num_stages() > problem.num_layers()) return {};
  return UpstreamProgram(problem).Solve();
}

std::vector<int> EvenPartition(int num_stages, int num_layers, int first_block,
                               int num_blocks) {
  if (num_stages > num_blocks) return {};
  std::vector<int> bounds = {0};
  int block = 0;
  for (int s = 0; s + 1 < num_stages; ++s) {
    block += num_blocks / num_stages + (s < num_blocks % num_stages ? 1 : 0);
    bounds.push_back(first_block + block);
  }
  bounds.push_back(num_layers);
  return bounds;
}

}  // namespace tangram
