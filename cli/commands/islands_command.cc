#include <limits>
#include <vector>

#include "cli/args/request.h"
#include "cli/commands/commands.h"
#include "cli/print/format.h"
#include "cli/print/print_islands.h"
#include "common/base/status_macros.h"
#include "formats/config/training_names.h"

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
