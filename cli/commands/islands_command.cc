#include <limits>
#include <string>
#include <vector>

#include "cli/args/request.h"
#include "cli/commands/commands.h"
#include "cli/print/print_islands.h"
#include "common/base/format.h"
#include "common/base/status_macros.h"
#include "formats/config/training_names.h"

namespace tangram {

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
