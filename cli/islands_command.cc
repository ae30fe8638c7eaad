#include <limits>
#include <vector>

#include "cli/commands.h"
#include "cli/format.h"
#include "cli/print_islands.h"
#include "cli/request.h"
#include "common/base/status_macros.h"
#include "common/config/training_names.h"

namespace tangram {

CommandResult Run(const IslandsOptions& options, Console& console) {
  TANGRAM_ASSIGN_OR_RETURN(const Cluster cluster, LoadCluster(options.cluster));
  TANGRAM_ASSIGN_OR_RETURN(const Precision precision,
                           ParsePrecision(options.precision));
  const std::vector<Island> islands =
      BuildIslands(cluster, precision, options.tolerances);

  console.out << Styled(console, Style::kBold, cluster.name) << ": "
              << FormatItems(cluster.num_gpus(), "GPU") << " in "
              << FormatItems(static_cast<int64_t>(cluster.nodes.size()), "node")
              << "\n\n";
  PrintIslandTable(cluster, islands, /*uses=*/{}, console);
  PrintIslandReasons(islands, console);
  PrintAssumptions(cluster, std::numeric_limits<int>::max(), console);
  return ExitCode::kOk;
}

}  // namespace tangram
