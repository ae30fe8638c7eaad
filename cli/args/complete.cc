#include "cli/args/complete.h"

#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/planner/plan_constraints.h"
#include "coordinator/planners/builtin/builtin_planners.h"
#include "formats/catalogue/models.h"
#include "formats/config/device_catalogue.h"
#include "formats/config/training_names.h"
#include "formats/export_profile/export_profile.h"
#include "formats/import_profile/import_profile.h"
#include "frameworks/framework_table.h"
#include "frameworks/import_plan.h"
#include "worker/adapters/builtin_parallelizers.h"

namespace tangram {
namespace {

std::vector<std::string> ParallelizerNames() {
  std::vector<std::string> names = BuiltinParallelizerNames();
  names.push_back("all");
  return names;
}

std::vector<std::string> DeviceNames() {
  std::vector<std::string> names;
  for (const CatalogueDevice& entry : DeviceCatalogue()) {
    names.push_back(entry.device.type);
  }
  return names;
}

std::vector<std::string> RuntimeNames() {
  std::vector<std::string> names = {kAnyRuntime, kAutoRuntime};
  for (const Framework* framework : PlanningRuntimes()) {
    names.emplace_back(framework->name);
  }
  return names;
}

// "node_order=": the options of all planners, each once; or
// "whole-cluster.node_order=".
std::vector<std::string> PlannerOptionNames(bool names_planner) {
  std::set<std::string> names;
  for (const PlannerInfo& planner : BuiltinPlanners().planners()) {
    const std::string prefix =
        names_planner ? absl::StrCat(planner.name, ".") : "";
    for (const PlannerOption& option : planner.options) {
      names.insert(absl::StrCat(prefix, option.name, "="));
    }
  }
  return {names.begin(), names.end()};
}

template <typename Entries>
std::vector<std::string> NamesOf(const Entries& entries) {
  std::vector<std::string> names;
  for (const auto& entry : entries) names.emplace_back(entry.name);
  return names;
}

// Returns the values of option or argument `name` that have names; empty for
// other options. `value` is the placeholder that help prints for the value.
std::vector<std::string> KnownValues(const std::string& name,
                                     const std::string& value) {
  if (name == "--to" && value == "PLANNER") return NamesOf(ProfileTargets());
  if (name == "--to") {
    std::vector<std::string> names;
    for (const Framework* framework : ExportTargets()) {
      names.emplace_back(framework->name);
    }
    return names;
  }
  if (name == "--from" && value == "FRAMEWORK") return NamesOf(PlanFormats());
  if (name == "--from") return NamesOf(ProfileFormats());
  if (name == "--runtime") return RuntimeNames();
  if (name == "--model") return BuiltinModelNames();
  if (name == "--device" || name == "GPU") return DeviceNames();
  if (name == "--parallelizer") return ParallelizerNames();
  if (name == "--planner" || name == "--planners") {
    return NamesOf(BuiltinPlanners().planners());
  }
  if (name == "--planner-option") {
    return PlannerOptionNames(absl::StartsWith(value, "PLANNER."));
  }
  if (name == "--precision") return PrecisionNames();
  if (name == "--optimizer") return OptimizerNames();
  if (name == "--progress") return {"always", "auto", "never"};
  if (name == "--format") return {"json", "text"};
  if (name == "SHELL") return {"bash", "fish", "zsh"};
  return {};
}

// True if the placeholder `value` stands for a file or folder: FILE, PLAN.json,
// RUNS.csv, NAME|FILE, DIR.
bool IsFile(const std::string& value) {
  return absl::StrContains(value, "FILE") || absl::StrContains(value, '.') ||
         absl::StrContains(value, "DIR");
}

// Collects the candidates that begin with `prefix`.
class Completer {
 public:
  explicit Completer(std::string prefix) : prefix_(std::move(prefix)) {}

  void AddValues(const std::string& name, const std::string& value) {
    for (const std::string& known : KnownValues(name, value)) Add(known, "");
    completion_.files |= IsFile(value);
  }

  void AddOptions(const CommandTree& tree) {
    for (const OptionHelp& option : tree.options) {
      if (!option.is_positional) Add(option.name, option.help);
    }
  }

  // Adds what may stand where no option is typed: subcommands, and values of
  // positional arguments.
  void AddPlain(const CommandTree& tree) {
    for (const CommandTree& subcommand : tree.subcommands) {
      Add(subcommand.name, subcommand.help);
    }
    for (const OptionHelp& option : tree.options) {
      if (option.is_positional) AddValues(option.name, option.name);
    }
  }

  Completion Done() { return std::move(completion_); }

 private:
  void Add(const std::string& text, const std::string& help) {
    if (!absl::StartsWith(text, prefix_)) return;
    completion_.candidates.push_back({text, help});
  }

  const std::string prefix_;
  Completion completion_;
};

}  // namespace

// Walks the words before the last one down the tree. A word is the value of the
// option before it, an option, a subcommand, or a positional argument.
Completion Complete(const CommandTree& tree,
                    absl::Span<const std::string> words) {
  if (words.empty()) return {};
  const CommandTree* command = &tree;
  const OptionHelp* open = nullptr;  // The option that still lacks its value.
  for (const std::string& word : words.first(words.size() - 1)) {
    if (open != nullptr) {
      open = nullptr;
    } else if (absl::StartsWith(word, "-")) {
      open = FindOption(*command, word);
      if (open != nullptr && open->value.empty()) open = nullptr;
    } else if (const auto* subcommand = FindSubcommand(*command, word)) {
      command = subcommand;
    }
  }
  Completer completer(words.back());
  if (open != nullptr) {
    completer.AddValues(open->name, open->value);
  } else if (absl::StartsWith(words.back(), "-")) {
    completer.AddOptions(*command);
  } else {
    completer.AddPlain(*command);
  }
  return completer.Done();
}

}  // namespace tangram
