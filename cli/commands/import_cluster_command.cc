#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "cli/commands/commands.h"
#include "cli/files/input_file.h"
#include "cli/files/output_files.h"
#include "cli/files/plan_files.h"
#include "cli/print/answer_json.h"
#include "cli/print/print_islands.h"
#include "cli/print/table.h"
#include "common/base/field_error.h"
#include "common/base/format.h"
#include "common/base/printable_text.h"
#include "common/base/status_macros.h"
#include "common/domain/limits.h"
#include "common/sim/stage_labels.h"
#include "formats/config/text_file.h"
#include "formats/import_cluster/import_cluster.h"
#include "formats/import_cluster/text_parts.h"
#include "formats/import_cluster/write_cluster.h"

namespace tangram {
namespace {

// Fits thousands of nodes: `kubectl get nodes -o json` has tens of kilobytes
// for each.
constexpr int64_t kMaxInventoryBytes = int64_t{256} << 20;

// Half a screen. Twice as many as below a plan, because the assumptions are
// what the reader of an imported cluster has to check.
constexpr int kAssumptionPartsShown = 12;

using Formats = std::vector<InventoryFormat>;

// Returns the formats that files of `flag` may have; empty: all formats.
Formats FormatsOf(absl::string_view flag) {
  if (flag == "--slurm") {
    return {InventoryFormat::kScontrolNodes, InventoryFormat::kSinfo,
            InventoryFormat::kSlurmJson, InventoryFormat::kScontrolTopology};
  }
  if (flag == "--kubernetes") return {InventoryFormat::kKubernetes};
  if (flag == "--nvidia-smi-xml") return {InventoryFormat::kNvidiaSmiXml};
  if (flag == "--topology") return {InventoryFormat::kGpuTopology};
  if (flag == "--nccl-tests") return {InventoryFormat::kNcclTests};
  return {};
}

// Splits "a100-1=smi.xml" into scope "a100-1" and file "smi.xml", unless a file
// has the whole name.
ClusterSource SplitScope(const std::string& argument) {
  const size_t equals = argument.find('=');
  if (equals == std::string::npos || std::filesystem::exists(argument)) {
    return {.name = argument};
  }
  return {.name = argument.substr(equals + 1),
          .scope = argument.substr(0, equals)};
}

absl::StatusOr<ClusterSource> ReadSource(const ClusterInput& input) {
  ClusterSource source = SplitScope(input.argument);
  TANGRAM_ASSIGN_OR_RETURN(source.text,
                           ReadInputFile(source.name, kMaxInventoryBytes));
  source.text = WithoutByteOrderMark(std::move(source.text));
  source.name = InputName(source.name);
  source.format = DetectFormat(source.text);
  const Formats expected = FormatsOf(input.flag);
  if (expected.empty()) return source;
  if (!source.format.has_value()) {
    source.format = expected.front();
  } else if (!absl::c_linear_search(expected, *source.format)) {
    return FieldError(input.flag,
                      absl::StrCat(source.name, " looks like the output of ",
                                   CommandOf(*source.format)),
                      absl::StrCat("that of ", CommandOf(expected.front())));
  }
  return source;
}

absl::StatusOr<std::vector<ClusterSource>> ReadSources(
    const std::vector<ClusterInput>& inputs) {
  if (inputs.empty()) {
    return absl::InvalidArgumentError(
        "no file; expected an inventory, such as the output of scontrol show "
        "node; see tangram import cluster --help");
  }
  std::vector<ClusterSource> sources;
  for (const ClusterInput& input : inputs) {
    TANGRAM_ASSIGN_OR_RETURN(sources.emplace_back(), ReadSource(input));
  }
  return sources;
}

absl::StatusOr<OwnCluster> ReadOwnCluster(const std::string& file) {
  OwnCluster own{.name = file};
  TANGRAM_ASSIGN_OR_RETURN(own.text, ReadConfigFile(file));
  std::error_code error;
  own.folder = std::filesystem::absolute(file, error).parent_path().string();
  return own;
}

absl::StatusOr<ClusterImportOptions> MakeOptions(
    const ImportClusterOptions& given) {
  ClusterImportOptions options{.nodes = given.nodes,
                               .partitions = given.partitions,
                               .free_gpus_only = given.free_gpus_only,
                               .flat = given.flat};
  if (!IsPrintable(given.name)) {
    return FieldError("--name",
                      absl::StrCat("\"", absl::CHexEscape(given.name), "\""),
                      "a text without control characters");
  }
  if (!given.name.empty()) {
    options.name = given.name;
  } else if (!IsStandardOutput(given.output_file)) {
    options.name =
        PrintableText(std::filesystem::path(given.output_file).stem().string(),
                      kMaxNameBytes);
  }
  for (const std::string& entry : given.gpu_types) {
    const size_t equals = entry.rfind('=');
    if (equals == std::string::npos || equals == 0) {
      return FieldError("--gpu", entry, "NAME=TYPE");
    }
    options.gpu_types[entry.substr(0, equals)] = entry.substr(equals + 1);
  }
  if (!given.own_cluster_file.empty()) {
    TANGRAM_ASSIGN_OR_RETURN(options.own,
                             ReadOwnCluster(given.own_cluster_file));
  }
  return options;
}

// Returns the nodes of each group, as indices.
std::vector<std::vector<int>> NodesByGroup(const Cluster& cluster) {
  std::vector<std::vector<int>> nodes(cluster.groups.size());
  for (size_t n = 0; n < cluster.nodes.size(); ++n) {
    nodes[cluster.nodes[n].group].push_back(static_cast<int>(n));
  }
  return nodes;
}

// Returns the bytes a second between nodes of group `g`, 0 with one node.
double BetweenNodes(const Cluster& cluster, size_t g, size_t num_nodes) {
  return num_nodes > 1 ? cluster.links[g][g].bandwidth_bytes_per_s : 0;
}

Table GroupTable(const Cluster& cluster) {
  Table table({{"group"},
               {"GPU"},
               {"GPUs", Table::kRight},
               {"nodes"},
               {"inside node", Table::kRight},
               {"between nodes", Table::kRight}});
  const std::vector<std::vector<int>> groups = NodesByGroup(cluster);
  for (size_t g = 0; g < groups.size(); ++g) {
    const std::vector<int>& nodes = groups[g];
    const Node& node = cluster.nodes[nodes.front()];
    const double between = BetweenNodes(cluster, g, nodes.size());
    table.AddRow({cluster.groups[g], node.device.type,
                  absl::StrCat(nodes.size(), " x ", node.num_gpus),
                  NodesLabel(cluster, nodes),
                  FormatBandwidth(node.intra_node.bandwidth_bytes_per_s),
                  between > 0 ? FormatBandwidth(between) : ""});
  }
  return table;
}

void PrintLines(const std::string& title, const std::vector<std::string>& lines,
                int width, std::ostream& out) {
  if (lines.empty()) return;
  out << "\n" << title << "\n";
  for (const std::string& line : lines) {
    out << WrapText(line, /*indent=*/2, width);
  }
}

bool IsOfLink(const Assumption& assumption) {
  return absl::StartsWith(assumption.field, "links") ||
         absl::StrContains(assumption.field, "intra_node") ||
         absl::StrContains(assumption.field, "inter_node");
}

// Prints assumed links only. Assumptions about GPUs are in comments of the
// written file and are seldom wrong.
void PrintAssumedLinks(Cluster cluster, int width, std::ostream& out) {
  std::vector<Assumption>& all = cluster.assumptions;
  all.erase(std::remove_if(all.begin(), all.end(), std::not_fn(IsOfLink)),
            all.end());
  Console plain{.out = out, .err = out, .width = width};
  PrintAssumptions(cluster, kAssumptionPartsShown, plain);
}

void PrintSummary(const ImportedCluster& imported, int width,
                  std::ostream& out) {
  const Cluster& cluster = imported.cluster;
  out << cluster.name << ": " << FormatItems(cluster.num_gpus(), "GPU")
      << " in "
      << FormatItems(static_cast<int64_t>(cluster.nodes.size()), "node")
      << "\n\n"
      << GroupTable(cluster).ToString(width);
  PrintLines("Notes", imported.notes, width, out);
  PrintLines("Left out", SkippedByReason(imported.skipped), width, out);
  PrintAssumedLinks(cluster, width, out);
}

// Returns the groups of the table as JSON.
nlohmann::ordered_json GroupsJson(const Cluster& cluster) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  const std::vector<std::vector<int>> groups = NodesByGroup(cluster);
  for (size_t g = 0; g < groups.size(); ++g) {
    nlohmann::ordered_json names = nlohmann::ordered_json::array();
    for (const int n : groups[g]) names.push_back(cluster.nodes[n].name);
    const Node& node = cluster.nodes[groups[g].front()];
    list.push_back(
        {{"group", cluster.groups[g]},
         {"gpu", node.device.type},
         {"gpus_per_node", node.num_gpus},
         {"nodes", names},
         {"intra_node_bytes_per_s", node.intra_node.bandwidth_bytes_per_s},
         {"inter_node_bytes_per_s",
          BetweenNodes(cluster, g, groups[g].size())}});
  }
  return list;
}

// Prints the summary as tangram.import_cluster/v1 (docs/json.md).
void PrintImportedAsJson(const ImportedCluster& imported, bool with_file,
                         Console& console) {
  nlohmann::ordered_json json = {
      {"format_version", "tangram.import_cluster/v1"},
      {"cluster", imported.cluster.name},
      {"gpus", imported.cluster.num_gpus()},
      {"groups", GroupsJson(imported.cluster)},
      {"notes", imported.notes},
      {"left_out", SkippedByReason(imported.skipped)},
      {"assumptions", AssumptionsJson(imported.cluster)}};
  if (with_file) json["file"] = imported.yaml;
  PrintJson(json, console);
}

}  // namespace

CommandResult Run(const ImportClusterOptions& options, Console& console) {
  const bool to_standard_output = IsStandardOutput(options.output_file);
  if (!to_standard_output) {
    TANGRAM_RETURN_IF_ERROR(CheckWritable(options.output_file));
  }
  TANGRAM_ASSIGN_OR_RETURN(const ClusterImportOptions import_options,
                           MakeOptions(options));
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<ClusterSource> sources,
                           ReadSources(options.inputs));
  TANGRAM_ASSIGN_OR_RETURN(const ImportedCluster imported,
                           ImportCluster(sources, import_options));
  OutputFiles output;
  if (!to_standard_output) output.Add(options.output_file, imported.yaml);
  TANGRAM_RETURN_IF_ERROR(output.Write());
  if (console.format == OutputFormat::kJson) {
    PrintImportedAsJson(imported, to_standard_output, console);
    return ExitCode::kOk;
  }
  if (to_standard_output) console.out << imported.yaml;
  PrintSummary(imported, console.width,
               to_standard_output ? console.err : console.out);
  return ExitCode::kOk;
}

}  // namespace tangram
