#include "cli/validation/repeated_rows.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace tangram {
namespace {

std::string Exactly(const std::optional<double>& value) {
  return value ? absl::StrFormat("%.17g", *value) : "";
}

// All that a row says, but for its id.
std::string Content(const MeasuredRun& run) {
  // A unit separator is in no cell.
  return absl::StrJoin(
      {run.source, run.framework, run.gpu, run.intra_link, run.inter_link,
       run.model, run.zero, run.recompute, run.offload, run.precision,
       run.attention, run.plan_json, run.memory_kind, run.flag, run.notes,
       Exactly(run.iteration_s), Exactly(run.memory_bytes),
       Exactly(run.published_prediction_s),
       absl::StrJoin({run.num_gpus,
                      run.gpus_per_node,
                      run.num_layers,
                      run.hidden_size,
                      run.num_heads,
                      run.num_kv_heads,
                      run.ffn_hidden_size,
                      run.vocab_size,
                      run.sequence_length,
                      run.num_experts,
                      run.experts_per_token,
                      run.global_batch_size,
                      run.microbatch_size,
                      run.tp_degree,
                      run.pp_degree,
                      run.virtual_stages,
                      run.dp_degree,
                      run.cp_degree,
                      run.ep_degree,
                      run.sequence_parallel ? 1 + *run.sequence_parallel : 0},
                     ",")},
      "\x1f");
}

}  // namespace

const MeasuredRun* RepeatedRows::FindOrAdd(const MeasuredRun& run) {
  const auto [it, added] = rows_.try_emplace(Content(run), &run);
  return added ? nullptr : it->second;
}

}  // namespace tangram
