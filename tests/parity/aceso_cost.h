#ifndef TANGRAM_TESTS_PARITY_ACESO_COST_H_
#define TANGRAM_TESTS_PARITY_ACESO_COST_H_

#include <array>
#include <map>
#include <utility>
#include <vector>

// The cost formula of Aceso (EuroSys 2024) for GPT models on measured
// operators. It scores the plans of both searches alike. Not part of the
// product.
namespace tangram::aceso::reference {

// Operators of a model: one before the layers, 13 in each layer, two after
// them.
inline constexpr int kOpsOfLayer = 13;
inline constexpr int kNumOperatorKinds = kOpsOfLayer + 3;
inline constexpr int kEmbedding = 0;
inline constexpr int kFirstNorm = 1;
inline constexpr int kSoftmax = 4;
inline constexpr int kDropout = 5;
inline constexpr int kHead = 15;

// One operator on one GPU, for one microbatch.
struct MeasuredOp {
  double forward_us = 1e6;  // The default stands for a missing measurement.
  double backward_us = 1e6;
  double input_mb = 0;
  double output_mb = 0;
  double weight_mb = 0;
  double activation_mb = 0;
  double forward_reserved_mb = 0;
  double backward_reserved_mb = 0;
};

using OperatorTable = std::array<MeasuredOp, kNumOperatorKinds>;

// A model on a cluster, and the measurements of both.
struct Setting {
  int num_layers = 0;
  int gpus_per_node = 0;
  int global_batch = 0;
  double memory_limit_mb = 0;
  // By samples on a GPU, and tp degree.
  std::map<std::pair<int, int>, OperatorTable> operators;
  // MB per µs at 1, 2, 4, ... MB.
  std::vector<double> intra_node_mb_per_us;
  std::vector<double> inter_node_mb_per_us;

  int num_ops() const { return kOpsOfLayer * num_layers + 3; }
};

int KindOfOp(const Setting& setting, int op);

struct ScoredStage {
  int num_ops = 0;
  int tp = 1;
  int dp = 1;
  std::vector<bool> recomputed;  // By operator.

  int num_gpus() const { return tp * dp; }
};

struct ScoredPlan {
  int microbatch = 0;  // Samples of all replicas together.
  std::vector<ScoredStage> stages;
};

struct StageScore {
  double forward_us = 0;
  double backward_us = 0;
  double recompute_us = 0;
  double receive_us = 0;
  double send_us = 0;
  double memory_mb = 0;
  double iteration_ms = 0;  // Iteration time if this stage is the bottleneck.
};

struct Score {
  std::vector<StageScore> stages;
  double iteration_ms = 0;
  double max_memory_mb = 0;
};

// Scores a plan. For B microbatches and stage times t:
//   iteration = max_i (t_i·(B − 1) + Σ_k t_k)
Score ScoreOf(const Setting& setting, const ScoredPlan& plan);

// Lets every stage recompute the operators that Aceso would, given cuts and
// degrees.
void ChooseRecompute(const Setting& setting, ScoredPlan& plan);

}  // namespace tangram::aceso::reference

#endif  // TANGRAM_TESTS_PARITY_ACESO_COST_H_
