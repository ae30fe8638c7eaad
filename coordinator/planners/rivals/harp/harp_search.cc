#include "coordinator/planners/rivals/harp/harp_search.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "common/base/infinity.h"

namespace tangram {
namespace {

// Bounds closer than this, in seconds, count as one.
constexpr double kBoundGap = 1e-6;

// Equal sums differ by less than this fraction, which is rounding.
constexpr double kRounding = 1e-12;

// Sums over the layers of one shape.
class ShapeSums {
 public:
  explicit ShapeSums(const HarpShape& shape) {
    for (const HarpLayer& layer : shape.layers) {
      pass_s_.push_back(pass_s_.back() + layer.pass_s);
      state_.push_back(state_.back() + layer.state_bytes);
      activation_.push_back(activation_.back() + layer.activation_bytes);
      transient_.push_back(layer.transient_bytes);
    }
  }

  double Seconds(int begin, int end) const {
    return pass_s_[end] - pass_s_[begin];
  }
  // Returns the bytes with `in_flight` microbatches. `transient` is the largest
  // of these layers.
  double Bytes(int begin, int end, int in_flight, double transient) const {
    return state_[end] - state_[begin] + transient +
           in_flight * (activation_[end] - activation_[begin]);
  }
  double Transient(int layer) const { return transient_[layer]; }

  // Returns the most neighbouring layers within the time and the memory.
  int LongestStage(double most_s, double capacity_bytes) const {
    int longest = 0;
    int begin = 0;
    for (int end = 1; end <= static_cast<int>(transient_.size()); ++end) {
      while (begin < end && (Seconds(begin, end) > most_s ||
                             Bytes(begin, end, 1, 0) > capacity_bytes)) {
        ++begin;
      }
      longest = std::max(longest, end - begin);
    }
    return longest;
  }

 private:
  std::vector<double> pass_s_ = {0};
  std::vector<double> state_ = {0};
  std::vector<double> activation_ = {0};
  std::vector<double> transient_;
};

double TransferSeconds(const HarpPath& path, double bytes) {
  return bytes / path.bytes_per_s + path.latency_s;
}

// The tables of f, and the program that fills them for one bound. A cell is a
// cluster and a number of its GPUs.
class Program {
 public:
  explicit Program(const HarpInput& input)
      : input_(input), num_layers_(input.num_layers()) {
    for (const HarpCluster& cluster : input.clusters) {
      std::vector<ShapeSums>& sums = sums_.emplace_back();
      for (const HarpShape& shape : cluster.shapes) sums.emplace_back(shape);
      first_cell_.push_back(num_cells_);
      num_cells_ += cluster.num_gpus() + 1;
    }
    most_stages_ = std::min(num_layers_, num_cells_);
    choices_.resize(static_cast<size_t>(most_stages_ + 1) * num_cells_ *
                    (num_layers_ + 1));
  }

  // Returns all stage times, ascending.
  std::vector<double> Bounds() const {
    std::vector<double> bounds;
    for (const std::vector<ShapeSums>& shapes : sums_) {
      for (const ShapeSums& sums : shapes) {
        for (int end = 1; end <= num_layers_; ++end) {
          for (int begin = 0; begin < end; ++begin) {
            bounds.push_back(sums.Seconds(begin, end));
          }
        }
      }
    }
    std::sort(bounds.begin(), bounds.end());
    std::vector<double> distinct;
    for (const double bound : bounds) {
      if (distinct.empty() || bound - distinct.back() > kBoundGap) {
        distinct.push_back(bound);
      }
    }
    return distinct;
  }

  // Returns false if no pipeline holds all layers, even with GPUs that hold
  // parts of them, and one microbatch in flight.
  bool MayHavePlan(double bound_s) const {
    double layers = 0;
    for (size_t c = 0; c < input_.clusters.size(); ++c) {
      const HarpCluster& cluster = input_.clusters[c];
      double most = 0;  // On one GPU.
      for (size_t shape = 0; shape < cluster.shapes.size(); ++shape) {
        const double longest = sums_[c][shape].LongestStage(
            bound_s + kBoundGap, cluster.capacity_bytes);
        most = std::max(most, longest / cluster.shapes[shape].num_gpus());
      }
      layers += most * cluster.num_gpus();
    }
    return layers >= num_layers_ * (1 - kRounding);
  }

  // Returns the stages of the least sum of times; empty: none.
  std::vector<HarpStage> Solve(double bound_s) {
    // Rounding of sums is no reason to refuse the stage that the bound is of.
    bound_s_ = bound_s + kBoundGap / 2;
    const int clusters = static_cast<int>(input_.clusters.size());
    const int all = CellOf(0, input_.clusters.front().num_gpus());
    double best_s = kInfinity;
    int best_stages = 0;
    rest_.assign(num_cells_, {});
    for (int s = 1; s <= most_stages_; ++s) {
      now_.assign(num_cells_, {});
      for (int c = 0; c < clusters; ++c) {
        for (int used = 1; used <= input_.clusters[c].num_gpus(); ++used) {
          Fill(s, c, used);
        }
      }
      if (!now_[all].empty() && now_[all][0] < best_s) {
        best_s = now_[all][0];
        best_stages = s;
      }
      std::swap(rest_, now_);
    }
    return Trace(best_stages);
  }

 private:
  struct Choice {
    int16_t end_layer = 0;
    int16_t shape = 0;
    int32_t warm_up = 0;
  };

  struct Successor {
    int cluster = 0;
    int used = 0;
  };

  int CellOf(int cluster, int used) const {
    return first_cell_[cluster] + used;
  }

  Choice& ChoiceAt(int stages, int cell, int layer) {
    return choices_[(static_cast<size_t>(stages) * num_cells_ + cell) *
                        (num_layers_ + 1) +
                    layer];
  }

  // Whether the stage of n GPUs that makes it `used` stays inside a host. The
  // first GPU of a host is not left to a stage of its own.
  static bool FitsHost(int n, int used, int gpus_per_host) {
    const int rest = used % gpus_per_host;
    return n == gpus_per_host || (rest == 0 ? n > 1 : n <= rest);
  }

  // Returns the cluster and the GPUs in use there after a stage of n of `used`.
  Successor After(int cluster, int used, int n) const {
    if (used > n) return {cluster, used - n};
    return {cluster + 1, input_.clusters[cluster + 1].num_gpus()};
  }

  const HarpPath& PathTo(int cluster, const Successor& next) const {
    const HarpCluster& here = input_.clusters[cluster];
    return next.cluster == cluster ? here.inside : here.onwards;
  }

  // H-1F1B: a stage holds more microbatches than its successor, by 1 inside a
  // cluster, and the more the longer a transfer to the next one takes.
  int WarmUp(int next_warm_up, bool crosses, double transfer_s) const {
    const int more = !crosses || transfer_s < bound_s_ / 10 ? 1
                     : transfer_s < bound_s_ / 2            ? 2
                                                            : 3;
    const int warm_up = next_warm_up + more;
    return input_.clamps_warm_up ? std::min(warm_up, input_.num_microbatches)
                                 : warm_up;
  }

  // f(s, l, used, c) for all l, from that of s - 1 stages.
  void Fill(int s, int c, int used) {
    const HarpCluster& cluster = input_.clusters[c];
    const bool is_last_cluster = c + 1 == static_cast<int>(sums_.size());
    for (size_t shape = 0; shape < cluster.shapes.size(); ++shape) {
      const int n = cluster.shapes[shape].num_gpus();
      if (n > used || !FitsHost(n, used, cluster.gpus_per_host)) continue;
      const bool is_last_stage = is_last_cluster && n == used;
      if (is_last_stage != (s == 1)) continue;
      if (is_last_stage) {
        AddLastStages(c, used, static_cast<int>(shape));
      } else {
        AddStages(s, c, used, static_cast<int>(shape));
      }
    }
  }

  // Stages that begin with any layer and hold all that follow.
  void AddLastStages(int c, int used, int shape) {
    double transient = 0;
    for (int begin = num_layers_ - 1; begin >= 0; --begin) {
      transient = std::max(transient, sums_[c][shape].Transient(begin));
      Offer({.s = 1, .c = c, .used = used, .begin = begin}, shape, num_layers_,
            transient, 1, 0);
    }
  }

  void AddStages(int s, int c, int used, int shape) {
    const Successor next =
        After(c, used, input_.clusters[c].shapes[shape].num_gpus());
    const int next_cell = CellOf(next.cluster, next.used);
    if (rest_[next_cell].empty()) return;
    const HarpPath& path = PathTo(c, next);
    const ShapeSums& sums = sums_[c][shape];
    for (int begin = 0; begin <= num_layers_ - s; ++begin) {
      double transient = 0;
      for (int end = begin + 1; end <= num_layers_ - (s - 1); ++end) {
        if (sums.Seconds(begin, end) > bound_s_) break;
        transient = std::max(transient, sums.Transient(end - 1));
        const double transfer_s =
            TransferSeconds(path, input_.border_bytes[end - 1]);
        const double rest_s = rest_[next_cell][end];
        if (transfer_s > bound_s_ || rest_s == kInfinity) continue;
        const int warm_up = WarmUp(ChoiceAt(s - 1, next_cell, end).warm_up,
                                   next.cluster != c, transfer_s);
        Offer({.s = s, .c = c, .used = used, .begin = begin}, shape, end,
              transient, warm_up, rest_s + transfer_s);
      }
    }
  }

  struct State {
    int s, c, used, begin;
  };

  // Takes a stage for the state if it is within the bound and the memory, and
  // faster with what follows than the one so far.
  void Offer(const State& state, int shape, int end, double transient,
             int warm_up, double rest_s) {
    const ShapeSums& sums = sums_[state.c][shape];
    const double stage_s = sums.Seconds(state.begin, end);
    if (stage_s > bound_s_ || sums.Bytes(state.begin, end, warm_up, transient) >
                                  input_.clusters[state.c].capacity_bytes) {
      return;
    }
    const int cell = CellOf(state.c, state.used);
    if (now_[cell].empty()) now_[cell].assign(num_layers_ + 1, kInfinity);
    double& best_s = now_[cell][state.begin];
    if (stage_s + rest_s >= best_s) return;
    best_s = stage_s + rest_s;
    ChoiceAt(state.s, cell, state.begin) = {
        static_cast<int16_t>(end), static_cast<int16_t>(shape), warm_up};
  }

  std::vector<HarpStage> Trace(int num_stages) {
    std::vector<HarpStage> stages;
    Successor at{0, input_.clusters.front().num_gpus()};
    int begin = 0;
    for (int s = num_stages; s > 0; --s) {
      const Choice choice = ChoiceAt(s, CellOf(at.cluster, at.used), begin);
      const int c = at.cluster;
      stages.push_back({.begin_layer = begin,
                        .end_layer = choice.end_layer,
                        .cluster = c,
                        .shape = choice.shape,
                        .warm_up = choice.warm_up,
                        .compute_s = sums_[c][choice.shape].Seconds(
                            begin, choice.end_layer)});
      if (s == 1) break;
      at =
          After(c, at.used, input_.clusters[c].shapes[choice.shape].num_gpus());
      stages.back().transfer_s = TransferSeconds(
          PathTo(c, at), input_.border_bytes[choice.end_layer - 1]);
      begin = choice.end_layer;
    }
    return stages;
  }

  const HarpInput& input_;
  const int num_layers_;
  std::vector<std::vector<ShapeSums>> sums_;  // [cluster][shape]
  std::vector<int> first_cell_;               // By cluster.
  int num_cells_ = 0;
  int most_stages_ = 0;
  // f by cell and layer, of the present number of stages and of one less. Empty
  // cells are infinite.
  std::vector<std::vector<double>> now_;
  std::vector<std::vector<double>> rest_;
  std::vector<Choice> choices_;
  double bound_s_ = 0;
};

// Returns the time of one microbatch.
double LatencySeconds(const std::vector<HarpStage>& stages) {
  double latency_s = 0;
  for (const HarpStage& stage : stages) {
    latency_s += stage.compute_s + stage.transfer_s;
  }
  return latency_s;
}

double IterationSeconds(const HarpInput& input,
                        const std::vector<HarpStage>& stages) {
  double slowest_s = 0;
  for (const HarpStage& stage : stages) {
    slowest_s = std::max({slowest_s, stage.compute_s, stage.transfer_s});
  }
  return LatencySeconds(stages) + (input.num_microbatches - 1) * slowest_s;
}

// Every host has a stage of its own, if not more.
int NumHosts(const HarpInput& input) {
  int hosts = 0;
  for (const HarpCluster& cluster : input.clusters) hosts += cluster.num_hosts;
  return hosts;
}

}  // namespace

double BytesShort(const HarpInput& input,
                  const std::vector<HarpStage>& stages) {
  double bytes_short = 0;
  for (const HarpStage& stage : stages) {
    const HarpCluster& cluster = input.clusters[stage.cluster];
    const HarpShape& shape = cluster.shapes[stage.shape];
    double transient = 0;
    for (int l = stage.begin_layer; l < stage.end_layer; ++l) {
      transient = std::max(transient, shape.layers[l].transient_bytes);
    }
    const double bytes = ShapeSums(shape).Bytes(
        stage.begin_layer, stage.end_layer, stage.warm_up, transient);
    bytes_short = std::max(bytes_short, bytes - cluster.capacity_bytes);
  }
  return bytes_short;
}

HarpAnswer SearchHarp(const HarpInput& input,
                      const std::function<bool()>& should_stop) {
  HarpAnswer answer;
  if (input.clusters.empty() || NumHosts(input) > input.num_layers()) {
    return answer;
  }
  Program program(input);
  // Without a bound, stages warm up the least, so none has less latency.
  const std::vector<HarpStage> shortest = program.Solve(kInfinity);
  ++answer.programs;
  if (shortest.empty()) return answer;
  const double least_latency_s = LatencySeconds(shortest);
  const std::vector<double> bounds = program.Bounds();
  answer.num_bounds = static_cast<int>(bounds.size());
  // Solves for a bound, keeps the best plan, and returns whether there is any.
  // Equal ones go to the smaller bound, which warms up as its transfers need.
  int best_bound = answer.num_bounds;
  const auto solve = [&](int bound) {
    if (answer.stopped || (should_stop && should_stop())) {
      answer.stopped = true;
      return false;
    }
    ++answer.programs;
    std::vector<HarpStage> stages = program.Solve(bounds[bound]);
    if (stages.empty()) return false;
    const double predicted_s = IterationSeconds(input, stages);
    if (answer.stages.empty() || predicted_s < answer.predicted_s ||
        (predicted_s == answer.predicted_s && bound < best_bound)) {
      answer.predicted_s = predicted_s;
      answer.stages = std::move(stages);
      best_bound = bound;
    }
    return true;
  };
  const auto within = [&](double limit_s) {
    return static_cast<int>(std::upper_bound(bounds.begin(), bounds.end(),
                                             limit_s / input.num_microbatches) -
                            bounds.begin());
  };
  const auto impossible = std::partition_point(
      bounds.begin(), bounds.end(),
      [&](double bound_s) { return !program.MayHavePlan(bound_s); });
  int low = static_cast<int>(impossible - bounds.begin());
  int high = within(input.limit_s);  // The first with a plan is before it.
  // Most searches with a limit end here.
  if (high < answer.num_bounds && (low >= high || !solve(--high))) {
    return answer;
  }
  while (low < high) {
    const int middle = (low + high) / 2;
    if (solve(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  if (answer.stages.empty()) return answer;
  answer.first_feasible = low;
  // A plan whose slowest stage takes more than T / B takes more than T. So does
  // one whose slowest stage and latency say so.
  const auto may_pay = [&](int bound) {
    const double limit_s = std::min(answer.predicted_s, input.limit_s);
    return bound < within(limit_s) &&
           least_latency_s + (input.num_microbatches - 1) * bounds[bound] <
               limit_s * (1 - kRounding);
  };
  // A good plan at the other end rules out most bounds between.
  if (may_pay(low + 1)) solve(answer.num_bounds - 1);
  for (int bound = low + 1; may_pay(bound); ++bound) {
    ++answer.bounds_tried_after;
    solve(bound);
  }
  return answer;
}

}  // namespace tangram
