#include "frameworks/import_parts.h"

#include <algorithm>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/base/field_error.h"
#include "common/base/status_macros.h"
#include "frameworks/rank_order.h"

namespace tangram {
namespace {

bool IsHostFile(const FrameworkFile& file) {
  return absl::StrContains(BaseName(file.name), "hostfile");
}

// Requires the stages to have all transformer layers of the model.
absl::Status CheckLayers(const ImportRequest& request,
                         absl::Span<const LayerStage> stages) {
  int64_t num_layers = 0;
  for (const LayerStage& stage : stages) num_layers += stage.num_layers;
  const int expected = request.model.num_layers() - 2;
  if (num_layers == expected) return absl::OkStatus();
  return FieldError("layers", num_layers,
                    absl::StrCat("the ", expected, " transformer layers of ",
                                 request.model.name));
}

}  // namespace

absl::StatusOr<int> Multiply(absl::string_view what, int a, int b) {
  const int64_t product = int64_t{a} * b;
  if (product <= kMaxNumber) return static_cast<int>(product);
  return FieldError(what, product, absl::StrCat("at most ", kMaxNumber));
}

absl::StatusOr<const FrameworkFile*> FindConfig(const ImportRequest& request,
                                                absl::string_view ignored) {
  const FrameworkFile* found = nullptr;
  for (const FrameworkFile& file : request.files) {
    const absl::string_view name = BaseName(file.name);
    if (IsHostFile(file) || absl::EndsWith(name, ".sh") ||
        (!ignored.empty() && absl::StrContains(name, ignored))) {
      continue;
    }
    if (found != nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat(file.name, ": a second configuration beside ",
                       found->name, "; expected one"));
    }
    found = &file;
  }
  if (found != nullptr) return found;
  return absl::InvalidArgumentError(
      "files: no configuration among them; expected one");
}

absl::string_view BaseName(absl::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0.
}

bool IsNamed(const FrameworkFile& file, absl::string_view name) {
  return BaseName(file.name) == name;
}

absl::StatusOr<std::vector<int>> AsInts(const ConfigField& field, int min) {
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<ConfigField> elements,
                           field.Elements());
  std::vector<int> values;
  for (const ConfigField& element : elements) {
    TANGRAM_ASSIGN_OR_RETURN(const int value, element.AsInt(min, kMaxNumber));
    values.push_back(value);
  }
  return values;
}

absl::StatusOr<ImportedPlan> PlaceLayerStages(
    const ImportRequest& request, absl::Span<const LayerStage> stages,
    const GpuList& list) {
  TANGRAM_RETURN_IF_ERROR(CheckLayers(request, stages));
  ImportedPlan imported{.training = request.training};
  int begin = 0;
  for (size_t i = 0; i < stages.size(); ++i) {
    int end = begin + stages[i].num_layers + (i == 0 ? 1 : 0);
    if (i + 1 == stages.size()) end = request.model.num_layers();
    imported.plan.stages.push_back(
        {.plan = {.begin = {begin, 0},
                  .end = {end, 0},
                  .parallelism = stages[i].parallelism,
                  .recompute = {{.num_layers = end - begin}}}});
    begin = end;
  }
  TANGRAM_RETURN_IF_ERROR(PlaceStages(list, imported));
  return imported;
}

absl::StatusOr<GpuList> FindGpus(const ImportRequest& request) {
  GpuList list;
  for (const FrameworkFile& file : request.files) {
    if (!IsHostFile(file)) continue;
    list.source = file.name;
    list.text = file.content;
    TANGRAM_ASSIGN_OR_RETURN(
        list.gpus, GpusOfHostFile(request.cluster, file.content, file.name));
    return list;
  }
  for (size_t n = 0; n < request.cluster.nodes.size(); ++n) {
    for (int i = 0; i < request.cluster.nodes[n].num_gpus; ++i) {
      list.gpus.push_back({static_cast<int>(n), i});
    }
  }
  return list;
}

absl::Status PlaceStages(const GpuList& list, ImportedPlan& imported) {
  PipelinePlan& plan = imported.plan;
  int count = 0;
  for (int i = 0; i < plan.num_devices(); ++i) {
    const StageParallelism& p = plan.stages[i].plan.parallelism;
    TANGRAM_ASSIGN_OR_RETURN(int gpus_of_stage,
                             Multiply("tp x cp", p.tp_degree, p.cp_degree));
    TANGRAM_ASSIGN_OR_RETURN(
        gpus_of_stage, Multiply("tp x cp x dp", gpus_of_stage, p.dp_degree));
    count = std::min(count + gpus_of_stage, kMaxNumber);
  }
  const int found = static_cast<int>(list.gpus.size());
  if (found < count || (found > count && !list.source.empty())) {
    return FieldError(list.source.empty() ? "cluster" : list.source,
                      absl::StrCat(found, " GPUs"),
                      absl::StrCat("the ", count, " of the configuration"));
  }
  if (list.source.empty()) {
    imported.notes.emplace_back(
        "no host file: the plan is on the cluster's first GPUs, in its order");
  }
  auto next = list.gpus.begin();
  for (int i = 0; i < plan.num_stages(); ++i) {
    PlacedStage& stage = plan.stages[i];
    if (i >= plan.num_devices()) {
      stage.gpus = plan.stages[i - plan.num_devices()].gpus;
      continue;
    }
    const auto end = next + stage.plan.parallelism.num_gpus();
    stage.gpus.assign(next, end);
    next = end;
  }
  return absl::OkStatus();
}

}  // namespace tangram
