#include "frameworks/whole_parts.h"

#include "absl/strings/str_cat.h"
#include "common/domain/stage_rules.h"
#include "frameworks/refusal.h"

namespace tangram {

absl::Status RequireWholeSequenceParts(int sequence_length,
                                       const PipelinePlan& plan) {
  for (int i = 0; i < plan.num_stages(); ++i) {
    const StageParallelism& p = plan.stages[i].plan.parallelism;
    if (!SplitsSequenceForCp(sequence_length, p.cp_degree)) {
      return Refuse(StageField(i, ".plan.parallelism.cp_degree"), p.cp_degree,
                    absl::StrCat("twice it to divide the sequence length, ",
                                 sequence_length));
    }
    if (!p.sequence_parallel ||
        SplitsSequenceForTp(sequence_length, p.cp_degree, p.tp_degree)) {
      continue;
    }
    return Refuse(
        StageField(i, ".plan.parallelism.tp_degree"), p.tp_degree,
        absl::StrCat("a divisor of the ", sequence_length / p.cp_degree,
                     " tokens of a rank, with sequence parallelism"));
  }
  return absl::OkStatus();
}

absl::Status RequireWholeVocabularyParts(const ModelSpec& model,
                                         const PipelinePlan& plan) {
  const int vocabulary = model.layers.front().vocab_size;
  for (const int i : {0, plan.num_stages() - 1}) {
    const int tp = plan.stages[i].plan.parallelism.tp_degree;
    if (vocabulary % tp == 0) continue;
    return Refuse(StageField(i, ".plan.parallelism.tp_degree"), tp,
                  absl::StrCat("a divisor of the vocabulary, ", vocabulary,
                               ", which is not padded"));
  }
  return absl::OkStatus();
}

}  // namespace tangram
