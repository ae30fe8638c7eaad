#include <algorithm>

#include "common/cost/operator_work.h"

namespace tangram {
namespace {

// Throughput of grouped products, as a fraction of one product of an expert's
// size. Set on Megatron Bridge's runs.
constexpr double kGroupedShare = 0.85;

// Bytes kept for each token and choice: an expert's index and an fp32 weight.
constexpr double kRoutingBytes = 8;

// Returns the number of copies that cross the network, as a fraction of a
// token's k copies. One copy goes to each node that has any of its experts, and
// these are on N(1 − (1 − 1/N)^k) of N nodes.
double SentShare(const LayerScope& scope) {
  const double nodes =
      1.0 * scope.ep_group.size / scope.ep_group.ranks_per_node;
  double missed = 1;  // Probability that no choice is on a given node.
  for (int i = 0; i < scope.layer.experts_per_token; ++i) {
    missed *= 1 - 1 / nodes;
  }
  return nodes * (1 - missed) / scope.layer.experts_per_token;
}

// Returns the time of the all-to-all of the routed copies of this GPU's tokens.
// The rank with the most wanted experts sets the pace. Over several nodes, a
// token crosses the network once for each node and is then spread inside it
// (DeepSeek-V3, 2412.19437 §3.2.2, and DeepEP), unless sending each copy is
// faster.
double ExchangeSeconds(const LayerScope& scope) {
  const CommGroup& group = scope.ep_group;
  const StageWiring& wiring = scope.environment.wiring;
  const double bytes = RoutedLoad(scope) * scope.tokens * scope.element_bytes *
                       scope.layer.expert_width() / scope.residual_tp;
  // Slots are sent one by one, with the tokens in them.
  const bool has_slots = scope.layer.expert_group_tokens > 0;
  if (group.size <= group.ranks_per_node || has_slots) {
    return AllToAllSeconds(bytes, group, wiring);
  }
  StageWiring deduplicated = wiring;
  deduplicated.inter_node.bandwidth_bytes_per_s /= SentShare(scope);
  deduplicated.inter_node.pair_bandwidth_bytes_per_s /= SentShare(scope);
  CommGroup node = group;
  node.size = group.ranks_per_node;
  return std::min(AllToAllSeconds(bytes, group, wiring),
                  std::max(AllToAllSeconds(bytes, group, deduplicated),
                           AllToAllSeconds(bytes, node, wiring)));
}

// With sequence parallelism, every tp rank exchanges a share of the tokens. The
// tp ranks share each expert's matrices and so need all tokens. These are
// gathered after dispatch and reduce-scattered before combine; the backward
// pass mirrors this.
double RoutedGatherSeconds(const LayerScope& scope) {
  if (scope.residual_tp == 1) return 0;
  const double bytes = RoutedLoad(scope) * scope.tokens * scope.element_bytes *
                       scope.layer.expert_width();
  return AllGatherSeconds(bytes, scope.tp_group, scope.environment.wiring);
}

// Without sequence parallelism, each tp rank exchanges all tokens. Partial sums
// are reduced once the tokens are back in order.
double TokenReduceSeconds(const LayerScope& scope) {
  if (scope.residual_tp > 1) return 0;
  const double bytes =
      scope.tokens * scope.element_bytes * scope.layer.expert_width();
  return AllReduceSeconds(bytes, scope.tp_group, scope.environment.wiring);
}

// Returns the number of tokens that one rank routes.
double RoutedTokens(const LayerScope& scope) {
  return scope.tokens / scope.residual_tp;
}

// Returns the slots of all experts for one of this rank's tokens.
double SlotsPerToken(const LayerSpec& layer) {
  return layer.expert_capacity_factor * layer.experts_per_token;
}

// Tokens that one rank brings to experts together.
double GroupTokens(const LayerScope& scope) {
  return std::min<double>(scope.layer.expert_group_tokens, RoutedTokens(scope));
}

// Returns the time of the products with one-hot matrices that bring tokens to
// the slots of experts, or back: for each group of S tokens
//   (slots · S x S) (S x w), w the width of a routed token,
// as in GShard's Algorithm 2.
double OneHotSeconds(const LayerScope& scope) {
  const double group = GroupTokens(scope);
  return GemmSeconds({.m = SlotsPerToken(scope.layer) * group,
                      .k = group,
                      .n = 1.0 * scope.layer.expert_width(),
                      .count = RoutedTokens(scope) / group},
                     scope.element_bytes, scope.rates);
}

// Bytes of the one-hot matrices of all groups: slots · S for each token.
double OneHotBytes(const LayerScope& scope) {
  return scope.element_bytes * SlotsPerToken(scope.layer) * GroupTokens(scope) *
         RoutedTokens(scope);
}

// Returns the time to sort tokens by expert, or back. Each token is read once
// and written once for each choice. The receiver moves the copies once more, to
// the other tokens of their experts: half of that counts, as Megatron-Core does
// it in a pass of its own and DeepEP while it receives.
double SortSeconds(const LayerScope& scope) {
  const double width = scope.layer.expert_width();
  const double k = scope.layer.experts_per_token;
  return PassSeconds(
      scope.element_bytes * RoutedTokens(scope) * width * (1 + 2 * k),
      scope.rates);
}

// Adds the projection of tokens to the width of the experts, or that back. As
// in Megatron-Core, each tp rank holds both in full.
void AddLatentProjection(const LayerScope& scope, OpKind op,
                         OperatorWork& work) {
  const LayerSpec& layer = scope.layer;
  if (layer.expert_latent_size == 0) return;
  const bool back = op == OpKind::kExpertCombine;
  const double in = back ? layer.expert_latent_size : layer.hidden_size;
  const double out = back ? layer.hidden_size : layer.expert_latent_size;
  const double product_s =
      GemmSeconds({.m = RoutedTokens(scope), .k = in, .n = out},
                  scope.element_bytes, scope.rates);
  work.forward_compute_s += product_s;
  work.backward_compute_s += 2 * product_s;
  work.parameters += LatentParameters(layer, op);
  // The router keeps the input of the first.
  if (back) work.kept_bytes += scope.element_bytes * RoutedTokens(scope) * in;
}

}  // namespace

// The router's product runs in full on each rank's tokens, and so does the
// projection to the width of the experts. The shared experts are a dense MLP.
OperatorWork RouterWork(const LayerScope& scope) {
  const LayerSpec& layer = scope.layer;
  const double h = layer.hidden_size;
  const double e = scope.element_bytes;
  OperatorWork work =
      MatmulWork(GemmSeconds({.m = scope.tokens / scope.residual_tp,
                              .k = h,
                              .n = 1.0 * layer.num_experts},
                             e, scope.rates));
  work.parameters = h * layer.num_experts;
  work.keeps_input = true;
  AddLatentProjection(scope, OpKind::kRouter, work);
  const double shared = layer.shared_expert_ffn_hidden_size;
  if (shared == 0) return work;
  const double width = shared / scope.tp;
  const double up = layer.gated_mlp ? 2 * width : width;
  const double products_s =
      GemmSeconds({.m = scope.tokens, .k = h, .n = up}, e, scope.rates) +
      GemmSeconds({.m = scope.tokens, .k = width, .n = h}, e, scope.rates);
  work.forward_compute_s += products_s;
  work.backward_compute_s += 2 * products_s;
  work.parameters +=
      (ParameterCount(layer, OpKind::kRouter) - work.parameters) / scope.tp;
  work.kept_bytes += e * scope.tokens * (up + width);
  AddActivation(scope, scope.tokens, width, work);
  AddColumnParallelComm(scope, work);
  AddRowParallelComm(scope, work);
  return work;
}

// Forward: sort, then exchange. Backward: the mirror image.
OperatorWork ExpertDispatchWork(const LayerScope& scope) {
  const double exchange_s = ExchangeSeconds(scope) + RoutedGatherSeconds(scope);
  if (scope.layer.expert_group_tokens > 0) {
    const double product_s = OneHotSeconds(scope);
    return {.forward_compute_s = product_s,
            .backward_compute_s = product_s,
            .forward_comm_s = exchange_s,
            .backward_comm_s = exchange_s + TokenReduceSeconds(scope),
            .kept_bytes = OneHotBytes(scope)};
  }
  const double pass_s = SortSeconds(scope);
  return {.forward_compute_s = pass_s,
          .backward_compute_s = pass_s,
          .forward_comm_s = exchange_s,
          .backward_comm_s = exchange_s + TokenReduceSeconds(scope),
          .kept_bytes = kRoutingBytes * scope.layer.experts_per_token *
                        RoutedTokens(scope)};
}

// Grouped products, one for each expert, each as efficient as its own size
// allows. Fully sharded experts (LAER-MoE) fetch their weights by all-to-all in
// both passes and send gradients back in the same way.
OperatorWork ExpertProjectionWork(const LayerScope& scope, OpKind op) {
  const LayerSpec& layer = scope.layer;
  const double experts = ExpertsOnGpu(scope);
  const double width = layer.expert_ffn_hidden_size / scope.tp;
  Gemm gemm = {.m = scope.tokens * RoutedLoad(scope) / experts,
               .k = 1.0 * layer.expert_width(),
               .n = layer.gated_mlp ? 2 * width : width,
               .count = experts};
  if (op == OpKind::kExpertDown) {
    gemm.k = width;
    gemm.n = layer.expert_width();
  }
  OperatorWork work = MatmulWork(
      GemmSeconds(gemm, scope.element_bytes, scope.rates) / kGroupedShare);
  AddCasts(scope, experts * gemm.m * gemm.k, experts * gemm.m * gemm.n, work);
  work.parameters =
      ParameterCount(layer, op) / (scope.tp * scope.parallelism.ep_degree);
  work.keeps_input = true;
  if (scope.parallelism.fsep && scope.parallelism.ep_degree > 1) {
    const double weight_bytes = work.parameters * scope.element_bytes;
    work.workspace_bytes = weight_bytes;
    work.forward_hidden_s =
        AllToAllSeconds(weight_bytes, scope.ep_group, scope.environment.wiring);
    work.backward_hidden_s = 2 * work.forward_hidden_s;
  }
  return work;
}

// As in Megatron-Core, tokens were weighted by the router's choice before the
// last product, so combine keeps nothing. One-hot matrices that carry the
// weights are kept, and get gradients of their own. The sum of a token's copies
// is projected back to the width of the layer.
OperatorWork ExpertCombineWork(const LayerScope& scope) {
  const double exchange_s = ExchangeSeconds(scope) + RoutedGatherSeconds(scope);
  const bool one_hot = scope.layer.expert_group_tokens > 0;
  const double order_s = one_hot ? OneHotSeconds(scope) : SortSeconds(scope);
  OperatorWork work = {.forward_compute_s = order_s,
                       .backward_compute_s = 2 * order_s,
                       .forward_comm_s = exchange_s + TokenReduceSeconds(scope),
                       .backward_comm_s = exchange_s};
  if (one_hot) work.kept_bytes = OneHotBytes(scope);
  AddLatentProjection(scope, OpKind::kExpertCombine, work);
  return work;
}

}  // namespace tangram
