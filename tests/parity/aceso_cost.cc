#include "tests/parity/aceso_cost.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace tangram::aceso::reference {
namespace {

// Bytes of model state for each byte of fp16 weights: fp16 with Adam in fp32,
// that is weights, their fp32 copy, gradients and two moments.
constexpr double kStateOfWeights = 1 + 2 + 1 + 4;

// Uses the bandwidth of half the size. Sizes below 1 MB count from the table's
// end.
double MbPerUs(const std::vector<double>& table, double size_mb) {
  if (size_mb <= 0) return 1;
  const int n = static_cast<int>(table.size());
  int k = static_cast<int>(std::log2(size_mb));
  if (k >= 1) --k;
  if (k < 0) k += n;
  return table[std::min(k, n - 1)];
}

// One stage in its place in a plan.
class StageModel {
 public:
  StageModel(const Setting& setting, const ScoredPlan& plan, int index)
      : setting_(setting), stage_(plan.stages[index]) {
    for (int i = 0; i < index; ++i) {
      first_op_ += plan.stages[i].num_ops;
      first_gpu_ += plan.stages[i].num_gpus();
    }
    in_flight_ = static_cast<int>(plan.stages.size()) - index;
    table_ = &setting.operators.at({plan.microbatch / stage_.dp, stage_.tp});
  }

  int num_ops() const { return stage_.num_ops; }
  int in_flight() const { return in_flight_; }
  int KindAt(int op) const { return KindOfOp(setting_, first_op_ + op); }
  const MeasuredOp& At(int op) const { return (*table_)[KindAt(op)]; }

  // Activations that an operator keeps. Softmax shares its output with dropout.
  double KeptMb(int op) const {
    const double mb = At(op).activation_mb;
    if (KindAt(op) == kSoftmax) return 0;
    return KindAt(op) == kDropout ? 1.5 * mb : mb;
  }

  StageScore Score() const {
    StageScore score;
    for (int op = 0; op < num_ops(); ++op) {
      score.forward_us += At(op).forward_us;
      score.backward_us += At(op).backward_us;
      if (stage_.recomputed[op]) score.recompute_us += At(op).forward_us;
    }
    const double in_mb = At(0).input_mb;
    const double out_mb = At(num_ops() - 1).output_mb;
    score.receive_us =
        in_mb / MbPerUs(LinkAt(first_gpu_, first_gpu_ > 0), in_mb);
    score.send_us =
        out_mb / MbPerUs(LinkAt(first_gpu_ + stage_.num_gpus(), true), out_mb);
    score.memory_mb = MemoryMb();
    return score;
  }

  // Weights and optimizer, activations in flight, one recomputed segment, and
  // the allocator's reserve.
  double MemoryMb() const {
    double weights = 0;
    double kept = At(0).input_mb;
    double forward_reserved = 0;
    double backward_reserved = 0;
    for (int op = 0; op < num_ops(); ++op) {
      weights += At(op).weight_mb;
      kept += KeptMb(op);
      if (op + 1 == num_ops()) break;
      forward_reserved = std::max(forward_reserved, At(op).forward_reserved_mb);
      backward_reserved =
          std::max(backward_reserved, At(op).backward_reserved_mb);
    }
    const double reserved =
        std::max(forward_reserved + backward_reserved, weights);
    return kStateOfWeights * weights + in_flight_ * (kept - SavedMb()) +
           LargestSegmentMb() + reserved;
  }

 private:
  const std::vector<double>& LinkAt(int gpu, bool may_cross) const {
    return may_cross && gpu % setting_.gpus_per_node == 0
               ? setting_.inter_node_mb_per_us
               : setting_.intra_node_mb_per_us;
  }

  bool IsInSegment(int op) const {
    return stage_.recomputed[op] && stage_.recomputed[op + 1];
  }

  // In a run of recomputed operators, the last keeps its output.
  double SavedMb() const {
    double saved = 0;
    for (int op = 0; op + 1 < num_ops(); ++op) {
      if (IsInSegment(op) && KindAt(op + 1) != kFirstNorm) saved += KeptMb(op);
    }
    return saved;
  }

  // A segment ends before each layer. A segment still open at the stage's end,
  // behind softmax or dropout, does not count.
  double LargestSegmentMb() const {
    double largest = 0;
    double segment = 0;
    for (int op = 0; op + 1 < num_ops(); ++op) {
      const bool inside = IsInSegment(op);
      if (inside) segment += KeptMb(op);
      const bool may_end = KindAt(op) != kSoftmax && KindAt(op) != kDropout;
      const bool ends =
          may_end && (KindAt(op + 1) == kFirstNorm || op + 2 == num_ops());
      if (inside && !ends) continue;
      largest = std::max(largest, segment);
      segment = 0;
    }
    return largest;
  }

  const Setting& setting_;
  const ScoredStage& stage_;
  const OperatorTable* table_;
  int first_op_ = 0;
  int first_gpu_ = 0;
  int in_flight_ = 1;
};

// Takes groups of equal operators, the ones that free most first, with the
// operators behind them, until the stage fits.
class RecomputeRule {
 public:
  RecomputeRule(const Setting& setting, ScoredPlan& plan, int index)
      : limit_mb_(setting.memory_limit_mb),
        recomputed_(plan.stages[index].recomputed),
        model_(setting, plan, index) {}

  void Apply() {
    recomputed_.assign(model_.num_ops(), false);
    std::set<int> taken = {kFirstNorm, kEmbedding, kHead};
    while (model_.MemoryMb() > limit_mb_) {
      const int kind = LargestGroup(taken);
      if (kind < 0 || !TakeGroup(kind, taken)) return;
    }
  }

 private:
  double GainMb(int op) const {
    return model_.At(op).activation_mb * model_.in_flight();
  }

  int LargestGroup(const std::set<int>& taken) const {
    std::array<double, kNumOperatorKinds> gains{};
    for (int op = 0; op < model_.num_ops(); ++op) {
      gains[model_.KindAt(op)] += GainMb(op);
    }
    int largest = -1;
    for (int op = 0; op < model_.num_ops(); ++op) {
      const int kind = model_.KindAt(op);
      if (taken.count(kind) > 0) continue;
      if (largest < 0 || gains[kind] > gains[largest]) largest = kind;
    }
    return largest;
  }

  // Returns false if the rule gives up.
  bool TakeGroup(int kind, std::set<int>& taken) {
    std::vector<int> members;
    double gain = 0;
    for (int op = 0; op < model_.num_ops(); ++op) {
      if (model_.KindAt(op) != kind) continue;
      members.push_back(op);
      gain += GainMb(op);
    }
    taken.insert(kind);
    if (members[0] + 1 >= model_.num_ops()) return false;
    taken.insert(model_.KindAt(members[0] + 1));
    const double excess = model_.MemoryMb() - limit_mb_;
    double freed = 0;
    for (const int op : members) {
      recomputed_[op] = true;
      if (op + 1 < model_.num_ops()) recomputed_[op + 1] = true;
      freed += GainMb(op);
      if (gain >= excess && freed > excess) break;
    }
    return true;
  }

  double limit_mb_;
  std::vector<bool>& recomputed_;
  StageModel model_;
};

}  // namespace

int KindOfOp(const Setting& setting, int op) {
  if (op == 0) return kEmbedding;
  const int behind = op - 1 - kOpsOfLayer * setting.num_layers;
  if (behind >= 0) return 1 + kOpsOfLayer + behind;
  return 1 + (op - 1) % kOpsOfLayer;
}

Score ScoreOf(const Setting& setting, const ScoredPlan& plan) {
  Score score;
  double sum_ms = 0;
  for (int i = 0; i < static_cast<int>(plan.stages.size()); ++i) {
    StageScore stage = StageModel(setting, plan, i).Score();
    stage.iteration_ms =
        (stage.forward_us + stage.backward_us + stage.recompute_us +
         stage.receive_us + stage.send_us) /
        1000;
    sum_ms += stage.iteration_ms;
    score.max_memory_mb = std::max(score.max_memory_mb, stage.memory_mb);
    score.stages.push_back(stage);
  }
  const int rest = setting.global_batch / plan.microbatch - 1;
  for (StageScore& stage : score.stages) {
    stage.iteration_ms = stage.iteration_ms * rest + sum_ms;
    score.iteration_ms = std::max(score.iteration_ms, stage.iteration_ms);
  }
  return score;
}

void ChooseRecompute(const Setting& setting, ScoredPlan& plan) {
  for (int i = 0; i < static_cast<int>(plan.stages.size()); ++i) {
    RecomputeRule(setting, plan, i).Apply();
  }
}

}  // namespace tangram::aceso::reference
