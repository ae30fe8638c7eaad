#include "formats/config/memory_margin.h"

#include <map>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "common/base/check.h"
#include "common/base/format.h"

namespace tangram {
namespace {

constexpr char kSource[] = "--memory-margin ";

}  // namespace

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
        {absl::StrCat("memory of ", type),
         absl::StrCat(FormatBytes(bytes), " of ",
                      FormatBytes(bytes / (1 - margin))),
         absl::StrCat(kSource, margin)});
  }
}

double MemoryMarginOf(const Cluster& cluster) {
  for (const Assumption& assumption : cluster.assumptions) {
    absl::string_view text = assumption.source;
    double margin = 0;
    if (absl::ConsumePrefix(&text, kSource) &&
        absl::SimpleAtod(text, &margin) && margin >= 0 &&
        margin <= kMostMemoryMargin) {
      return margin;
    }
  }
  return 0;
}

}  // namespace tangram
