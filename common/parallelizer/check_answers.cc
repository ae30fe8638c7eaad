#include "common/parallelizer/check_answers.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/field_error.h"
#include "common/base/status_macros.h"
#include "common/parallelizer/check_arguments.h"

namespace tangram {
namespace {

// Bounds above any cluster: 2^70 bytes of memory, 10^15 GPU-seconds (a million
// GPUs for thirty years).
constexpr double kMostBytes = 1180591620717411303424.0;
constexpr double kMostGpuSeconds = 1e15;

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
  for (const char c : text) {
    if (!absl::ascii_iscntrl(c)) continue;
    return FieldError(field, absl::StrCat("byte ", static_cast<int>(c)),
                      "text without control characters");
  }
  return absl::OkStatus();
}

std::string CutText(OperatorCut cut) {
  return cut.op == 0 ? absl::StrCat("layer ", cut.layer)
                     : absl::StrCat("layer ", cut.layer, " operator ", cut.op);
}

// Returns whether `holds` is true for the layer of every run that has a layer
// in [begin, end). It checks runs, not layers, because there are many plans.
bool AllLayers(const ModelSlice& slice, int begin, int end,
               absl::FunctionRef<bool(const LayerSpec&)> holds) {
  int first = 0;
  for (const LayerRun& run : slice.runs) {
    if (first >= end) break;
    if (first + run.count > begin && !holds(run.layer)) return false;
    first += run.count;
  }
  return true;
}

// Checks one stage on the GPUs from `first_gpu` on.
class StageCheck {
 public:
  StageCheck(const ModelSlice& slice, const IslandSpec& island,
             const ParallelizeOptions& options, const SliceStage& stage)
      : slice_(slice),
        island_(island),
        options_(options),
        stage_(stage),
        begin_(stage.plan.begin.layer),
        end_(begin_ + LayersTouched(stage.plan.begin, stage.plan.end)) {}

  absl::Status Run(int first_gpu) const {
    TANGRAM_RETURN_IF_ERROR(CheckTimes());
    TANGRAM_RETURN_IF_ERROR(CheckDegrees());
    TANGRAM_RETURN_IF_ERROR(CheckSplits());
    TANGRAM_RETURN_IF_ERROR(CheckGpus(first_gpu));
    TANGRAM_RETURN_IF_ERROR(CheckOffload());
    TANGRAM_RETURN_IF_ERROR(CheckRecompute());
    return CheckLimits();
  }

 private:
  absl::Status CheckTimes() const {
    if (!std::isfinite(stage_.time_s) || stage_.time_s <= 0) {
      return FieldError("time_s", stage_.time_s, "a positive number");
    }
    if (!IsNonNegative(stage_.backward_s) ||
        stage_.backward_s > stage_.time_s) {
      return FieldError("backward_s", stage_.backward_s,
                        absl::StrCat("from 0 to time_s, ", stage_.time_s));
    }
    if (!IsNonNegative(stage_.sync_s)) {
      return FieldError("sync_s", stage_.sync_s,
                        "a number that is not negative");
    }
    return absl::OkStatus();
  }

  absl::Status CheckDegrees() const {
    const StageParallelism& p = stage_.plan.parallelism;
    const struct {
      const char* name;
      int value;
    } degrees[] = {{"parallelism.tp_degree", p.tp_degree},
                   {"parallelism.cp_degree", p.cp_degree},
                   {"parallelism.dp_degree", p.dp_degree},
                   {"parallelism.ep_degree", p.ep_degree},
                   {"parallelism.tp_y_degree", p.tp_y_degree}};
    for (const auto& degree : degrees) {
      if (degree.value < 1 || degree.value > island_.num_gpus()) {
        return FieldError(
            degree.name, degree.value,
            absl::StrCat("from 1 to the island's ", island_.num_gpus()));
      }
    }
    // Each is less than 2^31, so the product of two does not overflow.
    const int64_t tp_cp = int64_t{p.tp_degree} * p.cp_degree;
    if (tp_cp > island_.num_gpus() ||
        tp_cp * p.dp_degree > island_.num_gpus()) {
      return FieldError(
          "parallelism",
          absl::StrFormat("tp %d x cp %d x dp %d", p.tp_degree, p.cp_degree,
                          p.dp_degree),
          absl::StrCat("at most the island's ", island_.num_gpus(), " GPUs"));
    }
    if (p.zero_stage < 0 || p.zero_stage > 3) {
      return FieldError("parallelism.zero_stage", p.zero_stage, "0, 1, 2 or 3");
    }
    return absl::OkStatus();
  }

  absl::Status CheckSplits() const {
    const StageParallelism& p = stage_.plan.parallelism;
    if (options_.pipeline_microbatch_size % p.dp_degree != 0) {
      return FieldError("parallelism.dp_degree", p.dp_degree,
                        absl::StrCat("a divisor of the pipeline microbatch, ",
                                     options_.pipeline_microbatch_size));
    }
    if (options_.training.sequence_length % p.cp_degree != 0) {
      return FieldError("parallelism.cp_degree", p.cp_degree,
                        absl::StrCat("a divisor of the sequence length, ",
                                     options_.training.sequence_length));
    }
    if (p.cp_degree * p.dp_degree % p.ep_degree != 0) {
      return FieldError(
          "parallelism.ep_degree", p.ep_degree,
          absl::StrCat("a divisor of cp x dp, ", p.cp_degree * p.dp_degree));
    }
    // Key and value heads are split over tp, or several ranks hold each.
    const bool heads_split = AllLayers(slice_, begin_, end_, [&p](auto& layer) {
      return layer.num_heads % p.tp_degree == 0 &&
             (layer.num_kv_heads == 0 ||
              layer.num_kv_heads % p.tp_degree == 0 ||
              p.tp_degree % layer.num_kv_heads == 0);
    });
    if (!heads_split) {
      return FieldError("parallelism.tp_degree", p.tp_degree,
                        "one that divides the heads of all its layers");
    }
    const bool has_experts =
        std::any_of(slice_.runs.begin(), slice_.runs.end(),
                    [](const LayerRun& run) { return run.layer.is_moe(); });
    if (p.ep_degree > 1 && !has_experts) {
      return FieldError("parallelism.ep_degree", p.ep_degree,
                        "1, as the slice has no experts");
    }
    const bool experts_split = AllLayers(
        slice_, begin_, end_,
        [&p](auto& layer) { return layer.num_experts % p.ep_degree == 0; });
    if (!experts_split) {
      return FieldError("parallelism.ep_degree", p.ep_degree,
                        "one that divides the experts of all its layers");
    }
    if (p.fsep && p.ep_degree == 1) {
      return FieldError("parallelism.fsep", "true", "false, as ep_degree is 1");
    }
    return CheckTp2d();
  }

  absl::Status CheckTp2d() const {
    const StageParallelism& p = stage_.plan.parallelism;
    constexpr char kField[] = "parallelism.tp_y_degree";
    if (p.tp_degree % p.tp_y_degree != 0) {
      return FieldError(kField, p.tp_y_degree,
                        absl::StrCat("a divisor of tp_degree, ", p.tp_degree));
    }
    if (p.tp_y_degree == 1) return absl::OkStatus();
    if (p.sequence_parallel) {
      return FieldError(kField, p.tp_y_degree, "1 with sequence_parallel");
    }
    if (AllLayers(slice_, begin_, end_, AllowsTp2d)) return absl::OkStatus();
    return FieldError(kField, p.tp_y_degree,
                      "1, as a layer has experts or latent attention");
  }

  absl::Status CheckGpus(int first_gpu) const {
    const int num_gpus = stage_.plan.parallelism.num_gpus();
    if (num_gpus > island_.num_gpus() - first_gpu) {
      return FieldError(
          "parallelism", absl::StrCat(num_gpus, " GPUs"),
          absl::StrFormat("at most %d: the island has %d and the stages before "
                          "take %d",
                          island_.num_gpus() - first_gpu, island_.num_gpus(),
                          first_gpu));
    }
    const int in_node = first_gpu % island_.gpus_per_node;
    const bool fits_node = in_node + num_gpus <= island_.gpus_per_node;
    const bool whole_nodes =
        in_node == 0 && num_gpus % island_.gpus_per_node == 0;
    if (fits_node || whole_nodes) return absl::OkStatus();
    return FieldError("parallelism",
                      absl::StrFormat("%d GPUs from GPU %d of a node of %d on",
                                      num_gpus, in_node, island_.gpus_per_node),
                      "GPUs of one node, or whole nodes");
  }

  absl::Status CheckRecompute() const {
    int layer = begin_;
    for (size_t r = 0; r < stage_.plan.recompute.size(); ++r) {
      const RecomputeRun& run = stage_.plan.recompute[r];
      if (run.num_layers < 1 || run.num_layers > end_ - layer) {
        return FieldError(absl::StrCat("recompute[", r, "].num_layers"),
                          run.num_layers,
                          absl::StrCat("from 1 to the ", end_ - layer,
                                       " layers that are left"));
      }
      const bool mask_fits =
          AllLayers(slice_, layer, layer + run.num_layers, [&run](auto& spec) {
            return (run.mask & ~kDropOutputs) >> OperatorsOf(spec).size() == 0;
          });
      if (!mask_fits) {
        return FieldError(absl::StrCat("recompute[", r, "].mask"), run.mask,
                          "bits of the layers' operators only");
      }
      layer += run.num_layers;
    }
    if (layer == end_) return absl::OkStatus();
    return FieldError(
        "recompute", absl::StrCat(layer - begin_, " layers"),
        absl::StrCat(end_ - begin_, ", as many as the stage touches"));
  }

  absl::Status CheckOffload() const {
    const HostOffload& offload = stage_.plan.offload;
    if (offload.none()) return absl::OkStatus();
    const struct {
      const char* name;
      double value;
    } fractions[] = {{"offload.weights", offload.weights},
                     {"offload.gradients", offload.gradients},
                     {"offload.optimizer", offload.optimizer},
                     {"offload.activations", offload.activations}};
    for (const auto& fraction : fractions) {
      if (!IsNonNegative(fraction.value) || fraction.value > 1) {
        return FieldError(fraction.name, fraction.value, "from 0 to 1");
      }
    }
    if (island_.device.host.bandwidth_bytes_per_s > 0) return absl::OkStatus();
    return FieldError("offload", "some",
                      "none, as the bandwidth to the host is unknown");
  }

  absl::Status CheckLimits() const {
    const std::string why = WhyOutside(island_.limits, stage_.plan);
    if (why.empty()) return absl::OkStatus();
    return absl::InternalError(absl::StrCat("parallelism: ", why));
  }

  const ModelSlice& slice_;
  const IslandSpec& island_;
  const ParallelizeOptions& options_;
  const SliceStage& stage_;
  const int begin_ = 0;  // Layers that the stage touches: [begin_, end_).
  const int end_ = 0;
};

// Returns whether `cut` is before an operator of the slice, or at its end.
bool IsCutOf(const ModelSlice& slice, int num_layers, OperatorCut cut) {
  if (cut.layer < 0 || cut.op < 0 || cut.layer > num_layers) return false;
  if (cut.layer == num_layers) return cut.op == 0;
  return AllLayers(slice, cut.layer, cut.layer + 1, [&](auto& layer) {
    return cut.op < static_cast<int>(OperatorsOf(layer).size());
  });
}

// Checks that the stage begins at `covered`, the end of the previous stage, and
// ends at a later cut of the slice.
absl::Status CheckCuts(const SliceStage& stage, const ModelSlice& slice,
                       OperatorCut covered) {
  if (stage.plan.begin != covered) {
    return FieldError("begin", CutText(stage.plan.begin), CutText(covered));
  }
  if (stage.plan.end <= covered ||
      !IsCutOf(slice, slice.num_layers(), stage.plan.end)) {
    return FieldError(
        "end", CutText(stage.plan.end),
        absl::StrCat("an operator of the slice after ", CutText(covered)));
  }
  return absl::OkStatus();
}

// Checks the name, the bounds of trailing stages and every stage of a plan, and
// that its stages cover the slice.
absl::Status CheckPlan(const SlicePlan& plan, const ModelSlice& slice,
                       const IslandSpec& island,
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
  OperatorCut covered;
  int num_gpus = 0;
  for (int i = 0; i < plan.num_stages(); ++i) {
    const SliceStage& stage = plan.stages[i];
    absl::Status status = CheckCuts(stage, slice, covered);
    if (status.ok()) {
      status = StageCheck(slice, island, options, stage).Run(num_gpus);
    }
    if (!status.ok()) {
      return absl::InternalError(
          absl::StrCat("stages[", i, "].", status.message()));
    }
    covered = stage.plan.end;
    num_gpus += stage.plan.parallelism.num_gpus();
  }
  const OperatorCut end = {slice.num_layers(), 0};
  if (covered == end) return absl::OkStatus();
  return FieldError("stages", absl::StrCat("they end at ", CutText(covered)),
                    absl::StrCat(CutText(end), ", the end of the slice"));
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
  for (size_t i = 0; i < answer.plans.size(); ++i) {
    const absl::Status status =
        CheckPlan(answer.plans[i], slice, island, options);
    if (!status.ok()) {
      return absl::InternalError(
          absl::StrCat("plans[", i, "].", status.message()));
    }
  }
  return absl::OkStatus();
}

}  // namespace tangram
