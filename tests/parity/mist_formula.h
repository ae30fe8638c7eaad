#ifndef TANGRAM_TESTS_PARITY_MIST_FORMULA_H_
#define TANGRAM_TESTS_PARITY_MIST_FORMULA_H_

#include <array>

// Mist's own model of a stage (2503.19050), which scores Mist's plans and ours
// alike. Words, units (MB = 2^20 bytes, GB = 1,024 MB) and quirks are Mist's.
// The quirks are labelled.
namespace tangram::mist::reference {

// seconds = GB / gb_per_s + latency_s
struct Channel {
  double gb_per_s = 0;
  double latency_s = 0;
};

// Activities that a GPU runs at the same time.
enum Activity { kCompute, kBetweenGpus, kToGpu, kToHost };
inline constexpr int kActivities = 4;
using Activities =
    std::array<double, kActivities>;  // Seconds of each activity alone.

struct Hardware {
  double capacity_mb = 0;
  // By log2 of the number of nodes and of the GPUs in each.
  std::array<std::array<Channel, 4>, 4> between_gpus;
  Channel to_gpu;
  Channel to_host;
  // By set of activities (bit i: activity i): the factor by which each slows
  // down while exactly this set runs.
  std::array<Activities, 1 << kActivities> slowdown;
};

// Returns the seconds until all activities end. Concurrent ones slow each other
// down, and the set shrinks as they end.
double OverlapSeconds(const Hardware& hardware, Activities activities);

// Seconds of one layer, or of the layers before or after all blocks ("pre" and
// "post"), for `b` samples.
struct PieceSeconds {
  double forward = 0;
  double backward = 0;
  double accumulate = 0;  // Adding up gradients; (G − 1) / G of it is paid.
};

struct PieceTable {
  PieceSeconds block;
  PieceSeconds pre;
  PieceSeconds post;
};

// GPT-3 1.3B with sequences of 2,048 tokens: the model of all reference runs.
struct ModelSizes {
  double block_parameters = 50339840;
  double outer_parameters = 103022592;  // Pre and post each.
  // MB for one sample.
  double saved_recomputed_mb = 8;
  double saved_mb = 384;
  double block_forward_peak_mb = 392;
  double block_backward_peak_mb = 512;
  double output_mb = 8;
  double pre_saved_mb = 1.0 / 64;
  double logits_mb = 196.5;
  double scores_mb = 128;  // 2 · heads · sequence² / 2^20.
};

// [b, dp, tp, ws, gs, os, wo, go, oo, ao]; tp is 1 in all reference runs.
struct Policy {
  int samples = 1;  // For each replica.
  int dp = 1;
  bool shard_weights = false;
  bool shard_gradients = false;
  bool shard_optimizer = true;
  double offload_weights = 0;
  double offload_gradients = 0;
  double offload_optimizer = 0;
  double offload_activations = 0;
};

struct Stage {
  int nodes = 1;
  int gpus_per_node = 1;
  int num_microbatches = 1;  // G.
  Policy policy;
  int layers = 1;      // L.
  int recomputed = 0;  // C.
  int stages_behind = 0;
  bool has_pre = false;
  bool has_post = false;
};

struct StageFigures {
  double steady_s = 0;  // T.
  double extra_s = 0;   // D.
  double forward_peak_mb = 0;
  double backward_peak_mb = 0;
};

StageFigures Evaluate(const Hardware& hardware, const PieceTable& seconds,
                      const ModelSizes& sizes, const Stage& stage);

// The part that depends on the policy alone: forward and backward pass of a
// block, by its place in the stage. Indices: whether the passes are the first
// forward and last backward pass of an iteration, then whether the block is
// recomputed.
struct BlockPasses {
  double middle[2][2] = {};
  double first[2][2] = {};
  double last[2][2] = {};
  // Time beside a stage's last block for the collectives of the post layers, by
  // whether it is recomputed, and the part of it that their backward pass
  // hides.
  double forward_slack[2] = {};
  double backward_slack[2] = {};
  double credit = 0;
};

BlockPasses PassesOf(const Hardware& hardware, const PieceTable& seconds,
                     const ModelSizes& sizes, const Stage& stage);
StageFigures Evaluate(const Hardware& hardware, const PieceTable& seconds,
                      const ModelSizes& sizes, const Stage& stage,
                      const BlockPasses& passes);

// Returns the seconds to the next stage and back, which are not part of T.
double TransferSeconds(const Hardware& hardware, const ModelSizes& sizes,
                       const Stage& stage);

// Returns the factor by which Mist scales a stage's peak before comparing it
// with the capacity.
double MemoryFactor(const Policy& policy, int stage, int num_stages);

}  // namespace tangram::mist::reference

#endif  // TANGRAM_TESTS_PARITY_MIST_FORMULA_H_
