#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "frameworks/lower_plan.h"
#include "frameworks/model_details.h"
#include "frameworks/refusal.h"
#include "frameworks/targets.h"

// Exports to Alpa (alpa-projects/alpa,
// pipeline_parallel/stage_construction.py). Each stage has a mesh of whole
// hosts or of a part of one, with a logical shape [dp, tp]. The schedule is
// 1F1B.
namespace tangram {
namespace {

// The GPUs of a stage as Alpa counts them.
struct Submesh {
  int num_hosts = 1;
  int gpus_per_host = 0;
  std::vector<int> nodes;  // Nodes of our cluster, in rank order.
};

absl::StatusOr<Submesh> SubmeshOf(const Cluster& cluster,
                                  const PlacedStage& stage, int index) {
  Submesh mesh;
  for (const GpuId& gpu : stage.gpus) {
    if (mesh.nodes.empty() || mesh.nodes.back() != gpu.node) {
      mesh.nodes.push_back(gpu.node);
    }
  }
  mesh.num_hosts = static_cast<int>(mesh.nodes.size());
  mesh.gpus_per_host = static_cast<int>(stage.gpus.size()) / mesh.num_hosts;
  const int of_host = cluster.nodes[mesh.nodes.front()].num_gpus;
  const bool whole = mesh.gpus_per_host == of_host;
  const bool even = mesh.gpus_per_host * mesh.num_hosts ==
                    static_cast<int>(stage.gpus.size());
  if (even && (whole || mesh.num_hosts == 1)) return mesh;
  return Refuse(
      StageField(index, ".gpus"),
      absl::StrCat(stage.gpus.size(), " GPUs on ", mesh.num_hosts, " hosts"),
      "whole hosts, or a part of one");
}

// Returns the node for each of Alpa's hosts. Alpa assigns hosts by descending
// size of the meshes, the last of equal ones first. Parts of a host are
// assigned one after the other.
absl::StatusOr<std::vector<int>> HostOrder(const Cluster& cluster,
                                           const std::vector<Submesh>& meshes) {
  const int gpus_per_host = cluster.nodes[meshes[0].nodes[0]].num_gpus;
  std::vector<int> order(meshes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return meshes[a].num_hosts * meshes[a].gpus_per_host <
           meshes[b].num_hosts * meshes[b].gpus_per_host;
  });
  std::reverse(order.begin(), order.end());
  std::vector<int> hosts;
  std::set<int> seen;
  int used = 0;  // Used GPUs of the last host.
  for (const int i : order) {
    const Submesh& mesh = meshes[i];
    for (const int node : mesh.nodes) {
      if (cluster.nodes[node].num_gpus != gpus_per_host) {
        return Refuse(
            StageField(i, ".gpus"),
            absl::StrCat("a host of ", cluster.nodes[node].num_gpus, " GPUs"),
            absl::StrCat(gpus_per_host, " on every host"));
      }
      const bool shares = used > 0;
      if (shares &&
          (hosts.back() != node || used + mesh.gpus_per_host > gpus_per_host)) {
        return Refuse(StageField(i, ".gpus"),
                      absl::StrCat(mesh.gpus_per_host, " GPUs of host ",
                                   cluster.nodes[node].name),
                      absl::StrCat("stages that fill host ",
                                   cluster.nodes[hosts.back()].name,
                                   " first, as Alpa assigns hosts by size"));
      }
      if (!shares) {
        if (!seen.insert(node).second) {
          return Refuse(StageField(i, ".gpus"),
                        absl::StrCat("host ", cluster.nodes[node].name),
                        "a host that no other stage has filled");
        }
        hosts.push_back(node);
      }
      used = (used + mesh.gpus_per_host) % gpus_per_host;
    }
  }
  if (used == 0) return hosts;
  return Refuse("stages", absl::StrCat(used, " GPUs of the last host"),
                absl::StrCat("all ", gpus_per_host));
}

absl::Status CheckStages(const PipelinePlan& plan) {
  if (plan.virtual_stages > 1) {
    return Refuse("virtual_stages", plan.virtual_stages, "1");
  }
  for (int i = 0; i < plan.num_stages(); ++i) {
    const StageParallelism& p = plan.stages[i].plan.parallelism;
    if (p.cp_degree == 1) continue;
    return Refuse(StageField(i, ".plan.parallelism.cp_degree"), p.cp_degree,
                  "1, as Alpa has no context parallelism");
  }
  return absl::OkStatus();
}

std::string ScriptText(const PlannedTraining& in, const PipelinePlan& plan,
                       const std::vector<Submesh>& meshes,
                       const std::vector<int>& hosts, bool recompute) {
  std::string layers, physical, logical;
  for (int i = 0; i < plan.num_stages(); ++i) {
    const PlacedStage& stage = plan.stages[i];
    const LayerSpan span = TransformerLayers(in.model, stage.plan);
    absl::StrAppend(&layers, "        list(range(", span.first - 1, ", ",
                    span.last - 1, ")),\n");
    absl::StrAppend(&physical, i > 0 ? ", " : "", "(", meshes[i].num_hosts,
                    ", ", meshes[i].gpus_per_host, ")");
    absl::StrAppend(&logical, i > 0 ? ", " : "", "(",
                    stage.plan.parallelism.dp_degree, ", ",
                    stage.plan.parallelism.tp_degree, ")");
  }
  return absl::StrCat(
      "\"\"\"The stages of a plan for alpa.parallelize(method=method).\n\n"
      "Start Ray on the hosts in the order of ./hostfile: Alpa gives them to\n"
      "stages by size, the last stage first.\n\"\"\"\n\n"
      "from alpa import AutoLayerOption, ManualStageOption, "
      "PipeshardParallel\n\n"
      "stage_option = ManualStageOption(\n    forward_stage_layer_ids=[\n",
      layers, "    ],\n    submesh_physical_shapes=[", physical,
      "],\n    submesh_logical_shapes=[", logical,
      "],  # (data, tensor)\n    submesh_autosharding_option_dicts=[\n"
      "        {\"force_batch_dim_to_mesh_dim\": 0}] * ",
      plan.num_stages(),
      ",\n)\nmethod = PipeshardParallel(\n"
      "    num_micro_batches=",
      in.training.global_batch_size / plan.pipeline_microbatch_size,
      ",\n    pipeline_schedule=\"",
      plan.schedule == PipelineSchedule::kGpipe ? "gpipe" : "1f1b",
      "\",\n    layer_option=AutoLayerOption(layer_num=",
      in.model.num_layers() - 2,
      ",\n                                 remat_mode=\"",
      recompute ? "coarse_grained_remat" : "none",
      "\"),\n    stage_option=stage_option,\n)\nhosts = [\"",
      absl::StrJoin(hosts, "\", \"",
                    [&](std::string* out, int node) {
                      absl::StrAppend(out, in.cluster.nodes[node].name);
                    }),
      "\"]\n");
}

}  // namespace

TrainingOptions TrainingUnderAlpa(TrainingOptions training) {
  training.flash_attention = false;
  training.overlap_grad_reduce = false;
  training.bf16_moments = false;
  training.fused_loss = false;
  return training;
}

absl::StatusOr<FrameworkExport> ExportToAlpa(const PlannedTraining& in) {
  TANGRAM_ASSIGN_OR_RETURN(
      DegreePlan lowered,
      LowerToDegrees(in.model, in.plan, /*keep_gpipe=*/true));
  PipelinePlan plan = std::move(lowered.plan);
  for (PlacedStage& stage : plan.stages) stage.plan.parallelism.ep_degree = 1;
  TANGRAM_RETURN_IF_ERROR(CheckStages(plan));
  std::vector<Submesh> meshes;
  for (int i = 0; i < plan.num_stages(); ++i) {
    TANGRAM_ASSIGN_OR_RETURN(meshes.emplace_back(),
                             SubmeshOf(in.cluster, plan.stages[i], i));
  }
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<int> hosts,
                           HostOrder(in.cluster, meshes));
  std::string host_file;
  for (const int node : hosts) {
    const Node& host = in.cluster.nodes[node];
    absl::StrAppend(&host_file, host.name, " slots=", host.num_gpus, "\n");
  }
  FrameworkExport result{
      .files = {{"alpa_stages.py",
                 ScriptText(in, plan, meshes, hosts, lowered.recompute)},
                {"hostfile", std::move(host_file)}},
      .launch =
          "start Ray on the hosts in the order of hostfile, then "
          "alpa.parallelize(method=alpa_stages.method)",
      .training = TrainingUnderAlpa(in.training),
      .framework_losses = LostDetails(in.model, in.training, {}),
      .guards = {"hosts are in the order in which Alpa assigns them, which "
                 "is not that of the stages",
                 "parts of a host fill it", "every host has as many GPUs"}};
  result.plan = std::move(plan);
  return result;
}

}  // namespace tangram
