#include "formats/config/memory_margin.h"

#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "common/base/format.h"
#include "common/domain/keep_nodes.h"

namespace tangram {

void KeepMemoryFree(double margin, Cluster& cluster) {
  TANGRAM_CHECK(margin >= 0 && margin <= kMostMemoryMargin);
  if (margin == 0) return;
  std::map<std::string, double> usable;
  for (Node& node : cluster.nodes) {
    node.device.memory_bytes *= 1 - margin;
    usable[node.device.type] = node.device.memory_bytes;
  }
  for (const auto& [type, bytes] : usable) {
    cluster.assumptions.push_back(
        {MemoryFieldOf(type),
         absl::StrCat(FormatBytes(bytes), " of ",
                      FormatBytes(bytes / (1 - margin))),
         absl::StrCat("--memory-margin ", margin)});
  }
}

}  // namespace tangram
