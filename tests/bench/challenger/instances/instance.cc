#include "tests/bench/challenger/instances/instance.h"

#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "formats/config/cluster_file.h"
#include "formats/config/model_file.h"

namespace tangram::bench {
namespace {

constexpr int kMostGpusOfGroup = 8;

// About those of T4, L4, V100, A100 and H100.
constexpr double kTflops[] = {65, 121, 125, 312, 989};
constexpr double kMemoryGbPerS[] = {320, 300, 900, 1555, 3350};

}  // namespace

DrawnGroup DrawGroup(Draw& draw, int index) {
  DrawnGroup group{.name = absl::StrCat("g", index)};
  do {
    group.num_nodes = 1 + draw.Below(4);
    group.gpus_per_node = draw.Of(std::vector<int>{1, 2, 3, 4, 8});
  } while (group.num_nodes * group.gpus_per_node > kMostGpusOfGroup);
  const int kind = draw.Below(5);
  group.fp16_tflops = kTflops[kind];
  group.memory_gb_per_s = kMemoryGbPerS[kind];
  group.memory_gb = draw.Of(std::vector<double>{4, 6, 8, 16, 32});
  group.intra_gb_per_s = draw.Of(std::vector<double>{6, 12, 50, 150});
  group.inter_gb_per_s = draw.Of(std::vector<double>{1.2, 3.1, 12, 25});
  return group;
}

Instance DrawInstance(Draw& draw,
                      const std::vector<std::string>& parallelizers) {
  Instance instance;
  const int num_groups = 2 + draw.Below(2);
  for (int g = 0; g < num_groups; ++g) {
    instance.groups.push_back(DrawGroup(draw, g));
  }
  instance.between_gb_per_s = draw.Of(std::vector<double>{0.4, 1.2, 3.1, 12});
  instance.num_layers = 4 + draw.Below(5);
  instance.hidden_size = draw.Of(std::vector<int>{1024, 2048, 4096});
  instance.vocab_size = draw.Of(std::vector<int>{8000, 32000});
  if (draw.OneIn(4)) instance.num_experts = draw.Of(std::vector<int>{4, 8});
  instance.batch = draw.Of(std::vector<int>{4, 6, 7, 12, 16, 21});
  instance.sequence = draw.Of(std::vector<int>{512, 1024, 2048});
  if (!parallelizers.empty()) instance.parallelizers = draw.Of(parallelizers);
  return instance;
}

std::string ClusterText(const Instance& instance) {
  std::string text = "groups:\n";
  for (const DrawnGroup& group : instance.groups) {
    absl::StrAppend(
        &text, "  - name: ", group.name, "\n    gpu: {type: GPU-", group.name,
        ", peak_tflops: {fp32: ", group.fp16_tflops / 8,
        ", fp16: ", group.fp16_tflops, "}, memory: ", group.memory_gb,
        " GB, memory_bandwidth: ", group.memory_gb_per_s,
        " GB/s, flash_attention: true}\n    nodes: ", group.num_nodes,
        "\n    gpus_per_node: ", group.gpus_per_node,
        "\n    intra_node: {bandwidth: ", group.intra_gb_per_s,
        " GB/s, latency: 10us}\n    inter_node: {bandwidth: ",
        group.inter_gb_per_s, " GB/s, latency: 30us}\n");
  }
  absl::StrAppend(&text,
                  "default_link: {bandwidth: ", instance.between_gb_per_s,
                  " GB/s, latency: 50us}\n");
  return text;
}

std::string ModelText(const Instance& instance) {
  std::string text = absl::StrCat("layers: ", instance.num_layers,
                                  "\nhidden_size: ", instance.hidden_size,
                                  "\nheads: ", instance.hidden_size / 64,
                                  "\nvocab_size: ", instance.vocab_size, "\n");
  if (instance.num_experts == 0) {
    absl::StrAppend(&text, "ffn_hidden_size: ", 4 * instance.hidden_size, "\n");
  } else {
    absl::StrAppend(
        &text, "experts: {count: ", instance.num_experts,
        ", per_token: 2, ffn_hidden_size: ", 2 * instance.hidden_size, "}\n");
  }
  return text;
}

std::string ArgumentsOf(const Instance& instance) {
  std::string arguments =
      absl::StrCat("--runtime any --global-batch ", instance.batch, " --seq ",
                   instance.sequence);
  if (!instance.parallelizers.empty()) {
    absl::StrAppend(&arguments, " --parallelizer ", instance.parallelizers);
  }
  const auto add = [&](const char* flag, int value) {
    if (value > 0) absl::StrAppend(&arguments, " ", flag, " ", value);
  };
  add("--microbatch", instance.microbatch);
  add("--tp", instance.tp);
  add("--dp", instance.dp);
  add("--max-stages", instance.max_stages);
  return arguments;
}

absl::StatusOr<PlanRequest> RequestOf(const Instance& instance) {
  PlanRequest request;
  TANGRAM_ASSIGN_OR_RETURN(request.cluster,
                           ParseCluster(ClusterText(instance), "cluster.yaml"));
  TANGRAM_ASSIGN_OR_RETURN(request.model,
                           ParseModel(ModelText(instance), "model.yaml"));
  request.training = {.global_batch_size = instance.batch,
                      .sequence_length = instance.sequence};
  request.pipeline_microbatch_size = instance.microbatch;
  const auto set = [](int value, std::vector<IslandValue>& values) {
    if (value > 0) values.push_back({.value = value});
  };
  set(instance.tp, request.constraints.tp_degrees);
  set(instance.dp, request.constraints.dp_degrees);
  set(instance.max_stages, request.constraints.max_stages);
  return request;
}

}  // namespace tangram::bench
