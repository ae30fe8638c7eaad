#include "frameworks/recompute_per_microbatch.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "frameworks/import_parts.h"
#include "frameworks/lower_plan.h"
#include "frameworks/recompute_options.h"

namespace tangram {
namespace {

constexpr char kGranularity[] = "recompute-granularity-per-stage-micro-batch";
constexpr char kMethod[] = "recompute-method-per-stage-micro-batch";
constexpr char kNumLayers[] = "recompute-num-layers-per-stage-micro-batch";

// Consecutive microbatches with one value.
struct Run {
  int end = 0;  // One after the last microbatch.
  int value = 0;
};
using Runs = std::vector<Run>;

int ValueAt(const Runs& runs, int microbatch) {
  for (const Run& run : runs) {
    if (microbatch < run.end) return run.value;
  }
  return runs.back().value;
}

// Parses "[1, 30, 0, 2, 0]".
std::optional<std::vector<int>> ParseLine(absl::string_view text) {
  if (!absl::ConsumePrefix(&text, "[") || !absl::ConsumeSuffix(&text, "]")) {
    return std::nullopt;
  }
  std::vector<int> numbers;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    int number = 0;
    if (!absl::SimpleAtoi(part, &number) || number < 0 || number > kMaxNumber) {
      return std::nullopt;
    }
    numbers.push_back(number);
  }
  return numbers;
}

// Reads a list of lines [stages, microbatches, value, microbatches, value, ...]
// as runs for each stage. Without the option every stage has `fallback`.
absl::StatusOr<std::vector<Runs>> ReadRuns(LaunchArguments& arguments,
                                           absl::string_view name,
                                           size_t num_stages,
                                           int num_microbatches, int max_value,
                                           int fallback) {
  if (!arguments.Has(name)) {
    return std::vector<Runs>(num_stages,
                             {{.end = num_microbatches, .value = fallback}});
  }
  std::vector<Runs> stages;
  for (const std::string& text : arguments.Texts(name)) {
    const std::optional<std::vector<int>> line = ParseLine(text);
    if (!line.has_value() || line->size() < 3 || line->size() % 2 == 0) {
      return arguments.Error(
          name, "lines of stages, then microbatches and value in turn");
    }
    Runs runs;
    int64_t end = 0;
    for (size_t i = 1; i < line->size(); i += 2) {
      end += (*line)[i];
      const int value = (*line)[i + 1];
      if (value > max_value) {
        return arguments.Error(name, absl::StrCat("values up to ", max_value));
      }
      if (end <= num_microbatches) {
        runs.push_back({.end = static_cast<int>(end), .value = value});
      }
    }
    if (end != num_microbatches) {
      return arguments.Error(
          name, absl::StrCat("the ", num_microbatches,
                             " microbatches of a replica, not ", end));
    }
    const size_t count = line->front();
    if (stages.size() + count > num_stages) {
      return arguments.Error(name, absl::StrCat(num_stages, " stages in all"));
    }
    stages.insert(stages.end(), count, runs);
  }
  if (stages.size() == num_stages) return stages;
  return arguments.Error(name, absl::StrCat(num_stages, " stages in all"));
}

// The lists of a file, with an entry for each stage.
struct Lists {
  std::vector<Runs> granularity;  // 0: none, 1: full.
  std::vector<Runs> method;       // 0: uniform, 1: block.
  std::vector<Runs> num_layers;

  // Returns how many of the `size` layers of a stage a microbatch recomputes.
  int CountOf(size_t stage, int microbatch, int size) const {
    const int layers = ValueAt(num_layers[stage], microbatch);
    if (ValueAt(granularity[stage], microbatch) == 0 || layers == 0) return 0;
    const bool block = ValueAt(method[stage], microbatch) == 1;
    return block ? std::min(layers, size) : size;
  }
};

absl::StatusOr<Lists> ReadLists(LaunchArguments& arguments, size_t num_stages,
                                int num_microbatches,
                                const RecomputeOptions& base) {
  Lists lists;
  TANGRAM_ASSIGN_OR_RETURN(
      lists.granularity,
      ReadRuns(arguments, kGranularity, num_stages, num_microbatches,
               /*max_value=*/1, /*fallback=*/1));
  TANGRAM_ASSIGN_OR_RETURN(
      lists.method, ReadRuns(arguments, kMethod, num_stages, num_microbatches,
                             /*max_value=*/1, base.block ? 1 : 0));
  TANGRAM_ASSIGN_OR_RETURN(
      lists.num_layers,
      ReadRuns(arguments, kNumLayers, num_stages, num_microbatches, kMaxNumber,
               base.num_layers));
  return lists;
}

// Returns how many of the `size` layers of a stage are recomputed, which must
// be the same for all microbatches.
absl::StatusOr<int> CountOfAll(const LaunchArguments& arguments,
                               const Lists& lists, size_t stage, int size) {
  const int count = lists.CountOf(stage, 0, size);
  for (const std::vector<Runs>* list :
       {&lists.granularity, &lists.method, &lists.num_layers}) {
    // Settings change after the ends of runs only.
    for (const Run& run : (*list)[stage]) {
      if (run.end >= lists.granularity[stage].back().end) break;
      const int other = lists.CountOf(stage, run.end, size);
      if (other == count) continue;
      return arguments.Error(
          kGranularity,
          absl::StrCat("one recomputation for all microbatches, as in plans; "
                       "stage ",
                       stage, " recomputes ", count,
                       " layers of the first and ", other, " of microbatch ",
                       run.end));
    }
  }
  return count;
}

}  // namespace

absl::Status ReadRecomputePerMicrobatch(LaunchArguments& arguments,
                                        const ModelSpec& model,
                                        int num_microbatches,
                                        ImportedPlan& imported) {
  TANGRAM_ASSIGN_OR_RETURN(const RecomputeOptions base,
                           ReadRecomputeOptions(arguments, imported.notes));
  bool any = false;
  for (const char* name : {kGranularity, kMethod, kNumLayers}) {
    if (!arguments.Has(name)) continue;
    any = true;
    if (base.kind == RecomputeOptions::Kind::kLayers) continue;
    return arguments.Error(name, "recompute_granularity full beside it");
  }
  std::vector<PlacedStage>& stages = imported.plan.stages;
  if (!any) {
    for (PlacedStage& stage : stages) ApplyRecompute(base, model, stage.plan);
    return absl::OkStatus();
  }
  TANGRAM_ASSIGN_OR_RETURN(
      const Lists lists,
      ReadLists(arguments, stages.size(), num_microbatches, base));
  for (size_t i = 0; i < stages.size(); ++i) {
    StagePlan& stage = stages[i].plan;
    RecomputeOptions options = base;
    options.block = true;
    TANGRAM_ASSIGN_OR_RETURN(
        options.num_layers, CountOfAll(arguments, lists, i,
                                       TransformerLayers(model, stage).size()));
    ApplyRecompute(options, model, stage);
  }
  return absl::OkStatus();
}

}  // namespace tangram
