#ifndef TANGRAM_TESTS_UNIT_COMMON_WIRE_RANDOM_VALUES_H_
#define TANGRAM_TESTS_UNIT_COMMON_WIRE_RANDOM_VALUES_H_

#include <optional>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/domain/cluster.h"
#include "common/domain/figure_limits.h"
#include "common/domain/island.h"
#include "common/domain/limits.h"
#include "common/domain/model_spec.h"
#include "common/domain/slice_plan.h"
#include "common/domain/stage_plan.h"
#include "common/domain/training_options.h"

// Makes values with every field drawn at random, for round trips.
namespace tangram::testing {

class RandomValues {
 public:
  explicit RandomValues(uint32_t seed) : rng_(seed) {}

  int Int(int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(rng_);
  }
  double Real() {
    return std::ldexp(std::uniform_real_distribution<double>(0.5, 1)(rng_),
                      Int(-40, 50));
  }
  // A rate or a size, and a time, within the limits of clusters.
  double Rate() {
    return std::ldexp(std::uniform_real_distribution<double>(0.5, 1)(rng_),
                      Int(1, 49));
  }
  double Seconds() {
    return std::ldexp(std::uniform_real_distribution<double>(0.5, 1)(rng_),
                      Int(-40, 9));
  }
  double Efficiency() {
    return std::uniform_real_distribution<double>(kLeastEfficiency, 1)(rng_);
  }
  double Fraction() { return Int(0, 8) / 8.0; }
  std::optional<double> MaybeSeconds() {
    if (Bool()) return std::nullopt;
    return Seconds();
  }
  bool Bool() { return Int(0, 1) == 1; }
  std::string Name(const char* prefix) {
    return absl::StrCat(prefix, "-", Int(0, 1 << 30));
  }

  tangram::Link Link() {
    return {.bandwidth_bytes_per_s = Rate(),
            .pair_bandwidth_bytes_per_s = Rate(),
            .latency_s = Seconds()};
  }

  DeviceSpec Device() {
    DeviceSpec device{
        .type = Name("device"),
        .peak_flops = {Rate(), Rate(), Rate(), Rate()},
        .memory_bytes = Rate(),
        .memory_bandwidth_bytes_per_s = Rate(),
        .supports_flash_attention = Bool(),
        .collective_library =
            static_cast<CollectiveLibrary>(Int(0, kNumCollectiveLibraries - 1)),
        .host = {Rate(), Rate()},
        .efficiency = {Efficiency(), Rate(), Efficiency(), Efficiency(),
                       Seconds(), Seconds(), Efficiency(), Efficiency(),
                       Efficiency(), Efficiency(), Efficiency(), Rate(),
                       Efficiency()}};
    Fingerprint key = 0;
    std::vector<MeasuredOperator> operators;
    for (int i = Int(0, 3); i > 0; --i) {
      key += Int(1, 1 << 30);
      operators.push_back({key << 30, Seconds(), Seconds()});
    }
    std::vector<MeasuredLayer> layers;
    for (int i = Int(0, 3); i > 0; --i) {
      key += Int(1, 1 << 30);
      layers.push_back({.key = key << 30,
                        .samples = Int(1, 64),
                        .forward_s = Seconds(),
                        .backward_s = Seconds(),
                        .collectives_included = Bool(),
                        .saved_bytes = MaybeSeconds(),
                        .optimizer_s = MaybeSeconds(),
                        .state_bytes = MaybeSeconds()});
    }
    std::vector<MeasuredCollective> collectives;
    for (int op = 0; op < Int(0, 5); ++op) {
      collectives.push_back({.op = static_cast<CollectiveOp>(op),
                             .ranks = Int(2, 64),
                             .nodes = Int(1, 8),
                             .points = {{Rate(), Seconds()}}});
    }
    device.measured = std::move(operators);
    device.measured_layers = std::move(layers);
    device.collectives = std::move(collectives);
    return device;
  }

  IslandSpec Island() {
    return {.device = Device(),
            .num_nodes = Int(1, 64),
            .gpus_per_node = Int(1, 16),
            .intra_node = Link(),
            .inter_node = Link(),
            .limits = Limits()};
  }

  StageLimits Limits() {
    if (Int(0, 1) == 0) return {};
    return {.tp_degree = Int(0, 8),
            .cp_degree = Int(0, 8),
            .dp_degree = Int(0, 8),
            .gpus_per_stage = Int(0, 8),
            .max_stages = Int(0, 8),
            .each_depth = Int(0, 1) == 1,
            .ep_degree = Int(0, 8),
            .max_zero_stage = Int(0, 3),
            .zero_stage = Int(0, 3),
            .zero_degree = Int(0, 8),
            .no_sequence_parallel = Int(0, 1) == 1,
            .no_offload = Int(0, 1) == 1,
            .residual_cuts = Int(0, 1) == 1,
            .closed_recompute = Int(0, 1) == 1,
            .recompute = kLayerRecomputes[Int(0, 2)]};
  }

  tangram::Cluster Cluster() {
    tangram::Cluster cluster{.name = Name("cluster")};
    const int num_groups = Int(1, 4);
    for (int g = 0; g < num_groups; ++g) {
      cluster.groups.push_back(Name("group"));
      cluster.links.emplace_back();
      for (int b = 0; b < num_groups; ++b) {
        cluster.links.back().push_back(Link());
      }
    }
    const tangram::DeviceSpec devices[] = {Device(), Device()};
    for (int i = Int(1, 12); i > 0; --i) {
      cluster.nodes.push_back(
          {.name = absl::StrCat("node-", cluster.nodes.size()),
           .group = Int(0, num_groups - 1),
           .num_gpus = Int(1, 16),
           .device = devices[Int(0, 1)],
           .intra_node = Link()});
    }
    cluster.assumptions.push_back({Name("f"), Name("v"), Name("s")});
    return cluster;
  }

  LayerSpec Layer(LayerKind kind) {
    LayerSpec layer{.kind = kind};
    for (int LayerSpec::*dimension :
         {&LayerSpec::hidden_size, &LayerSpec::num_heads,
          &LayerSpec::num_kv_heads, &LayerSpec::head_dim,
          &LayerSpec::value_head_dim, &LayerSpec::sliding_window,
          &LayerSpec::q_lora_rank, &LayerSpec::kv_lora_rank,
          &LayerSpec::rope_head_dim, &LayerSpec::ffn_hidden_size,
          &LayerSpec::num_experts, &LayerSpec::experts_per_token,
          &LayerSpec::expert_ffn_hidden_size,
          &LayerSpec::shared_expert_ffn_hidden_size, &LayerSpec::vocab_size,
          &LayerSpec::max_position_embeddings}) {
      layer.*dimension = Int(1, kMaxExperts);  // The smallest of their limits.
    }
    layer.experts_per_token = Int(1, layer.num_experts);
    if (Bool()) layer.expert_latent_size = Int(1, kMaxExperts);
    if (Bool()) {
      layer.expert_capacity_factor = Int(1, 8);
      layer.expert_group_tokens = Int(0, 4096);
    }
    if (kind != LayerKind::kTransformer || Bool()) {
      for (int LayerSpec::*field :
           {&LayerSpec::num_experts, &LayerSpec::experts_per_token,
            &LayerSpec::expert_ffn_hidden_size,
            &LayerSpec::shared_expert_ffn_hidden_size,
            &LayerSpec::expert_latent_size}) {
        layer.*field = 0;
      }
      layer.expert_capacity_factor = 0;
      layer.expert_group_tokens = 0;
    }
    for (bool LayerSpec::*flag :
         {&LayerSpec::gated_mlp, &LayerSpec::tied_embeddings,
          &LayerSpec::linear_bias, &LayerSpec::norm_bias, &LayerSpec::qkv_bias,
          &LayerSpec::qk_norm}) {
      layer.*flag = Bool();
    }
    if (kind == LayerKind::kTransformer && Int(0, 2) == 0) MakeHybrid(layer);
    return layer;
  }

  // Replaces attention by another mixer, with an MLP or without one.
  void MakeHybrid(LayerSpec& layer) {
    for (int LayerSpec::*dimension :
         {&LayerSpec::num_heads, &LayerSpec::num_kv_heads, &LayerSpec::head_dim,
          &LayerSpec::value_head_dim, &LayerSpec::sliding_window,
          &LayerSpec::q_lora_rank, &LayerSpec::kv_lora_rank,
          &LayerSpec::rope_head_dim}) {
      layer.*dimension = 0;
    }
    layer.qkv_bias = layer.qk_norm = false;
    layer.mixer = MixerKind::kNone;
    const int kind = Int(0, 2);
    if (kind == 0) return;
    layer.mixer = kind == 1 ? MixerKind::kMamba : MixerKind::kMamba2;
    layer.mamba.inner_size = 5040;
    layer.mamba.state_size = Int(1, 256);
    layer.mamba.conv_kernel = Int(1, 8);
    if (kind == 1) {
      layer.mamba.dt_rank = Int(1, 256);
      layer.mamba.inner_norms = Bool();
    } else {
      layer.mamba.head_dim = Int(1, 10);
      layer.mamba.groups = Int(0, 1) == 0 ? 1 : 2;
    }
    if (Bool()) return;
    layer.no_mlp = true;
    for (int LayerSpec::*field :
         {&LayerSpec::ffn_hidden_size, &LayerSpec::num_experts,
          &LayerSpec::experts_per_token, &LayerSpec::expert_ffn_hidden_size,
          &LayerSpec::shared_expert_ffn_hidden_size,
          &LayerSpec::expert_latent_size, &LayerSpec::expert_group_tokens}) {
      layer.*field = 0;
    }
    layer.expert_capacity_factor = 0;
  }

  // An embedding, two kinds of layers in random order, and a head.
  ModelSpec Model() {
    LayerSpec kinds[] = {
        Layer(LayerKind::kEmbedding), Layer(LayerKind::kTransformer),
        Layer(LayerKind::kTransformer), Layer(LayerKind::kHead)};
    // Some layer of a model mixes tokens.
    while (kinds[1].mixer == MixerKind::kNone) {
      kinds[1] = Layer(LayerKind::kTransformer);
    }
    for (LayerSpec& layer : kinds) {
      layer.hidden_size = kinds[0].hidden_size;
      layer.vocab_size = kinds[0].vocab_size;
      layer.tied_embeddings = kinds[0].tied_embeddings;
    }
    ModelSpec model{.name = Name("model"), .layers = {kinds[0], kinds[1]}};
    for (int i = Int(0, 19); i > 0; --i) {
      model.layers.push_back(kinds[Int(1, 2)]);
    }
    model.layers.push_back(kinds[3]);
    if (Bool()) model.details = Details();
    return model;
  }

  ModelDetails Details() {
    ModelDetails details{.rope_theta = 1.0 * Int(0, 1000000),
                         .rope_fraction = 0.25 * Int(0, 4),
                         .norm_epsilon = 1e-6 * Int(0, 10),
                         .dtype = Name("dtype"),
                         .attention_softcap = 1.0 * Int(0, 50),
                         .logit_softcap = 1.0 * Int(0, 30)};
    for (int i = Int(0, 2); i > 0; --i) details.unplanned.push_back(Name("x"));
    details.no_positions = Bool();
    if (Bool()) details.attention_dropout = 0.1 * Int(0, 10);
    if (Bool()) details.hidden_dropout = 0.1 * Int(0, 10);
    if (Bool()) {
      details.rope_scaling = {.type = Name("type"),
                              .factor = 1.0 * Int(1, 8),
                              .low_freq_factor = 1.0 * Int(0, 2),
                              .high_freq_factor = 1.0 * Int(0, 4),
                              .original_positions = Int(0, 8192)};
    }
    return details;
  }

  TrainingOptions Training() {
    return {.global_batch_size = Int(1, 4096),
            .sequence_length = Int(1, 1 << 20),
            .precision = static_cast<Precision>(Int(0, 3)),
            .optimizer = static_cast<Optimizer>(Int(0, 1)),
            .flash_attention = Bool(),
            .dropout = Bool(),
            .fp32_gradients = Bool(),
            .overlap_grad_reduce = Bool(),
            .blocking_transfers = Bool(),
            .buffered_sends = Bool(),
            .gradient_copy = Bool(),
            .bf16_moments = Bool(),
            .fused_loss = Bool()};
  }

  StagePlan Stage() {
    StagePlan stage{.begin = {Int(0, 9), Int(0, 9)},
                    .end = {Int(10, 19), Int(0, 9)},
                    .parallelism = {.tp_degree = Int(1, 8),
                                    .cp_degree = Int(1, 8),
                                    .dp_degree = Int(1, 8),
                                    .ep_degree = Int(1, 8),
                                    .fsep = Bool(),
                                    .zero_stage = Int(0, 3),
                                    .zero_degree = Int(0, 8),
                                    .sequence_parallel = Bool(),
                                    .tp_y_degree = Int(1, 8)}};
    for (int i = Int(1, 3); i > 0; --i) {
      stage.recompute.push_back({Int(1, 9), static_cast<OpMask>(Int(0, 8191))});
    }
    if (Bool()) {
      stage.offload = {Fraction(), Fraction(), Fraction(), Fraction()};
    }
    return stage;
  }

  SlicePlanSet PlanSet() {
    SlicePlanSet set{.covers_trailing_stages = Int(0, 64),
                     .search_steps = int64_t{Int(0, 1 << 30)} << 10,
                     .truncated = Bool()};
    for (int i = Int(0, 3); i > 0; --i) {
      SlicePlan plan{.max_trailing_stages = Int(0, 64),
                     .made_by = Name("maker")};
      for (int s = Int(1, 3); s > 0; --s) {
        plan.stages.push_back({Stage(), Real(), Real(), Real()});
      }
      set.plans.push_back(plan);
    }
    if (set.plans.empty()) set.infeasible = {Name("reason"), Real()};
    return set;
  }

 private:
  std::mt19937 rng_;
};

}  // namespace tangram::testing

#endif  // TANGRAM_TESTS_UNIT_COMMON_WIRE_RANDOM_VALUES_H_
