#include "cli/print/print_plan.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "cli/print/band_text.h"
#include "cli/print/print_certificate.h"
#include "cli/print/print_islands.h"
#include "cli/print/table.h"
#include "common/base/format.h"
#include "common/base/printable_text.h"
#include "common/domain/stage_part.h"
#include "common/sim/describe.h"
#include "common/sim/stage_figures.h"
#include "common/sim/stage_labels.h"
#include "common/wire/pipeline_files.h"
#include "formats/config/training_names.h"

namespace tangram {
namespace {

// Few, so that the plan stays in sight. The number of others is printed.
constexpr int kAssumptionPartsShown = 6;

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

// Returns "left out", "stage 3" or "stages 0-2" for the numbers in `used`.
std::string UseLabel(const std::set<int>& used, absl::string_view what) {
  if (used.empty()) return "left out";
  return absl::StrCat(what, used.size() == 1 ? " " : "s ", RangesLabel(used));
}

std::vector<std::string> IslandUses(const PlanResult& result) {
  if (!result.has_plan()) return {};
  std::vector<std::set<int>> used(result.islands.size());
  const auto use = [&used](int island, int number) {
    // A file from elsewhere may name an island that does not exist.
    if (island >= 0 && island < static_cast<int>(used.size())) {
      used[island].insert(number);
    }
  };
  if (result.plan) {
    for (int s = 0; s < result.plan->num_stages(); ++s) {
      use(result.plan->stages[s].island, s);
    }
  } else {
    const auto& pipelines = result.replicated_plan->pipelines;
    for (size_t r = 0; r < pipelines.size(); ++r) {
      for (const PlacedStage& stage : pipelines[r].plan.stages) {
        use(stage.island, static_cast<int>(r));
      }
    }
  }
  std::vector<std::string> uses;
  for (const std::set<int>& numbers : used) {
    uses.push_back(UseLabel(numbers, result.plan ? "stage" : "pipeline"));
  }
  return uses;
}

void PrintUnusedIslands(const PlanResult& result, Console& console) {
  for (const UnusedIsland& unused : result.unused_islands) {
    const std::string with_it =
        unused.best_with_it_s
            ? absl::StrCat("; the best plan with it takes ",
                           FormatSeconds(*unused.best_with_it_s))
            : "";
    console.out << WrapText(
        absl::StrCat("left out: ", result.islands[unused.island].name, ": ",
                     unused.reason, with_it),
        /*indent=*/2, kOutputWidth);
  }
}

// Returns how much longer than the plan of `result` it takes: "4.6 %".
std::string LongerLabel(double iteration_time_s, const PlanResult& result) {
  const double longer =
      iteration_time_s / result.evaluation.iteration_time_s - 1;
  return longer > 0 ? FormatPercent(longer) : "";
}

// Prints the answer of runtime auto: the best plan for each framework, and what
// a plan of any kind would bring.
void PrintFrameworks(const PlanResult& result, Console& console) {
  if (result.alternatives.empty()) return;
  console.out << "\n" << Styled(console, Style::kBold, "Frameworks") << "\n";
  Table table({{"best plan for"},
               {"iteration", Table::kRight},
               {"longer", Table::kRight},
               {"slice plans of"}});
  std::vector<std::string> without;
  std::vector<std::string> not_searched;
  const PlanAlternative* any = nullptr;
  for (const PlanAlternative& alternative : result.alternatives) {
    if (alternative.runtime == kAnyRuntime) {
      any = &alternative;
    } else if (!alternative.was_searched()) {
      not_searched.push_back(alternative.runtime);
    } else if (!alternative.iteration_time_s) {
      without.push_back(alternative.runtime);
    } else {
      table.AddRow({alternative.runtime,
                    FormatSeconds(*alternative.iteration_time_s),
                    LongerLabel(*alternative.iteration_time_s, result),
                    absl::StrJoin(alternative.parallelizers, ", ")});
    }
  }
  console.out << table.ToString();
  const auto print = [&](const std::string& line) {
    console.out << WrapText(line, /*indent=*/2, kOutputWidth);
  };
  if (!without.empty()) {
    print(absl::StrCat("no plan for ", absl::StrJoin(without, ", "),
                       ": --runtime NAME says why"));
  }
  if (!not_searched.empty()) {
    print(absl::StrCat("not searched: ", absl::StrJoin(not_searched, ", "),
                       ": the notes say why"));
  }
  if (any == nullptr || !any->iteration_time_s || any->reason.empty()) return;
  print(absl::StrCat("at least ",
                     FormatPercent(1 - *any->iteration_time_s /
                                           result.evaluation.iteration_time_s),
                     " faster with --runtime any, ",
                     FormatSeconds(*any->iteration_time_s), ", but ",
                     any->reason));
}

void PrintAlternatives(const PlanFile& file, Console& console) {
  const PlanResult& result = file.result;
  if (file.constraints.runtime == kAutoRuntime) {
    // Without a plan, the reason has those of all frameworks.
    if (result.plan) PrintFrameworks(result, console);
    return;
  }
  if (result.alternatives.empty()) return;
  console.out << "\n" << Styled(console, Style::kBold, "Parallelizers") << "\n";
  Table table({{"slice plans of"}, {"runtime"}, {"iteration", Table::kRight}});
  for (const PlanAlternative& alternative : result.alternatives) {
    table.AddRow({absl::StrJoin(alternative.parallelizers, ", "),
                  alternative.runtime,
                  alternative.iteration_time_s
                      ? FormatSeconds(*alternative.iteration_time_s)
                      : absl::StrCat("none: ", alternative.reason)});
  }
  console.out << table.ToString();
}

void PrintNoPlan(const PlanResult& result, Console& console) {
  console.out << Styled(console, Style::kBad, "No plan fits") << "\n";
  if (!result.infeasible) return;
  const Infeasible& infeasible = *result.infeasible;
  std::string text = infeasible.reason;
  if (infeasible.bytes_short > 0) {
    absl::StrAppend(&text, "; ", FormatBytes(infeasible.bytes_short),
                    " short per GPU");
  }
  console.out << WrapText(text, /*indent=*/2, kOutputWidth);
}

void PrintConstraints(PlanConstraints constraints, Console& console) {
  if (constraints.runtime == kAutoRuntime) constraints.runtime.clear();
  if (constraints.none()) return;
  console.out << WrapText(
      absl::StrCat("asked for: ",
                   absl::StrJoin(DescribeConstraints(constraints), ", ")),
      /*indent=*/2, kOutputWidth);
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
        /*indent=*/2, kOutputWidth);
  }
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
        kIndent, kOutputWidth);
    lines.replace(kIndent, kTitle.size(), Styled(console, Style::kBad, kTitle));
    console.out << lines;
  }
}

}  // namespace

void PrintRequest(const Cluster& cluster, const ModelSpec& model,
                  const TrainingOptions& training, Console& console) {
  console.out << Styled(console, Style::kBold,
                        absl::StrCat(model.name, " on ", cluster.name))
              << "\n"
              << "  " << FormatCount(ParameterCount(model)) << " parameters, "
              << FormatItems(cluster.num_gpus(), "GPU") << " in "
              << FormatItems(static_cast<int64_t>(cluster.nodes.size()), "node")
              << "\n  global batch " << training.global_batch_size
              << ", sequence " << training.sequence_length << ", "
              << PrecisionName(training.precision) << ", "
              << OptimizerName(training.optimizer);
  for (const std::string& name : DescribeSwitches(training)) {
    console.out << ", " << name;
  }
  console.out << "\n";
}

namespace {

// Adds a row for the stage, or one for each group of a mixed stage: "1.0".
void AddStageRows(const PlanFile& file, int s, bool names_maker, Table& table) {
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
         parallelism.zero_stage == 0 ? ""
                                     : absl::StrCat(parallelism.zero_stage),
         FormatSeconds(part.forward_s + part.backward_s),
         absl::StrFormat("%.1f/%.1f", part.peak_bytes / 1e9,
                         part.capacity_bytes / 1e9),
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
        /*indent=*/2, kOutputWidth);
  }
}

}  // namespace

void PrintStages(const PlanFile& file, Console& console) {
  const PipelinePlan& plan = *file.result.plan;
  const std::string common_maker = CommonMaker(plan);
  Table table({{"#", Table::kRight},
               {"GPUs"},
               {"where"},
               {"layers"},
               {"tp", Table::kRight},
               {"dp", Table::kRight},
               {"cp", Table::kRight},
               {"ep", Table::kRight},
               {"pp", Table::kRight},
               {"recompute", Table::kRight},
               {"zero", Table::kRight},
               {"microbatch", Table::kRight},
               {"memory GB", Table::kRight},
               {"used", Table::kRight},
               {"made by"}});
  for (int s = 0; s < plan.num_stages(); ++s) {
    AddStageRows(file, s, /*names_maker=*/common_maker.empty(), table);
  }
  const int microbatch = plan.pipeline_microbatch_size;
  console.out << Styled(console, Style::kBold, "Plan") << "\n  "
              << FormatItems(plan.num_stages(), "stage") << ", "
              << file.training.global_batch_size / microbatch
              << " microbatches of " << FormatItems(microbatch, "sample");
  if (plan.schedule != PipelineSchedule::kOneFOneB) {
    console.out << ", schedule " << ScheduleName(plan.schedule);
  }
  if (!plan.warm_up_passes.empty()) {
    console.out << ", warm-up of " << absl::StrJoin(plan.warm_up_passes, ", ")
                << " passes";
  }
  if (!common_maker.empty())
    console.out << ", made by " << EscapedControls(common_maker);
  console.out << "\n" << table.ToString();
  PrintTechniques(plan, console);
  PrintShares(plan, console);
  PrintOffload(file.result, console);
}

namespace {

// Prints the figures of an iteration, of one pipeline or of several, in lines
// of their own. `Figures` is Evaluation or ReplicatedEvaluation.
template <typename Figures>
void PrintPace(const Figures& figures, Console& console) {
  console.out << Styled(console, Style::kBold, "Prediction") << "\n"
              << "  iteration time   "
              << Styled(console, Style::kGood,
                        FormatSeconds(figures.iteration_time_s))
              << "\n  throughput       "
              << FormatThousands(std::llround(figures.tokens_per_s))
              << " tokens/s, " << absl::StrFormat("%.2f", figures.samples_per_s)
              << " samples/s\n";
}

void PrintBand(const PlanResult& result, Console& console) {
  if (!result.band) return;
  console.out << "  expected         " << ExpectedTime(result) << " in "
              << FormatPercent(kBandCoverage) << " of runs, memory "
              << BandLabel(result.band->memory) << "\n";
}

template <typename Figures>
void PrintUse(const Figures& figures, Console& console) {
  console.out << "  bubble           " << FormatPercent(figures.bubble_fraction)
              << " of the GPUs' time is idle\n  utilisation      "
              << FormatPercent(figures.model_flops_utilization)
              << " of the GPUs' peak (model FLOPs)\n";
}

}  // namespace

void PrintPrediction(const PlanResult& result, Console& console) {
  const Evaluation& evaluation = result.evaluation;
  PrintPace(evaluation, console);
  PrintBand(result, console);
  PrintUse(evaluation, console);
  console.out << "  measured         "
              << FormatPercent(evaluation.measured_fraction)
              << " of compute time; the rest is modelled\n";
  PrintViolations(evaluation, console);
}

void PrintPipelines(const PlanFile& file, Console& console) {
  const ReplicatedEvaluation& evaluation = file.result.replicated_evaluation;
  const std::vector<PlanFile> pipelines = PipelineFiles(file);
  for (size_t r = 0; r < pipelines.size(); ++r) {
    const int samples = pipelines[r].training.global_batch_size;
    console.out
        << Styled(console, Style::kBold, absl::StrCat("Pipeline ", r, ": "))
        << FormatItems(samples, "sample") << " of the batch ("
        << FormatPercent(1.0 * samples / file.training.global_batch_size)
        << "), alone "
        << FormatSeconds(evaluation.pipelines[r].iteration_time_s) << "\n";
    PrintStages(pipelines[r], console);
    PrintViolations(evaluation.pipelines[r], console);
    console.out << "\n";
  }
  PrintPace(evaluation, console);
  PrintBand(file.result, console);
  console.out << "  gradient exchange "
              << ReplicaSyncName(file.result.replicated_plan->sync) << ", "
              << FormatSeconds(evaluation.exposed_replica_sync_s)
              << " after the last pass\n";
  PrintUse(evaluation, console);
}

void PrintNotes(const std::vector<std::string>& notes, Console& console) {
  if (notes.empty()) return;
  console.out << "\n" << Styled(console, Style::kBold, "Notes") << "\n";
  for (const std::string& note : notes) {
    console.out << WrapText(note, /*indent=*/2, kOutputWidth);
  }
}

void PrintPlanFile(const PlanFile& file, Console& console) {
  const PlanResult& result = file.result;
  PrintRequest(file.cluster, file.model, file.training, console);
  PrintConstraints(file.constraints, console);
  console.out << "\n";
  PrintIslandTable(file.cluster, result.islands, IslandUses(result), console);
  PrintUnusedIslands(result, console);
  console.out << "\n";
  if (result.plan) {
    PrintStages(file, console);
    console.out << "\n";
    PrintPrediction(result, console);
    PrintCertificate(result, console);
  } else if (result.replicated_plan) {
    PrintPipelines(file, console);
    PrintCertificate(result, console);
  } else {
    PrintNoPlan(result, console);
  }
  PrintAlternatives(file, console);
  PrintAssumptions(file.cluster, kAssumptionPartsShown, console);
  PrintNotes(result.notes, console);
}

void PrintRunnersUp(const PlanResult& result, Console& console) {
  if (result.runners_up.empty() || !result.plan) return;
  console.out << Styled(console, Style::kBold, "Next-best plans") << "\n";
  Table table({{"islands"},
               {"stages", Table::kRight},
               {"samples a microbatch", Table::kRight},
               {"iteration", Table::kRight},
               {"longer", Table::kRight}});
  for (const RunnerUp& other : result.runners_up) {
    std::vector<std::string> islands;
    for (const int island : other.islands) {
      islands.push_back(result.islands[island].name);
    }
    table.AddRow(
        {absl::StrJoin(islands, ", "), absl::StrCat(other.num_stages),
         absl::StrCat(other.pipeline_microbatch_size),
         FormatSeconds(other.iteration_time_s),
         FormatPercent(
             other.iteration_time_s / result.evaluation.iteration_time_s - 1)});
  }
  console.out << table.ToString() << "\n";
}

void PrintPlanningCost(const PlanFile& file, Console& console) {
  const PlanningStats& stats = file.result.stats;
  const Provenance& provenance = file.provenance;
  console.out << Styled(console, Style::kBold, "Planning") << "\n  "
              << FormatSeconds(provenance.wall_s) << " with "
              << EscapedControls(provenance.parallelizer) << " on "
              << FormatItems(
                     provenance.num_workers,
                     provenance.coordinator.empty() ? "thread" : "worker")
              << "\n";
  Table phases({{"phase"}, {"time", Table::kRight}});
  for (const PhaseTime& time : provenance.phases) {
    phases.AddRow({absl::StrReplaceAll(time.phase, {{"_", " "}}),
                   FormatSeconds(time.wall_s)});
  }
  console.out << phases.ToString();
  Table counts({{"pairs and queries"}, {"count", Table::kRight}});
  const auto add = [&](const char* name, int64_t count) {
    counts.AddRow({name, FormatThousands(count)});
  };
  add("pairs (slice, island, microbatch)", stats.pairs);
  add("- redundant", stats.pruned_redundant);
  add("- imbalanced", stats.pruned_imbalanced);
  add("- incompatible", stats.pruned_incompatible);
  add("- infeasible", stats.pruned_infeasible);
  add("queries", stats.queries);
  add("  for more trailing stages", stats.requeries);
  add("  answered: does not fit", stats.infeasible_answers);
  add("  answered from the cache", provenance.cache_hits);
  add("slice plans", stats.slice_plans);
  add("search steps", stats.search_steps);
  add("compositions", stats.compositions);
  add("plans evaluated", stats.finalists);
  console.out << counts.ToString();
}

}  // namespace tangram
