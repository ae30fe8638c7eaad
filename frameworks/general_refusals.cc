#include "frameworks/general_refusals.h"

#include "absl/strings/str_cat.h"
#include "frameworks/refusal.h"

namespace tangram {

absl::Status RefuseMixedStages(const PipelinePlan& plan) {
  for (int s = 0; s < plan.num_stages(); ++s) {
    const MixedReplicas& mixed = plan.stages[s].mixed;
    if (mixed.empty()) continue;
    return absl::UnimplementedError(absl::StrCat(
        "stages[", s, "].mixed: ", mixed.groups.size(), " ",
        StageSharingName(mixed.sharing),
        " groups; expected none, as the runtime gives all replicas of a stage "
        "the same degrees and shares"));
  }
  return absl::OkStatus();
}

absl::Status RefuseOtherLibraries(const Cluster& cluster, const GpuId& first,
                                  const PipelinePlan& plan) {
  const DeviceSpec& device = cluster.nodes[first.node].device;
  for (int s = 0; s < plan.num_stages(); ++s) {
    for (const GpuId& gpu : plan.stages[s].gpus) {
      const DeviceSpec& other = cluster.nodes[gpu.node].device;
      if (other.collective_library == device.collective_library) continue;
      return Refuse(
          StageField(s, ".gpus"),
          absl::StrCat(other.type, " with ",
                       CollectiveLibraryName(other.collective_library)),
          absl::StrCat(CollectiveLibraryName(device.collective_library), " as ",
                       device.type,
                       " of stages[0]: the ranks of one launch have one "
                       "collective library"));
    }
  }
  return absl::OkStatus();
}

absl::Status RefuseHybrids(const ModelSpec& model) {
  for (int l = 1; l + 1 < model.num_layers(); ++l) {
    const LayerSpec& layer = model.layers[l];
    if (layer.is_plain()) continue;
    return Refuse(absl::StrCat("model.layers[", l, "]"),
                  layer.is_mamba()                  ? "a Mamba mixer"
                  : layer.mixer == MixerKind::kNone ? "no attention"
                                                    : "no MLP",
                  "attention with an MLP or experts after it; Megatron-LM "
                  "alone runs other layers");
  }
  return absl::OkStatus();
}

absl::Status RefuseLatentExperts(const ModelSpec& model) {
  for (int l = 1; l + 1 < model.num_layers(); ++l) {
    const LayerSpec& layer = model.layers[l];
    if (layer.expert_latent_size == 0) continue;
    return Refuse(absl::StrCat("model.layers[", l, "].expert_latent_size"),
                  layer.expert_latent_size,
                  "0, experts as wide as the layer; Megatron-LM alone runs "
                  "others");
  }
  return absl::OkStatus();
}

absl::Status RefuseWarmUp(const PipelinePlan& plan) {
  if (plan.warm_up_passes.empty()) return absl::OkStatus();
  return absl::UnimplementedError(
      "warm_up: given; expected none, as the runtime decides itself how many "
      "passes its stages run ahead");
}

}  // namespace tangram
