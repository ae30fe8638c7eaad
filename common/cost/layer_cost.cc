#include <algorithm>

#include "common/cost/host_offload.h"
#include "common/cost/layer_estimator.h"
#include "common/cost/model_state.h"
#include "common/cost/operator_work.h"
#include "common/cost/parameter_bytes.h"
#include "common/cost/stage_cost.h"

namespace tangram {
namespace {

// Adds up the activations of a layer's operators in order, by recomputed
// segment. A segment keeps only its input; while it is recomputed, it holds
// everything that its operators save. If segments drop their outputs, the
// operator after one keeps only what it makes itself, and the output lives
// while both run.
class ActivationCount {
 public:
  explicit ActivationCount(bool drops_outputs)
      : drops_outputs_(drops_outputs) {}

  void Add(const OperatorCost& cost, bool recomputed) {
    if (!recomputed) {
      kept_ += cost.saved_bytes;
      if (in_segment_ && drops_outputs_) {
        kept_ -= cost.saved_input_bytes;
        largest_segment_ =
            std::max(largest_segment_, segment_ + cost.saved_input_bytes);
      }
      segment_ = 0;
    } else {
      if (!in_segment_) kept_ += cost.input_bytes;
      segment_ += cost.saved_bytes;
      largest_segment_ = std::max(largest_segment_, segment_);
    }
    in_segment_ = recomputed;
    workspace_ = std::max(workspace_, cost.workspace_bytes);
  }
  double kept_bytes() const { return kept_; }
  double transient_bytes() const { return largest_segment_ + workspace_; }

 private:
  const bool drops_outputs_;
  bool in_segment_ = false;
  double kept_ = 0;
  double segment_ = 0;
  double largest_segment_ = 0;
  double workspace_ = 0;
};

// Compute during which collectives of a whole layer can hide, by pass.
struct Slack {
  double forward_s = 0;
  double backward_s = 0;
};

// Adds the cost of sharded state. ZeRO 2 reduce-scatters the layer's gradients
// for each microbatch, so that they accumulate sharded. ZeRO 3 also gathers the
// weights before each pass. The GPU holds the whole layer meanwhile.
void AddShardedState(const StageParallelism& parallelism,
                     const StageEnvironment& environment, const Slack& slack,
                     LayerCost& cost) {
  const double element_bytes = ElementBytes(environment.training.precision);
  const double dense = cost.parameters.dense;
  // Other pipelines get their gradients of a layer once it has them.
  if (environment.state.gradients < 1) {
    cost.transient_bytes += (dense + cost.parameters.expert) * element_bytes;
  }
  if (parallelism.zero_stage < 2) return;
  const ReplicaGroups groups = ReplicaGroupsOf(parallelism, environment.wiring);
  const auto sweep_s = [&](double swept_dense, double bytes_per_parameter) {
    return ShardSweepSeconds({swept_dense, cost.parameters.expert},
                             bytes_per_parameter, groups, environment);
  };
  const bool gathers = parallelism.zero_stage >= 3;
  const double gather_s = gathers ? sweep_s(dense, element_bytes) : 0;
  const double penalty = environment.device.efficiency.overlap_penalty;
  const auto backward_excess_s = [&](double reduced_dense) {
    return ExposedSeconds(
        gather_s + sweep_s(reduced_dense, GradientBytes(environment.training)),
        slack.backward_s, penalty);
  };
  const double forward_s = ExposedSeconds(gather_s, slack.forward_s, penalty);
  const double backward_s = backward_excess_s(dense);
  cost.forward_s += forward_s;
  cost.backward_s += backward_s;
  cost.comm_s += forward_s + backward_s;
  cost.head_copy.backward_s =
      backward_s - backward_excess_s(dense - cost.head_copy.parameters);
  const double held = (groups.dense.size > 1 ? dense : 0) +
                      (groups.expert.size > 1 ? cost.parameters.expert : 0);
  cost.transient_bytes += held * (gathers ? 2 : 1) * element_bytes;
}

// Adds one operator without its activations.
void AddOperator(const OperatorCost& op, bool recomputed, Slack& slack,
                 LayerCost& sum) {
  const double again = recomputed ? 1 : 0;
  sum.forward_s += op.forward_s;
  sum.backward_s += op.backward_s + again * op.forward_s;
  sum.forward_host_s += op.forward_host_s;
  sum.backward_host_s += op.backward_host_s + again * op.forward_host_s;
  sum.recompute_s += again * op.forward_s;
  sum.comm_s += (1 + again) * op.forward_comm_s + op.backward_comm_s;
  if (op.measured) {
    sum.measured_s += (1 + again) * (op.forward_s - op.forward_comm_s) +
                      op.backward_s - op.backward_comm_s;
  }
  sum.parameters.dense += op.dense_parameters;
  sum.parameters.expert += op.expert_parameters;
  sum.head_copy.parameters += op.copied_parameters;
  slack.forward_s += op.forward_slack_s;
  slack.backward_s += op.backward_slack_s + again * op.forward_slack_s;
}

// Measurements of a layer's parameters cover everything that a GPU holds of the
// whole layer without ZeRO. A part of the layer, ZeRO, and other pipelines that
// keep a part of the optimizer state leave the fraction of it that the model
// says.
void AddMeasuredState(const MeasuredLayer& measured,
                      const StageParameters& whole_layer,
                      const StageParallelism& parallelism,
                      const StageEnvironment& environment, LayerCost& cost) {
  const StageParallelism unsharded = {.tp_degree = parallelism.tp_degree};
  StageEnvironment alone = environment;
  alone.state = {};
  const auto beyond_model = [&](double measured_all, const auto& modelled) {
    const double all = modelled(whole_layer, unsharded, alone);
    return all > 0 ? modelled(cost.parameters, parallelism, environment) *
                         (measured_all / all - 1)
                   : 0;
  };
  if (measured.optimizer_s.has_value()) {
    // The launch is paid once for a stage.
    const double launch_s = environment.device.efficiency.kernel_launch_s;
    cost.optimizer_beyond_model_s =
        beyond_model(*measured.optimizer_s,
                     [&](const StageParameters& parameters,
                         const StageParallelism& p, const StageEnvironment& e) {
                       return OptimizerSeconds(parameters, p, e) - launch_s;
                     });
  }
  if (measured.state_bytes.has_value()) {
    cost.state_beyond_model_bytes =
        beyond_model(*measured.state_bytes,
                     [&](const StageParameters& parameters,
                         const StageParallelism& p, const StageEnvironment& e) {
                       return ModelStateOf(parameters, p, e).total();
                     });
  }
  const double copied = cost.head_copy.parameters;
  if (copied == 0) return;
  const double share = copied / cost.parameters.dense;
  cost.head_copy.optimizer_beyond_model_s =
      share * cost.optimizer_beyond_model_s;
  cost.head_copy.state_beyond_model_bytes =
      share * cost.state_beyond_model_bytes;
}

}  // namespace

LayerEstimator::LayerEstimator(const LayerSpec& layer, int op_begin, int op_end,
                               const StageParallelism& parallelism,
                               const StageEnvironment& environment)
    : layer_(layer),
      op_begin_(op_begin),
      parallelism_(parallelism),
      environment_(environment) {
  const LayerScope scope = ScopeOf(layer, parallelism, environment);
  const absl::Span<const OpKind> ops = OperatorsOf(layer);
  for (int i = op_begin; i < op_end; ++i) {
    operators_.push_back(EstimateInScope(scope, ops[i]));
  }
  measured_ = scope.calibration.measured;
  if (measured_ == nullptr) return;
  for (int i = 0; i < static_cast<int>(ops.size()); ++i) {
    if (i >= op_begin && i < op_end) continue;
    const OperatorCost op = EstimateInScope(scope, ops[i]);
    others_.push_back(
        {.dense = op.dense_parameters, .expert = op.expert_parameters});
  }
}

// Sums the operators, then adds sharded state, offloading and, for a measured
// layer, the difference between measurement and model.
LayerCost LayerEstimator::Cost(OpMask recomputed,
                               const HostOffload& offload) const {
  LayerCost sum{.embeds = layer_.kind == LayerKind::kEmbedding};
  Slack slack;
  ActivationCount activations((recomputed & kDropOutputs) != 0);
  int i = op_begin_;
  for (const OperatorCost& op : operators_) {
    const bool is_recomputed = (recomputed >> i++ & 1) != 0;
    activations.Add(op, is_recomputed);
    AddOperator(op, is_recomputed, slack, sum);
  }
  sum.activation_bytes = activations.kept_bytes();
  sum.transient_bytes = activations.transient_bytes();
  AddShardedState(parallelism_, environment_, slack, sum);
  AddOffload(parallelism_, offload, environment_, sum);
  if (layer_.kind == LayerKind::kHead) {
    sum.head_activation_bytes = sum.activation_bytes;
    sum.head_transient_bytes = sum.transient_bytes;
  } else {
    sum.body_transient_bytes = sum.transient_bytes;
  }
  if (measured_ != nullptr) {
    StageParameters whole_layer = sum.parameters;
    for (const StageParameters& other : others_) {
      whole_layer.dense += other.dense;
      whole_layer.expert += other.expert;
    }
    AddMeasuredState(*measured_, whole_layer, parallelism_, environment_, sum);
  }
  return sum;
}

LayerCost EstimateLayer(const LayerSpec& layer, const LayerPart& part,
                        const StageParallelism& parallelism,
                        const StageEnvironment& environment,
                        const HostOffload& offload) {
  return LayerEstimator(layer, part.op_begin, part.op_end, parallelism,
                        environment)
      .Cost(part.recomputed, offload);
}

void AddLayers(const LayerCost& layer, int count, LayerCost& sum) {
  sum.forward_s += count * layer.forward_s;
  sum.backward_s += count * layer.backward_s;
  sum.forward_host_s += count * layer.forward_host_s;
  sum.backward_host_s += count * layer.backward_host_s;
  sum.recompute_s += count * layer.recompute_s;
  sum.comm_s += count * layer.comm_s;
  sum.forward_copy_s += count * layer.forward_copy_s;
  sum.backward_copy_s += count * layer.backward_copy_s;
  sum.measured_s += count * layer.measured_s;
  sum.parameters.dense += count * layer.parameters.dense;
  sum.parameters.expert += count * layer.parameters.expert;
  sum.optimizer_beyond_model_s += count * layer.optimizer_beyond_model_s;
  sum.state_beyond_model_bytes += count * layer.state_beyond_model_bytes;
  const HeadCopy& copy = layer.head_copy;
  sum.head_copy.parameters += count * copy.parameters;
  sum.head_copy.backward_s += count * copy.backward_s;
  sum.head_copy.optimizer_beyond_model_s +=
      count * copy.optimizer_beyond_model_s;
  sum.head_copy.state_beyond_model_bytes +=
      count * copy.state_beyond_model_bytes;
  sum.embeds |= layer.embeds && count > 0;
  sum.activation_bytes += count * layer.activation_bytes;
  sum.host_activation_bytes += count * layer.host_activation_bytes;
  sum.transient_bytes = std::max(sum.transient_bytes, layer.transient_bytes);
  sum.head_activation_bytes += count * layer.head_activation_bytes;
  sum.head_transient_bytes =
      std::max(sum.head_transient_bytes, layer.head_transient_bytes);
  sum.body_transient_bytes =
      std::max(sum.body_transient_bytes, layer.body_transient_bytes);
}

LayerCost WithoutHeadCopy(LayerCost sum) {
  const HeadCopy& copy = sum.head_copy;
  sum.parameters.dense -= copy.parameters;
  sum.backward_s -= copy.backward_s;
  sum.comm_s -= copy.backward_s;
  sum.optimizer_beyond_model_s -= copy.optimizer_beyond_model_s;
  sum.state_beyond_model_bytes -= copy.state_beyond_model_bytes;
  sum.head_copy = {};
  return sum;
}

}  // namespace tangram
