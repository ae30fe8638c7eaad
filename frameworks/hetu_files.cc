#include "frameworks/hetu_files.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "frameworks/hetu_program.h"
#include "frameworks/json_lines.h"
#include "frameworks/model_details.h"

namespace tangram {
namespace {

using Json = nlohmann::ordered_json;

// The pipelines' degrees and devices for one layer.
struct LayerUnion {
  std::vector<int> tp;
  Json devices = Json::array();
};

LayerUnion UnionOf(const HetuPlan& plan, int layer) {
  LayerUnion found;
  for (const ReplicaPipeline& pipeline : plan.pipelines) {
    size_t s = 0;
    for (int end = pipeline.stages[0].num_layers; end <= layer;) {
      end += pipeline.stages[++s].num_layers;
    }
    const ReplicaStage& stage = pipeline.stages[s];
    found.tp.push_back(stage.tp());
    std::vector<int> devices;
    for (const GpuId& gpu : stage.gpus) devices.push_back(plan.devices.at(gpu));
    found.devices.push_back(devices);
  }
  return found;
}

// A weight that tp splits in dimension `dim`, with a copy in each pipeline.
Json Variable(const LayerUnion& of, const char* dim) {
  const size_t copies = of.tp.size();
  return {{"split", {{dim, of.tp}}},
          {"dup", std::vector<size_t>(copies, copies)},
          {"device_group_union", of.devices},
          {"type", "variable"}};
}

// A batch of which each pipeline has a part, and all ranks of a stage the same.
Json Placeholder(const LayerUnion& of) {
  const size_t parts = of.tp.size();
  return {{"split", {{"0", std::vector<size_t>(parts, parts)}}},
          {"dup", of.tp},
          {"device_group_union", of.devices},
          {"type", "placeholder"}};
}

Json Block(const HetuPlan& plan, int layer) {
  const LayerUnion of = UnionOf(plan, layer);
  const std::vector<bool> no(plan.pipelines.size());
  std::vector<bool> recomputed;
  for (const std::vector<int>& layers : plan.recomputed) {
    recomputed.push_back(std::count(layers.begin(), layers.end(), layer) > 0);
  }
  return {{"range", {layer}},
          {"recompute", recomputed},
          {"output_recompute", no},
          {"cpu_offload", no},
          {"rmsnorm1", Variable(of, "0")},
          {"attn", {{"qkv", Variable(of, "1")}, {"dense", Variable(of, "0")}}},
          {"rmsnorm2", Variable(of, "0")},
          {"mlp",
           {{"dense_h_to_4h", Variable(of, "1")},
            {"dense_4h_to_h", Variable(of, "0")},
            {"activation_func", Json::object()}}}};
}

Json Granularities(const HetuPlan& plan) {
  Json granularities = Json::array();
  for (const std::vector<int>& layers : plan.recomputed) {
    granularities.push_back(layers.empty() ? Json(nullptr) : Json("selective"));
  }
  return granularities;
}

std::string HetuConfigText(const HetuPlan& plan) {
  const LayerUnion first = UnionOf(plan, 0);
  const LayerUnion last = UnionOf(plan, plan.num_layers() - 1);
  Json blocks = Json::object();
  for (int l = 0; l < plan.num_layers(); ++l) {
    blocks[absl::StrCat("blocks", l)] = Block(plan, l);
  }
  std::vector<int> devices(plan.num_devices());
  std::iota(devices.begin(), devices.end(), 0);
  return JsonLines(Json{{"zero", plan.zero},
                        {"devices", devices},
                        {"recompute_granularity", Granularities(plan)},
                        {"recompute_layer_idxs_list", plan.recomputed},
                        {"input", Placeholder(first)},
                        {"llama",
                         {{"wte", Variable(first, "0")},
                          {"blocks", blocks},
                          {"rmsnorm_final", Variable(last, "0")}}},
                        {"lm_head", Variable(last, "1")},
                        {"label", Placeholder(last)}});
}

// Stages have ranks for the largest tp. The ranks beyond a stage's own tp are
// unused; their devices do not exist, as no process may wait idle.
struct RankLists {
  std::vector<int> device_of_rank;
  std::vector<int> unused;
};

RankLists RankListsOf(const HetuPlan& plan) {
  RankLists ranks;
  int missing = plan.num_devices();
  const int tp = plan.largest_tp();
  for (const ReplicaPipeline& pipeline : plan.pipelines) {
    for (const ReplicaStage& stage : pipeline.stages) {
      for (const GpuId& gpu : stage.gpus) {
        ranks.device_of_rank.push_back(plan.devices.at(gpu));
      }
      for (int t = stage.tp(); t < tp; ++t) {
        ranks.unused.push_back(static_cast<int>(ranks.device_of_rank.size()));
        ranks.device_of_rank.push_back(missing++);
      }
    }
  }
  return ranks;
}

std::string DsParallelYaml(const HetuPlan& plan) {
  const RankLists ranks = RankListsOf(plan);
  const size_t copies = plan.pipelines.size();
  std::vector<int> microbatches;
  Json layers = Json::array();
  for (const ReplicaPipeline& pipeline : plan.pipelines) {
    microbatches.push_back(pipeline.num_microbatches);
    std::vector<int> of_stages;
    for (const ReplicaStage& stage : pipeline.stages) {
      of_stages.push_back(stage.num_layers);
    }
    layers.push_back(of_stages);
  }
  std::string mapping;
  for (size_t rank = 0; rank < ranks.device_of_rank.size(); ++rank) {
    absl::StrAppend(&mapping, "    ", rank, ": ", ranks.device_of_rank[rank],
                    "\n");
  }
  const bool recomputes =
      std::any_of(plan.recomputed.begin(), plan.recomputed.end(),
                  [](const auto& of_pipeline) { return !of_pipeline.empty(); });
  return absl::StrCat(
      "ds_parallel:\n  hetero: true\n  dp: ", copies,
      "\n  cp: 1\n  tp: ", plan.largest_tp(),
      "\n  pp: 1\n  zero: ", plan.zero ? "true" : "false",
      "\n  num_layers: ", plan.num_layers(),
      "\n  num_gpus: ", plan.num_devices(),
      "\n  recompute:\n    recompute_granularity: ",
      recomputes ? Granularities(plan).dump() : "null",
      "\n    recompute_method: null\n    recompute_num_layers: null\n"
      "    recompute_layer_idxs_list: ",
      recomputes ? Json(plan.recomputed).dump() : "null",
      "\n  ds_parallel_config_path: ${oc.env:HETU_PLAN}\n"
      "  ds_parallel_config_name: ds_parallel.json\n"
      "  rank_to_device_mapping:\n",
      mapping, "  unused_rank: ", Json(ranks.unused).dump(),
      "\n  gpus_per_stage: ", plan.largest_tp(),
      "\n  hetero_layers: ", layers.dump(),
      "\n  micro_batch_num_list: ", Json(microbatches).dump(),
      "\n  seq_len_list: ",
      Json(std::vector<int>(copies, plan.training.sequence_length)).dump(),
      "\n  cp_list: ", Json(std::vector<int>(copies, 1)).dump(), "\n");
}

// $0: GPUs. $1: host of rank 0. $2: section ds_parallel. $3: bf16. $4:
// microbatch. $5: batch. $6: sequence.
constexpr char kConfig[] = R"(rpc:
  hosts: $${oc.env:HETU_PLAN}/hosts.yaml
  server_addr: $1
  server_port: 23459
  num_gpus: $0
  command: null
  envs: $${oc.env:HETU_PLAN}/env.sh
  nsys_profile: false
  log_path: $${oc.env:HETU_LOGS,$${oc.env:HETU_PLAN}/logs}
$2trainer:
  output_dir: $${rpc.log_path}/model
  overwrite_output_dir: true
  bf16: $3
  packing: false
  micro_batch_size: $4
  global_load_size: $5
  data_load_level: SAMPLE
  train_dataset_path: $${oc.env:HETU_DATA}
  dataset_text_field: text
  max_seq_length: $6
  ds_parallel: $${ds_parallel}
)";

std::string ModelYaml(const ModelSpec& model) {
  const LayerSpec& layer = model.layers[1];
  const double epsilon = model.details.norm_epsilon;
  return absl::StrCat(
      "model:\n  architecture: LlamaLMHeadModel\n  config_type: LlamaConfig\n"
      "  num_hidden_layers: ",
      model.num_layers() - 2, "\n  num_attention_heads: ", layer.num_heads,
      "\n  num_key_value_heads: ", layer.num_kv_heads,
      "\n  head_dim: ", layer.head_dim, "\n  hidden_size: ", layer.hidden_size,
      "\n  intermediate_size: ", layer.ffn_hidden_size,
      "\n  vocab_size: ", model.layers.front().vocab_size,
      epsilon > 0 ? "\n  rms_norm_eps: " + DetailText(epsilon) : "",
      "\n  attention_dropout: 0\n  hidden_act: fast-swiglu\n"
      "  use_flash_attn: true\n  tokenizer:\n    type: GPT2BPETokenizer\n"
      "    vocab_file: ${oc.env:HETU_VOCAB}\n"
      "    merge_file: ${oc.env:HETU_MERGES}\n"
      "    pretrained_model_name_or_path: null\n"
      "  optimizer:\n    type: Adam\n    learning_rate: 1.0e-4\n"
      "    lr_scheduler: null\n");
}

std::string TrainYaml(const HetuPlan& plan) {
  return absl::StrCat(
      absl::Substitute(
          kConfig, plan.num_devices(), Json(plan.hosts.front().name).dump(),
          DsParallelYaml(plan),
          plan.training.precision == Precision::kBf16 ? "true" : "false",
          plan.pipelines.front().microbatch_size,
          plan.training.global_batch_size, plan.training.sequence_length),
      ModelYaml(plan.model));
}

std::string HostsYaml(const std::vector<RankedHost>& hosts) {
  std::string text = "hosts:\n";
  for (const RankedHost& host : hosts) {
    absl::StrAppend(&text, "  - addr: ", Json(host.name).dump(),
                    "\n    initial_workers: ", host.gpus.size(),
                    "\n    min_workers: ", host.gpus.size(),
                    "\n    max_workers: ", host.gpus.size(), "\n");
  }
  return text + "max_restart_times: 0\nheartbeat_interval: 10.0\n";
}

constexpr char kEnvironment[] =
    R"sh(# Sourced by every rank, in examples/pretrain of a checkout of Hetu. Hosts start
# one after another, as Hetu numbers devices in that order.
source ../../hetu.exp
export HETU_PLAN=$$(cd "$$(dirname "$${BASH_SOURCE[0]}")" && pwd)
number=
for name in "$$(hostname -s)" "$$(hostname)"; do
  case $$name in
$0  esac
done
if [ -z "$$number" ]; then
  echo "env.sh: $$(hostname) is not in $$HETU_PLAN/hosts.yaml" >&2
  return 2
fi
sleep $$((number * $${HOST_DELAY:-5}))
)sh";

std::string EnvironmentText(const std::vector<RankedHost>& hosts) {
  std::string cases;
  for (size_t h = 0; h < hosts.size(); ++h) {
    const std::string visible = VisibleGpus(hosts[h]);
    absl::StrAppend(
        &cases, "  ", hosts[h].name, ") number=", h,
        visible.empty()
            ? ""
            : absl::StrCat("; export CUDA_VISIBLE_DEVICES=", visible),
        " ;;\n");
  }
  return absl::Substitute(kEnvironment, cases);
}

constexpr char kHetuLaunch[] = R"sh(#!/bin/bash
# Starts all ranks under Hetu by ssh: bash launch.sh [more options for the
# program] on the first host of ./hosts.yaml. HETU names a built checkout of
# it, which all hosts see under the same path, as they see this folder and
# HETU_DATA (JSON lines), HETU_VOCAB and HETU_MERGES (of the tokenizer).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
: "${HETU:?must name a checkout of Hetu}"
: "${HETU_DATA:?must name the data}"
: "${HETU_VOCAB:?must name the vocabulary}" "${HETU_MERGES:?must name the merges}"
export HETU_PLAN=$here HETU_DATA HETU_VOCAB HETU_MERGES
cd "$HETU/examples/pretrain"
set +u
source ../../hetu.exp
set -u
command="env HETU_DATA=$HETU_DATA HETU_VOCAB=$HETU_VOCAB HETU_MERGES=$HETU_MERGES"
command="$command python3 -u $here/train_pipelines.py --config-path=$here"
command="$command --config-name=hetu $*"
exec python3 -m hetu.rpc.pssh_start_config --config-path="$here" \
  --config-name=hetu "rpc.command='$command'"
)sh";

}  // namespace

int HetuPlan::largest_tp() const {
  int largest = 1;
  for (const ReplicaPipeline& pipeline : pipelines) {
    for (const ReplicaStage& stage : pipeline.stages) {
      largest = std::max(largest, stage.tp());
    }
  }
  return largest;
}

std::vector<ExportedFile> HetuFiles(const HetuPlan& plan) {
  return {{"ds_parallel.json", HetuConfigText(plan)},
          {"hetu.yaml", TrainYaml(plan)},
          {"hosts.yaml", HostsYaml(plan.hosts)},
          {"env.sh", EnvironmentText(plan.hosts)},
          {"launch.sh", kHetuLaunch, /*executable=*/true},
          {kHetuProgramName, kHetuProgram}};
}

}  // namespace tangram
