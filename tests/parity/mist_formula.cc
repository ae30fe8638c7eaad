#include "tests/parity/mist_formula.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace tangram::mist::reference {
namespace {

constexpr double kMbPerGb = 1024;
constexpr double kNothingGb = 1e-5;  // Transfers of less take no time.

// Costs relative to an all-gather.
constexpr double kAllGather = 1.0;
constexpr double kReduceScatter = 1.1;
constexpr double kAllReduce = 2.1;

double MegaBytes(double parameters, int bytes_each) {
  return parameters * bytes_each / (1 << 20);
}

double CopySeconds(double mb, const Channel& channel) {
  const double gb = mb / kMbPerGb;
  return gb < kNothingGb ? 0 : gb / channel.gb_per_s + channel.latency_s;
}

double CollectiveSeconds(const Hardware& hardware, const Stage& stage,
                         double mb, double multiple) {
  const double gb = mb / kMbPerGb;
  const int ranks = stage.policy.dp;
  if (gb < kNothingGb || ranks == 1) return 0;
  const int nodes = std::min(ranks, stage.nodes);
  const auto log2 = [](int n) { return std::bit_width(unsigned(n)) - 1; };
  const Channel& channel =
      hardware.between_gpus[log2(nodes)][log2(ranks / nodes)];
  return multiple *
         (gb / channel.gb_per_s * (ranks - 1) / ranks + channel.latency_s);
}

double BackwardSeconds(const PieceSeconds& piece, int num_microbatches) {
  return piece.backward +
         piece.accumulate * (num_microbatches - 1) / num_microbatches;
}

// The seconds of a block that do not depend on the layer's place in the stage.
struct Block {
  double forward = 0;
  double backward[2] = {};  // By whether it is recomputed, as below.
  double gather = 0;        // Gathers the block's weights.
  double scatter = 0;       // Reduces its gradients.
  double reduce = 0;  // Reduces them as the optimizer's sharding requires.
  double weights_in = 0, weights_out = 0;
  double gradients_in = 0, gradients_out = 0;
  double optimizer_in = 0, optimizer_out = 0;
  double saved_in[2] = {}, saved_out[2] = {};
};

Block BlockOf(const Hardware& hardware, const PieceTable& seconds,
              const ModelSizes& sizes, const Stage& stage) {
  const Policy& p = stage.policy;
  const double weights = MegaBytes(sizes.block_parameters, 2);
  const double optimizer = MegaBytes(sizes.block_parameters, 12);
  const auto shard = [&](bool sharded) { return sharded ? p.dp : 1; };
  const auto in = [&](double mb) { return CopySeconds(mb, hardware.to_gpu); };
  const auto out = [&](double mb) { return CopySeconds(mb, hardware.to_host); };
  const auto collective = [&](double multiple) {
    return CollectiveSeconds(hardware, stage, weights, multiple);
  };
  const double swapped_weights =
      weights / shard(p.shard_weights) * p.offload_weights;
  const double swapped_gradients =
      weights / shard(p.shard_gradients) * p.offload_gradients;
  const double swapped_optimizer =
      optimizer / shard(p.shard_optimizer) * p.offload_optimizer;
  Block block = {
      .forward = seconds.block.forward,
      .gather = collective(kAllGather),
      .scatter = collective(kReduceScatter),
      .reduce = collective(p.shard_optimizer ? kReduceScatter : kAllReduce),
      .weights_in = in(swapped_weights),
      .weights_out = out(swapped_weights),
      .gradients_in = in(swapped_gradients),
      .gradients_out = out(swapped_gradients),
      .optimizer_in = in(swapped_optimizer),
      .optimizer_out = out(swapped_optimizer)};
  for (const int recomputed : {0, 1}) {
    block.backward[recomputed] =
        BackwardSeconds(seconds.block, stage.num_microbatches) +
        recomputed * block.forward;
    const double saved =
        p.samples * p.offload_activations *
        (recomputed ? sizes.saved_recomputed_mb : sizes.saved_mb);
    block.saved_in[recomputed] = in(saved);
    block.saved_out[recomputed] = out(saved);
  }
  return block;
}

// Adds the passes of the first forward and the last backward pass of an
// iteration (`outer`), or of all others. While a block computes, its successor
// is fetched and its predecessor stored.
void AddPasses(const Hardware& hardware, const Block& block,
               const Policy& policy, bool outer, BlockPasses& passes) {
  const auto overlap = [&](double compute, double between, double in,
                           double out) {
    return OverlapSeconds(hardware, {compute, between, in, out});
  };
  const double fetch_gather =
      block.gather * (outer ? policy.shard_optimizer : policy.shard_weights);
  const double fetch_in =
      outer ? block.optimizer_in + block.gradients_in : block.weights_in;
  const double put_away = outer ? block.optimizer_out + block.weights_out : 0;
  const double gather = block.gather * policy.shard_weights;
  const double reduce =
      outer ? block.reduce : block.scatter * policy.shard_gradients;
  const double state_in = block.weights_in + block.gradients_in;
  for (const int r : {0, 1}) {
    const double out = put_away + block.saved_out[r];
    const double in = state_in + block.saved_in[r];
    passes.middle[outer][r] =
        overlap(block.forward, fetch_gather, fetch_in, out) +
        overlap(block.backward[r], gather + reduce, in, block.gradients_out);
    // The first block and the transfers that it waits for.
    passes.first[outer][r] =
        overlap(0, fetch_gather, fetch_in, 0) +
        overlap(block.forward, fetch_gather, fetch_in, 0) +
        overlap(block.backward[r], reduce, 0, block.gradients_out) +
        overlap(0, reduce, 0, block.gradients_out);
    passes.last[outer][r] = overlap(block.forward, 0, 0, out) + out +
                            overlap(0, gather, in, 0) +
                            overlap(block.backward[r], gather, in, 0);
  }
}

double BlocksSeconds(const BlockPasses& passes, const Stage& stage,
                     bool outer) {
  // A quirk: for a single block, both ends count.
  const int inner = std::max(0, stage.layers - 2);
  const int recomputed = std::clamp(stage.recomputed - 1, 0, inner);
  return recomputed * passes.middle[outer][1] +
         (inner - recomputed) * passes.middle[outer][0] +
         passes.first[outer][stage.recomputed == stage.layers] +
         passes.last[outer][stage.recomputed > 0];
}

// The weights and gradients of the pre and post layers are never sharded or
// offloaded. Their state is gathered and reduced once an iteration.
void AddPre(const Hardware& hardware, const PieceTable& seconds,
            const ModelSizes& sizes, const Stage& stage,
            StageFigures& figures) {
  const double weights = MegaBytes(sizes.outer_parameters, 2);
  figures.steady_s += seconds.pre.forward +
                      BackwardSeconds(seconds.pre, stage.num_microbatches);
  figures.extra_s +=
      CollectiveSeconds(hardware, stage, weights, kAllGather) +
      CollectiveSeconds(hardware, stage, weights, kReduceScatter);
}

// As far as they fit, the collectives overlap the last block's passes, and the
// transfers of the last block overlap the post layers' backward pass.
void AddPost(const Hardware& hardware, const PieceTable& seconds,
             const ModelSizes& sizes, const BlockPasses& passes,
             const Stage& stage, StageFigures& figures) {
  const double weights = MegaBytes(sizes.outer_parameters, 2);
  const bool r = stage.recomputed > 0;
  figures.steady_s +=
      seconds.post.forward +
      std::max(0.0, BackwardSeconds(seconds.post, stage.num_microbatches) -
                        passes.credit);
  figures.extra_s +=
      std::max(0.0, CollectiveSeconds(hardware, stage, weights, kAllGather) -
                        passes.forward_slack[r]) +
      std::max(0.0,
               CollectiveSeconds(hardware, stage, weights, kReduceScatter) -
                   passes.backward_slack[r]);
}

struct Peaks {
  double forward = 0;
  double backward = 0;
};

// Weights, gradients and optimizer state of the blocks, and buffers for what is
// gathered or fetched. In the forward pass, a whole block's optimizer state is
// on the GPU. A quirk: the result is rounded down to MB.
Peaks StateOf(const ModelSizes& sizes, const Stage& stage) {
  const Policy& p = stage.policy;
  const auto shard = [&](bool sharded) { return sharded ? p.dp : 1; };
  const double weights = MegaBytes(sizes.block_parameters, 2);
  const double optimizer =
      MegaBytes(sizes.block_parameters, 12) / shard(p.shard_optimizer);
  const double largest =
      MegaBytes(std::max(sizes.block_parameters, sizes.outer_parameters), 2);
  const double buffers =
      2 * largest *
      ((p.shard_weights || p.offload_weights > 0 ? 1 : 0) +
       (p.shard_gradients || p.offload_gradients > 0 ? 1 : 0));
  const double kept_weights =
      weights / shard(p.shard_weights) * (1 - p.offload_weights);
  const double kept_gradients =
      weights / shard(p.shard_gradients) * (1 - p.offload_gradients);
  const double kept_optimizer = optimizer * (1 - p.offload_optimizer);
  const double kept = buffers + stage.layers * (kept_weights + kept_gradients);
  return {.forward = kept + std::floor(optimizer) +
                     (stage.layers - 1) * kept_optimizer,
          .backward = kept + stage.layers * kept_optimizer};
}

double OuterStateMb(const ModelSizes& sizes, const Policy& policy) {
  return 2 * MegaBytes(sizes.outer_parameters, 2) +
         MegaBytes(sizes.outer_parameters, 12) /
             (policy.shard_optimizer ? policy.dp : 1);
}

// A stage with the post layers has no stage behind it.
Peaks WithPost(const ModelSizes& sizes, const Stage& stage, const Peaks& state,
               double saved_mb, const Peaks& blocks) {
  // Calibrated in the reference runs on the peaks in Mist's README.
  constexpr double kForwardBeyondLogits = 0.296875;
  constexpr double kBackwardBeyondLogits = 312.125;
  const Policy& p = stage.policy;
  const double outer = OuterStateMb(sizes, p);
  const double scores = p.samples * sizes.scores_mb;
  const double output = p.samples * sizes.output_mb;
  const double refetched =
      stage.recomputed == 0 ? p.samples * p.offload_activations * sizes.saved_mb
                            : 0;
  return {.forward = outer + std::max(blocks.forward,
                                      state.forward + saved_mb + scores +
                                          p.samples * 2 * sizes.logits_mb +
                                          output + kForwardBeyondLogits),
          .backward =
              outer + std::max(blocks.backward - output,
                               state.backward + saved_mb + refetched + scores +
                                   p.samples * 2 * sizes.logits_mb +
                                   kBackwardBeyondLogits)};
}

Peaks PeaksOf(const ModelSizes& sizes, const Stage& stage) {
  const Policy& p = stage.policy;
  const double kept = p.samples * (1 - p.offload_activations);
  const int whole = stage.layers - stage.recomputed;
  const double saved_mb = kept * (stage.recomputed * sizes.saved_recomputed_mb +
                                  whole * sizes.saved_mb);
  // The running block's activations are in its own peak.
  const double of_running =
      kept * (whole == 0 ? sizes.saved_recomputed_mb : sizes.saved_mb);
  const double in_transit =
      p.samples * p.offload_activations *
      (whole > 1 ? sizes.saved_mb : sizes.saved_recomputed_mb);
  const double output = p.samples * sizes.output_mb;
  const double common = (stage.stages_behind + 1) * saved_mb - of_running +
                        in_transit + 2 * stage.stages_behind * output +
                        p.samples * sizes.scores_mb;
  const Peaks state = StateOf(sizes, stage);
  Peaks peaks = {.forward = state.forward + common +
                            p.samples * sizes.block_forward_peak_mb,
                 .backward = state.backward + common + 2 * output +
                             p.samples * sizes.block_backward_peak_mb};
  if (stage.has_post) peaks = WithPost(sizes, stage, state, saved_mb, peaks);
  if (stage.has_pre) {
    const double pre = OuterStateMb(sizes, p) + (stage.stages_behind + 1) *
                                                    p.samples *
                                                    sizes.pre_saved_mb;
    peaks.forward += pre;
    peaks.backward += pre;
  }
  return peaks;
}

}  // namespace

double OverlapSeconds(const Hardware& hardware, Activities activities) {
  double seconds = 0;
  while (true) {
    unsigned set = 0;
    for (int i = 0; i < kActivities; ++i) {
      if (activities[i] > 0) set |= 1u << i;
    }
    if (std::popcount(set) < 2) break;
    const Activities& slowdown = hardware.slowdown[set];
    int first = -1;
    for (int i = 0; i < kActivities; ++i) {
      if ((set >> i & 1) == 0) continue;
      if (first < 0 ||
          activities[i] * slowdown[i] < activities[first] * slowdown[first]) {
        first = i;
      }
    }
    const double slice = activities[first] * slowdown[first];
    seconds += slice;
    for (int i = 0; i < kActivities; ++i) {
      if ((set >> i & 1) == 0) continue;
      const double left = activities[i] * slowdown[i] - slice;
      activities[i] = left > 0 ? left / slowdown[i] : 0;
    }
  }
  for (const double left : activities) seconds += left;
  return seconds;
}

BlockPasses PassesOf(const Hardware& hardware, const PieceTable& seconds,
                     const ModelSizes& sizes, const Stage& stage) {
  const Block block = BlockOf(hardware, seconds, sizes, stage);
  const double gather = block.gather * stage.policy.shard_weights;
  const double state_in = block.weights_in + block.gradients_in;
  BlockPasses passes;
  AddPasses(hardware, block, stage.policy, false, passes);
  AddPasses(hardware, block, stage.policy, true, passes);
  for (const int r : {0, 1}) {
    passes.forward_slack[r] = std::max(0.0, block.forward - block.saved_out[r]);
    passes.backward_slack[r] = std::max(
        0.0, block.backward[r] - gather - state_in - block.saved_in[r]);
  }
  // A quirk: the last block counts as recomputed in every case.
  passes.credit =
      OverlapSeconds(hardware, {0, gather, state_in + block.saved_in[1], 0});
  return passes;
}

StageFigures Evaluate(const Hardware& hardware, const PieceTable& seconds,
                      const ModelSizes& sizes, const Stage& stage) {
  return Evaluate(hardware, seconds, sizes, stage,
                  PassesOf(hardware, seconds, sizes, stage));
}

StageFigures Evaluate(const Hardware& hardware, const PieceTable& seconds,
                      const ModelSizes& sizes, const Stage& stage,
                      const BlockPasses& passes) {
  const double steady = BlocksSeconds(passes, stage, false);
  StageFigures figures = {
      .steady_s = steady,
      .extra_s = BlocksSeconds(passes, stage, true) - steady};
  if (stage.has_pre) AddPre(hardware, seconds, sizes, stage, figures);
  if (stage.has_post) {
    AddPost(hardware, seconds, sizes, passes, stage, figures);
  }
  const Peaks peaks = PeaksOf(sizes, stage);
  figures.forward_peak_mb = peaks.forward;
  figures.backward_peak_mb = peaks.backward;
  return figures;
}

double TransferSeconds(const Hardware& hardware, const ModelSizes& sizes,
                       const Stage& stage) {
  constexpr int kGpusPerNode = 8;
  const bool whole_nodes =
      stage.nodes > 1 || stage.gpus_per_node == kGpusPerNode;
  const Channel& channel =
      whole_nodes ? hardware.between_gpus[1][0] : hardware.between_gpus[0][1];
  return 2 * stage.policy.samples * sizes.output_mb / kMbPerGb /
         channel.gb_per_s;
}

double MemoryFactor(const Policy& policy, int stage, int num_stages) {
  const bool middle = stage > 0 && stage + 1 < num_stages;
  return 1 + 0.025 * (policy.offload_weights > 0) +
         0.025 * (policy.offload_gradients > 0) +
         0.03 * (policy.offload_optimizer > 0) +
         0.04 * (policy.offload_activations > 0) +
         0.025 * policy.shard_weights + 0.025 * policy.shard_gradients +
         0.01 * (policy.samples >= 4) + 0.025 * (num_stages > 1) +
         0.01 * middle;
}

}  // namespace tangram::mist::reference
