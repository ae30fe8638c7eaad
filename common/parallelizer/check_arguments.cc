#include "common/parallelizer/check_arguments.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/field_error.h"
#include "common/base/in_field.h"
#include "common/base/status_macros.h"
#include "common/domain/model_rules.h"

namespace tangram {
namespace {

struct IntField {
  const char* name;
  int value;
};

struct DoubleField {
  const char* name;
  double value;
};

absl::Status CheckCounts(absl::Span<const IntField> fields,
                         absl::string_view prefix) {
  for (const IntField& field : fields) {
    if (field.value <= 0) {
      return FieldError(absl::StrCat(prefix, ".", field.name), field.value,
                        "a positive integer");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckPositive(absl::Span<const DoubleField> fields,
                           absl::string_view prefix) {
  for (const DoubleField& field : fields) {
    if (!std::isfinite(field.value) || field.value <= 0) {
      return FieldError(absl::StrCat(prefix, ".", field.name), field.value,
                        "a positive number");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckNonNegative(absl::Span<const DoubleField> fields,
                              absl::string_view prefix) {
  for (const DoubleField& field : fields) {
    if (!std::isfinite(field.value) || field.value < 0) {
      return FieldError(absl::StrCat(prefix, ".", field.name), field.value,
                        "a number that is not negative");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckLayer(const LayerSpec& layer, absl::string_view field) {
  TANGRAM_RETURN_IF_ERROR(
      CheckCounts({{"hidden_size", layer.hidden_size}}, field));
  if (layer.kind == LayerKind::kTransformer &&
      layer.mixer == MixerKind::kAttention) {
    TANGRAM_RETURN_IF_ERROR(
        CheckCounts({{"num_heads", layer.num_heads},
                     {"head_dim", layer.head_dim},
                     {"value_head_dim", layer.value_head_dim}},
                    field));
  }
  return InField(field, CheckLayerFits(layer));
}

absl::Status CheckLink(const Link& link, absl::string_view field) {
  TANGRAM_RETURN_IF_ERROR(CheckPositive(
      {{"bandwidth_bytes_per_s", link.bandwidth_bytes_per_s},
       {"pair_bandwidth_bytes_per_s", link.pair_bandwidth_bytes_per_s}},
      field));
  return CheckNonNegative({{"latency_s", link.latency_s}}, field);
}

absl::Status CheckDevice(const DeviceSpec& device, absl::string_view field) {
  const PeakFlops& peaks = device.peak_flops;
  TANGRAM_RETURN_IF_ERROR(CheckNonNegative({{"peak_flops.fp32", peaks.fp32},
                                            {"peak_flops.fp16", peaks.fp16},
                                            {"peak_flops.bf16", peaks.bf16},
                                            {"peak_flops.fp8", peaks.fp8}},
                                           field));
  if (peaks.fp32 + peaks.fp16 + peaks.bf16 + peaks.fp8 == 0) {
    return FieldError(absl::StrCat(field, ".peak_flops"), "0 in all precisions",
                      "a positive peak in one of them");
  }
  const DeviceEfficiency& efficiency = device.efficiency;
  TANGRAM_RETURN_IF_ERROR(CheckPositive(
      {{"memory_bytes", device.memory_bytes},
       {"memory_bandwidth_bytes_per_s", device.memory_bandwidth_bytes_per_s},
       {"efficiency.gemm_max_fraction", efficiency.gemm_max_fraction},
       {"efficiency.attention_fraction", efficiency.attention_fraction},
       {"efficiency.memory_fraction", efficiency.memory_fraction}},
      field));
  return CheckNonNegative(
      {{"efficiency.gemm_half_flops", efficiency.gemm_half_flops},
       {"efficiency.kernel_launch_s", efficiency.kernel_launch_s},
       {"efficiency.host_launch_s", efficiency.host_launch_s},
       {"efficiency.unaligned_penalty", efficiency.unaligned_penalty},
       {"efficiency.odd_penalty", efficiency.odd_penalty},
       {"efficiency.overlap_penalty", efficiency.overlap_penalty},
       {"efficiency.reserved_bytes", efficiency.reserved_bytes},
       {"efficiency.fragmentation", efficiency.fragmentation}},
      field);
}

absl::Status CheckTraining(const TrainingOptions& training,
                           int pipeline_microbatch_size,
                           absl::string_view field) {
  TANGRAM_RETURN_IF_ERROR(
      CheckCounts({{"training.global_batch_size", training.global_batch_size},
                   {"training.sequence_length", training.sequence_length},
                   {"pipeline_microbatch_size", pipeline_microbatch_size}},
                  field));
  if (training.global_batch_size % pipeline_microbatch_size == 0) {
    return absl::OkStatus();
  }
  return FieldError(absl::StrCat(field, ".pipeline_microbatch_size"),
                    pipeline_microbatch_size,
                    absl::StrCat("a divisor of the global batch size, ",
                                 training.global_batch_size));
}

}  // namespace

absl::Status CheckModel(const ModelSpec& model, absl::string_view field) {
  if (model.layers.empty()) {
    return FieldError(absl::StrCat(field, ".layers"), "none", "at least one");
  }
  for (int i = 0; i < model.num_layers(); ++i) {
    if (i > 0 && model.layers[i] == model.layers[i - 1]) continue;
    TANGRAM_RETURN_IF_ERROR(
        CheckLayer(model.layers[i], absl::StrCat(field, ".layers[", i, "]")));
  }
  return absl::OkStatus();
}

absl::Status CheckSlice(const ModelSlice& slice, absl::string_view field) {
  if (slice.atoms.begin < 0 || slice.atoms.size() <= 0) {
    return FieldError(
        absl::StrCat(field, ".atoms"),
        absl::StrFormat("[%d, %d)", slice.atoms.begin, slice.atoms.end),
        "a non-empty range from 0 on");
  }
  if (slice.runs.empty()) {
    return FieldError(absl::StrCat(field, ".runs"), "none", "at least one");
  }
  int64_t num_layers = 0;
  for (size_t i = 0; i < slice.runs.size(); ++i) {
    const LayerRun& run = slice.runs[i];
    const std::string run_field = absl::StrCat(field, ".runs[", i, "]");
    TANGRAM_RETURN_IF_ERROR(CheckCounts({{"count", run.count}}, run_field));
    TANGRAM_RETURN_IF_ERROR(CheckLayer(run.layer, run_field + ".layer"));
    num_layers += run.count;
  }
  if (num_layers > std::numeric_limits<int>::max()) {
    return FieldError(absl::StrCat(field, ".runs"),
                      absl::StrCat(num_layers, " layers"), "fewer");
  }
  const AtomRange before = {slice.atoms.begin, slice.atoms.begin};
  const ModelSlice canonical = JoinSlices({.atoms = before}, slice);
  if (canonical.runs != slice.runs) {
    return FieldError(absl::StrCat(field, ".runs"),
                      "neighbouring runs of equal layers", "them joined");
  }
  if (canonical.fingerprint == slice.fingerprint) return absl::OkStatus();
  return FieldError(absl::StrCat(field, ".fingerprint"), slice.fingerprint,
                    absl::StrCat(canonical.fingerprint, ", that of its runs"));
}

absl::Status CheckConcatenation(const ModelSlice& head,
                                const ModelSlice& tail) {
  TANGRAM_RETURN_IF_ERROR(CheckSlice(head, "head"));
  TANGRAM_RETURN_IF_ERROR(CheckSlice(tail, "tail"));
  if (tail.atoms.begin == head.atoms.end) return absl::OkStatus();
  return FieldError("tail.atoms.begin", tail.atoms.begin,
                    absl::StrCat(head.atoms.end, ", the end of head"));
}

absl::Status CheckIslandSpec(const IslandSpec& island,
                             absl::string_view field) {
  TANGRAM_RETURN_IF_ERROR(CheckCounts({{"num_nodes", island.num_nodes},
                                       {"gpus_per_node", island.gpus_per_node}},
                                      field));
  if (int64_t{island.num_nodes} * island.gpus_per_node >
      std::numeric_limits<int>::max()) {
    return FieldError(absl::StrCat(field, ".num_nodes"), island.num_nodes,
                      "fewer");
  }
  TANGRAM_RETURN_IF_ERROR(
      CheckDevice(island.device, absl::StrCat(field, ".device")));
  if (island.gpus_per_node > 1) {
    TANGRAM_RETURN_IF_ERROR(
        CheckLink(island.intra_node, absl::StrCat(field, ".intra_node")));
  }
  if (island.num_nodes > 1) {
    TANGRAM_RETURN_IF_ERROR(
        CheckLink(island.inter_node, absl::StrCat(field, ".inter_node")));
  }
  return absl::OkStatus();
}

absl::Status CheckProfileOptions(const ProfileOptions& options,
                                 absl::string_view field) {
  return CheckTraining(options.training, options.pipeline_microbatch_size,
                       field);
}

absl::Status CheckParallelizeOptions(const ParallelizeOptions& options,
                                     absl::string_view field) {
  TANGRAM_RETURN_IF_ERROR(
      CheckTraining(options.training, options.pipeline_microbatch_size, field));
  if (options.trailing_stages < 0) {
    return FieldError(absl::StrCat(field, ".trailing_stages"),
                      options.trailing_stages, "0 or a positive integer");
  }
  if (options.max_search_steps < 0) {
    return FieldError(absl::StrCat(field, ".max_search_steps"),
                      options.max_search_steps, "0 or a positive integer");
  }
  if (!(options.limit_s > 0)) {  // Also if it is NaN.
    return FieldError(absl::StrCat(field, ".limit_s"), options.limit_s,
                      "a positive number of seconds");
  }
  return absl::OkStatus();
}

}  // namespace tangram
