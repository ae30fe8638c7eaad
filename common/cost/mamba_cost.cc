#include <algorithm>

#include "common/cost/operator_work.h"

namespace tangram {
namespace {

constexpr double kStateBytes = 4;  // States and scores are in fp32.

// Tokens of a chunk in which Mamba-2 computes scores directly (Megatron-LM's
// chunk_size).
constexpr double kChunkTokens = 128;

// Operations of the selective scan for each channel and number of its state:
// the decay's exponential, on special units of a quarter of the speed (8), and
// the products and sums of decay, input, recurrence and output, with those that
// combine the parts of the sequence (10). The backward pass runs the recurrence
// again, then in reverse, with products for six gradients. An estimate after
// the steps of the kernels of state-spaces/mamba (csrc/selective_scan).
constexpr double kScanOps = 18;
constexpr double kScanBackwardOps = 45;

// The scan saves the state of every channel at the end of each block of tokens.
constexpr double kSavedBlockTokens = 2048;

// Returns the seconds of kernels that compute on `flops` and move `bytes`
// between them, at `s_per_flop`.
double KernelsSeconds(double flops, double s_per_flop, double bytes,
                      const KernelRates& rates) {
  return flops * s_per_flop + bytes * rates.s_per_byte + rates.launch_s;
}

// Returns the time of one operation outside tensor cores. Where the fp32 rate
// is that of tensor cores or unknown, the attention rate stands for it.
double ScalarSeconds(const KernelRates& rates) {
  return std::max(rates.scalar_s_per_flop, rates.attention_s_per_flop);
}

// Adds the all-to-alls around the scan: before it, ranks change a part of the
// sequence and all their channels for the whole and a part (Megatron-LM,
// mamba_context_parallel.py); after it they change back. The backward pass
// mirrors both.
void AddSequenceExchange(const LayerScope& scope, double elements,
                         OperatorWork& work) {
  if (scope.cp_group.size == 1) return;
  const double exchange_s =
      AllToAllSeconds(scope.tokens * elements * scope.element_bytes,
                      scope.cp_group, scope.environment.wiring);
  work.forward_comm_s += exchange_s;
  work.backward_comm_s += exchange_s;
}

// The first projection is split by columns, each part of its output on its own.
OperatorWork InProjectionWork(const LayerScope& scope) {
  const double out = MambaElementsOnGpu(scope).projected(scope.layer.mixer);
  // Repeated groups are repeated after the projection.
  const double columns = ElementsOf(scope.layer.mixer, scope.layer.mamba)
                             .projected(scope.layer.mixer) /
                         scope.tp;
  OperatorWork work = ProjectionWork(scope, OpKind::kMambaInProjection,
                                     1.0 * scope.layer.hidden_size, columns);
  AddColumnParallelComm(scope, work);
  AddSequenceExchange(scope, out, work);
  return work;
}

// Reads x (in Mamba-2 also B and C) and writes as much. Mamba-2's backward pass
// computes it again instead of keeping its output. Its input is kept with the
// gate, which the scan needs.
OperatorWork ConvolutionWork(const LayerScope& scope) {
  const MixerKind kind = scope.layer.mixer;
  const double bytes = scope.tokens * scope.element_bytes *
                       MambaElementsOnGpu(scope).convolved(kind);
  const double again = kind == MixerKind::kMamba2 ? 2 : 0;
  return {.forward_compute_s = PassSeconds(2 * bytes, scope.rates),
          .backward_compute_s = PassSeconds((3 + again) * bytes, scope.rates),
          .parameters =
              ParameterCount(scope.layer, OpKind::kMambaConvolution) / scope.tp,
          .keeps_input = true};
}

// From the channels to B, C and the low rank of the time steps, then from this
// to a time step for each channel. Ranks hold a part of the channels: they add
// up the first product, and its gradient.
OperatorWork StepProjectionWork(const LayerScope& scope) {
  const MambaDimensions& mamba = scope.layer.mamba;
  const MambaElements elements = MambaElementsOnGpu(scope);
  const double e = scope.element_bytes;
  const double low_rank = elements.time_steps + elements.matrices;
  const double small_bytes = scope.tokens * e * low_rank;
  OperatorWork work = MatmulWork(
      GemmSeconds({.m = scope.tokens, .k = elements.channels, .n = low_rank}, e,
                  scope.rates) +
      GemmSeconds(
          {.m = scope.tokens, .k = elements.time_steps, .n = elements.channels},
          e, scope.rates));
  if (mamba.inner_norms) {
    work.forward_compute_s += PassSeconds(2 * small_bytes, scope.rates);
    work.backward_compute_s += PassSeconds(5 * small_bytes, scope.rates);
  }
  const double sum_s =
      AllReduceSeconds(small_bytes, scope.tp_group, scope.environment.wiring);
  work.forward_comm_s = work.backward_comm_s = sum_s;
  work.parameters =
      ParameterCount(scope.layer, OpKind::kMambaStepProjection) / scope.tp;
  // The convolution's output, and the small elements before and after norms.
  work.kept_bytes = scope.tokens * e * elements.channels +
                    small_bytes * (mamba.inner_norms ? 2 : 1);
  return work;
}

// Mamba's selective scan (2312.00752 §3.3): one kernel reads x, the gate, time
// steps, B and C and writes the output with and without the gate. States never
// leave the chip. The backward pass reads these and the gradient, and writes a
// gradient for each.
OperatorWork SelectiveScanWork(const LayerScope& scope) {
  const MambaElements elements = MambaElementsOnGpu(scope);
  const double n = scope.layer.mamba.state_size;
  const double e = scope.element_bytes;
  const double states = scope.tokens * elements.channels * n;
  const double channel_bytes = scope.tokens * e * elements.channels;
  const double matrix_bytes = scope.tokens * e * elements.matrices;
  const double scalar_s = ScalarSeconds(scope.rates);
  return {
      .forward_compute_s =
          KernelsSeconds(kScanOps * states, scalar_s,
                         5 * channel_bytes + matrix_bytes, scope.rates),
      .backward_compute_s =
          KernelsSeconds(kScanBackwardOps * states, scalar_s,
                         8 * channel_bytes + 3 * matrix_bytes, scope.rates),
      .parameters = ParameterCount(scope.layer, OpKind::kMambaScan) / scope.tp,
      // Time steps, the output before the gate, and states between blocks.
      .kept_bytes =
          2 * channel_bytes + 2 * kStateBytes * states / kSavedBlockTokens};
}

// Mamba-2's chunked scan (2405.21060 §6): with G groups, E channels, a state of
// N and chunks of Q tokens, a token takes, in multiplications,
//   G Q N    scores of C with B in the chunk,
//   E Q      scores with x,
//   2 E N    states of chunks from B and x, and outputs from C and states.
// Kernels of their own read x, B and C, and pass states and scores in fp32
// through memory. Backward, each product has two, and the first and the states
// are computed again.
OperatorWork ChunkedScanWork(const LayerScope& scope) {
  const MambaElements elements = MambaElementsOnGpu(scope);
  const double n = scope.layer.mamba.state_size;
  const double e = scope.element_bytes;
  const double q = std::min<double>(kChunkTokens,
                                    scope.environment.training.sequence_length);
  const double scores = elements.matrices / 2 * q;  // G Q N.
  const double states = elements.channels * n;      // E N.
  const double forward_flops =
      2 * scope.tokens * (scores + elements.channels * q + 2 * states);
  const double again_flops = 2 * scope.tokens * (scores + states);
  const double state_bytes = scope.tokens / q * states * kStateBytes;
  const double score_bytes = scope.tokens * scores / n * kStateBytes;
  // x and the gate are read, x once more for the states; the output is written
  // with and without the gate.
  const double forward_bytes =
      scope.tokens * (e * (5 * elements.channels + 2 * elements.matrices) +
                      3 * kStateBytes * elements.time_steps) +
      4 * state_bytes + 2 * score_bytes;
  const double attention_s = scope.rates.attention_s_per_flop;
  OperatorWork work = {
      .forward_compute_s = KernelsSeconds(forward_flops, attention_s,
                                          forward_bytes, scope.rates),
      .backward_compute_s =
          KernelsSeconds(2 * forward_flops + again_flops, attention_s,
                         3 * forward_bytes, scope.rates),
      .parameters = ParameterCount(scope.layer, OpKind::kMambaScan) / scope.tp,
      // The output before the gate.
      .kept_bytes = scope.tokens * e * elements.channels,
      // Backward: states and their gradients, and the convolution's output and
      // gradient.
      .workspace_bytes =
          2 * state_bytes +
          2 * scope.tokens * e * elements.convolved(scope.layer.mixer)};
  AddSequenceExchange(scope, elements.channels, work);
  return work;
}

// Groups have a norm of their own, so ranks exchange nothing.
OperatorWork InnerNormWork(const LayerScope& scope) {
  const double bytes =
      scope.tokens * scope.element_bytes * MambaElementsOnGpu(scope).channels;
  return {.forward_compute_s = PassSeconds(2 * bytes, scope.rates),
          .backward_compute_s = PassSeconds(5 * bytes, scope.rates),
          .parameters =
              ParameterCount(scope.layer, OpKind::kMambaInnerNorm) / scope.tp,
          .keeps_input = true};
}

OperatorWork OutProjectionWork(const LayerScope& scope) {
  OperatorWork work = ProjectionWork(scope, OpKind::kMambaOutProjection,
                                     MambaElementsOnGpu(scope).channels,
                                     1.0 * scope.layer.hidden_size);
  AddRowParallelComm(scope, work);
  return work;
}

}  // namespace

MambaElements MambaElementsOnGpu(const LayerScope& scope) {
  const MixerKind kind = scope.layer.mixer;
  MambaElements elements = ElementsOf(kind, scope.layer.mamba);
  elements.channels /= scope.tp;
  if (kind != MixerKind::kMamba2) return elements;  // Ranks repeat the rest.
  const double groups = scope.layer.mamba.groups;
  elements.time_steps /= scope.tp;
  // The scan has as many groups as cp ranks, at least.
  elements.matrices *=
      std::max(groups / scope.tp, 1.0 * scope.cp_group.size) / groups;
  return elements;
}

double MambaInputElements(const MambaElements& elements, MixerKind kind,
                          OpKind op) {
  switch (op) {
    case OpKind::kMambaConvolution:
      return elements.projected(kind);
    case OpKind::kMambaStepProjection:
      return 2 * elements.channels;
    case OpKind::kMambaScan:
      return kind == MixerKind::kMamba2
                 ? elements.projected(kind)
                 : 3 * elements.channels + elements.matrices;
    default:
      return elements.channels;
  }
}

OperatorWork MambaWork(const LayerScope& scope, OpKind op) {
  switch (op) {
    case OpKind::kMambaInProjection:
      return InProjectionWork(scope);
    case OpKind::kMambaConvolution:
      return ConvolutionWork(scope);
    case OpKind::kMambaStepProjection:
      return StepProjectionWork(scope);
    case OpKind::kMambaScan:
      return scope.layer.mixer == MixerKind::kMamba2 ? ChunkedScanWork(scope)
                                                     : SelectiveScanWork(scope);
    case OpKind::kMambaInnerNorm:
      return InnerNormWork(scope);
    default:
      return OutProjectionWork(scope);
  }
}

}  // namespace tangram
