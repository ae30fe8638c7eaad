#include "worker/adapters/galvatron/galvatron_degrees.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "common/base/infinity.h"
#include "common/cost/layer_estimator.h"
#include "common/cost/pass_seconds.h"

namespace tangram::galvatron {
namespace {

// Returns the time of a layer's backward pass: the device's, or the host's if
// the host is slower for the kept layer. One rule for all choices keeps sums
// over layers exact.
double BackwardSeconds(const LayerCost& cost, const LayerCost& kept) {
  return kept.backward_host_s > kept.backward_s ? cost.backward_host_s
                                                : cost.backward_s;
}

bool IsRecomputable(const LayerSpec& layer) {
  return layer.kind == LayerKind::kTransformer;
}

// Rounds up, so that a sum in whole bytes never understates the need.
int64_t WholeBytes(const LayerCost& cost) {
  return static_cast<int64_t>(std::ceil(cost.activation_bytes));
}

}  // namespace

DegreeCosts::DegreeCosts(const SliceLayers& layers, const StageLimits& limits,
                         const StageParallelism& parallelism,
                         const StageEnvironment& environment,
                         LayerCosts::Site* site)
    : layers_(layers),
      parallelism_(parallelism),
      environment_(environment),
      site_(site),
      frontiers_(layers.size() * kNumChoices),
      of_equal_layers_(frontiers_.size()) {
  for (const LayerSpec& kind : layers.kinds()) {
    const int num_ops = static_cast<int>(OperatorsOf(kind).size());
    std::optional<LayerEstimator> estimator;
    if (site == nullptr) {
      estimator.emplace(kind, 0, num_ops, parallelism, environment);
    }
    CostsByChoice& costs = costs_.emplace_back();
    LayerCosts::Site::Masks& masks = masks_.emplace_back();
    for (int choice = 0; choice < kNumChoices; ++choice) {
      masks[choice] = MaskWithin(limits, kind, kLayerRecomputes[choice]);
      if (choice > 0 && !IsRecomputable(kind)) {
        costs[choice] = costs[0];
      } else if (site == nullptr) {
        costs[choice] = estimator->Cost(masks[choice]);
      } else {
        costs[choice] = site->Cost(site->KindOf(kind), masks[choice],
                                   parallelism, environment);
      }
    }
    kept_costs_.push_back(costs[0]);
  }
  least_s_per_byte_ = LeastSecondsPerByte();
}

// Returns  min over kinds and choices of (added seconds) / (freed bytes).
double DegreeCosts::LeastSecondsPerByte() const {
  double least = kInfinity;
  for (const CostsByChoice& costs : costs_) {
    for (const LayerCost& cost : costs) {
      const double freed_bytes =
          costs[0].activation_bytes - cost.activation_bytes;
      if (freed_bytes <= 0) continue;
      const double added_s =
          BackwardSeconds(cost, costs[0]) - BackwardSeconds(costs[0], costs[0]);
      least = std::min(least, added_s / freed_bytes);
    }
  }
  return least;
}

KeptFigures DegreeCosts::KeptOf(LayerRange range) const {
  const LayerCost sum =
      OnOneStage(layers_.Sum(range.begin, range.end, kept_costs_));
  return {.seconds = PassSecondsOf(sum.forward_s, sum.forward_host_s) +
                     PassSecondsOf(sum.backward_s, sum.backward_host_s),
          .memory = StageMemoryOf(sum, parallelism_, environment_)};
}

// Sums runs of layers with the same kind and choice.
StageCost DegreeCosts::CostOf(LayerRange range,
                              absl::Span<const LayerRecompute> choices) const {
  LayerCost sum;
  int i = 0;
  while (i < range.size()) {
    const int kind = layers_.kind_of(range.begin + i);
    const int first = i;
    while (i < range.size() && choices[i] == choices[first] &&
           layers_.kind_of(range.begin + i) == kind) {
      ++i;
    }
    AddLayers(costs_[kind][static_cast<int>(choices[first])], i - first, sum);
  }
  return StageCostOf(sum, parallelism_, environment_);
}

LayerRange DegreeCosts::Recomputable(LayerRange range) const {
  while (range.size() > 0 && !IsRecomputable(layers_.at(range.begin))) {
    ++range.begin;
  }
  while (range.size() > 0 && !IsRecomputable(layers_.at(range.end - 1))) {
    --range.end;
  }
  return range;
}

// A budget B for the kept activations follows from the memory of a GPU under
// 1F1B:
//   static + growth · transient + in_flight · growth · (B + fixed) = memory
// where growth is 1 + fragmentation, transient is that of the largest layer,
// which has the room of what the head keeps, and fixed is kept by layers that
// cannot be recomputed.
double DegreeCosts::BudgetBytes(LayerRange range, const KeptFigures& kept,
                                LayerRecompute most, int in_flight) const {
  const double growth = 1 + environment_.device.efficiency.fragmentation;
  double head_transient_bytes = 0;
  double body_transient_bytes = 0;
  double head_bytes = 0;
  double fixed_bytes = 0;
  layers_.ForEachRun(range.begin, range.end, [&](int kind, int count) {
    for (int choice = 0; choice <= static_cast<int>(most); ++choice) {
      const LayerCost& cost = costs_[kind][choice];
      head_transient_bytes =
          std::max(head_transient_bytes, cost.head_transient_bytes);
      body_transient_bytes =
          std::max(body_transient_bytes, cost.body_transient_bytes);
    }
    head_bytes += count * kept_costs_[kind].head_activation_bytes;
    if (!IsRecomputable(layers_.kinds()[kind])) {
      fixed_bytes += count * kept_costs_[kind].activation_bytes;
    }
  });
  const double transient_bytes =
      std::max(head_transient_bytes, body_transient_bytes - head_bytes);
  const double left_bytes = environment_.device.memory_bytes -
                            kept.memory.static_bytes - growth * transient_bytes;
  return left_bytes / (in_flight * growth) - fixed_bytes;
}

double DegreeCosts::LeastBytes(LayerRange range, LayerRecompute most) const {
  double bytes = 0;
  layers_.ForEachRun(range.begin, range.end, [&](int kind, int count) {
    double least_bytes = costs_[kind][0].activation_bytes;
    for (int choice = 1; choice <= static_cast<int>(most); ++choice) {
      least_bytes =
          std::min(least_bytes, costs_[kind][choice].activation_bytes);
    }
    bytes += count * least_bytes;
  });
  return bytes;
}

LayerFrontier& DegreeCosts::FindFrontier(int begin, bool are_alike,
                                         LayerRecompute most) {
  const int index = begin * kNumChoices + static_cast<int>(most);
  if (are_alike && site_ != nullptr) {
    LayerFrontier*& known = of_equal_layers_[index];
    if (known == nullptr) {
      const int kind = layers_.kind_of(begin);
      known =
          &site_->FrontierOf(site_->KindOf(layers_.kinds()[kind]), masks_[kind],
                             static_cast<int>(most) + 1, parallelism_);
    }
    return *known;
  }
  std::unique_ptr<LayerFrontier>& own = frontiers_[index];
  if (own == nullptr) own = std::make_unique<LayerFrontier>(kNumChoices);
  return *own;
}

// Returns the frontier of the layers from the begin of `range` on. Extends it
// as far as has been asked for.
const LayerFrontier& DegreeCosts::FrontierOf(LayerRange range,
                                             LayerRecompute most,
                                             StopPoll& poll) {
  const bool are_alike = layers_.AreAlike(range.begin, range.end);
  const int begin = layers_.FirstLike(range.begin, range.end);
  LayerFrontier& frontier = FindFrontier(begin, are_alike, most);
  while (frontier.num_layers() < range.size() && !poll.stopped()) {
    const CostsByChoice& costs =
        costs_[layers_.kind_of(begin + frontier.num_layers())];
    std::array<LayerChoice, kNumChoices> choices;
    choices.fill(kNoLayerChoice);
    for (int choice = 0; choice <= static_cast<int>(most); ++choice) {
      choices[choice] = {.memory = WholeBytes(costs[choice]),
                         .seconds = BackwardSeconds(costs[choice], costs[0])};
    }
    frontier.Append(choices,
                    static_cast<int64_t>(environment_.device.memory_bytes));
    const auto num_labels =
        static_cast<int64_t>(frontier.labels(frontier.num_layers()).size());
    if (are_alike && site_ != nullptr) site_->CountLabels(num_labels);
    poll.After(num_labels);
  }
  return frontier;
}

double DegreeCosts::KeptBackwardSeconds(LayerRange range) const {
  double seconds = 0;
  layers_.ForEachRun(range.begin, range.end, [&](int kind, int count) {
    seconds += count * BackwardSeconds(costs_[kind][0], costs_[kind][0]);
  });
  return seconds;
}

// Freeing the missing bytes costs at least least_s_per_byte_ for each byte.
double DegreeCosts::LeastSeconds(const KeptFigures& kept, int in_flight) const {
  const double over_bytes =
      kept.memory.PeakBytes(in_flight) - environment_.device.memory_bytes;
  if (over_bytes <= 0) return kept.seconds;
  const double growth = 1 + environment_.device.efficiency.fragmentation;
  return kept.seconds + over_bytes / (in_flight * growth) * least_s_per_byte_;
}

// Tries both limits on recomputation, because transient memory grows with the
// most that any layer recomputes.
std::optional<RecomputePlan> DegreeCosts::FastestRecompute(
    LayerRange range, const KeptFigures& kept, int in_flight, StopPoll& poll) {
  if (kept.memory.PeakBytes(in_flight) <= environment_.device.memory_bytes) {
    return RecomputePlan{.seconds = kept.seconds};
  }
  const LayerRange inner = Recomputable(range);
  if (inner.size() == 0) return std::nullopt;
  std::optional<RecomputePlan> fastest;
  for (const LayerRecompute most :
       {LayerRecompute::kAttentionCore, LayerRecompute::kWholeLayer}) {
    const double budget = BudgetBytes(range, kept, most, in_flight);
    if (LeastBytes(inner, most) > budget) continue;
    const LayerFrontier& frontier = FrontierOf(inner, most, poll);
    if (poll.stopped()) return std::nullopt;
    const std::optional<int> label =
        frontier.FastestWithin(inner.size(), static_cast<int64_t>(budget));
    if (!label.has_value()) continue;
    const double seconds = kept.seconds - KeptBackwardSeconds(inner) +
                           frontier.labels(inner.size())[*label].seconds;
    if (!fastest.has_value() || seconds < fastest->seconds) {
      fastest = {.most = most, .label = *label, .seconds = seconds};
    }
  }
  return fastest;
}

std::vector<LayerRecompute> DegreeCosts::ChoicesOf(LayerRange range,
                                                   const RecomputePlan& plan) {
  std::vector<LayerRecompute> choices(range.size(), LayerRecompute::kNone);
  if (plan.most == LayerRecompute::kNone) return choices;
  const LayerRange inner = Recomputable(range);
  StopPoll never;
  const std::vector<uint8_t> found =
      FrontierOf(inner, plan.most, never).ChoicesOf(inner.size(), plan.label);
  std::transform(found.begin(), found.end(),
                 choices.begin() + (inner.begin - range.begin),
                 [](uint8_t choice) { return kLayerRecomputes[choice]; });
  auto first = choices.begin();
  layers_.ForEachRun(range.begin, range.end, [&](int, int count) {
    std::sort(first, first + count, std::greater<>());
    first += count;
  });
  return choices;
}

double DegreeCosts::LeastBytesOver(LayerRange range, int in_flight) const {
  double least_bytes = kInfinity;
  for (const LayerRecompute recompute : kLayerRecomputes) {
    const std::vector<LayerRecompute> alike(range.size(), recompute);
    least_bytes =
        std::min(least_bytes, CostOf(range, alike).memory.PeakBytes(in_flight));
  }
  return least_bytes - environment_.device.memory_bytes;
}

}  // namespace tangram::galvatron
