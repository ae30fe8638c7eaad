#ifndef TANGRAM_CLI_VALIDATION_MEASURED_RUN_H_
#define TANGRAM_CLI_VALIDATION_MEASURED_RUN_H_

#include <optional>
#include <string>

namespace tangram {

// One measured training run, as its source states it. 0 and "" mean that the
// source does not say. Columns are those of docs/validation.md.
struct MeasuredRun {
  std::string id;
  std::string source;
  std::string framework;

  std::string gpu;  // "A100-80 SXM (Selene)"; mixed types are joined by '+'.
  int num_gpus = 0;
  int gpus_per_node = 0;
  std::string intra_link;  // "NVLink", "PCIe (50 Gbps)".
  std::string inter_link;  // "8x HDR InfiniBand 200 Gbps per node".

  std::string model;
  int num_layers = 0;
  int hidden_size = 0;
  int num_heads = 0;
  int num_kv_heads = 0;
  int ffn_hidden_size = 0;
  int vocab_size = 0;
  int sequence_length = 0;
  int num_experts = 0;
  int experts_per_token = 0;

  int global_batch_size = 0;
  int microbatch_size = 0;  // Sequences of one replica.
  int tp_degree = 0;
  int pp_degree = 0;
  int virtual_stages = 0;
  int dp_degree = 0;
  int cp_degree = 0;
  int ep_degree = 0;
  std::optional<bool> sequence_parallel;

  std::string zero;  // "0" to "3", "none", or a text such as "optimizer+grad".
  std::string recompute;  // "full...", "selective..." or "none".
  std::string offload;    // "none", "optimizer 0.5", "per-stage".
  std::string precision;
  std::string attention;  // Contains "flash", or does not.
  // Per-stage plan as JSON, if degrees alone do not describe it.
  std::string plan_json;

  // Measurements. Empty: not stated, or the run failed.
  std::optional<double> iteration_s;
  std::optional<double> memory_bytes;
  std::string memory_kind;  // "torch max allocated", "max reserved", ...
  // Prediction of the same run by another predictor.
  std::optional<double> published_prediction_s;

  // Reason why the source or its reader doubts the row.
  std::string flag;
  std::string notes;  // Free text.

  // Returns whether the run did not finish, as far as is known for lack of
  // memory.
  bool ran_out_of_memory() const;
};

}  // namespace tangram

#endif  // TANGRAM_CLI_VALIDATION_MEASURED_RUN_H_
