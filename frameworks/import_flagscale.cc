#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/field_error.h"
#include "common/base/status_macros.h"
#include "frameworks/check_model_options.h"
#include "frameworks/import_parts.h"
#include "frameworks/launch_arguments.h"
#include "frameworks/rank_order.h"
#include "frameworks/read_training_options.h"
#include "frameworks/recompute_options.h"
#include "frameworks/recompute_per_microbatch.h"
#include "frameworks/targets.h"

// Imports the train file of FlagScale's heterogeneous training (2025-11).
namespace tangram {
namespace {

constexpr char kMeshes[] = "hetero-process-meshes";
constexpr char kDeviceTypes[] = "hetero-device-types";
constexpr char kCurrentType[] = "hetero-current-device-type";
constexpr char kLayerSplit[] = "hetero-pipeline-layer-split";
constexpr char kExpertTp[] = "expert-tensor-parallel-size-per-process-mesh";

struct MeshOptions {
  StageParallelism parallelism;
  int num_stages = 0;
};

// Refuses what FlagScale stops at or would run otherwise, beside meshes.
absl::Status CheckMode(LaunchArguments& arguments) {
  if (!arguments.Has("enable-hetero")) {
    return arguments.Error("enable-hetero",
                           "true, as FlagScale reads meshes only then");
  }
  for (const char* name :
       {"standalone-embedding-stage", "num-layers-per-virtual-pipeline-stage",
        "num-virtual-stages-per-pipeline-rank",
        "pipeline-model-parallel-layout", "use-megatron-fsdp",
        "use-torch-fsdp2"}) {
    if (arguments.Has(name)) {
      return arguments.Error(name, "no such option beside meshes");
    }
  }
  constexpr char kShardGroups[] = "num-distributed-optimizer-instances";
  TANGRAM_ASSIGN_OR_RETURN(const int groups, arguments.Int(kShardGroups, 1));
  if (groups > 1) return arguments.Error(kShardGroups, "1 beside meshes");
  // Meshes replace these.
  for (const char* name :
       {"tensor-model-parallel-size", "context-parallel-size",
        "expert-model-parallel-size"}) {
    arguments.Has(name);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<MeshOptions>> ReadMeshes(LaunchArguments& arguments,
                                                    int num_gpus) {
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<int> values,
                           arguments.Ints(kMeshes, /*min=*/1));
  constexpr int kFields = 5;
  if (values.empty() || values.size() % kFields != 0) {
    return arguments.Error(kMeshes, "tp, cp, ep, dp, pp of each mesh");
  }
  const int zero_stage = arguments.Has("use-distributed-optimizer") ? 1 : 0;
  const bool sequence_parallel = arguments.Has("sequence-parallel");
  std::vector<MeshOptions> meshes;
  int num_stages = 0;
  for (size_t m = 0; m < values.size(); m += kFields) {
    MeshOptions mesh{.parallelism = {.tp_degree = values[m],
                                     .cp_degree = values[m + 1],
                                     .dp_degree = values[m + 3],
                                     .ep_degree = values[m + 2],
                                     .zero_stage = zero_stage,
                                     .sequence_parallel = sequence_parallel},
                     .num_stages = values[m + 4]};
    if (mesh.num_stages > num_gpus - num_stages) {
      return arguments.Error(
          kMeshes, absl::StrCat("no more stages than the ", num_gpus, " GPUs"));
    }
    num_stages += mesh.num_stages;
    if (mesh.parallelism.cp_degree != values[1]) {
      return arguments.Error(
          kMeshes, absl::StrCat("cp ", values[1],
                                " in every mesh, as in the first, not ",
                                mesh.parallelism.cp_degree));
    }
    meshes.push_back(mesh);
  }
  TANGRAM_ASSIGN_OR_RETURN(const int pp,
                           arguments.Int("pipeline-model-parallel-size", 1));
  if (pp == num_stages) return meshes;
  return arguments.Error(
      "pipeline-model-parallel-size",
      absl::StrCat(num_stages, ", the sum of pp of all meshes"));
}

// Requires of tied embeddings what FlagScale requires.
absl::Status CheckTiedEmbeddings(LaunchArguments& arguments,
                                 const std::vector<MeshOptions>& meshes) {
  const bool partial = arguments.Has("use-partial-reduce-for-shared-embedding");
  if (arguments.Has("untie-embeddings-and-output-weights")) {
    return absl::OkStatus();
  }
  const StageParallelism& first = meshes.front().parallelism;
  const StageParallelism& last = meshes.back().parallelism;
  if (first.tp_degree != last.tp_degree) {
    return arguments.Error(
        kMeshes, absl::StrCat("tp ", first.tp_degree,
                              " in the last mesh, as in the first, with tied "
                              "embeddings, not ",
                              last.tp_degree));
  }
  if (first.dp_degree == last.dp_degree || first.zero_stage == 0) {
    return absl::OkStatus();
  }
  if (first.dp_degree % last.dp_degree != 0 &&
      last.dp_degree % first.dp_degree != 0) {
    return arguments.Error(
        kMeshes, absl::StrCat("dp of the first and the last mesh, ",
                              first.dp_degree, " and ", last.dp_degree,
                              ", that divide each other with tied embeddings"));
  }
  if (partial) return absl::OkStatus();
  return arguments.Error("use-partial-reduce-for-shared-embedding",
                         "true with tied embeddings and unlike dp");
}

// Experts of plans are split like everything else.
absl::Status CheckExpertTp(LaunchArguments& arguments, const ModelSpec& model,
                           const std::vector<MeshOptions>& meshes) {
  std::vector<int> tp;
  for (const MeshOptions& mesh : meshes)
    tp.push_back(mesh.parallelism.tp_degree);
  TANGRAM_ASSIGN_OR_RETURN(std::vector<int> expert_tp,
                           arguments.Ints(kExpertTp, /*min=*/1));
  absl::string_view name = kExpertTp;
  if (!expert_tp.empty() && expert_tp.size() != meshes.size()) {
    return arguments.Error(
        name, absl::StrCat(meshes.size(), " numbers, one for each mesh"));
  }
  if (expert_tp.empty()) {
    if (!arguments.Has("expert-tensor-parallel-size")) return absl::OkStatus();
    name = "expert-tensor-parallel-size";
    TANGRAM_ASSIGN_OR_RETURN(const int all, arguments.Int(name, std::nullopt));
    expert_tp.assign(meshes.size(), all);
  }
  if (!model.has_experts() || expert_tp == tp) return absl::OkStatus();
  return arguments.Error(name, absl::StrCat(absl::StrJoin(tp, ", "),
                                            ", the tensor-parallel degrees of "
                                            "the meshes, as in plans"));
}

absl::StatusOr<std::vector<LayerStage>> SplitLayers(
    LaunchArguments& arguments, const std::vector<MeshOptions>& meshes,
    int num_layers) {
  std::vector<LayerStage> stages;
  for (const MeshOptions& mesh : meshes) {
    stages.insert(stages.end(), mesh.num_stages,
                  {.parallelism = mesh.parallelism});
  }
  const int num_stages = static_cast<int>(stages.size());
  if (!arguments.Has(kLayerSplit)) {
    for (LayerStage& stage : stages) {
      stage.num_layers = num_layers / num_stages;
    }
    return stages;
  }
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<int> split,
                           arguments.Ints(kLayerSplit, /*min=*/0));
  if (split.size() != stages.size()) {
    return arguments.Error(kLayerSplit,
                           absl::StrCat(num_stages, " numbers, one a stage"));
  }
  int64_t sum = 0;
  for (size_t i = 0; i < split.size(); ++i) {
    stages[i].num_layers = split[i];
    sum += split[i];
  }
  if (sum == num_layers) return stages;
  return arguments.Error(kLayerSplit, absl::StrCat("numbers that add up to ",
                                                   num_layers, ", not ", sum));
}

// Returns the type of each host in the host file; those without a type have "".
std::map<std::string, std::string> TypesOfHosts(absl::string_view text) {
  std::map<std::string, std::string> types;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::vector<std::string> words =
        absl::StrSplit(line, absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
    if (words.empty() || words.front().front() == '#') continue;
    std::string& type = types[words.front()];
    for (absl::string_view word : words) {
      if (absl::ConsumePrefix(&word, "type=")) type = std::string(word);
    }
  }
  return types;
}

// Sorts the GPUs by the place of their type among `device_types`, as FlagScale
// numbers its ranks: the first mesh is on the first type.
absl::Status SortByType(const ImportRequest& request,
                        LaunchArguments& arguments,
                        const std::vector<std::string>& device_types,
                        GpuList& list) {
  const bool from_host_file = !list.source.empty();
  std::map<std::string, std::string> types = TypesOfHosts(list.text);
  std::set<bool> typed;
  for (const GpuId& gpu : list.gpus) {
    const Node& node = request.cluster.nodes[gpu.node];
    if (!from_host_file) types[node.name] = HostFileType(node.device.type);
    typed.insert(!types[node.name].empty());
  }
  if (typed.size() > 1) {
    return FieldError(list.source, "hosts with and without type=",
                      "a type for every host or for none");
  }
  if (typed.contains(false)) return absl::OkStatus();
  std::map<std::pair<int, int>, size_t> places;
  for (const GpuId& gpu : list.gpus) {
    const std::string& type = types[request.cluster.nodes[gpu.node].name];
    const auto found = absl::c_find(device_types, type);
    if (found == device_types.end() && from_host_file) {
      return arguments.Error(
          kDeviceTypes,
          absl::StrCat("types of the host file, ", type, " among them"));
    }
    places[{gpu.node, gpu.index}] = found - device_types.begin();
  }
  absl::c_stable_sort(list.gpus, [&](const GpuId& a, const GpuId& b) {
    return places[{a.node, a.index}] < places[{b.node, b.index}];
  });
  return absl::OkStatus();
}

// Without types in the host file, all ranks have the current type.
absl::Status OrderGpus(const ImportRequest& request, LaunchArguments& arguments,
                       size_t num_meshes, GpuList& list) {
  const std::vector<std::string> device_types = arguments.Texts(kDeviceTypes);
  if (device_types.size() != num_meshes) {
    return arguments.Error(kDeviceTypes,
                           absl::StrCat(num_meshes, " types, one a mesh"));
  }
  const std::vector<std::string> current = arguments.Texts(kCurrentType);
  const bool named = list.text.find("type=") != std::string::npos;
  if ((!named || !current.empty()) &&
      (current.size() != 1 ||
       !absl::c_linear_search(device_types, current.front()))) {
    return arguments.Error(
        kCurrentType,
        absl::StrCat("one of ", absl::StrJoin(device_types, ", ")));
  }
  return SortByType(request, arguments, device_types, list);
}

// Requires each replica of each mesh to get whole samples.
absl::Status CheckMicrobatch(LaunchArguments& arguments, int microbatch_size,
                             const std::vector<MeshOptions>& meshes) {
  for (const MeshOptions& mesh : meshes) {
    const int dp = mesh.parallelism.dp_degree;
    if (microbatch_size % dp == 0) continue;
    return arguments.Error(
        "micro-batch-size",
        absl::StrCat("so many that times the dp of the first mesh, ",
                     meshes.front().parallelism.dp_degree,
                     ", they are a multiple of every mesh's dp, ", dp,
                     " among them"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ImportedPlan> ImportFromFlagScale(const ImportRequest& request) {
  TANGRAM_ASSIGN_OR_RETURN(const FrameworkFile* file,
                           FindConfig(request, "experiment"));
  TANGRAM_ASSIGN_OR_RETURN(const ConfigValue value,
                           ParseConfigText(file->content, file->name));
  const ConfigField root(value, file->name);
  TANGRAM_ASSIGN_OR_RETURN(LaunchArguments arguments,
                           LaunchArguments::FromYaml(root));
  std::vector<std::string> notes;
  TANGRAM_RETURN_IF_ERROR(CheckMode(arguments));
  TANGRAM_RETURN_IF_ERROR(CheckModelOptions(arguments, request.model, notes));
  TANGRAM_ASSIGN_OR_RETURN(
      TrainingOptions training,
      ReadTrainingOptions(arguments, request.training, notes));
  TANGRAM_ASSIGN_OR_RETURN(GpuList gpus, FindGpus(request));
  TANGRAM_ASSIGN_OR_RETURN(
      const std::vector<MeshOptions> meshes,
      ReadMeshes(arguments, static_cast<int>(gpus.gpus.size())));
  TANGRAM_RETURN_IF_ERROR(CheckTiedEmbeddings(arguments, meshes));
  TANGRAM_RETURN_IF_ERROR(CheckExpertTp(arguments, request.model, meshes));
  TANGRAM_RETURN_IF_ERROR(OrderGpus(request, arguments, meshes.size(), gpus));
  TANGRAM_ASSIGN_OR_RETURN(
      const std::vector<LayerStage> stages,
      SplitLayers(arguments, meshes, request.model.num_layers() - 2));
  ReadExpertKernels(arguments, request.model, notes);

  TANGRAM_ASSIGN_OR_RETURN(ImportedPlan imported,
                           PlaceLayerStages(request, stages, gpus));
  absl::c_move(notes, std::back_inserter(imported.notes));
  TANGRAM_ASSIGN_OR_RETURN(const int microbatch_size,
                           arguments.Int("micro-batch-size", std::nullopt));
  // Samples of one replica of the first mesh.
  TANGRAM_ASSIGN_OR_RETURN(imported.plan.pipeline_microbatch_size,
                           Multiply("micro_batch_size x dp", microbatch_size,
                                    stages.front().parallelism.dp_degree));
  TANGRAM_RETURN_IF_ERROR(CheckMicrobatch(
      arguments, imported.plan.pipeline_microbatch_size, meshes));
  TANGRAM_ASSIGN_OR_RETURN(
      training.global_batch_size,
      ReadGlobalBatch(arguments, imported.plan.pipeline_microbatch_size,
                      imported.notes));
  TANGRAM_RETURN_IF_ERROR(ReadRecomputePerMicrobatch(
      arguments, request.model,
      training.global_batch_size / imported.plan.pipeline_microbatch_size,
      imported));
  imported.training = training;
  absl::c_move(arguments.Notes(), std::back_inserter(imported.notes));
  return imported;
}

}  // namespace tangram
