#include "frameworks/framework_table.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/field_error.h"
#include "common/base/status_macros.h"
#include "formats/config/nearest_name.h"
#include "frameworks/general_refusals.h"
#include "frameworks/targets.h"

namespace tangram {
namespace {

using Shared = Framework::Shared;
using EqualEnds = Framework::EqualEnds;

// Searches over whole layers; each brings something of its own.
constexpr absl::string_view kLayerwise = "galvatron,hypertron,uniform";
// All searches over whole layers.
constexpr absl::string_view kAllLayerwise =
    "alpa,galvatron,hypertron,mist,uniform";

// Sources: each framework's own documentation and code, as its export_<name>.cc
// cites them; for those without an export, the parallelizer's paper. Megatron's
// distributed optimizer is ZeRO 1; its FSDP does not pipeline.
constexpr Framework kFrameworks[] = {
    {.name = "flagscale",
     .files = "YAML of FlagScale's heterogeneous meshes",
     .write = ExportToFlagScale,
     .runs = {.name = "FlagScale",
              .sequence_parallel = true,
              .context_parallel = true,
              .expert_parallel = true,
              .max_zero_stage = 1},
     .parallelizers = kLayerwise,
     .moe_parallelizers = kLayerwise,
     .all_parallelizers = kAllLayerwise,
     .shared = Shared::kCp,
     .equal_ends = EqualEnds::kTiedEmbeddings,
     .check = CheckForMegatron},
    {.name = "aceso",
     .files = "JSON of FlexPipe, Aceso's runtime",
     .write = ExportToAceso,
     .runs = {.name = "FlexPipe",
              .cuts = Runtime::Cuts::kResiduals,
              .recompute = Runtime::Recompute::kClosed},
     .parallelizers = "aceso",
     .moe_parallelizers = "uniform",  // To be told that there are none.
     .all_parallelizers = "aceso,alpa,galvatron,hypertron,mist,uniform",
     .shared = Shared::kDp,
     .accepts_gpus = AcesoAcceptsGpus,
     .reads_data = false,
     .check = CheckForAceso,
     .train = TrainingUnderAceso},
    {.name = "megatron",
     .files = "Megatron-LM's arguments with a pipeline layout",
     .write = ExportToMegatron,
     .runs = {.name = "Megatron-LM",
              .sequence_parallel = true,
              .expert_parallel = true,
              .max_zero_stage = 1,
              .zero_degrees = true,
              .interleaved = true},
     .parallelizers = kLayerwise,
     .moe_parallelizers = kLayerwise,
     .all_parallelizers = kAllLayerwise,
     .shared = Shared::kTpAndDp,
     .hybrids = true,
     .latent_experts = true,
     .check = CheckForMegatron},
    {.name = "galvatron",
     .files = "JSON of Hetu-Galvatron",
     .write = ExportToGalvatron,
     .runs = {.name = "Galvatron",
              .sequence_parallel = true,
              .context_parallel = true,
              .expert_parallel = true,
              .max_zero_stage = 3,
              .gpipe = true},
     .parallelizers = "galvatron,uniform",
     .moe_parallelizers = "galvatron,uniform",
     .all_parallelizers = kAllLayerwise,
     .shared = Shared::kGpus,
     .equal_ends = EqualEnds::kAlways,
     .why_not_device = WhyNotOnDeviceForGalvatron,
     .check = CheckForGalvatron,
     .train = TrainingUnderGalvatron},
    {.name = "sailor",
     .files = "JSON of Sailor's controller",
     .write = ExportToSailor,
     .runs = {.name = "Sailor"},
     .parallelizers = kLayerwise,
     .moe_parallelizers = "uniform",
     .all_parallelizers = kAllLayerwise,
     .shared = Shared::kDp,
     .equal_ends = EqualEnds::kTiedEmbeddings,
     .check = CheckForSailor,
     .train = TrainingUnderSailor},
    {.name = "flashflex",
     .files = "JSON of FlashFlex (HexiScale)",
     .write = ExportToFlashFlex,
     .write_pipelines = ExportPipelinesToFlashFlex,
     .runs = {.name = "FlashFlex", .gpipe = true},
     .parallelizers = kLayerwise,
     .moe_parallelizers = "uniform",
     .all_parallelizers = kAllLayerwise,
     .shared = Shared::kDp,
     .reads_data = false,
     .check = CheckForFlashFlex,
     .train = TrainingUnderFlashFlex},
    {.name = "torchtitan",
     .files = "torchtitan's ParallelismConfig",
     .write = ExportToTorchTitan,
     .runs = {.name = "torchtitan",
              .sequence_parallel = true,
              .expert_parallel = true,
              .max_zero_stage = 3,
              .zero_degrees = true,
              .interleaved = true},
     .parallelizers = kLayerwise,
     .moe_parallelizers = kLayerwise,
     .all_parallelizers = kAllLayerwise,
     .shared = Shared::kTpAndDp,
     .check = CheckForTorchTitan,
     .train = TrainingUnderTorchTitan},
    {.name = "alpa",
     .files = "Alpa's ManualStageOption",
     .write = ExportToAlpa,
     .runs = {.name = "Alpa", .gpipe = true},
     .parallelizers = kLayerwise,
     .moe_parallelizers = kLayerwise,
     .all_parallelizers = kAllLayerwise,
     .shared = Shared::kGpusPerNode,
     .train = TrainingUnderAlpa},
    {.name = "hetu",
     .files = "JSON and YAML of Hetu (Malleus)",
     .write = ExportToHetu,
     .write_pipelines = ExportPipelinesToHetu,
     .runs = {.name = "Hetu", .sequence_parallel = true, .max_zero_stage = 1},
     .why_not_device = WhyNotOnDeviceForHetu,
     .check = CheckForHetu,
     .train = TrainingUnderHetu},
    {.name = "deepspeed",
     .files = "refused: no list of stages",
     .write = ExportToDeepSpeed,
     .refuses_all = true},
    {.name = "nnscaler",
     .files = "refused: plans name nodes of a traced graph",
     .write = ExportToNnScaler,
     .refuses_all = true},
    {.name = "nanotron",
     .files = "refused: one mesh, even stages",
     .write = ExportToNanotron,
     .refuses_all = true},
    // Galvatron with sharded experts, a branch of its own.
    {.name = "laer-moe",
     .runs = {.name = "LAER-MoE",
              .sequence_parallel = true,
              .context_parallel = true,
              .expert_parallel = true,
              .sharded_experts = true,
              .max_zero_stage = 3,
              .gpipe = true}},
    {.name = "mist",
     .runs = {.name = "Mist",
              .sequence_parallel = true,
              .max_zero_stage = 3,
              .offload = true}},
};

template <typename Keep>
std::vector<const Framework*> Filter(const Keep& keep) {
  std::vector<const Framework*> kept;
  for (const Framework& framework : kFrameworks) {
    if (keep(framework)) kept.push_back(&framework);
  }
  return kept;
}

}  // namespace

absl::Status Framework::CheckLayers(const ModelSpec& model) const {
  if (!hybrids) TANGRAM_RETURN_IF_ERROR(RefuseHybrids(model));
  return latent_experts ? absl::OkStatus() : RefuseLatentExperts(model);
}

absl::Status Framework::CheckTraining(const ModelSpec& model,
                                      const TrainingOptions& training) const {
  TANGRAM_RETURN_IF_ERROR(CheckLayers(model));
  return check == nullptr ? absl::OkStatus() : check(model, training);
}

absl::Span<const Framework> Frameworks() { return kFrameworks; }

// The vectors below are never destroyed: they may be used at exit.
absl::Span<const Framework* const> ExportTargets() {
  static const auto& targets = *new std::vector(
      Filter([](const Framework& f) { return f.write != nullptr; }));
  return targets;
}

absl::Span<const Framework* const> PlanningRuntimes() {
  static const auto& runtimes = *new std::vector(
      Filter([](const Framework& f) { return f.is_planned_for(); }));
  return runtimes;
}

absl::StatusOr<const Framework*> FindFramework(
    absl::Span<const Framework* const> frameworks, absl::string_view field,
    absl::string_view name) {
  for (const Framework* framework : frameworks) {
    if (framework->name == name) return framework;
  }
  std::vector<absl::string_view> names;
  for (const Framework* framework : frameworks) {
    names.push_back(framework->name);
  }
  return FieldError(field, absl::StrCat(name, DidYouMean(name, names)),
                    absl::StrCat("one of ", NamesOf(frameworks)));
}

std::string NamesOf(absl::Span<const Framework* const> frameworks) {
  return absl::StrJoin(frameworks, ", ",
                       [](std::string* out, const Framework* framework) {
                         absl::StrAppend(out, framework->name);
                       });
}

absl::string_view DefaultParallelizers(const ModelSpec& model,
                                       const Framework* framework) {
  const bool experts = model.has_experts();
  if (framework == nullptr) return experts ? "uniform" : "aceso";
  return experts ? framework->moe_parallelizers : framework->parallelizers;
}

absl::Span<const Runtime> KnownRuntimes() {
  static const auto& runtimes = *new std::vector<Runtime>([] {
    std::vector<Runtime> known;
    for (const Framework& framework : kFrameworks) {
      if (!framework.refuses_all) known.push_back(framework.runs);
    }
    return known;
  }());
  return runtimes;
}

}  // namespace tangram
