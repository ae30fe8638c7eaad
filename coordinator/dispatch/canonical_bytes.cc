#include "coordinator/dispatch/canonical_bytes.h"

#include <array>
#include <bit>
#include <limits>
#include <optional>
#include <type_traits>
#include <vector>

#include "common/base/check.h"

namespace tangram {
namespace {

template <typename Unsigned>
void AppendLittleEndian(std::string& bytes, Unsigned value) {
  std::array<char, sizeof(Unsigned)> encoded;
  for (size_t i = 0; i < encoded.size(); ++i) {
    encoded[i] = static_cast<char>(value >> (8 * i));
  }
  bytes.append(encoded.data(), encoded.size());
}

// Appends the length of a list or text, so that neighbours cannot run together.
void AppendCount(std::string& bytes, size_t count) {
  TANGRAM_CHECK(count <= std::numeric_limits<uint32_t>::max());
  AppendLittleEndian(bytes, static_cast<uint32_t>(count));
}

// Overloads of Append: one for each type of field.

void Append(std::string& bytes, bool value) { bytes.push_back(value ? 1 : 0); }
void Append(std::string& bytes, int32_t value) {
  AppendLittleEndian(bytes, static_cast<uint32_t>(value));
}
void Append(std::string& bytes, uint64_t value) {
  AppendLittleEndian(bytes, value);
}
void Append(std::string& bytes, double value) {
  AppendLittleEndian(bytes, std::bit_cast<uint64_t>(value));
}
void Append(std::string& bytes, const std::string& text) {
  AppendCount(bytes, text.size());
  bytes += text;
}
template <typename Enum>
requires std::is_enum_v<Enum>
void Append(std::string& bytes, Enum value) {
  Append(bytes, static_cast<int32_t>(value));
}
void Append(std::string& bytes, const std::optional<double>& value) {
  Append(bytes, value.has_value());
  if (value.has_value()) Append(bytes, *value);
}

void Append(std::string& bytes, const MambaDimensions& mamba);
void Append(std::string& bytes, const LayerSpec& layer);
void Append(std::string& bytes, const LayerRun& run);
void Append(std::string& bytes, const Link& link);
void Append(std::string& bytes, const StageLimits& limits);
void Append(std::string& bytes, const PeakFlops& flops);
void Append(std::string& bytes, const DeviceEfficiency& efficiency);
void Append(std::string& bytes, const MeasuredOperator& measured);
void Append(std::string& bytes, const MeasuredLayer& measured);
void Append(std::string& bytes, const CollectivePoint& point);
void Append(std::string& bytes, const MeasuredCollective& collective);
void Append(std::string& bytes, const HostLink& host);
void Append(std::string& bytes, const DeviceSpec& device);

template <typename T>
void Append(std::string& bytes, const std::vector<T>& list) {
  AppendCount(bytes, list.size());
  for (const T& value : list) Append(bytes, value);
}

template <typename T>
void Append(std::string& bytes, const SharedList<T>& list) {
  Append(bytes, list.list());
}

template <typename... Fields>
void AppendAll(std::string& bytes, const Fields&... fields) {
  (Append(bytes, fields), ...);
}

// Structured bindings must name every field, so a new field does not compile
// until it is appended here.

void Append(std::string& bytes, const MambaDimensions& mamba) {
  const auto& [inner_size, head_dim, groups, state_size, conv_kernel, dt_rank,
               inner_norms] = mamba;
  AppendAll(bytes, inner_size, head_dim, groups, state_size, conv_kernel,
            dt_rank, inner_norms);
}

constexpr int32_t kLatentMark = -1;

void Append(std::string& bytes, const LayerSpec& layer) {
  const auto& [kind, hidden_size, mixer, no_mlp, num_heads, num_kv_heads,
               head_dim, value_head_dim, sliding_window, q_lora_rank,
               kv_lora_rank, rope_head_dim, mamba, ffn_hidden_size, gated_mlp,
               num_experts, experts_per_token, expert_ffn_hidden_size,
               shared_expert_ffn_hidden_size, expert_latent_size,
               expert_capacity_factor, expert_group_tokens, vocab_size,
               max_position_embeddings, tied_embeddings, linear_bias, norm_bias,
               qkv_bias, qk_norm] = layer;
  // Layers without it keep the bytes that they had before there was one: a mark
  // that is no kind tells the others.
  if (expert_latent_size != 0)
    AppendAll(bytes, kLatentMark, expert_latent_size);
  AppendAll(bytes, kind, hidden_size, mixer, no_mlp, num_heads, num_kv_heads,
            head_dim, value_head_dim, sliding_window, q_lora_rank, kv_lora_rank,
            rope_head_dim, mamba, ffn_hidden_size, gated_mlp, num_experts,
            experts_per_token, expert_ffn_hidden_size,
            shared_expert_ffn_hidden_size, expert_capacity_factor,
            expert_group_tokens, vocab_size, max_position_embeddings,
            tied_embeddings, linear_bias, norm_bias, qkv_bias, qk_norm);
}

void Append(std::string& bytes, const LayerRun& run) {
  const auto& [layer, count] = run;
  AppendAll(bytes, layer, count);
}

void Append(std::string& bytes, const Link& link) {
  const auto& [bandwidth, pair_bandwidth, latency_s] = link;
  AppendAll(bytes, bandwidth, pair_bandwidth, latency_s);
}

void Append(std::string& bytes, const StageLimits& limits) {
  const auto& [tp, cp, dp, gpus_per_stage, max_stages, each_depth, ep,
               max_zero_stage, zero_stage, zero_degree, no_sequence_parallel,
               no_offload, residual_cuts, closed_recompute, recompute] = limits;
  AppendAll(bytes, tp, cp, dp, gpus_per_stage, max_stages, each_depth, ep,
            max_zero_stage, zero_stage.value_or(-1), zero_degree,
            no_sequence_parallel, no_offload, residual_cuts, closed_recompute,
            recompute.has_value(), recompute.value_or(LayerRecompute::kNone));
}

void Append(std::string& bytes, const PeakFlops& flops) {
  const auto& [fp32, fp16, bf16, fp8] = flops;
  AppendAll(bytes, fp32, fp16, bf16, fp8);
}

void Append(std::string& bytes, const DeviceEfficiency& efficiency) {
  const auto& [gemm_max_fraction, gemm_half_flops, attention_fraction,
               memory_fraction, kernel_launch_s, host_launch_s,
               unaligned_penalty, odd_penalty, overlap_penalty, copy_penalty,
               duplex_penalty, reserved_bytes, fragmentation] = efficiency;
  AppendAll(bytes, gemm_max_fraction, gemm_half_flops, attention_fraction,
            memory_fraction, kernel_launch_s, host_launch_s, unaligned_penalty,
            odd_penalty, overlap_penalty, copy_penalty, duplex_penalty,
            reserved_bytes, fragmentation);
}

void Append(std::string& bytes, const MeasuredOperator& measured) {
  const auto& [key, forward_s, backward_s] = measured;
  AppendAll(bytes, key, forward_s, backward_s);
}

void Append(std::string& bytes, const MeasuredLayer& measured) {
  const auto& [key, samples, forward_s, backward_s, collectives_included,
               saved_bytes, optimizer_s, state_bytes] = measured;
  AppendAll(bytes, key, samples, forward_s, backward_s, collectives_included,
            saved_bytes, optimizer_s, state_bytes);
}

void Append(std::string& bytes, const CollectivePoint& point) {
  const auto& [size_bytes, seconds] = point;
  AppendAll(bytes, size_bytes, seconds);
}

void Append(std::string& bytes, const MeasuredCollective& collective) {
  const auto& [op, ranks, nodes, points] = collective;
  AppendAll(bytes, op, ranks, nodes, points);
}

void Append(std::string& bytes, const HostLink& host) {
  const auto& [bandwidth, memory_bytes] = host;
  AppendAll(bytes, bandwidth, memory_bytes);
}

void Append(std::string& bytes, const DeviceSpec& device) {
  const auto& [type, peak_flops, memory_bytes, memory_bandwidth,
               supports_flash_attention, collective_library, host, efficiency,
               measured, measured_layers, collectives] = device;
  AppendAll(bytes, type, peak_flops, memory_bytes, memory_bandwidth,
            supports_flash_attention, collective_library, host, efficiency,
            measured, measured_layers, collectives);
}

}  // namespace

void AppendCanonical(std::string& bytes, int32_t value) {
  Append(bytes, value);
}

void AppendCanonical(std::string& bytes, int64_t value) {
  Append(bytes, static_cast<uint64_t>(value));
}

void AppendCanonical(std::string& bytes, absl::string_view text) {
  AppendCount(bytes, text.size());
  bytes.append(text.data(), text.size());
}

void AppendCanonical(std::string& bytes, AtomRange atoms) {
  const auto& [begin, end] = atoms;
  AppendAll(bytes, begin, end);
}

void AppendCanonicalRuns(std::string& bytes, const ModelSlice& slice) {
  // The fingerprint depends only on the runs.
  const auto& [atoms, runs, fingerprint] = slice;
  Append(bytes, runs);
}

void AppendCanonical(std::string& bytes, const ModelSpec& model) {
  // No answer depends on the details.
  const auto& [name, layers, details] = model;
  Append(bytes, name);
  AppendCanonicalRuns(bytes, MakeSlice({0, model.num_layers()}, layers));
}

void AppendCanonical(std::string& bytes, const IslandSpec& island) {
  const auto& [device, num_nodes, gpus_per_node, intra_node, inter_node,
               limits] = island;
  AppendAll(bytes, device, num_nodes, gpus_per_node, intra_node, inter_node,
            limits);
}

void AppendCanonical(std::string& bytes, const TrainingOptions& training) {
  const auto& [global_batch_size, sequence_length, precision, optimizer,
               flash_attention, dropout, fp32_gradients, overlap_grad_reduce,
               blocking_transfers, buffered_sends, gradient_copy, bf16_moments,
               fused_loss] = training;
  AppendAll(bytes, global_batch_size, sequence_length, precision, optimizer,
            flash_attention, dropout, fp32_gradients, overlap_grad_reduce,
            blocking_transfers, buffered_sends, gradient_copy, bf16_moments,
            fused_loss);
}

}  // namespace tangram
