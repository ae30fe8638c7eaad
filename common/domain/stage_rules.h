#ifndef TANGRAM_COMMON_DOMAIN_STAGE_RULES_H_
#define TANGRAM_COMMON_DOMAIN_STAGE_RULES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/domain/model_spec.h"
#include "common/domain/stage_plan.h"

namespace tangram {

// The place of a stage and its share of the work.
struct StageSite {
  int max_gpus = 0;         // GPUs that the stage may use.
  int microbatch_size = 0;  // Samples of one microbatch of the stage.
  int sequence_length = 0;  // Tokens of a sample.
  // A node of the stage whose link to host memory is not known: "node a-1".
  // Empty: all links are known.
  absl::string_view unknown_host;
  // Why context parallelism does not run: "flash attention does not run on node
  // a-1". Only the fused kernels exchange keys and values between ranks
  // (TransformerEngine; the ring attention of Galvatron). Empty: it runs.
  absl::string_view no_context_parallel;
};

// Returns whether ranks can split a sequence: causal attention is balanced if
// each context-parallel rank holds one chunk from either end of it.
bool SplitsSequenceForCp(int sequence_length, int cp_degree);

// Returns whether tp ranks can split the tokens of one context-parallel rank,
// for sequence parallelism. The sequence must be split for cp.
bool SplitsSequenceForTp(int sequence_length, int cp_degree, int tp_degree);

// The reason of StageSite::no_context_parallel if the training turns it off.
inline constexpr char kNoFlashAttention[] =
    "training.flash_attention is false, which context parallelism needs";

// Returns whether tp ranks can split the mixer of a layer: the heads of
// attention, or what SplitsForTp says of Mamba. Key and value heads are split
// as well, or each is repeated on several ranks. Latent attention has as many
// of them as heads.
bool SplitsMixer(const LayerSpec& layer, int tp_degree);

// Returns whether cp ranks can share the mixer of a layer that tp ranks split.
bool SplitsMixerForCp(const LayerSpec& layer, int tp_degree, int cp_degree);

// The rules that every stage obeys, in a pipeline over a model and in a slice
// plan. Stages count layers from the start of `runs`.
//
// Errors are kInvalidArgument with the field inside the stage, the value and
// what was expected: "parallelism.tp_degree: 3; expected a divisor of the
// number of heads, 16". Callers put the path of the stage in front (InField).
//
// Keeps a reference to `runs`. Thread-compatible; functions are pure.
class StageRules {
 public:
  explicit StageRules(absl::Span<const LayerRun> runs);

  // Checks that the stages cover every operator once and in order. `stage(i)`
  // is stage i of `num_stages`. Errors begin with "stages".
  absl::Status CheckCover(int num_stages,
                          absl::FunctionRef<const StagePlan&(int)> stage) const;

  // Checks everything else about a stage. Degrees are positive, use at most the
  // site's GPUs and divide the quantities that they split. Each layer has one
  // recompute mask, with bits of its operators only. Offloaded parts are
  // fractions, and the host is known. The cuts must have passed CheckCover.
  // Memory is not checked. O(runs that the stage touches).
  absl::Status CheckStage(const StagePlan& stage, const StageSite& site) const;

 private:
  // `field` names the cut in an error.
  absl::Status CheckCut(OperatorCut cut,
                        absl::FunctionRef<std::string()> field) const;
  absl::Status CheckSplits(const StagePlan& stage, const StageSite& site) const;
  absl::Status CheckSequence(const StageParallelism& parallelism,
                             const StageSite& site) const;
  absl::Status CheckExperts(const StagePlan& stage) const;
  absl::Status CheckTp2d(const StagePlan& stage) const;
  absl::Status CheckRecompute(const StagePlan& stage) const;

  // Returns the index of the run that holds `layer`.
  size_t RunOf(int layer) const;

  // Calls `check` once for each run that has a layer in [begin, end), with the
  // first such layer. Returns the first error.
  absl::Status ForRuns(
      int begin, int end,
      absl::FunctionRef<absl::Status(const LayerSpec& layer, int index)> check)
      const;

  const absl::Span<const LayerRun> runs_;
  std::vector<int> run_ends_;  // The layer after each run, ascending.
  bool has_experts_ = false;
};

}  // namespace tangram

#endif  // TANGRAM_COMMON_DOMAIN_STAGE_RULES_H_
