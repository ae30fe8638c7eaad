#include "tests/parity/galvatron_cost.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"

namespace tangram::parity {
namespace {

constexpr double kElementBytes = 2;  // bfloat16; gradients are reduced in it.
constexpr double kBytesInMegabyte = 1024.0 * 1024.0;
constexpr double kSecondsInMs = 1e-3;
constexpr double kContextMegabytes =
    1024;  // PyTorch's context, on every stage.

// Fraction of model state that sharding cannot divide.
constexpr double kUnshardable = 0.003;

// Returns the measured value of a size, or the value on a line through all
// sizes.
double MsOf(const MeasuredPoints& points, double megabytes) {
  const auto measured = points.find(megabytes);
  return measured != points.end() ? measured->second
                                  : FitLine(points).At(megabytes);
}

// Backward pass and gradient reduction of a layer run side by side. Each slows
// the other down while both run.
double OverlappedMs(double backward_ms, double megabytes, double ms_per_mb,
                    double slowdown) {
  const double reduce_ms = megabytes * ms_per_mb * slowdown;
  if (reduce_ms > backward_ms * slowdown) {
    return backward_ms * slowdown +
           (megabytes - backward_ms / ms_per_mb) * ms_per_mb;
  }
  return reduce_ms + backward_ms - reduce_ms / slowdown;
}

// The same for embedding and head.
double OverlappedEndMs(double compute_ms, double comm_ms, double slowdown) {
  return comm_ms + std::max(0.0, compute_ms - comm_ms / slowdown);
}

// Returns the number of microbatches that a stage holds.
int InFlight(const LayerStrategy& strategy, int stage) {
  return strategy.pp - stage;
}

// Returns the fraction of the shared bytes that each rank receives from the
// others.
double RingShare(int ranks) { return (ranks - 1.0) / ranks; }

}  // namespace

std::string NameOf(const LayerStrategy& strategy) {
  return absl::StrCat(
      strategy.pp, "-", strategy.degree(), strategy.degree() > 1 ? "*-" : "-",
      strategy.dp, strategy.zero3 ? "f" : "", strategy.checkpoint ? "-c" : "",
      strategy.ulysses > 1 ? "-sp" : "");
}

int GalvatronCost::Samples(const LayerStrategy& strategy, int chunks) const {
  return run_.global_batch / chunks / strategy.dp;
}

double GalvatronCost::BoundaryMegabytes(int samples) const {
  return samples * profile_.sequence_length * kElementBytes *
         profile_.hidden_size / kBytesInMegabyte;
}

double GalvatronCost::GradientMsPerMegabyte(
    const LayerStrategy& strategy) const {
  return profile_.allreduce_ms_per_mb.at(
      {strategy.num_shards(), strategy.tp == 1});
}

// Six all-gathers, each half an all-reduce, or four all-to-alls. Recomputation
// adds half as many.
double GalvatronCost::TensorParallelMs(const LayerStrategy& strategy,
                                       int samples) const {
  const double again = strategy.checkpoint ? 1.5 : 1;
  const double megabytes = BoundaryMegabytes(samples);
  if (strategy.tp > 1) {
    return 6 * again * 0.5 *
           MsOf(profile_.allreduce_ms.at(strategy.tp), megabytes);
  }
  if (strategy.ulysses > 1) {
    return 4 * again *
           MsOf(profile_.all_to_all_ms.at(strategy.ulysses), megabytes);
  }
  return 0;
}

double GalvatronCost::LayerMs(const LayerStrategy& strategy, int chunks,
                              double gradient_mb) const {
  const int samples = Samples(strategy, chunks);
  const double forward_ms = profile_.layer_forward_ms.At(
      static_cast<double>(samples) / strategy.degree());
  const double backward_ms = (strategy.checkpoint ? 3 : 2) * forward_ms;
  const double overlapped_ms =
      strategy.dp > 1 && gradient_mb > 0
          ? OverlappedMs(backward_ms, gradient_mb,
                         GradientMsPerMegabyte(strategy),
                         profile_.overlap_slowdown)
          : backward_ms;
  double boundary_ms = 0;
  if (strategy.pp > 1) {
    boundary_ms = strategy.pp * 2 * BoundaryMegabytes(samples) *
                  profile_.p2p_ms_per_mb.at(strategy.pp) / run_.num_layers;
  }
  return forward_ms + overlapped_ms + TensorParallelMs(strategy, samples) +
         boundary_ms;
}

StrategySeconds GalvatronCost::LayerSeconds(const LayerStrategy& strategy,
                                            int chunks) const {
  const double gradient_mb = 2 * RingShare(strategy.num_shards()) *
                             profile_.layer_parameter_mb / strategy.tp / 2;
  const double gather_ms =
      strategy.zero3 ? 0.5 * gradient_mb * GradientMsPerMegabyte(strategy) : 0;
  return {.with_sync = (LayerMs(strategy, chunks, gradient_mb) + gather_ms) *
                       kSecondsInMs,
          .without_sync =
              (LayerMs(strategy, chunks, 0) + gather_ms) * kSecondsInMs};
}

// Returns the fraction of model state that a GPU keeps. The state consists of
// eighths: master weights, two moments and gradients, of which some are
// sharded.
double GalvatronCost::ShardedFraction(const LayerStrategy& strategy,
                                      int chunks) const {
  if (strategy.dp == 1 || (!strategy.zero3 && !run_.zero2)) return 1;
  const double shard = 1.0 / strategy.num_shards() + kUnshardable;
  const double eighths = (strategy.zero3 ? 8 : 7) - (chunks > 1 ? 1 : 0);
  return eighths / 8 * shard + (8 - eighths) / 8;
}

double GalvatronCost::LayerMegabytes(const LayerStrategy& strategy, int chunks,
                                     int stage) const {
  const double activation_mb =
      strategy.checkpoint
          ? profile_.checkpoint_activation_mb / strategy.degree()
          : profile_.layer_activation_mb.at(strategy.degree());
  return 4 * profile_.layer_parameter_mb / strategy.tp *
             ShardedFraction(strategy, chunks) +
         activation_mb * Samples(strategy, chunks) * InFlight(strategy, stage);
}

std::vector<StrategySeconds> GalvatronCost::EndSeconds(
    const LayerStrategy& strategy, int chunks) const {
  const int samples = Samples(strategy, chunks);
  const double both_ms = profile_.ends_forward_ms.At(
      static_cast<double>(samples) / strategy.degree());
  const double gather_ms =
      strategy.tp > 1 ? 0.5 * MsOf(profile_.allreduce_ms.at(strategy.tp),
                                   BoundaryMegabytes(samples))
                      : 0;
  const bool pipelined = strategy.pp > 1;
  const auto seconds = [&](const EndMegabytes& end) {
    const double forward_ms = both_ms * (pipelined ? 0.5 : 1);
    const double gradient_ms = end.model_states.at(strategy.tp) / 4 / 2 *
                               GradientMsPerMegabyte(strategy) *
                               RingShare(strategy.num_shards());
    const auto ms = [&](double backward_share) {
      return OverlappedEndMs(forward_ms,
                             (strategy.zero3 ? 0.5 : 0) * gradient_ms,
                             profile_.overlap_slowdown) +
             OverlappedEndMs(2 * forward_ms, backward_share * gradient_ms,
                             profile_.overlap_slowdown) +
             gather_ms * (pipelined ? 1 : 2);
    };
    return StrategySeconds{
        .with_sync = ms(strategy.zero3 ? 1 : 0.5) * kSecondsInMs,
        .without_sync = ms(strategy.zero3 ? 0.5 : 0) * kSecondsInMs};
  };
  if (!pipelined) return {seconds(profile_.both_ends)};
  std::vector<StrategySeconds> stages(strategy.pp);
  stages.front() = seconds(profile_.first_end);
  stages.back() = seconds(profile_.last_end);
  return stages;
}

double GalvatronCost::EndMegabytesOf(const LayerStrategy& strategy, int chunks,
                                     int stage) const {
  const double held = Samples(strategy, chunks) * InFlight(strategy, stage);
  const auto megabytes = [&](const EndMegabytes& end) {
    return end.model_states.at(strategy.tp) *
               ShardedFraction(strategy, chunks) +
           end.activation.at(strategy.degree()) * held;
  };
  double all = kContextMegabytes;
  if (strategy.pp == 1) return all + megabytes(profile_.both_ends);
  if (stage == 0) all += megabytes(profile_.first_end);
  if (stage == strategy.pp - 1) all += megabytes(profile_.last_end);
  return all;
}

double GalvatronCost::BufferMegabytes(int pp, int degree, int chunks) const {
  const double samples = static_cast<double>(run_.global_batch) / chunks /
                         (profile_.num_gpus / pp / degree);
  return samples * profile_.hidden_size * profile_.sequence_length *
         kElementBytes / kBytesInMegabyte;
}

// A change of degree costs a gather of the larger one, which its units
// overstate a hundred times. Other changes cost next to nothing, to break ties.
double GalvatronCost::TransitionSeconds(const LayerStrategy& from,
                                        const LayerStrategy& to,
                                        int chunks) const {
  constexpr double kPublishedFactor = 1e-7;
  if (from.degree() != to.degree()) {
    const int degree = std::max(from.degree(), to.degree());
    const double bytes = BufferMegabytes(from.pp, degree, chunks) *
                         kBytesInMegabyte * RingShare(degree);
    return bytes * profile_.allreduce_ms_per_mb.at({degree, true}) *
           kPublishedFactor;
  }
  const bool same_kind = (from.ulysses > 1) == (to.ulysses > 1);
  if (from == to) return 0;
  if (!same_kind) {
    LayerStrategy turned = from;
    std::swap(turned.tp, turned.ulysses);
    return turned == to && to.ulysses > 1 ? 1e-10 : 0;
  }
  if (to.zero3 && to.checkpoint) return 3e-9;
  if (to.checkpoint) return from.zero3 ? (from.checkpoint ? 0 : 1e-9) : 2e-9;
  return to.zero3 && !from.checkpoint ? 1e-9 : 0;
}

// With c_i and t_i the seconds of stage i without and with synchronisation:
//   max(Σ c + c_last·(chunks − 1), T2) + max_i (t_i − Σ_{j≤i} c_j)⁺
// T2 assumes that the first stage is the bottleneck and that the forward pass
// is a third of a pass.
double PipelineSeconds(absl::Span<const StrategySeconds> stages, int chunks) {
  const int pp = static_cast<int>(stages.size());
  double latency_s = 0;
  double exposed_s = 0;
  for (const StrategySeconds& stage : stages) {
    latency_s += stage.without_sync;
    exposed_s = std::max(exposed_s, stage.with_sync - latency_s);
  }
  const double first_s = stages.front().without_sync;
  const double rest_s = latency_s - first_s;
  const int warm_up = std::min(pp - 1, chunks - 1);
  const double last_bound_s =
      latency_s + stages.back().without_sync * (chunks - 1);
  const double first_bound_s =
      std::max(warm_up * first_s / 3, rest_s / 3) +
      std::max(warm_up * 2 * first_s / 3, rest_s * 2 / 3) +
      first_s * std::max(0, chunks + 1 - pp);
  return std::max(last_bound_s, first_bound_s) + exposed_s;
}

}  // namespace tangram::parity
