#include "tests/testing/builders.h"

#include "absl/strings/str_cat.h"

namespace tangram::testing {
namespace {

constexpr Link kIntraNode = {.bandwidth_bytes_per_s = 100e9,
                             .pair_bandwidth_bytes_per_s = 100e9};
constexpr Link kInterNode = {.bandwidth_bytes_per_s = 10e9,
                             .pair_bandwidth_bytes_per_s = 10e9};

LayerSpec TransformerLayer(int hidden_size) {
  return {.kind = LayerKind::kTransformer,
          .hidden_size = hidden_size,
          .num_heads = hidden_size / 64,
          .num_kv_heads = hidden_size / 64,
          .head_dim = 64,
          .value_head_dim = 64,
          .ffn_hidden_size = 4 * hidden_size};
}

ModelSpec Model(const std::string& name, int num_layers,
                const LayerSpec& layer) {
  ModelSpec model{.name = name};
  model.layers.push_back({.kind = LayerKind::kEmbedding,
                          .hidden_size = layer.hidden_size,
                          .vocab_size = 1000});
  model.layers.insert(model.layers.end(), num_layers, layer);
  model.layers.push_back({.kind = LayerKind::kHead,
                          .hidden_size = layer.hidden_size,
                          .vocab_size = 1000});
  return model;
}

}  // namespace

DeviceSpec TestDevice(const std::string& type) {
  return {.type = type,
          .peak_flops = {.fp32 = 100e12,
                         .fp16 = 100e12,
                         .bf16 = 100e12,
                         .fp8 = 100e12},
          .memory_bytes = 16e9,
          .memory_bandwidth_bytes_per_s = 1e12,
          .supports_flash_attention = true,
          .efficiency = {.gemm_max_fraction = 1,
                         .gemm_half_flops = 0,
                         .attention_fraction = 1,
                         .memory_fraction = 1,
                         .kernel_launch_s = 0,
                         .reserved_bytes = 0,
                         .fragmentation = 0}};
}

IslandSpec TestIsland(int num_nodes, int gpus_per_node) {
  return {.device = TestDevice(),
          .num_nodes = num_nodes,
          .gpus_per_node = gpus_per_node,
          .intra_node = kIntraNode,
          .inter_node = kInterNode};
}

Cluster TestCluster(const std::vector<TestGroup>& groups,
                    double between_bytes_per_s) {
  Cluster cluster{.name = "test"};
  const int num_groups = static_cast<int>(groups.size());
  for (int g = 0; g < num_groups; ++g) {
    cluster.groups.push_back(groups[g].name);
    for (int i = 0; i < groups[g].num_nodes; ++i) {
      cluster.nodes.push_back({.name = absl::StrCat(groups[g].name, "-", i),
                               .group = g,
                               .num_gpus = groups[g].gpus_per_node,
                               .device = groups[g].device,
                               .intra_node = kIntraNode});
    }
    cluster.links.emplace_back(
        num_groups, Link{.bandwidth_bytes_per_s = between_bytes_per_s,
                         .pair_bandwidth_bytes_per_s = between_bytes_per_s});
    cluster.links.back()[g] = kInterNode;
  }
  return cluster;
}

ModelSpec TestModel(int num_layers, int hidden_size) {
  return Model("test-dense", num_layers, TransformerLayer(hidden_size));
}

ModelSlice WholeSlice(const ModelSpec& model) {
  return MakeSlice({0, model.num_layers()}, model.layers);
}

ModelSpec TestMoeModel(int num_layers, int hidden_size) {
  LayerSpec layer = TransformerLayer(hidden_size);
  layer.ffn_hidden_size = 0;
  layer.num_experts = 8;
  layer.experts_per_token = 2;
  layer.expert_ffn_hidden_size = 4 * hidden_size;
  return Model("test-moe", num_layers, layer);
}

TrainingOptions TestTraining(int global_batch_size) {
  return {.global_batch_size = global_batch_size, .sequence_length = 512};
}

}  // namespace tangram::testing
