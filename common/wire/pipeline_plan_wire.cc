#include "common/wire/pipeline_plan_wire.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/field_error.h"
#include "common/base/status_macros.h"
#include "common/wire/field_checks.h"
#include "common/wire/mixed_stage_wire.h"
#include "common/wire/schedule_wire.h"
#include "common/wire/slice_plan_wire.h"
#include "tangram/v1/plan.pb.h"

namespace tangram {
namespace {

using GpuRuns = google::protobuf::RepeatedPtrField<v1::GpuRun>;

void EncodeGpus(absl::Span<const GpuId> gpus, const Cluster& cluster,
                GpuRuns& runs) {
  const GpuId* previous = nullptr;
  for (const GpuId& gpu : gpus) {
    if (previous != nullptr && previous->node == gpu.node &&
        previous->index + 1 == gpu.index) {
      runs.rbegin()->set_count(runs.rbegin()->count() + 1);
    } else {
      v1::GpuRun& run = *runs.Add();
      run.set_node(cluster.nodes[gpu.node].name);
      run.set_first(gpu.index);
      run.set_count(1);
    }
    previous = &gpu;
  }
}

using NodeIndex = std::map<absl::string_view, int>;

NodeIndex IndexNodes(const Cluster& cluster) {
  NodeIndex index;
  for (size_t i = 0; i < cluster.nodes.size(); ++i) {
    index.emplace(cluster.nodes[i].name, static_cast<int>(i));
  }
  return index;
}

absl::Status DecodeRun(const v1::GpuRun& run, const NodeIndex& nodes,
                       std::vector<GpuId>& gpus) {
  const auto node = nodes.find(run.node());
  if (node == nodes.end()) {
    return FieldError("node", absl::StrCat("\"", run.node(), "\""),
                      "a node of the cluster");
  }
  TANGRAM_RETURN_IF_ERROR(
      FirstError({CheckNotNegative("first", run.first(), kMaxGpusPerNode),
                  CheckPositive("count", run.count(), kMaxGpusPerNode),
                  CheckCount("gpus", gpus.size() + run.count(), kMaxGpus)}));
  for (int i = 0; i < run.count(); ++i) {
    gpus.push_back({.node = node->second, .index = run.first() + i});
  }
  return absl::OkStatus();
}

std::string OperatorAt(const ModelSpec& model, OperatorCut cut) {
  if (cut.layer >= model.num_layers()) return "";
  const absl::Span<const OpKind> ops = OperatorsOf(model.layers[cut.layer]);
  return cut.op < static_cast<int>(ops.size()) ? OpName(ops[cut.op]) : "";
}

// Returns the names of the recomputed operators of layers [begin, end), each
// once.
std::vector<std::string> RecomputedOperators(const ModelSpec& model, int begin,
                                             int end, OpMask mask) {
  std::vector<std::string> names;
  for (int layer = begin; layer < std::min(end, model.num_layers()); ++layer) {
    const absl::Span<const OpKind> ops = OperatorsOf(model.layers[layer]);
    for (size_t op = 0; op < ops.size(); ++op) {
      const std::string name = OpName(ops[op]);
      if ((mask >> op & 1) != 0 &&
          std::find(names.begin(), names.end(), name) == names.end()) {
        names.push_back(name);
      }
    }
  }
  return names;
}

void AddNames(const StagePlan& stage, const ModelSpec& model,
              v1::StagePlan& message) {
  message.mutable_begin()->set_before(OperatorAt(model, stage.begin));
  message.mutable_end()->set_before(OperatorAt(model, stage.end));
  int layer = stage.begin.layer;
  for (v1::RecomputeRun& run : *message.mutable_recompute()) {
    for (std::string& name : RecomputedOperators(
             model, layer, layer + run.num_layers(), run.mask())) {
      run.add_operators(std::move(name));
    }
    layer += run.num_layers();
  }
}

absl::StatusOr<PlacedStage> DecodeStage(const v1::PlacedStage& message,
                                        const NodeIndex& nodes) {
  PlacedStage stage{.island = message.island(), .made_by = message.made_by()};
  v1::StagePlan plan = message.plan();
  if (message.has_mixed()) {
    TANGRAM_ASSIGN_OR_RETURN(
        stage.mixed, InField("mixed", tangram::FromProto(message.mixed())));
    if (!plan.has_parallelism()) {
      *plan.mutable_parallelism() = ToProto(StageParallelism());
    }
  }
  TANGRAM_ASSIGN_OR_RETURN(stage.plan,
                           InField("plan", tangram::FromProto(plan)));
  for (int i = 0; i < message.gpus_size(); ++i) {
    TANGRAM_RETURN_IF_ERROR(
        InField("gpus", i, DecodeRun(message.gpus(i), nodes, stage.gpus)));
  }
  return stage;
}

// Leaves out the values that most plans have.
void EncodeSchedule(const PipelinePlan& plan, v1::PipelinePlan& message) {
  const PipelinePlan usual;
  if (plan.schedule != usual.schedule) {
    message.set_schedule(ScheduleName(plan.schedule));
  }
  if (plan.virtual_stages != usual.virtual_stages) {
    message.set_virtual_stages(plan.virtual_stages);
  }
  if (!plan.warm_up_passes.empty()) {
    message.mutable_warm_up()->mutable_passes()->Assign(
        plan.warm_up_passes.begin(), plan.warm_up_passes.end());
  }
}

absl::Status DecodeSchedule(const v1::PipelinePlan& message,
                            PipelinePlan& plan) {
  if (message.has_schedule()) {
    TANGRAM_ASSIGN_OR_RETURN(
        plan.schedule, DecodeScheduleName("schedule", message.schedule()));
  }
  for (const int passes : message.warm_up().passes()) {
    TANGRAM_RETURN_IF_ERROR(
        CheckPositive("warm_up.passes", passes, kMaxWarmUpPasses));
    plan.warm_up_passes.push_back(passes);
  }
  if (!message.has_virtual_stages()) return absl::OkStatus();
  plan.virtual_stages = message.virtual_stages();
  return CheckPositive("virtual_stages", message.virtual_stages(), kMaxLayers);
}

}  // namespace

v1::PipelinePlan ToProto(const PipelinePlan& plan, const Cluster& cluster,
                         const ModelSpec& model) {
  v1::PipelinePlan message;
  message.set_pipeline_microbatch_size(plan.pipeline_microbatch_size);
  EncodeSchedule(plan, message);
  for (const PlacedStage& stage : plan.stages) {
    v1::PlacedStage& encoded = *message.add_stages();
    *encoded.mutable_plan() = ToProto(stage.plan);
    AddNames(stage.plan, model, *encoded.mutable_plan());
    EncodeGpus(stage.gpus, cluster, *encoded.mutable_gpus());
    encoded.set_island(stage.island);
    encoded.set_made_by(stage.made_by);
    if (stage.mixed.empty()) continue;
    *encoded.mutable_mixed() = ToProto(stage.mixed);
    encoded.mutable_plan()->clear_parallelism();
  }
  return message;
}

absl::StatusOr<PipelinePlan> FromProto(const v1::PipelinePlan& message,
                                       const Cluster& cluster) {
  TANGRAM_RETURN_IF_ERROR(
      FirstError({CheckPositive("pipeline_microbatch_size",
                                message.pipeline_microbatch_size(), kMaxBatch),
                  CheckPositive("stages", message.stages_size(), kMaxGpus)}));
  PipelinePlan plan{.pipeline_microbatch_size =
                        message.pipeline_microbatch_size()};
  TANGRAM_RETURN_IF_ERROR(DecodeSchedule(message, plan));
  const NodeIndex nodes = IndexNodes(cluster);
  for (int i = 0; i < message.stages_size(); ++i) {
    TANGRAM_ASSIGN_OR_RETURN(
        PlacedStage stage,
        InField("stages", i, DecodeStage(message.stages(i), nodes)));
    plan.stages.push_back(std::move(stage));
  }
  return plan;
}

}  // namespace tangram
