#include <limits>
#include <string>
#include <vector>

#include "cli/args/request.h"
#include "cli/commands/commands.h"
#include "cli/print/answer_json.h"
#include "cli/print/print_islands.h"
#include "common/base/format.h"
#include "common/base/status_macros.h"
#include "formats/config/training_names.h"

namespace tangram {
namespace {

using Json = nlohmann::ordered_json;

void PrintAsJson(const Cluster& cluster, const IslandSet& set,
                 Console& console) {
  Json list = Json::array();
  for (const Island& island : set.islands) {
    Json nodes = Json::array();
    for (const int node : island.nodes) {
      nodes.push_back(cluster.nodes[node].name);
    }
    const IslandSpec& spec = island.spec;
    list.push_back(
        {{"island", island.id},
         {"name", island.name},
         {"nodes", nodes},
         {"gpu", spec.device.type},
         {"gpus", spec.num_gpus()},
         {"memory_bytes", spec.device.memory_bytes},
         {"intra_node_bytes_per_s", spec.intra_node.bandwidth_bytes_per_s},
         {"inter_node_bytes_per_s",
          spec.num_nodes > 1 ? spec.inter_node.bandwidth_bytes_per_s : 0},
         {"reason", island.reason}});
  }
  PrintJson({{"format_version", "tangram.islands/v1"},
             {"cluster", cluster.name},
             {"gpus", cluster.num_gpus()},
             {"islands", list},
             {"assumptions", AssumptionsJson(cluster)},
             {"notes", set.notes}},
            console);
}

}  // namespace

CommandResult Run(const IslandsOptions& options, Console& console) {
  TANGRAM_ASSIGN_OR_RETURN(const Cluster cluster, LoadCluster(options.cluster));
  TANGRAM_ASSIGN_OR_RETURN(const Precision precision,
                           ParsePrecision(options.precision));
  // The planner makes islands in the same way: beyond the limit on their
  // number, the most alike are merged.
  TANGRAM_ASSIGN_OR_RETURN(
      const IslandSet set,
      BuildIslands(cluster, precision, options.tolerances, {}, {}));
  const std::vector<Island>& islands = set.islands;

  if (console.format == OutputFormat::kJson) {
    PrintAsJson(cluster, set, console);
    return ExitCode::kOk;
  }
  console.out << Styled(console, Style::kBold, cluster.name) << ": "
              << FormatItems(cluster.num_gpus(), "GPU") << " in "
              << FormatItems(static_cast<int64_t>(cluster.nodes.size()), "node")
              << "\n\n";
  PrintIslandTable(cluster, islands, /*uses=*/{}, console);
  PrintIslandReasons(islands, console);
  for (const std::string& note : set.notes) console.out << note << "\n";
  PrintAssumptions(cluster, std::numeric_limits<int>::max(), console);
  return ExitCode::kOk;
}

}  // namespace tangram
