#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "cli/commands/commands.h"
#include "cli/commands/frontier_terms.h"
#include "cli/files/input_file.h"
#include "cli/files/plan_files.h"
#include "cli/print/answer_json.h"
#include "cli/print/frontier_json.h"
#include "cli/print/table.h"
#include "common/base/format.h"
#include "common/base/status_macros.h"
#include "common/change/bindings.h"
#include "common/sim/compare_plans.h"
#include "common/sim/evaluate_plan.h"
#include "coordinator/planners/frontier/staircase.h"
#include "formats/config/limit_nodes.h"

namespace tangram {
namespace {

using Json = nlohmann::ordered_json;

constexpr int64_t kMostFileBytes = int64_t{1} << 30;

struct WeightedFile {
  double weight = 1;
  std::string file;
};

absl::StatusOr<WeightedFile> ParseWeighted(const std::string& text) {
  const std::pair<absl::string_view, absl::string_view> sides =
      absl::StrSplit(text, absl::MaxSplits('*', 1));
  if (sides.second.empty()) return WeightedFile{.file = text};
  WeightedFile weighted{.file = std::string(sides.second)};
  if (!absl::SimpleAtod(sides.first, &weighted.weight) ||
      !(weighted.weight > 0) || weighted.weight > 1e9) {
    return absl::InvalidArgumentError(absl::StrCat(
        text, "; expected a positive weight before the *, such as 3*",
        sides.second));
  }
  return weighted;
}

// The jobs together: what each allocation is worth to them.
struct Portfolio {
  Frontier terms;  // Groups and what they cost; its points are not used.
  std::vector<Allocation> allocations;
  std::vector<double> tokens_per_s;  // Weighted, in all.
};

absl::Status AddJob(const WeightedFile& job, Portfolio& portfolio) {
  TANGRAM_ASSIGN_OR_RETURN(const std::string text,
                           ReadInputFile(job.file, kMostFileBytes));
  TANGRAM_ASSIGN_OR_RETURN(Frontier frontier,
                           FrontierFromJson(text, InputName(job.file)));
  TANGRAM_RETURN_IF_ERROR(Assess(frontier));
  std::vector<Allocation> allocations;
  std::vector<double> worths;
  for (const FrontierPoint& point : frontier.points) {
    if (point.answer.state == AllocationAnswer::State::kPending) {
      return absl::InvalidArgumentError(absl::StrCat(
          job.file, ": ", NameOf(frontier, point, ","),
          " is not planned; expected a frontier without a timeout"));
    }
    allocations.push_back(point.nodes);
    worths.push_back(
        point.envelope_s.has_value()
            ? job.weight *
                  static_cast<double>(frontier.terms.tokens_per_iteration) /
                  *point.envelope_s
            : 0);
  }
  if (portfolio.allocations.empty()) {
    portfolio.allocations = std::move(allocations);
    portfolio.tokens_per_s = std::move(worths);
    frontier.points.clear();
    portfolio.terms = std::move(frontier);
    return absl::OkStatus();
  }
  if (frontier.groups != portfolio.terms.groups ||
      allocations != portfolio.allocations) {
    return absl::InvalidArgumentError(absl::StrCat(
        job.file,
        ": has other groups or allocations than the first frontier; "
        "expected the same"));
  }
  for (size_t i = 0; i < worths.size(); ++i) {
    portfolio.tokens_per_s[i] += worths[i];
  }
  return absl::OkStatus();
}

// Returns the nodes that there are: those of --base, or the most of each group.
absl::StatusOr<Allocation> BaseOf(const std::string& text,
                                  const Portfolio& portfolio) {
  const std::vector<std::string>& groups = portfolio.terms.groups;
  Allocation base(groups.size(), 0);
  for (const Allocation& allocation : portfolio.allocations) {
    for (size_t g = 0; g < base.size(); ++g) {
      base[g] = std::max(base[g], allocation[g]);
    }
  }
  if (!text.empty()) {
    TANGRAM_ASSIGN_OR_RETURN(const std::vector<NodeCount> counts,
                             ParseNodeCounts(text));
    for (const auto& [name, count] : counts) {
      const auto at = std::find(groups.begin(), groups.end(), name);
      if (at == groups.end()) {
        return absl::InvalidArgumentError(absl::StrCat(
            "--base: ", name, "; expected a group of the frontiers"));
      }
      base[at - groups.begin()] = count;
    }
  }
  if (!std::binary_search(portfolio.allocations.begin(),
                          portfolio.allocations.end(), base)) {
    std::vector<std::string> parts;
    for (size_t g = 0; g < base.size(); ++g) {
      parts.push_back(absl::StrCat(groups[g], "=", base[g]));
    }
    return absl::InvalidArgumentError(
        absl::StrCat("--base: ", absl::StrJoin(parts, ","),
                     " is not in the frontiers; expected one of their "
                     "allocations"));
  }
  return base;
}

// Power of a node at work, in kW. Empty: not known.
std::optional<double> KilowattsOf(const GroupTerms& group) {
  if (!group.busy_w.has_value()) return std::nullopt;
  return *group.busy_w * group.gpus_per_node / 1000;
}

// "12" tokens a second for each unit of `cost`; empty without one.
std::string For(const std::optional<double>& marginal,
                const std::optional<double>& cost) {
  if (!marginal.has_value() || !cost.has_value() || *cost <= 0) return "";
  return absl::StrFormat("%.4g", *marginal / *cost);
}

std::string AdviceOn(const Staircase& staircase, int base) {
  if (staircase.best_to_buy.has_value()) {
    return absl::StrCat("buy ", *staircase.best_to_buy - base);
  }
  if (base > 0 && staircase.idle_nodes == base) return "retire all";
  if (staircase.idle_nodes > 0) {
    return absl::StrCat("retire ", staircase.idle_nodes);
  }
  return "";
}

void PrintStaircases(const Portfolio& portfolio, const Allocation& base,
                     const std::vector<Staircase>& staircases,
                     Console& console) {
  console.out << Styled(console, Style::kBold, "Worth of nodes") << "\n";
  Table table({{"group"},
               {"nodes", Table::kRight},
               {"tokens/s", Table::kRight},
               {"a node", Table::kRight},
               {"a price/h", Table::kRight},
               {"a kW", Table::kRight},
               {""}});
  for (size_t g = 0; g < staircases.size(); ++g) {
    const GroupTerms& terms = portfolio.terms.terms.groups[g];
    bool is_first = true;
    for (const Stair& stair : staircases[g].stairs) {
      const bool is_base = stair.nodes == base[g];
      table.AddRow(
          {is_first ? portfolio.terms.groups[g] : "", absl::StrCat(stair.nodes),
           FormatThousands(static_cast<int64_t>(stair.worth)),
           For(stair.marginal, 1), For(stair.marginal, terms.node_hour_price),
           For(stair.marginal, KilowattsOf(terms)),
           is_base ? absl::StrCat("base ", AdviceOn(staircases[g], base[g]))
                   : ""});
      is_first = false;
    }
  }
  console.out << table.ToString() << "\n"
              << WrapText(
                     "Each line: the jobs' tokens a second with so many nodes "
                     "of the group and the others of the base, and the change "
                     "for each node more or less than the base.",
                     /*indent=*/2, console.width);
}

Json StaircaseView(const Portfolio& portfolio, const Allocation& base,
                   const std::vector<Staircase>& staircases) {
  Json groups = Json::array();
  for (size_t g = 0; g < staircases.size(); ++g) {
    const GroupTerms& terms = portfolio.terms.terms.groups[g];
    Json stairs = Json::array();
    for (const Stair& stair : staircases[g].stairs) {
      Json view = {{"nodes", stair.nodes}, {"tokens_per_s", stair.worth}};
      if (stair.marginal.has_value()) {
        view["tokens_per_s_per_node"] = *stair.marginal;
        if (terms.node_hour_price.value_or(0) > 0) {
          view["tokens_per_s_per_price"] =
              *stair.marginal / *terms.node_hour_price;
        }
        const std::optional<double> kilowatts = KilowattsOf(terms);
        if (kilowatts.value_or(0) > 0) {
          view["tokens_per_s_per_kw"] = *stair.marginal / *kilowatts;
        }
      }
      stairs.push_back(std::move(view));
    }
    Json view = {{"group", portfolio.terms.groups[g]},
                 {"base", base[g]},
                 {"idle_nodes", staircases[g].idle_nodes},
                 {"best_to_buy", staircases[g].best_to_buy.has_value()
                                     ? Json(*staircases[g].best_to_buy)
                                     : Json()},
                 {"stairs", std::move(stairs)}};
    groups.push_back(std::move(view));
  }
  return groups;
}

// Parts of the cluster that bind a plan.
struct Limits {
  double iteration_time_s = 0;
  double memory_fraction = 0;  // The fullest GPU's.
  std::vector<Binding> bindings;
};

absl::StatusOr<Limits> LimitsOf(const std::string& plan_file) {
  TANGRAM_ASSIGN_OR_RETURN(const PlanFile file, ReadAndEvaluate(plan_file));
  if (!file.result.plan.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--plan: ", plan_file, ": has no plan of one pipeline; expected one"));
  }
  const auto time_of = [&](const Cluster& cluster) -> absl::StatusOr<double> {
    TANGRAM_ASSIGN_OR_RETURN(
        const Evaluation evaluation,
        EvaluatePlan(file.model, cluster, file.training, *file.result.plan));
    return evaluation.iteration_time_s;
  };
  Limits limits{.memory_fraction = MemoryFraction(file.result.evaluation)};
  TANGRAM_ASSIGN_OR_RETURN(limits.iteration_time_s, time_of(file.cluster));
  TANGRAM_ASSIGN_OR_RETURN(
      limits.bindings,
      BindingsOf(file.cluster, limits.iteration_time_s, time_of));
  return limits;
}

const char* KindName(Binding::Kind kind) {
  switch (kind) {
    case Binding::Kind::kCompute:
      return "compute";
    case Binding::Kind::kMemoryRate:
      return "memory bandwidth";
    case Binding::Kind::kInsideNodes:
      return "links inside nodes";
    case Binding::Kind::kLink:
      return "links between nodes";
  }
  return "";
}

std::string WhereOf(const Binding& binding) {
  return binding.from == binding.to
             ? binding.from
             : absl::StrCat(binding.from, " and ", binding.to);
}

void PrintLimits(const Limits& limits, Console& console) {
  console.out << Styled(console, Style::kBold, "What binds the plan") << "\n";
  Table table({{"twice the"},
               {"of"},
               {"iteration", Table::kRight},
               {"gain", Table::kRight}});
  for (const Binding& binding : limits.bindings) {
    table.AddRow({KindName(binding.kind), WhereOf(binding),
                  FormatSeconds(binding.iteration_time_s),
                  FormatPercent(1 - binding.iteration_time_s /
                                        limits.iteration_time_s)});
  }
  console.out << table.ToString() << "\n"
              << WrapText(absl::StrCat("memory: the fullest GPU is ",
                                       FormatPercent(limits.memory_fraction),
                                       " full. The plan stays as it is, so a "
                                       "new one may gain more."),
                          /*indent=*/2, console.width);
}

Json LimitsView(const Limits& limits) {
  Json bindings = Json::array();
  for (const Binding& binding : limits.bindings) {
    bindings.push_back({{"kind", KindName(binding.kind)},
                        {"from", binding.from},
                        {"to", binding.to},
                        {"iteration_time_s", binding.iteration_time_s}});
  }
  return {{"iteration_time_s", limits.iteration_time_s},
          {"memory_fraction", limits.memory_fraction},
          {"twice_as_fast", std::move(bindings)}};
}

}  // namespace

CommandResult Run(const AdviseOptions& options, Console& console) {
  Json view = {{"format_version", "tangram.advice/v1"}};
  const bool as_json = console.format == OutputFormat::kJson;
  if (!options.frontier_files.empty()) {
    Portfolio portfolio;
    for (const std::string& text : options.frontier_files) {
      TANGRAM_ASSIGN_OR_RETURN(const WeightedFile job, ParseWeighted(text));
      TANGRAM_RETURN_IF_ERROR(AddJob(job, portfolio));
    }
    FrontierOptions terms;
    terms.prices = options.prices;
    terms.power = options.power;
    TANGRAM_RETURN_IF_ERROR(AddTerms(terms, portfolio.terms));
    TANGRAM_ASSIGN_OR_RETURN(const Allocation base,
                             BaseOf(options.base, portfolio));
    const std::vector<Staircase> staircases =
        StaircasesAround(base, portfolio.allocations, portfolio.tokens_per_s);
    view["groups"] = StaircaseView(portfolio, base, staircases);
    if (!as_json) PrintStaircases(portfolio, base, staircases, console);
  }
  if (!options.plan_file.empty()) {
    TANGRAM_ASSIGN_OR_RETURN(const Limits limits, LimitsOf(options.plan_file));
    view["plan"] = LimitsView(limits);
    if (!as_json && !options.frontier_files.empty()) console.out << "\n";
    if (!as_json) PrintLimits(limits, console);
  }
  if (as_json) PrintJson(view, console);
  return ExitCode::kOk;
}

}  // namespace tangram
