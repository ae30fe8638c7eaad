#include <set>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "cli/commands/commands.h"
#include "cli/files/plan_files.h"
#include "cli/print/answer_json.h"
#include "cli/print/plan_figures.h"
#include "cli/print/table.h"
#include "common/base/format.h"
#include "common/base/status_macros.h"
#include "common/change/plan_move.h"

namespace tangram {
namespace {

using Json = nlohmann::ordered_json;

absl::StatusOr<PlanFile> ReadWithPlan(const std::string& file) {
  TANGRAM_ASSIGN_OR_RETURN(PlanFile plan, ReadAndEvaluate(file));
  if (plan.result.has_plan()) return plan;
  return absl::InvalidArgumentError(
      absl::StrCat(file, ": has no plan; expected one"));
}

HeldState StateOf(const PlanFile& file) {
  std::vector<HeldState> pipelines;
  for (const EvaluatedPlan& pipeline : PipelinesOf(file.result)) {
    pipelines.push_back(
        HeldBy(file.model, file.cluster, file.training, pipeline.plan));
  }
  return Join(pipelines);
}

absl::StatusOr<std::set<std::string>> LostNodes(const MoveOptions& options,
                                                const PlanFile& before) {
  std::set<std::string> lost;
  for (const std::string& name : options.lost_nodes) {
    const bool is_known =
        absl::c_any_of(before.cluster->nodes,
                       [&](const Node& node) { return node.name == name; });
    if (!is_known) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--lost: ", name, "; expected a node of ", options.old_file));
    }
    lost.insert(name);
  }
  return lost;
}

absl::Status CheckAreAlike(const PlanFile& before, const PlanFile& after) {
  if (before.model.layers != after.model.layers) {
    return absl::InvalidArgumentError(
        "the plans are for different models; expected one model");
  }
  if (before.training.precision != after.training.precision ||
      before.training.optimizer != after.training.optimizer) {
    return absl::InvalidArgumentError(
        "the plans train in different precisions or with different optimizers; "
        "expected the same");
  }
  return absl::OkStatus();
}

void PrintMove(const PlanMove& move, Console& console) {
  console.out << Styled(console, Style::kBold, "State of each node") << "\n";
  Table table({{"node"},
               {"kept", Table::kRight},
               {"inside", Table::kRight},
               {"in", Table::kRight},
               {"out", Table::kRight},
               {"checkpoint", Table::kRight}});
  for (const NodeMove& node : move.nodes) {
    table.AddRow({node.node, FormatBytes(node.kept_bytes),
                  FormatBytes(node.from_inside_bytes),
                  FormatBytes(node.in_bytes), FormatBytes(node.out_bytes),
                  FormatBytes(node.checkpoint_bytes)});
  }
  console.out << table.ToString() << "\n"
              << WrapText(absl::StrCat("of ", FormatBytes(move.needed_bytes),
                                       ", ", FormatBytes(move.kept_bytes),
                                       " stay, ", FormatBytes(move.moved_bytes),
                                       " come from other GPUs in at least ",
                                       FormatSeconds(move.seconds)),
                          /*indent=*/2, console.width);
  if (!move.loses_state()) return;
  console.out << WrapText(
      absl::StrCat(FormatBytes(move.checkpoint_bytes),
                   " are on no GPU any more: training goes on from a "
                   "checkpoint"),
      /*indent=*/2, console.width);
}

void PrintMoveAsJson(const PlanMove& move, Console& console) {
  Json nodes = Json::array();
  for (const NodeMove& node : move.nodes) {
    nodes.push_back({{"node", node.node},
                     {"kept_bytes", node.kept_bytes},
                     {"from_inside_bytes", node.from_inside_bytes},
                     {"in_bytes", node.in_bytes},
                     {"out_bytes", node.out_bytes},
                     {"checkpoint_bytes", node.checkpoint_bytes}});
  }
  Json transfers = Json::array();
  for (const NodeTransfer& transfer : move.transfers) {
    transfers.push_back({{"from", transfer.from},
                         {"to", transfer.to},
                         {"bytes", transfer.bytes}});
  }
  const Json view = {{"format_version", "tangram.move/v1"},
                     {"needed_bytes", move.needed_bytes},
                     {"kept_bytes", move.kept_bytes},
                     {"moved_bytes", move.moved_bytes},
                     {"checkpoint_bytes", move.checkpoint_bytes},
                     {"seconds", move.seconds},
                     {"nodes", std::move(nodes)},
                     {"transfers", std::move(transfers)}};
  PrintJson(view, console);
}

}  // namespace

CommandResult Run(const MoveOptions& options, Console& console) {
  TANGRAM_ASSIGN_OR_RETURN(const PlanFile before,
                           ReadWithPlan(options.old_file));
  TANGRAM_ASSIGN_OR_RETURN(const PlanFile after,
                           ReadWithPlan(options.new_file));
  TANGRAM_RETURN_IF_ERROR(CheckAreAlike(before, after));
  TANGRAM_ASSIGN_OR_RETURN(const std::set<std::string> lost,
                           LostNodes(options, before));
  const HeldState held = StateOf(before);
  const HeldState wanted = StateOf(after);
  const PlanMove move =
      MoveBetween({held, before.cluster}, {wanted, after.cluster}, lost);
  if (console.format == OutputFormat::kJson) {
    PrintMoveAsJson(move, console);
  } else {
    PrintMove(move, console);
  }
  return ExitCode::kOk;
}

}  // namespace tangram
