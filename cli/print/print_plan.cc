#include "cli/print/print_plan.h"

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "cli/print/band_text.h"
#include "cli/print/table.h"
#include "common/base/format.h"
#include "common/sim/describe.h"
#include "formats/config/training_names.h"

namespace tangram {

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

void PrintFigure(absl::string_view label, const std::string& text,
                 Console& console) {
  constexpr int kFigureAt = 20;
  console.out << LabelledText(label, text, kFigureAt, console.width);
}

// Prints the figures of an iteration, of one pipeline or of several, in lines
// of their own. `Figures` is Evaluation or ReplicatedEvaluation.
template <typename Figures>
void PrintPace(const Figures& figures, Console& console) {
  console.out << Styled(console, Style::kBold, "Prediction") << "\n";
  PrintFigure("iteration time", FormatSeconds(figures.iteration_time_s),
              console);
  PrintFigure("throughput",
              absl::StrCat(FormatThousands(std::llround(figures.tokens_per_s)),
                           " tokens/s, ",
                           absl::StrFormat("%.2f", figures.samples_per_s),
                           " samples/s"),
              console);
}

void PrintBand(const PlanResult& result, Console& console) {
  if (!result.band) return;
  PrintFigure(
      "expected",
      absl::StrCat(ExpectedTime(result), " in ", FormatPercent(kBandCoverage),
                   " of runs, memory ", BandLabel(result.band->memory)),
      console);
}

template <typename Figures>
void PrintUse(const Figures& figures, Console& console) {
  PrintFigure("bubble",
              absl::StrCat(FormatPercent(figures.bubble_fraction),
                           " of the GPUs' time is idle"),
              console);
  PrintFigure("utilisation",
              absl::StrCat(FormatPercent(figures.model_flops_utilization),
                           " of the GPUs' peak (model FLOPs)"),
              console);
}

}  // namespace

void PrintPrediction(const PlanResult& result, Console& console) {
  if (result.replicated_plan) {
    const ReplicatedEvaluation& evaluation = result.replicated_evaluation;
    PrintPace(evaluation, console);
    PrintBand(result, console);
    PrintFigure(
        "gradient exchange",
        absl::StrCat(ReplicaSyncName(result.replicated_plan->sync), ", ",
                     FormatSeconds(evaluation.exposed_replica_sync_s),
                     " after the last pass"),
        console);
    PrintUse(evaluation, console);
    return;
  }
  const Evaluation& evaluation = result.evaluation;
  PrintPace(evaluation, console);
  PrintBand(result, console);
  PrintUse(evaluation, console);
  PrintFigure("measured",
              absl::StrCat(FormatPercent(evaluation.measured_fraction),
                           " of compute time; the rest is modelled"),
              console);
}

void PrintNotes(const std::vector<std::string>& notes, Console& console) {
  if (notes.empty()) return;
  console.out << "\n" << Styled(console, Style::kBold, "Notes") << "\n";
  for (const std::string& note : notes) {
    console.out << WrapText(note, /*indent=*/2, console.width);
  }
}

namespace {

// Returns why a plan that is faster than that of `result` was not chosen.
std::string WhyNotChosen(const RunnerUp& other, const PlanResult& result) {
  std::set<int> used;
  for (const PlacedStage& stage : result.plan->stages) {
    used.insert(stage.island);
  }
  std::vector<std::string> more;
  for (const int island : other.islands) {
    if (!used.contains(island)) more.push_back(result.islands[island].name);
  }
  if (more.empty()) {
    return "it was scored by other constants or other rules than the plan is "
           "now: plan again";
  }
  return absl::StrCat("it needs ", absl::StrJoin(more, ", "),
                      " too, for a smaller gain than --min-island-gain");
}

}  // namespace

void PrintRunnersUp(const PlanResult& result, Console& console) {
  if (result.runners_up.empty() || !result.plan) return;
  console.out << Styled(console, Style::kBold, "Next-best plans") << "\n";
  Table table({{.title = "islands", .is_elastic = true},
               {"stages", Table::kRight},
               {"samples a microbatch", Table::kRight},
               {"iteration", Table::kRight},
               {"longer", Table::kRight}});
  std::vector<std::string> reasons;
  for (const RunnerUp& other : result.runners_up) {
    std::vector<std::string> islands;
    for (const int island : other.islands) {
      islands.push_back(result.islands[island].name);
    }
    const double longer =
        other.iteration_time_s / result.evaluation.iteration_time_s - 1;
    table.AddRow({absl::StrJoin(islands, ", "), absl::StrCat(other.num_stages),
                  absl::StrCat(other.pipeline_microbatch_size),
                  FormatSeconds(other.iteration_time_s),
                  FormatPercent(longer)});
    if (longer < 0) {
      reasons.push_back(
          absl::StrCat(FormatSeconds(other.iteration_time_s),
                       " was not chosen: ", WhyNotChosen(other, result)));
    }
  }
  console.out << table.ToString(console.width);
  for (const std::string& reason : reasons) {
    console.out << WrapText(reason, /*indent=*/2, console.width);
  }
  console.out << "\n";
}

void PrintPlanningCost(const PlanFile& file, Console& console) {
  const PlanningStats& stats = file.result.stats;
  const Provenance& provenance = file.provenance;
  console.out << Styled(console, Style::kBold, "Planning") << "\n"
              << WrapText(
                     absl::StrCat(FormatSeconds(provenance.wall_s), " with ",
                                  provenance.parallelizer, " on ",
                                  FormatItems(provenance.num_workers,
                                              provenance.coordinator.empty()
                                                  ? "thread"
                                                  : "worker")),
                     /*indent=*/2, console.width);
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
