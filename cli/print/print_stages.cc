#include "cli/print/print_stages.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/print/table.h"
#include "common/base/format.h"
#include "common/domain/stage_part.h"
#include "common/sim/describe.h"
#include "common/sim/stage_figures.h"
#include "common/sim/stage_labels.h"
#include "common/wire/pipeline_files.h"
#include "formats/config/memory_margin.h"

namespace tangram {
namespace {

// Returns the parallelizer that made all stages; empty if they differ.
std::string CommonMaker(const PipelinePlan& plan) {
  const std::string& maker = plan.stages.front().made_by;
  const bool common =
      std::all_of(plan.stages.begin(), plan.stages.end(),
                  [&](const PlacedStage& s) { return s.made_by == maker; });
  return common ? maker : "";
}

std::string DegreeLabel(int degree) {
  return degree == 1 ? "" : absl::StrCat(degree);
}

// Returns "4", or "4 fsep" with fully sharded experts.
std::string ExpertLabel(const StageParallelism& parallelism) {
  return absl::StrCat(DegreeLabel(parallelism.ep_degree),
                      parallelism.fsep ? " fsep" : "");
}

// Returns "2/3" for the second of three consecutive stages on one island.
std::string PipelineLabel(const PipelinePlan& plan, int stage) {
  const auto& stages = plan.stages;
  int first = stage;
  while (first > 0 && stages[first - 1].island == stages[stage].island) --first;
  int end = stage + 1;
  while (end < plan.num_stages() &&
         stages[end].island == stages[stage].island) {
    ++end;
  }
  return absl::StrCat(stage - first + 1, "/", end - first);
}

// Prints one line for each stage that offloads.
void PrintOffload(const PlanResult& result, Console& console) {
  for (int s = 0; s < result.plan->num_stages(); ++s) {
    const HostOffload& offload = result.plan->stages[s].plan.offload;
    if (offload.none()) continue;
    const StageEvaluation& figures = result.evaluation.stages[s];
    console.out << WrapText(
        absl::StrFormat("stage %d keeps on the host: %s; %.1f of %.1f GB", s,
                        DescribeOffload(offload), figures.host_bytes / 1e9,
                        figures.host_capacity_bytes / 1e9),
        /*indent=*/2, console.width);
  }
}

// Adds a row for the stage, or one for each group of a mixed stage: "1.0".
void AddStageRows(const PlanFile& file, int s, bool names_maker, double margin,
                  Table& table) {
  const Cluster& cluster = file.cluster;
  const PipelinePlan& plan = *file.result.plan;
  const PlacedStage& stage = plan.stages[s];
  const std::vector<PartFigures> figures =
      PartFiguresOf(plan, file.result.evaluation, s);
  std::vector<StagePart> parts = PartsOf(stage, 1, 1);
  const bool is_mixed = parts.size() > 1 && parts.size() == figures.size();
  for (size_t i = 0; i < figures.size(); ++i) {
    const StageEvaluation& part = *figures[i].figures;
    const StageParallelism& parallelism = parts[i].parallelism;
    const absl::Span<const GpuId> gpus =
        is_mixed ? parts[i].gpus : absl::MakeConstSpan(stage.gpus);
    table.AddRow(
        {is_mixed ? absl::StrCat(s, ".", i) : absl::StrCat(s),
         DescribeGpus(cluster, gpus), GpusLabel(cluster, gpus),
         LayersLabel(file.model, stage.plan.begin, stage.plan.end),
         DescribeTp(parallelism), absl::StrCat(parallelism.dp_degree),
         DegreeLabel(parallelism.cp_degree), ExpertLabel(parallelism),
         PipelineLabel(plan, s), RecomputeLabel(file.model, stage.plan),
         parallelism.zero_stage == 0 ? "" : DescribeZero(parallelism),
         FormatSeconds(part.forward_s + part.backward_s),
         absl::StrFormat("%.1f/%.1f", part.peak_bytes / 1e9,
                         part.capacity_bytes / 1e9),
         margin > 0
             ? absl::StrFormat("%.1f", part.capacity_bytes / (1 - margin) / 1e9)
             : "",
         absl::StrFormat("%.0f %%",
                         100 * part.peak_bytes / part.capacity_bytes),
         names_maker ? stage.made_by : ""});
  }
}

// Prints what the columns do not say about stages: sequence parallelism, and
// recomputed segments whose outputs are dropped.
void PrintTechniques(const PipelinePlan& plan, Console& console) {
  std::set<int> sequence_parallel;
  std::set<int> drop_outputs;
  for (int s = 0; s < plan.num_stages(); ++s) {
    const PlacedStage& stage = plan.stages[s];
    for (const StagePart& part : PartsOf(stage, 1, 1)) {
      const StageParallelism& p = part.parallelism;
      if (p.sequence_parallel && p.tp_degree > 1) sequence_parallel.insert(s);
    }
    for (const RecomputeRun& run : stage.plan.recompute) {
      if ((run.mask & kDropOutputs) != 0) drop_outputs.insert(s);
    }
  }
  const auto print = [&](const char* what, const std::set<int>& stages) {
    if (stages.empty()) return;
    const bool all = static_cast<int>(stages.size()) == plan.num_stages();
    console.out << "  " << what << " in "
                << (all                  ? "all stages"
                    : stages.size() == 1 ? "stage " + RangesLabel(stages)
                                         : "stages " + RangesLabel(stages))
                << "\n";
  };
  print("sequence parallelism", sequence_parallel);
  print("outputs of recomputed segments dropped", drop_outputs);
}

// Prints one line for each mixed stage.
void PrintShares(const PipelinePlan& plan, Console& console) {
  for (int s = 0; s < plan.num_stages(); ++s) {
    const MixedReplicas& mixed = plan.stages[s].mixed;
    if (mixed.empty()) continue;
    std::vector<int> shares;
    for (const ReplicaGroup& group : mixed.groups) {
      shares.push_back(group.share);
    }
    const std::string counts = absl::StrJoin(shares, ", ");
    console.out << WrapText(
        IsRouted(plan.stages[s])
            ? absl::StrCat("stage ", s, " routes ", counts,
                           " microbatches to its groups")
            : absl::StrCat("stage ", s, " gives its groups ", counts,
                           " samples of each microbatch"),
        /*indent=*/2, console.width);
  }
}

// "1 microbatch", "128 microbatches".
std::string MicrobatchesText(int count) {
  return absl::StrCat(count, count == 1 ? " microbatch" : " microbatches");
}

}  // namespace

void PrintStages(const PlanFile& file, Console& console) {
  const PipelinePlan& plan = *file.result.plan;
  const std::string common_maker = CommonMaker(plan);
  Table table({{"#", Table::kRight},
               {"GPUs"},
               {.title = "where", .is_elastic = true},
               {"layers"},
               {"tp", Table::kRight},
               {"dp", Table::kRight},
               {"cp", Table::kRight},
               {"ep", Table::kRight},
               {"pp", Table::kRight, /*drop=*/4},
               {"recompute", Table::kRight},
               {"zero", Table::kRight, /*drop=*/1},
               {"time", Table::kRight},
               {"memory GB", Table::kRight},
               {"real", Table::kRight, /*drop=*/2},
               {"used", Table::kRight, /*drop=*/3},
               {.title = "made by", .drop = 5}});
  const double margin = MemoryMarginOf(file.cluster);
  for (int s = 0; s < plan.num_stages(); ++s) {
    AddStageRows(file, s, /*names_maker=*/common_maker.empty(), margin, table);
  }
  const int microbatch = plan.pipeline_microbatch_size;
  std::string summary = absl::StrCat(
      FormatItems(plan.num_stages(), "stage"), ", ",
      MicrobatchesText(file.training.global_batch_size / microbatch), " of ",
      FormatItems(microbatch, "sample"));
  if (plan.schedule != PipelineSchedule::kOneFOneB) {
    absl::StrAppend(&summary, ", schedule ", ScheduleName(plan.schedule));
  }
  if (!plan.warm_up_passes.empty()) {
    absl::StrAppend(&summary, ", warm-up of ",
                    absl::StrJoin(plan.warm_up_passes, ", "), " passes");
  }
  if (!common_maker.empty()) {
    absl::StrAppend(&summary, ", made by ", common_maker);
  }
  console.out << Styled(console, Style::kBold, "Plan") << "\n"
              << WrapText(summary, /*indent=*/2, console.width)
              << table.ToString(console.width);
  if (margin > 0) {
    console.out << WrapText(
        absl::StrFormat("memory: peak/usable; %.3g %% of each GPU stays free "
                        "(--memory-margin)",
                        100 * margin),
        /*indent=*/2, console.width);
  }
  const std::vector<std::string> dropped = table.DroppedAt(console.width);
  if (!dropped.empty()) {
    console.out << WrapText(
        absl::StrCat("wider output also shows ", absl::StrJoin(dropped, ", ")),
        /*indent=*/2, console.width);
  }
  PrintTechniques(plan, console);
  PrintShares(plan, console);
  PrintOffload(file.result, console);
}

void PrintViolations(const Evaluation& evaluation, Console& console) {
  for (const Violation& violation : evaluation.violations) {
    // The colour comes last, because WrapText escapes control characters.
    constexpr absl::string_view kTitle = "violation:";
    constexpr int kIndent = 2;  // As in front of tables.
    std::string lines = WrapText(
        absl::StrCat(kTitle, " stage ", violation.stage, ": ", violation.reason,
                     ", ", FormatBytes(violation.bytes_short),
                     " short per GPU"),
        kIndent, console.width);
    lines.replace(kIndent, kTitle.size(), Styled(console, Style::kBad, kTitle));
    console.out << lines;
  }
}

void PrintPipelines(const PlanFile& file, Console& console) {
  const ReplicatedEvaluation& evaluation = file.result.replicated_evaluation;
  const std::vector<PlanFile> pipelines = PipelineFiles(file);
  for (size_t r = 0; r < pipelines.size(); ++r) {
    const int samples = pipelines[r].training.global_batch_size;
    console.out
        << (r > 0 ? "\n" : "")
        << Styled(console, Style::kBold, absl::StrCat("Pipeline ", r, ": "))
        << FormatItems(samples, "sample") << " of the batch ("
        << FormatPercent(1.0 * samples / file.training.global_batch_size)
        << "), alone "
        << FormatSeconds(evaluation.pipelines[r].iteration_time_s) << "\n";
    PrintStages(pipelines[r], console);
    PrintViolations(evaluation.pipelines[r], console);
  }
}

}  // namespace tangram
