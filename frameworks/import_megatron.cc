#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/field_error.h"
#include "common/base/status_macros.h"
#include "frameworks/import_parts.h"
#include "frameworks/lower_plan.h"
#include "frameworks/targets.h"

namespace tangram {
namespace {

// Options by name without dashes. A flag has an empty value, a list its first.
class Options {
 public:
  Options(absl::string_view text, std::string source)
      : source_(std::move(source)) {
    std::string* value = nullptr;
    const std::vector<absl::string_view> words = absl::StrSplit(
        text, absl::ByAnyChar(" \t\r\n\\'\""), absl::SkipEmpty());
    for (absl::string_view word : words) {
      if (absl::ConsumePrefix(&word, "--")) {
        const std::pair<absl::string_view, absl::string_view> parts =
            absl::StrSplit(word, absl::MaxSplits('=', 1));
        value = &values_[std::string(parts.first)];
        *value = std::string(parts.second);
      } else if (value != nullptr && value->empty()) {
        *value = std::string(word);
      }
    }
  }

  bool Has(const std::string& name) const { return values_.contains(name); }

  std::string TextOr(const std::string& name,
                     const std::string& fallback) const {
    const auto found = values_.find(name);
    return found == values_.end() ? fallback : found->second;
  }

  absl::StatusOr<int> Int(const std::string& name,
                          std::optional<int> fallback) const {
    const auto found = values_.find(name);
    if (found == values_.end() && fallback.has_value()) return *fallback;
    const std::string text = found == values_.end() ? "missing" : found->second;
    int value = 0;
    if (absl::SimpleAtoi(text, &value) && value > 0 && value <= kMaxNumber) {
      return value;
    }
    return FieldError(absl::StrCat(source_, ": --", name), text,
                      "a positive integer");
  }

 private:
  std::string source_;
  std::map<std::string, std::string> values_;
};

// A stage of a layout, such as "Et*12".
struct LayoutStage {
  bool embedding = false;
  int num_layers = 0;
  bool head = false;
};

absl::Status BadLayout(absl::string_view layout, absl::string_view why) {
  return FieldError("--pipeline-model-parallel-layout", layout,
                    absl::StrCat("stages of E, t, t*N and L between |", why));
}

// Parses a layout. Nested repetition, "(tt|)*3", and multi-token prediction are
// not supported.
absl::StatusOr<std::vector<LayoutStage>> ParseLayout(absl::string_view layout) {
  std::vector<LayoutStage> stages;
  for (absl::string_view text : absl::StrSplit(layout, '|')) {
    LayoutStage& stage = stages.emplace_back();
    while (!text.empty()) {
      const char kind = text.front();
      text.remove_prefix(1);
      if (kind == ',') continue;
      int count = 1;
      if (absl::ConsumePrefix(&text, "*")) {
        const size_t digits =
            std::min(text.find_first_not_of("0123456789"), text.size());
        if (!absl::SimpleAtoi(text.substr(0, digits), &count) || count <= 0 ||
            count > kMaxNumber) {
          return BadLayout(layout, " (a number after *)");
        }
        text.remove_prefix(digits);
      }
      if (kind == 't') {
        stage.num_layers = std::min(stage.num_layers + count, kMaxNumber);
      } else if (kind == 'E' && count == 1) {
        stage.embedding = true;
      } else if (kind == 'L' && count == 1) {
        stage.head = true;
      } else {
        return BadLayout(layout, "");
      }
    }
  }
  return stages;
}

std::vector<LayoutStage> EvenLayout(int num_layers, int num_stages) {
  std::vector<LayoutStage> stages(num_stages);
  for (LayoutStage& stage : stages) stage.num_layers = num_layers / num_stages;
  stages.front().embedding = true;
  stages.back().head = true;
  return stages;
}

absl::StatusOr<std::vector<LayoutStage>> ReadLayout(const Options& options,
                                                    const ModelSpec& model,
                                                    int num_devices) {
  const std::string text = options.TextOr("pipeline-model-parallel-layout", "");
  if (text.empty()) return EvenLayout(model.num_layers() - 2, num_devices);
  TANGRAM_ASSIGN_OR_RETURN(std::vector<LayoutStage> stages, ParseLayout(text));
  if (stages.size() % num_devices != 0) {
    return BadLayout(text, absl::StrCat(", a multiple of ", num_devices));
  }
  int64_t num_layers = 0;
  for (const LayoutStage& stage : stages) num_layers += stage.num_layers;
  if (num_layers != model.num_layers() - 2) {
    return BadLayout(
        text, absl::StrCat(", ", model.num_layers() - 2, " layers in all"));
  }
  return stages;
}

absl::StatusOr<StageParallelism> ReadParallelism(const Options& options,
                                                 int world, int num_devices) {
  StageParallelism p;
  TANGRAM_ASSIGN_OR_RETURN(p.tp_degree,
                           options.Int("tensor-model-parallel-size", 1));
  TANGRAM_ASSIGN_OR_RETURN(p.cp_degree,
                           options.Int("context-parallel-size", 1));
  TANGRAM_ASSIGN_OR_RETURN(p.ep_degree,
                           options.Int("expert-model-parallel-size", 1));
  TANGRAM_ASSIGN_OR_RETURN(int replica,
                           Multiply("tp x cp", p.tp_degree, p.cp_degree));
  TANGRAM_ASSIGN_OR_RETURN(replica,
                           Multiply("tp x cp x pp", replica, num_devices));
  if (world % replica != 0) {
    return FieldError("host file", absl::StrCat(world, " GPUs"),
                      absl::StrCat("a multiple of tp x cp x pp, ", replica));
  }
  p.dp_degree = world / replica;
  p.sequence_parallel = options.Has("sequence-parallel");
  p.zero_stage = options.Has("use-distributed-optimizer") ? 1 : 0;
  return p;
}

absl::Status SetRecompute(const Options& options, const ModelSpec& model,
                          StagePlan& stage) {
  const std::string granularity = options.TextOr("recompute-granularity", "");
  const bool block = options.TextOr("recompute-method", "") == "block";
  TANGRAM_ASSIGN_OR_RETURN(const int num_layers,
                           options.Int("recompute-num-layers", 1));
  const LayerSpan span = TransformerLayers(model, stage);
  stage.recompute = {{.num_layers = LayersTouched(stage.begin, stage.end)}};
  ChangeMasks(
      [&](int layer, OpMask) {
        const LayerSpec& spec = model.layers[layer];
        if (granularity == "selective") return AttentionCoreMask(spec);
        const bool in_reach = !block || layer < span.first + num_layers;
        return granularity == "full" && in_reach && layer >= span.first &&
                       layer < span.last
                   ? WholeLayerMask(spec)
                   : kRecomputeNone;
      },
      stage);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ImportedPlan> ImportFromMegatron(const ImportRequest& request) {
  TANGRAM_ASSIGN_OR_RETURN(const FrameworkFile* file, FindConfig(request, ""));
  const Options options(file->content, file->name);
  TANGRAM_ASSIGN_OR_RETURN(const int num_devices,
                           options.Int("pipeline-model-parallel-size", 1));
  ImportedPlan imported{.training = request.training};
  TANGRAM_ASSIGN_OR_RETURN(const GpuList world, FindGpus(request));
  TANGRAM_ASSIGN_OR_RETURN(
      const StageParallelism parallelism,
      ReadParallelism(options, static_cast<int>(world.gpus.size()),
                      num_devices));
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<LayoutStage> layout,
                           ReadLayout(options, request.model, num_devices));
  OperatorCut begin;
  for (const LayoutStage& stage : layout) {
    const OperatorCut end = {
        begin.layer + stage.num_layers + stage.embedding + stage.head, 0};
    if (end.layer > request.model.num_layers()) {
      return absl::InvalidArgumentError(
          "--pipeline-model-parallel-layout: more than one embedding or head; "
          "expected one of each");
    }
    StagePlan& plan =
        imported.plan.stages
            .emplace_back(PlacedStage{.plan = {.begin = begin,
                                               .end = end,
                                               .parallelism = parallelism}})
            .plan;
    TANGRAM_RETURN_IF_ERROR(SetRecompute(options, request.model, plan));
    begin = end;
  }
  imported.plan.virtual_stages = static_cast<int>(layout.size()) / num_devices;
  if (imported.plan.virtual_stages > 1) {
    imported.plan.schedule = PipelineSchedule::kInterleaved;
  }
  TANGRAM_RETURN_IF_ERROR(PlaceStages(request, imported));

  TANGRAM_ASSIGN_OR_RETURN(const int microbatch_size,
                           options.Int("micro-batch-size", std::nullopt));
  TANGRAM_ASSIGN_OR_RETURN(imported.plan.pipeline_microbatch_size,
                           Multiply("micro-batch-size x dp", microbatch_size,
                                    parallelism.dp_degree));
  TrainingOptions& training = imported.training;
  TANGRAM_ASSIGN_OR_RETURN(
      training.global_batch_size,
      options.Int("global-batch-size", training.global_batch_size));
  TANGRAM_ASSIGN_OR_RETURN(training.sequence_length,
                           options.Int("seq-length", training.sequence_length));
  return imported;
}

}  // namespace tangram
