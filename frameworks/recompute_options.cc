#include "frameworks/recompute_options.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "common/domain/recompute_masks.h"
#include "frameworks/lower_plan.h"

namespace tangram {
namespace {

using Kind = RecomputeOptions::Kind;

// A value of --recompute-modules, and the operators that it recomputes.
struct Module {
  absl::string_view name;
  bool drops_output = false;  // Megatron-LM's CheckpointWithoutOutput.
  std::vector<OpKind> ops;
  bool latent_attention = false;  // Only with it.
};

const std::vector<Module>& Modules() {
  static const auto& modules = *new std::vector<Module>{
      {.name = "core_attn", .ops = {OpKind::kAttentionCore}},
      {.name = "moe_act",
       .drops_output = true,
       .ops = {OpKind::kExpertActivation}},
      {.name = "layernorm",
       .drops_output = true,
       .ops = {OpKind::kAttentionNorm, OpKind::kMlpNorm, OpKind::kMambaNorm}},
      {.name = "mla_up_proj",
       .drops_output = true,
       .ops = {OpKind::kQkvProjection},
       .latent_attention = true},
      {.name = "mlp",
       .ops = {OpKind::kMlpUp, OpKind::kMlpActivation, OpKind::kMlpDown}},
      {.name = "moe",
       .ops = {OpKind::kRouter, OpKind::kExpertDispatch, OpKind::kExpertUp,
               OpKind::kExpertActivation, OpKind::kExpertDown,
               OpKind::kExpertCombine}}};
  return modules;
}

const Module* FindModule(absl::string_view name) {
  const auto found = absl::c_find_if(
      Modules(), [&](const Module& module) { return module.name == name; });
  return found == Modules().end() ? nullptr : &*found;
}

absl::Status ReadModules(LaunchArguments& arguments, RecomputeOptions& options,
                         std::vector<std::string>& notes) {
  options.modules = arguments.Texts("recompute-modules");
  if (options.modules.empty()) options.modules = {"core_attn"};
  if (arguments.Has("moe-layer-recompute")) options.modules.push_back("moe");
  int dropping = 0;
  for (const std::string& name : options.modules) {
    const Module* module = FindModule(name);
    if (module == nullptr) {
      return arguments.Error(
          "recompute-modules",
          absl::StrCat("some of ",
                       absl::StrJoin(Modules(), ", ",
                                     [](std::string* out, const Module& known) {
                                       absl::StrAppend(out, known.name);
                                     }),
                       "; plans know no other modules"));
    }
    if (module->latent_attention && !arguments.Has("multi-latent-attention")) {
      return arguments.Error(
          "recompute-modules",
          absl::StrCat("no ", name, " without ",
                       arguments.Field("multi-latent-attention")));
    }
    if (name == "moe_act" && !arguments.Has("moe-grouped-gemm")) {
      return arguments.Error("recompute-modules",
                             absl::StrCat("no moe_act without ",
                                          arguments.Field("moe-grouped-gemm")));
    }
    dropping += module->drops_output;
  }
  if (dropping > 0 && dropping < static_cast<int>(options.modules.size())) {
    notes.push_back(absl::StrCat(
        absl::StrJoin(options.modules, ", "),
        " are recomputed; plans keep the outputs that Megatron-LM drops for "
        "some of them"));
  }
  return absl::OkStatus();
}

// Full recomputation stops without method and number of layers.
absl::Status ReadLayers(LaunchArguments& arguments, RecomputeOptions& options,
                        std::vector<std::string>& notes) {
  if (arguments.Has("moe-layer-recompute")) {
    return arguments.Error("moe-layer-recompute",
                           "no such option with full recomputation");
  }
  TANGRAM_ASSIGN_OR_RETURN(
      const std::string method,
      arguments.OneOf("recompute-method", "", {"uniform", "block"}));
  if (method.empty()) {
    return arguments.Error("recompute-method",
                           "uniform or block with full recomputation");
  }
  options.block = method == "block";
  TANGRAM_ASSIGN_OR_RETURN(options.num_layers,
                           arguments.Int("recompute-num-layers", std::nullopt,
                                         options.block ? 0 : 1));
  if (!options.block && options.num_layers > 1) {
    notes.push_back(absl::StrCat(
        "layers are recomputed one by one; ",
        arguments.Field("recompute-num-layers"), " ", options.num_layers,
        " keeps fewer inputs of layers and recomputes more at a time"));
  }
  return absl::OkStatus();
}

OpMask MaskOf(const RecomputeOptions& options, const LayerSpec& layer) {
  const absl::Span<const OpKind> ops = OperatorsOf(layer);
  OpMask mask = kRecomputeNone;
  bool drops = true;
  for (const std::string& name : options.modules) {
    const Module* module = FindModule(name);
    drops = drops && module->drops_output;
    for (size_t i = 0; i < ops.size(); ++i) {
      if (absl::c_linear_search(module->ops, ops[i])) mask |= OpMask{1} << i;
    }
  }
  return mask != kRecomputeNone && drops ? mask | kDropOutputs : mask;
}

}  // namespace

absl::StatusOr<RecomputeOptions> ReadRecomputeOptions(
    LaunchArguments& arguments, std::vector<std::string>& notes) {
  TANGRAM_ASSIGN_OR_RETURN(
      std::string granularity,
      arguments.OneOf("recompute-granularity", "", {"full", "selective"}));
  if (arguments.Has("recompute-activations")) granularity = "selective";
  RecomputeOptions options;
  if (granularity == "full") {
    options.kind = Kind::kLayers;
    TANGRAM_RETURN_IF_ERROR(ReadLayers(arguments, options, notes));
  } else if (granularity == "selective" ||
             arguments.Has("moe-layer-recompute")) {
    for (const char* name : {"recompute-method", "recompute-num-layers"}) {
      if (arguments.Has(name)) {
        return arguments.Error(name,
                               "no such option with selective recomputation");
      }
    }
    options.kind = Kind::kModules;
    TANGRAM_RETURN_IF_ERROR(ReadModules(arguments, options, notes));
  }
  return options;
}

void ApplyRecompute(const RecomputeOptions& options, const ModelSpec& model,
                    StagePlan& stage) {
  const LayerSpan span = TransformerLayers(model, stage);
  const int end =
      options.block ? std::min<int>(span.last, span.first + options.num_layers)
                    : span.last;
  stage.recompute = {{.num_layers = LayersTouched(stage.begin, stage.end)}};
  ChangeMasks(
      [&](int layer, OpMask) {
        if (layer < span.first || layer >= span.last) return kRecomputeNone;
        const LayerSpec& spec = model.layers[layer];
        switch (options.kind) {
          case Kind::kNone:
            return kRecomputeNone;
          case Kind::kModules:
            return MaskOf(options, spec);
          case Kind::kLayers:
            return layer < end ? WholeLayerMask(spec) : kRecomputeNone;
        }
        return kRecomputeNone;
      },
      stage);
}

}  // namespace tangram
