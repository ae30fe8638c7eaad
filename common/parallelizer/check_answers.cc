#include "common/parallelizer/check_answers.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/field_error.h"
#include "common/base/in_field.h"
#include "common/base/printable_text.h"
#include "common/base/status_macros.h"
#include "common/domain/stage_rules.h"
#include "common/parallelizer/check_arguments.h"

namespace tangram {
namespace {

// Bounds above any cluster: 2^70 bytes are a million GPUs of a petabyte each.
constexpr double kMostBytes = 1180591620717411303424.0;
// A million GPUs for thirty years.
constexpr double kMostGpuSeconds = 1e15;

constexpr char kDeclared[] = "only features that the parallelizer declares";

bool IsNonNegative(double value) { return std::isfinite(value) && value >= 0; }

absl::Status CheckWithin(absl::string_view field, double value, double most) {
  if (IsNonNegative(value) && value <= most) return absl::OkStatus();
  return FieldError(field, value, absl::StrCat("from 0 to ", most));
}

absl::Status CheckWithin(absl::string_view field, int64_t value, int64_t most) {
  if (value >= 0 && value <= most) return absl::OkStatus();
  return FieldError(field, value, absl::StrCat("from 0 to ", most));
}

// Checks reasons and names, which reach logs and terminals.
absl::Status CheckText(absl::string_view field, const std::string& text) {
  if (text.size() > kMaxAnswerText) {
    return FieldError(field, absl::StrCat(text.size(), " bytes"),
                      absl::StrCat("at most ", kMaxAnswerText));
  }
  if (IsPrintable(text)) return absl::OkStatus();
  return FieldError(field, absl::StrCat("\"", EscapedControls(text), "\""),
                    "no control characters");
}

absl::Status CheckTimes(const SliceStage& stage) {
  if (!std::isfinite(stage.time_s) || stage.time_s <= 0) {
    return FieldError("time_s", stage.time_s, "a positive number");
  }
  if (!IsNonNegative(stage.backward_s) || stage.backward_s > stage.time_s) {
    return FieldError("backward_s", stage.backward_s,
                      absl::StrCat("from 0 to time_s, ", stage.time_s));
  }
  if (IsNonNegative(stage.sync_s)) return absl::OkStatus();
  return FieldError("sync_s", stage.sync_s, "a number that is not negative");
}

// Checks that the GPUs from `first_gpu` on are in one node or fill nodes.
absl::Status CheckGpus(const IslandSpec& island, int num_gpus, int first_gpu) {
  const int in_node = first_gpu % island.gpus_per_node;
  const bool fits_node = in_node + num_gpus <= island.gpus_per_node;
  const bool whole_nodes = in_node == 0 && num_gpus % island.gpus_per_node == 0;
  if (fits_node || whole_nodes) return absl::OkStatus();
  return FieldError("plan.parallelism",
                    absl::StrFormat("%d GPUs from GPU %d of a node of %d on",
                                    num_gpus, in_node, island.gpus_per_node),
                    "GPUs of one node, or whole nodes");
}

absl::string_view WhyNoContextParallel(const IslandSpec& island,
                                       const TrainingOptions& training) {
  if (!training.flash_attention) return kNoFlashAttention;
  return island.device.supports_flash_attention
             ? ""
             : "flash attention does not run on the island";
}

// Checks one stage on the GPUs from `first_gpu` on.
absl::Status CheckStage(const SliceStage& stage, int first_gpu,
                        const StageRules& rules, const ModelSlice& slice,
                        const IslandSpec& island,
                        const ParallelizeOptions& options) {
  TANGRAM_RETURN_IF_ERROR(CheckTimes(stage));
  const bool knows_host = island.device.host.bandwidth_bytes_per_s > 0;
  const StageSite site = {
      .max_gpus = island.num_gpus() - first_gpu,
      .microbatch_size = options.pipeline_microbatch_size,
      .sequence_length = options.training.sequence_length,
      .unknown_host = knows_host ? "" : "the island",
      .no_context_parallel = WhyNoContextParallel(island, options.training)};
  TANGRAM_RETURN_IF_ERROR(InField("plan", rules.CheckStage(stage.plan, site)));
  TANGRAM_RETURN_IF_ERROR(
      CheckGpus(island, stage.plan.parallelism.num_gpus(), first_gpu));
  const std::string why = WhyOutside(island.limits, stage.plan, slice.runs);
  if (why.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("plan.parallelism: ", why));
}

// Checks the name, the bounds of trailing stages and every stage of a plan, and
// that its stages cover the slice.
absl::Status CheckPlan(const SlicePlan& plan, const StageRules& rules,
                       const ModelSlice& slice, const IslandSpec& island,
                       const ParallelizeOptions& options) {
  if (plan.made_by.empty()) {
    return FieldError("made_by", "empty", "the name of the parallelizer");
  }
  TANGRAM_RETURN_IF_ERROR(CheckText("made_by", plan.made_by));
  const int max_stages =
      island.limits.max_stages > 0
          ? std::min(island.limits.max_stages, island.num_gpus())
          : island.num_gpus();
  if (plan.num_stages() > max_stages) {
    return FieldError("stages", plan.num_stages(),
                      absl::StrCat("at most ", max_stages));
  }
  if (plan.max_trailing_stages < options.trailing_stages) {
    return FieldError(
        "max_trailing_stages", plan.max_trailing_stages,
        absl::StrCat("at least what was asked, ", options.trailing_stages));
  }
  if (plan.max_trailing_stages > kUnlimitedTrailingStages) {
    return FieldError("max_trailing_stages", plan.max_trailing_stages,
                      absl::StrCat("at most ", kUnlimitedTrailingStages));
  }
  TANGRAM_RETURN_IF_ERROR(rules.CheckCover(
      plan.num_stages(),
      [&](int i) -> const StagePlan& { return plan.stages[i].plan; }));
  int num_gpus = 0;
  for (int i = 0; i < plan.num_stages(); ++i) {
    const SliceStage& stage = plan.stages[i];
    TANGRAM_RETURN_IF_ERROR(
        InField("stages", i,
                CheckStage(stage, num_gpus, rules, slice, island, options)));
    num_gpus += stage.plan.parallelism.num_gpus();
  }
  return absl::OkStatus();
}

absl::Status CheckInfeasible(const SlicePlanSet& answer) {
  if (!answer.plans.empty()) {
    if (!answer.infeasible.has_value()) return absl::OkStatus();
    return FieldError("infeasible", answer.infeasible->reason,
                      "none, as there are plans");
  }
  if (!answer.infeasible.has_value() || answer.infeasible->reason.empty()) {
    return FieldError("infeasible.reason", "empty",
                      "a reason, as there is no plan");
  }
  TANGRAM_RETURN_IF_ERROR(
      CheckText("infeasible.reason", answer.infeasible->reason));
  return CheckWithin("infeasible.bytes_short", answer.infeasible->bytes_short,
                     kMostBytes);
}

absl::Status CheckFeatures(const StagePlan& stage,
                           const ParallelizerFeatures& may,
                           const StageLimits& limits) {
  const StageParallelism& p = stage.parallelism;
  const bool recomputes = absl::c_any_of(
      stage.recompute,
      [](const RecomputeRun& run) { return run.mask != kRecomputeNone; });
  const struct {
    const char* feature;
    bool is_used;
    bool is_declared;
  } uses[] = {
      {"data_parallel", p.dp_degree > 1, may.data_parallel},
      {"tensor_parallel", p.tp_degree > 1, may.tensor_parallel},
      {"context_parallel", p.cp_degree > 1, may.context_parallel},
      {"expert_parallel", p.ep_degree > 1, may.expert_parallel},
      {"zero", p.zero_stage > 0 && !limits.zero_stage.has_value(), may.zero},
      {"recompute", recomputes && !limits.recompute.has_value(), may.recompute},
      {"offload", !stage.offload.none(), may.offload},
  };
  for (const auto& use : uses) {
    if (!use.is_used || use.is_declared) continue;
    return FieldError("plan", use.feature, kDeclared);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckAtoms(absl::Span<const ModelSlice> atoms,
                        const ModelSpec& model) {
  std::vector<LayerSpec> layers;
  for (int i = 0; i < static_cast<int>(atoms.size()); ++i) {
    const std::string field = absl::StrCat("atoms[", i, "]");
    TANGRAM_RETURN_IF_ERROR(CheckSlice(atoms[i], field));
    if (atoms[i].atoms != AtomRange{i, i + 1}) {
      return FieldError(
          field + ".atoms",
          absl::StrFormat("[%d, %d)", atoms[i].atoms.begin, atoms[i].atoms.end),
          absl::StrFormat("[%d, %d)", i, i + 1));
    }
    // Checked before runs are unfolded: a short answer may name many layers.
    if (atoms[i].num_layers() >
        model.num_layers() - static_cast<int>(layers.size())) {
      return FieldError(
          field, absl::StrCat(atoms[i].num_layers(), " layers"),
          absl::StrCat("at most the ", model.num_layers() - layers.size(),
                       " that are left of the model"));
    }
    const std::vector<LayerSpec> own = LayersOf(atoms[i]);
    layers.insert(layers.end(), own.begin(), own.end());
  }
  if (layers == model.layers) return absl::OkStatus();
  return FieldError("atoms", absl::StrCat(layers.size(), " layers"),
                    absl::StrCat("the ", model.layers.size(),
                                 " layers of the model, in their order"));
}

absl::Status CheckJoined(const ModelSlice& joined, const ModelSlice& head,
                         const ModelSlice& tail) {
  if (joined == JoinSlices(head, tail)) return absl::OkStatus();
  return FieldError("slice", "other atoms, layers or fingerprint",
                    "head followed by tail");
}

absl::Status CheckProfile(const PerformanceProfile& profile) {
  TANGRAM_RETURN_IF_ERROR(
      CheckWithin("min_gpu_seconds", profile.min_gpu_seconds, kMostGpuSeconds));
  TANGRAM_RETURN_IF_ERROR(
      CheckWithin("min_latency_s", profile.min_latency_s, kMostGpuSeconds));
  return CheckWithin("min_total_bytes", profile.min_total_bytes, kMostBytes);
}

absl::Status CheckSlicePlanSet(const SlicePlanSet& answer,
                               const ModelSlice& slice,
                               const IslandSpec& island,
                               const ParallelizeOptions& options) {
  TANGRAM_RETURN_IF_ERROR(CheckInfeasible(answer));
  TANGRAM_RETURN_IF_ERROR(
      CheckWithin("search_steps", answer.search_steps, kMaxSearchSteps));
  TANGRAM_RETURN_IF_ERROR(CheckWithin("covers_trailing_stages",
                                      int64_t{answer.covers_trailing_stages},
                                      int64_t{kUnlimitedTrailingStages}));
  TANGRAM_RETURN_IF_ERROR(CheckWithin(
      "plans", static_cast<int64_t>(answer.plans.size()), kMaxSlicePlans));
  const StageRules rules(slice.runs);
  for (size_t i = 0; i < answer.plans.size(); ++i) {
    TANGRAM_RETURN_IF_ERROR(
        InField("plans", static_cast<int>(i),
                CheckPlan(answer.plans[i], rules, slice, island, options)));
  }
  return absl::OkStatus();
}

absl::Status CheckFeatures(const SlicePlanSet& answer,
                           const ParallelizerFeatures& features,
                           const StageLimits& limits) {
  for (size_t i = 0; i < answer.plans.size(); ++i) {
    const SlicePlan& plan = answer.plans[i];
    const std::string field = absl::StrCat("plans[", i, "]");
    if (plan.num_stages() > 1 && !features.pipeline_parallel) {
      return FieldError(field, "pipeline_parallel", kDeclared);
    }
    for (int j = 0; j < plan.num_stages(); ++j) {
      TANGRAM_RETURN_IF_ERROR(
          InField(absl::StrCat(field, ".stages"), j,
                  CheckFeatures(plan.stages[j].plan, features, limits)));
    }
  }
  return absl::OkStatus();
}

}  // namespace tangram
