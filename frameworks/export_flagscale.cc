#include <algorithm>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/substitute.h"
#include "common/base/obstacles.h"
#include "common/base/status_macros.h"
#include "frameworks/lower_plan.h"
#include "frameworks/megatron_options.h"
#include "frameworks/rank_order.h"
#include "frameworks/refusal.h"
#include "frameworks/targets.h"
#include "frameworks/whole_parts.h"

// Exports to FlagScale's heterogeneous mode (flagscale/train/arguments.py and
// flagscale/runner at 2025-11). Each kind of GPU and set of degrees has a mesh
// [tp, cp, ep, dp, pp]. Stages hold whole layers and run 1F1B. Everything else
// is as in Megatron-LM.
namespace tangram {
namespace {

// Neighbouring stages with equal degrees and one label of GPUs.
struct Mesh {
  StageParallelism parallelism;
  int num_stages = 0;
  std::string device;  // Label in the host file and the list of meshes.
};

// Makes equal what FlagScale sets once for all stages, and drops techniques
// that it lacks.
void LowerParallelism(const ModelSpec& model, PipelinePlan& plan) {
  bool any_sequence_parallel = false;
  bool any_sharded = false;
  for (const PlacedStage& stage : CanonicalPlan(model, plan).stages) {
    any_sequence_parallel |= stage.plan.parallelism.sequence_parallel;
    any_sharded |= stage.plan.parallelism.zero_stage > 0;
  }
  for (PlacedStage& stage : plan.stages) {
    StageParallelism& p = stage.plan.parallelism;
    p.sequence_parallel = any_sequence_parallel;
    p.zero_stage = any_sharded ? 1 : 0;
    p.zero_degree = 0;
    p.fsep = false;
    p.tp_y_degree = 1;
    stage.plan.offload = HostOffload();
  }
}

// Refuses tied embeddings in stages between which FlagScale cannot share them.
void CheckTiedEnds(const PipelinePlan& plan, Obstacles& obstacles) {
  const StageParallelism& first = plan.stages.front().plan.parallelism;
  const StageParallelism& last = plan.stages.back().plan.parallelism;
  const std::string field =
      absl::StrCat("stages[", plan.num_stages() - 1, "].plan.parallelism.");
  if (first.tp_degree != last.tp_degree) {
    obstacles.Refuse(field + "tp_degree", last.tp_degree,
                     absl::StrCat(first.tp_degree,
                                  " as in the first stage, whose embedding the "
                                  "head shares (tied embeddings)"));
  }
  if (first.dp_degree % last.dp_degree != 0 &&
      last.dp_degree % first.dp_degree != 0) {
    obstacles.Refuse(
        field + "dp_degree", last.dp_degree,
        absl::StrCat("a divisor or multiple of the first stage's ",
                     first.dp_degree, ", whose embedding the head shares"));
  }
}

// Refuses plans that FlagScale would accept and then hang on or train wrongly.
void CheckFlagScaleGuards(const PlannedTraining& in, const PipelinePlan& plan,
                          Obstacles& obstacles) {
  if (plan.virtual_stages > 1) {
    obstacles.Refuse("virtual_stages", plan.virtual_stages,
                     "1, as heterogeneous meshes run no virtual stages");
  }
  const StageParallelism& first = plan.stages.front().plan.parallelism;
  for (int i = 0; i < plan.num_stages(); ++i) {
    const StageParallelism& p = plan.stages[i].plan.parallelism;
    const std::string field = absl::StrCat("stages[", i, "].plan.parallelism.");
    if (p.cp_degree != first.cp_degree) {
      obstacles.Refuse(field + "cp_degree", p.cp_degree,
                       absl::StrCat(first.cp_degree,
                                    " as in the first stage: all meshes share "
                                    "one context parallel size"));
    }
    if ((p.ep_degree > 1) != (first.ep_degree > 1)) {
      obstacles.Refuse(field + "ep_degree", p.ep_degree,
                       "1 in all stages or in none");
    }
  }
  obstacles.Add(RequireWholeSequenceParts(in.training.sequence_length, plan));
  if (in.model.layers.back().tied_embeddings && plan.num_stages() > 1) {
    CheckTiedEnds(plan, obstacles);
  }
}

// Labels the hosts with GPU types. FlagScale orders ranks by the position of
// their label in the list of meshes, then by host. So a type that returns after
// another one gets a new label.
void LabelHosts(std::vector<RankedHost>& hosts) {
  std::vector<std::string> types;  // One for each label, in order.
  std::vector<std::string> labels;
  for (RankedHost& host : hosts) {
    if (types.empty() || types.back() != host.type) {
      const auto before = std::count(types.begin(), types.end(), host.type);
      types.push_back(host.type);
      labels.push_back(before == 0 ? host.type
                                   : absl::StrCat(host.type, "-again", before));
    }
    host.type = labels.back();
  }
}

const std::string& LabelOf(const std::vector<RankedHost>& hosts, GpuId gpu) {
  const auto host =
      std::find_if(hosts.begin(), hosts.end(),
                   [&](const RankedHost& h) { return h.node == gpu.node; });
  return host->type;
}

bool SameDegrees(const StageParallelism& a, const StageParallelism& b) {
  return a.tp_degree == b.tp_degree && a.cp_degree == b.cp_degree &&
         a.ep_degree == b.ep_degree && a.dp_degree == b.dp_degree;
}

// Joins neighbouring stages with equal degrees on one label to a mesh. Refuses
// a stage with GPUs of two labels.
absl::StatusOr<std::vector<Mesh>> MeshesOf(
    const PipelinePlan& plan, const std::vector<RankedHost>& hosts) {
  std::vector<Mesh> meshes;
  for (int i = 0; i < plan.num_stages(); ++i) {
    const PlacedStage& stage = plan.stages[i];
    const std::string& device = LabelOf(hosts, stage.gpus.front());
    if (LabelOf(hosts, stage.gpus.back()) != device) {
      return Refuse(absl::StrCat("stages[", i, "].gpus"),
                    absl::StrCat("GPUs of types ", device, " and ",
                                 LabelOf(hosts, stage.gpus.back())),
                    "one type, as a mesh has one");
    }
    const StageParallelism& p = stage.plan.parallelism;
    if (meshes.empty() || meshes.back().device != device ||
        !SameDegrees(meshes.back().parallelism, p)) {
      meshes.push_back({.parallelism = p, .device = device});
    }
    ++meshes.back().num_stages;
  }
  return meshes;
}

// Writes a mesh as FlagScale does: tp, cp, ep, dp, number of stages.
std::string MeshText(const Mesh& mesh) {
  const StageParallelism& p = mesh.parallelism;
  return absl::StrCat(p.tp_degree, ", ", p.cp_degree, ", ", p.ep_degree, ", ",
                      p.dp_degree, ", ", mesh.num_stages);
}

// Writes [stages, microbatches, value] for each stage. Methods: 0 uniform,
// 1 block.
std::string RecomputeText(const ModelSpec& model, const PipelinePlan& plan,
                          int num_microbatches) {
  std::string granularity;
  std::string method;
  std::string num_layers;
  for (const PlacedStage& stage : plan.stages) {
    const int recomputed = RecomputedLayers(model, stage.plan);
    const auto append = [&](std::string& list, int value) {
      absl::StrAppend(&list, "      - [1, ", num_microbatches, ", ", value,
                      "]\n");
    };
    append(granularity, recomputed > 0 ? 1 : 0);
    append(method, 1);
    append(num_layers, recomputed);
  }
  return absl::StrCat(
      "  recompute:\n"
      "    recompute_granularity: full\n"
      "    recompute_method: block\n"
      "    recompute_num_layers: 1\n"
      "    recompute_granularity_per_stage_micro_batch:\n",
      granularity, "    recompute_method_per_stage_micro_batch:\n", method,
      "    recompute_num_layers_per_stage_micro_batch:\n", num_layers);
}

std::string RecomputeSection(RecomputeGranularity granularity,
                             const ModelSpec& model, const PipelinePlan& plan,
                             int num_microbatches) {
  switch (granularity) {
    case RecomputeGranularity::kNone:
      return "";
    case RecomputeGranularity::kAttentionCore:
      return "  recompute:\n"
             "    recompute_granularity: selective\n"
             "    recompute_modules: [core_attn]\n";
    case RecomputeGranularity::kWholeLayers:
      return RecomputeText(model, plan, num_microbatches);
  }
  return "";
}

void AppendYamlOptions(const std::vector<MegatronOption>& options,
                       std::string& yaml) {
  for (const MegatronOption& option : options) {
    const std::string value = option.value.empty() ? "true" : option.value;
    // A text with brackets or commas needs quotes, or YAML reads a list.
    const bool quoted = value.find_first_of("([,*") != std::string::npos;
    const char* quote = quoted ? "\"" : "";
    absl::StrAppend(&yaml, "  ", option.name, ": ", quote, value, quote, "\n");
  }
}

// Writes the section of parallelism, with one list entry for each mesh or
// stage.
std::string SystemSection(const ModelSpec& model, const PipelinePlan& plan,
                          const std::vector<Mesh>& meshes) {
  const StageParallelism& first = plan.stages.front().plan.parallelism;
  const StageParallelism& last = plan.stages.back().plan.parallelism;
  std::vector<std::string> tp_degrees;
  std::vector<std::string> devices;
  for (const Mesh& mesh : meshes) {
    tp_degrees.push_back(absl::StrCat(mesh.parallelism.tp_degree));
    devices.push_back(mesh.device);
  }
  const bool partial_reduce =
      model.layers.back().tied_embeddings && first.dp_degree != last.dp_degree;
  std::string yaml = absl::Substitute(
      R"(system:
  tensor_model_parallel_size: $0
  pipeline_model_parallel_size: $1  # Of all meshes together.
  context_parallel_size: $2
  sequence_parallel: $3
  use_distributed_optimizer: $4
  hetero:
    enable_hetero: true
    # [tp, cp, ep, dp, pp] of each mesh, in the order of the stages.
    hetero_process_meshes: [$5]
    hetero_pipeline_layer_split: [$6]
    hetero_device_types: [$7]
    hetero_current_device_type: $8
    standalone_embedding_stage: false
)",
      first.tp_degree, plan.num_stages(), first.cp_degree,
      first.sequence_parallel ? "true" : "false",
      first.zero_stage > 0 ? "true" : "false",
      absl::StrJoin(meshes, ", ",
                    [](std::string* out, const Mesh& mesh) {
                      absl::StrAppend(out, MeshText(mesh));
                    }),
      absl::StrJoin(plan.stages, ", ",
                    [&](std::string* out, const PlacedStage& stage) {
                      absl::StrAppend(
                          out, TransformerLayers(model, stage.plan).size());
                    }),
      absl::StrJoin(devices, ", "), devices.front());
  if (partial_reduce) {
    yaml += "    use_partial_reduce_for_shared_embedding: true\n";
  }
  if (first.ep_degree > 1) {
    absl::StrAppend(&yaml,
                    "    expert_tensor_parallel_size_per_process_mesh: [",
                    absl::StrJoin(tp_degrees, ", "), "]\n");
  }
  return yaml;
}

std::string TrainYaml(const PlannedTraining& in, const PipelinePlan& plan,
                      const std::vector<Mesh>& meshes,
                      RecomputeGranularity recompute,
                      const std::vector<MegatronOption>& model_options) {
  const int num_microbatches =
      in.training.global_batch_size / plan.pipeline_microbatch_size;
  const int dp = plan.stages.front().plan.parallelism.dp_degree;
  std::string yaml = SystemSection(in.model, plan, meshes);
  yaml += RecomputeSection(recompute, in.model, plan, num_microbatches);
  yaml += "  precision:\n    attention_softmax_in_fp32: true\n\nmodel:\n";
  AppendYamlOptions(model_options, yaml);
  AppendYamlOptions(MegatronGpuOptions(in), yaml);
  AppendYamlOptions(MegatronTrainingOptions(in.model, in.training), yaml);
  if (in.model.layers.front().max_position_embeddings == 0) {
    absl::StrAppend(&yaml,
                    "  max_position_embeddings: ", in.training.sequence_length,
                    "\n");
  }
  absl::StrAppend(
      &yaml, "  seq_length: ", in.training.sequence_length,
      "\n  global_batch_size: ", in.training.global_batch_size,
      "\n  # Samples of a replica of the first mesh; FlagScale derives "
      "the others.\n  micro_batch_size: ",
      plan.pipeline_microbatch_size / dp, "\n");
  yaml += R"(  train_samples: ${oc.decode:${oc.env:TRAIN_SAMPLES,100000}}
  lr: ${oc.decode:${oc.env:LEARNING_RATE,0.0001}}

data:
  data_path: ${oc.env:DATA_PATH}
  split: 1
  tokenizer:
    tokenizer_type: ${oc.env:TOKENIZER_TYPE,HuggingFaceTokenizer}
    tokenizer_model: ${oc.env:TOKENIZER_MODEL}
)";
  return yaml;
}

// CUDA_VISIBLE_DEVICES is required, because FlagScale's launcher counts them.
std::string ExperimentYaml(const std::vector<RankedHost>& hosts) {
  size_t most = 0;
  std::string special;
  for (const RankedHost& host : hosts) {
    most = std::max(most, host.gpus.size());
    const std::string visible = VisibleGpus(host);
    if (visible.empty()) continue;
    absl::StrAppend(&special, "      ", host.name, ":\n",
                    "        CUDA_VISIBLE_DEVICES: \"", visible, "\"\n");
  }
  std::string all;
  for (size_t i = 0; i < most; ++i) {
    absl::StrAppend(&all, i == 0 ? "" : ",", i);
  }
  if (!special.empty()) special = "    node_specific:\n" + special;
  return absl::Substitute(R"(defaults:
  - train: plan
  - _self_

experiment:
  exp_name: tangram
  exp_dir: $${oc.env:EXP_DIR,./outputs}
  task:
    type: train
    backend: megatron
    entrypoint: ./flagscale/train/train_gpt.py
  runner:
    hostfile: $${oc.env:HOSTFILE}
    rdzv_backend: static  # Heterogeneous training knows no other.
  envs:
    CUDA_DEVICE_MAX_CONNECTIONS: 1
    CUDA_VISIBLE_DEVICES: "$0"
$1action: run

hydra:
  run:
    dir: $${experiment.exp_dir}/hydra
)",
                          all, special);
}

constexpr char kFlagScaleLaunch[] = R"sh(#!/bin/bash
# Starts the training on all hosts of ./hostfile over ssh. FLAGSCALE must name a
# checkout of FlagScale; DATA_PATH and TOKENIZER_MODEL what to train on.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
: "${FLAGSCALE:?must name a checkout of FlagScale}"
: "${DATA_PATH:?must name the data}" "${TOKENIZER_MODEL:?must name a tokenizer}"
export DATA_PATH TOKENIZER_MODEL HOSTFILE="$here/hostfile"
cd "$FLAGSCALE"
exec python run.py --config-path "$here" --config-name experiment "$@"
)sh";

}  // namespace

absl::StatusOr<FrameworkExport> ExportToFlagScale(const PlannedTraining& in) {
  PipelinePlan plan = CanonicalPlan(in.model, in.plan);
  plan.schedule = PipelineSchedule::kOneFOneB;
  Obstacles obstacles;
  const absl::Status rounded = RoundToLayers(in.model, plan);
  obstacles.Add(rounded);
  RecomputeGranularity recompute = RecomputeGranularity::kNone;
  if (rounded.ok()) {
    obstacles.Add(RequireTransformerLayers(in.model, plan));
    recompute = RoundRecompute(in.model, plan);
    LowerParallelism(in.model, plan);
  }
  CheckFlagScaleGuards(in, plan, obstacles);
  const auto model_options = MegatronModelOptions(in.model);
  obstacles.Add(model_options.status());
  auto ranked = HostsInRankOrder(in.cluster, plan);
  obstacles.Add(ranked.status());
  std::vector<RankedHost> hosts;
  std::vector<Mesh> meshes;
  if (ranked.ok()) {
    hosts = *std::move(ranked);
    LabelHosts(hosts);
    absl::StatusOr<std::vector<Mesh>> found = MeshesOf(plan, hosts);
    obstacles.Add(found.status());
    if (found.ok()) meshes = *std::move(found);
  }
  TANGRAM_RETURN_IF_ERROR(obstacles.AsStatus());
  if (in.plan_only) {
    return FrameworkExport{.training = in.training, .plan = std::move(plan)};
  }

  FrameworkExport result{
      .files = {{"experiment.yaml", ExperimentYaml(hosts)},
                {"train/plan.yaml",
                 TrainYaml(in, plan, meshes, recompute, *model_options)},
                {"hostfile", HostFileText(hosts)},
                {"launch.sh", kFlagScaleLaunch, /*executable=*/true}},
      .launch =
          "FLAGSCALE=<checkout> DATA_PATH=... TOKENIZER_MODEL=... "
          "./launch.sh",
      .training = in.training,
      .framework_losses = LostUnderMegatron(in),
      .guards = {("the global batch is a multiple of the microbatch of all "
                  "replicas"),
                 "every replica's microbatch is whole",
                 "all stages share one context parallel degree",
                 "tied embeddings: first and last stage have the same tp",
                 "no virtual stages", "a stage has GPUs of one type",
                 "hosts, device types and stages are in one order"}};
  result.plan = std::move(plan);
  return result;
}

}  // namespace tangram
