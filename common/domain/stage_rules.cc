#include "common/domain/stage_rules.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/field_error.h"
#include "common/base/status_macros.h"

namespace tangram {
namespace {

std::string CutText(OperatorCut cut) {
  return cut.op == 0 ? absl::StrCat("layer ", cut.layer)
                     : absl::StrCat("layer ", cut.layer, " operator ", cut.op);
}

// The layer after the last one that the stage touches.
int EndLayer(const StagePlan& stage) {
  return stage.begin.layer + LayersTouched(stage.begin, stage.end);
}

absl::Status CheckDivides(absl::string_view field, int divisor, int dividend,
                          absl::string_view what) {
  if (dividend % divisor == 0) return absl::OkStatus();
  return FieldError(field, divisor,
                    absl::StrCat("a divisor of ", what, ", ", dividend));
}

// Checks that each degree is positive and that tp · cp · dp is at most the
// number of GPUs. Bounds every degree first, so that no product overflows.
absl::Status CheckDegrees(const StageParallelism& p, int max_gpus) {
  const struct {
    const char* name;
    int value;
  } degrees[] = {{"parallelism.tp_degree", p.tp_degree},
                 {"parallelism.cp_degree", p.cp_degree},
                 {"parallelism.dp_degree", p.dp_degree},
                 {"parallelism.ep_degree", p.ep_degree},
                 {"parallelism.tp_y_degree", p.tp_y_degree}};
  // Searches check many plans, so texts are made for errors alone.
  const auto gpus = [max_gpus] {
    return absl::StrCat("the ", max_gpus, " GPUs that the stage may use");
  };
  for (const auto& degree : degrees) {
    if (degree.value < 1 || degree.value > max_gpus) {
      return FieldError(degree.name, degree.value,
                        absl::StrCat("a positive integer, at most ", gpus()));
    }
  }
  // Each is less than 2^31, so the product of two does not overflow.
  const int64_t tp_cp = int64_t{p.tp_degree} * p.cp_degree;
  if (tp_cp > max_gpus || tp_cp * p.dp_degree > max_gpus) {
    return FieldError("parallelism",
                      absl::StrFormat("tp %d x cp %d x dp %d", p.tp_degree,
                                      p.cp_degree, p.dp_degree),
                      absl::StrCat("at most ", gpus()));
  }
  if (p.zero_stage >= 0 && p.zero_stage <= 3) return absl::OkStatus();
  return FieldError("parallelism.zero_stage", p.zero_stage, "0, 1, 2 or 3");
}

// Checks that tp and then cp ranks can split the channels of a Mamba mixer.
absl::Status CheckMamba(const LayerSpec& layer, int index,
                        const StageParallelism& p) {
  const MambaDimensions& mamba = layer.mamba;
  if (!SplitsMixer(layer, p.tp_degree)) {
    return FieldError(
        "parallelism.tp_degree", p.tp_degree,
        layer.mixer == MixerKind::kMamba2
            ? absl::StrFormat("a divisor of the %d heads and %d groups of the "
                              "Mamba mixer of layer %d",
                              mamba.num_heads(), mamba.groups, index)
            : absl::StrFormat("a divisor of the %d channels of the Mamba mixer "
                              "of layer %d",
                              mamba.inner_size, index));
  }
  if (SplitsMixerForCp(layer, p.tp_degree, p.cp_degree)) {
    return absl::OkStatus();
  }
  return FieldError(
      "parallelism.cp_degree", p.cp_degree,
      layer.mixer == MixerKind::kMamba2
          ? absl::StrFormat(
                "a divisor of the %d heads of a rank, and a divisor "
                "or a multiple of its %d groups, in the Mamba mixer "
                "of layer %d",
                mamba.num_heads() / p.tp_degree, mamba.groups / p.tp_degree,
                index)
          : absl::StrFormat("1, as the scan of layer %d, of Mamba's first "
                            "version, runs through the whole sequence",
                            index));
}

absl::Status CheckHeads(const LayerSpec& layer, int tp) {
  constexpr char kField[] = "parallelism.tp_degree";
  TANGRAM_RETURN_IF_ERROR(
      CheckDivides(kField, tp, layer.num_heads, "the number of heads"));
  if (SplitsMixer(layer, tp)) return absl::OkStatus();
  return FieldError(kField, tp,
                    absl::StrCat("a divisor or a multiple of the number of key "
                                 "and value heads, ",
                                 layer.num_kv_heads));
}

// Shard groups are equal parts of the dp ranks, and each holds every expert.
absl::Status CheckZeroDegree(const StageParallelism& p) {
  constexpr char kField[] = "parallelism.zero_degree";
  if (p.zero_degree == 0) return absl::OkStatus();
  if (p.zero_stage == 0) {
    return FieldError(kField, p.zero_degree, "none, as zero_stage is 0");
  }
  if (p.zero_degree < 2) {
    return FieldError(kField, p.zero_degree,
                      "at least 2, or none for all dp ranks");
  }
  TANGRAM_RETURN_IF_ERROR(
      CheckDivides(kField, p.zero_degree, p.dp_degree, "dp_degree"));
  if (p.num_shards() % p.ep_degree == 0) return absl::OkStatus();
  return FieldError(kField, p.zero_degree,
                    absl::StrFormat("cp x zero_degree, %d, to be a multiple of "
                                    "ep_degree, %d",
                                    p.num_shards(), p.ep_degree));
}

absl::Status CheckOffload(const HostOffload& offload,
                          absl::string_view unknown_host) {
  const struct {
    const char* name;
    double value;
  } fractions[] = {{"offload.weights", offload.weights},
                   {"offload.gradients", offload.gradients},
                   {"offload.optimizer", offload.optimizer},
                   {"offload.activations", offload.activations}};
  for (const auto& fraction : fractions) {
    // NaN fails the test.
    if (fraction.value >= 0 && fraction.value <= 1) continue;
    return FieldError(fraction.name, fraction.value, "a fraction from 0 to 1");
  }
  if (offload.none() || unknown_host.empty()) return absl::OkStatus();
  return FieldError("offload", "given",
                    absl::StrCat("none, as the host link of ", unknown_host,
                                 " is not known"));
}

}  // namespace

bool SplitsMixer(const LayerSpec& layer, int tp_degree) {
  if (layer.mixer != MixerKind::kAttention) {
    return SplitsForTp(layer.mixer, layer.mamba, tp_degree);
  }
  // Latent attention makes keys and values of every head from the latent ones.
  const int kv_heads = layer.kv_lora_rank > 0 ? 0 : layer.num_kv_heads;
  return layer.num_heads % tp_degree == 0 &&
         (kv_heads <= 0 || kv_heads % tp_degree == 0 ||
          tp_degree % kv_heads == 0);
}

bool SplitsMixerForCp(const LayerSpec& layer, int tp_degree, int cp_degree) {
  return SplitsForCp(layer.mixer, layer.mamba, tp_degree, cp_degree);
}

bool SplitsSequenceForCp(int sequence_length, int cp_degree) {
  return cp_degree == 1 || sequence_length % (int64_t{2} * cp_degree) == 0;
}

bool SplitsSequenceForTp(int sequence_length, int cp_degree, int tp_degree) {
  return sequence_length / cp_degree % tp_degree == 0;
}

StageRules::StageRules(absl::Span<const LayerRun> runs) : runs_(runs) {
  int end = 0;
  for (const LayerRun& run : runs) {
    run_ends_.push_back(end += run.count);
    has_experts_ |= run.layer.is_moe();
  }
}

absl::Status StageRules::CheckCover(
    int num_stages, absl::FunctionRef<const StagePlan&(int)> stage) const {
  if (num_stages == 0) return FieldError("stages", "none", "at least one");
  OperatorCut covered;
  for (int i = 0; i < num_stages; ++i) {
    const OperatorCut begin = stage(i).begin;
    const OperatorCut end = stage(i).end;
    const auto field = [i](absl::string_view name) {
      return absl::StrCat("stages[", i, "].plan.", name);
    };
    TANGRAM_RETURN_IF_ERROR(CheckCut(begin, [&] { return field("begin"); }));
    TANGRAM_RETURN_IF_ERROR(CheckCut(end, [&] { return field("end"); }));
    if (begin != covered) {
      const char* why = begin < covered ? "the stages overlap"
                                        : "no stage runs what is between";
      return FieldError(field("begin"), CutText(begin),
                        absl::StrCat(CutText(covered), " (", why, ")"));
    }
    if (end <= begin) {
      return FieldError(field("end"), CutText(end),
                        absl::StrCat("a cut after ", CutText(begin),
                                     " (the stage is empty)"));
    }
    covered = end;
  }
  const OperatorCut last = {run_ends_.empty() ? 0 : run_ends_.back(), 0};
  if (covered == last) return absl::OkStatus();
  return FieldError(absl::StrCat("stages[", num_stages - 1, "].plan.end"),
                    CutText(covered),
                    absl::StrCat(CutText(last), ", the end of all layers"));
}

// The end of layer l is {l + 1, 0}, so the last cut is {number of layers, 0}.
absl::Status StageRules::CheckCut(
    OperatorCut cut, absl::FunctionRef<std::string()> field) const {
  const int num_layers = run_ends_.empty() ? 0 : run_ends_.back();
  if (cut.layer < 0 || cut.layer > num_layers) {
    return FieldError(field(), CutText(cut),
                      absl::StrCat("a layer from 0 to ", num_layers));
  }
  const int num_ops =
      cut.layer < num_layers
          ? static_cast<int>(OperatorsOf(runs_[RunOf(cut.layer)].layer).size())
          : 1;
  if (cut.op >= 0 && cut.op < num_ops) return absl::OkStatus();
  return FieldError(field(), CutText(cut),
                    absl::StrCat("an operator from 0 to ", num_ops - 1));
}

absl::Status StageRules::CheckStage(const StagePlan& stage,
                                    const StageSite& site) const {
  TANGRAM_RETURN_IF_ERROR(CheckDegrees(stage.parallelism, site.max_gpus));
  TANGRAM_RETURN_IF_ERROR(CheckSplits(stage, site));
  TANGRAM_RETURN_IF_ERROR(CheckRecompute(stage));
  return CheckOffload(stage.offload, site.unknown_host);
}

// Checks that each degree divides the dimension that it splits: dp the
// microbatch, cp the sequence, tp the heads, ep the experts and cp · dp,
// zero_degree dp.
absl::Status StageRules::CheckSplits(const StagePlan& stage,
                                     const StageSite& site) const {
  const StageParallelism& p = stage.parallelism;
  TANGRAM_RETURN_IF_ERROR(CheckDivides("parallelism.dp_degree", p.dp_degree,
                                       site.microbatch_size,
                                       "the pipeline microbatch"));
  TANGRAM_RETURN_IF_ERROR(CheckSequence(p, site));
  TANGRAM_RETURN_IF_ERROR(
      ForRuns(stage.begin.layer, EndLayer(stage), [&p](auto& layer, int index) {
        return layer.is_mamba() ? CheckMamba(layer, index, p)
                                : CheckHeads(layer, p.tp_degree);
      }));
  TANGRAM_RETURN_IF_ERROR(CheckExperts(stage));
  TANGRAM_RETURN_IF_ERROR(CheckZeroDegree(p));
  return CheckTp2d(stage);
}

// Sequence parallelism has no effect with one rank.
absl::Status StageRules::CheckSequence(const StageParallelism& p,
                                       const StageSite& site) const {
  constexpr char kField[] = "parallelism.cp_degree";
  if (!SplitsSequenceForCp(site.sequence_length, p.cp_degree)) {
    return FieldError(kField, p.cp_degree,
                      absl::StrCat("twice it to divide the sequence length, ",
                                   site.sequence_length));
  }
  if (p.cp_degree > 1 && !site.no_context_parallel.empty()) {
    return FieldError(kField, p.cp_degree,
                      absl::StrCat("1, as ", site.no_context_parallel));
  }
  if (!p.sequence_parallel ||
      SplitsSequenceForTp(site.sequence_length, p.cp_degree, p.tp_degree)) {
    return absl::OkStatus();
  }
  return FieldError(
      "parallelism.tp_degree", p.tp_degree,
      absl::StrCat("a divisor of the ", site.sequence_length / p.cp_degree,
                   " tokens of a rank, with sequence_parallel"));
}

// A stage without experts may have the expert degree of the other stages, for
// runtimes that have one degree for all.
absl::Status StageRules::CheckExperts(const StagePlan& stage) const {
  const StageParallelism& p = stage.parallelism;
  if (p.fsep && p.ep_degree == 1) {
    return FieldError("parallelism.fsep", "true", "false, as ep_degree is 1");
  }
  if (p.ep_degree == 1) return absl::OkStatus();
  constexpr char kField[] = "parallelism.ep_degree";
  TANGRAM_RETURN_IF_ERROR(
      CheckDivides(kField, p.ep_degree, p.num_replicas(), "cp x dp"));
  if (!has_experts_) {
    return FieldError(kField, p.ep_degree, "1, as no layer has experts");
  }
  return ForRuns(stage.begin.layer, EndLayer(stage), [&](auto& layer, int) {
    return CheckDivides(kField, p.ep_degree, layer.num_experts,
                        "the number of experts");
  });
}

// MindSpeed's tp-2d excludes experts. It also excludes sequence parallelism,
// which it replaces: tp-2d itself splits norms and residuals.
absl::Status StageRules::CheckTp2d(const StagePlan& stage) const {
  const StageParallelism& p = stage.parallelism;
  constexpr char kField[] = "parallelism.tp_y_degree";
  TANGRAM_RETURN_IF_ERROR(
      CheckDivides(kField, p.tp_y_degree, p.tp_degree, "tp_degree"));
  if (p.tp_y_degree == 1) return absl::OkStatus();
  if (p.sequence_parallel) {
    return FieldError(kField, p.tp_y_degree, "1 with sequence_parallel");
  }
  return ForRuns(
      stage.begin.layer, EndLayer(stage), [&](auto& layer, int index) {
        if (AllowsTp2d(layer)) return absl::OkStatus();
        return FieldError(
            kField, p.tp_y_degree,
            absl::StrFormat("1, as layer %d has experts, latent attention or "
                            "Mamba",
                            index));
      });
}

// Checks that the runs of masks cover the layers that the stage touches.
absl::Status StageRules::CheckRecompute(const StagePlan& stage) const {
  const int end = EndLayer(stage);
  int layer = stage.begin.layer;
  for (size_t r = 0; r < stage.recompute.size(); ++r) {
    const RecomputeRun& run = stage.recompute[r];
    const auto field = [r](absl::string_view name) {
      return absl::StrCat("recompute[", r, "].", name);
    };
    if (run.num_layers < 1 || run.num_layers > end - layer) {
      return FieldError(
          field("num_layers"), run.num_layers,
          absl::StrCat("a positive integer, at most the ", end - layer,
                       " layers that are left of the stage"));
    }
    const OpMask ops = run.mask & ~kDropOutputs;
    TANGRAM_RETURN_IF_ERROR(
        ForRuns(layer, layer + run.num_layers, [&](auto& spec, int index) {
          const size_t num_ops = OperatorsOf(spec).size();
          if (ops >> num_ops == 0) return absl::OkStatus();
          return FieldError(
              field("mask"), absl::StrFormat("%#x", run.mask),
              absl::StrFormat("bits below %d only, the number of operators of "
                              "layer %d",
                              num_ops, index));
        }));
    layer += run.num_layers;
  }
  if (layer == end) return absl::OkStatus();
  return FieldError(
      "recompute", absl::StrCat(layer - stage.begin.layer, " layers"),
      absl::StrCat(end - stage.begin.layer, ", as many as the stage touches"));
}

size_t StageRules::RunOf(int layer) const {
  return std::upper_bound(run_ends_.begin(), run_ends_.end(), layer) -
         run_ends_.begin();
}

absl::Status StageRules::ForRuns(
    int begin, int end,
    absl::FunctionRef<absl::Status(const LayerSpec&, int)> check) const {
  for (size_t r = RunOf(begin); r < runs_.size() && begin < end; ++r) {
    TANGRAM_RETURN_IF_ERROR(check(runs_[r].layer, begin));
    begin = run_ends_[r];
  }
  return absl::OkStatus();
}

}  // namespace tangram
