#include "formats/import_cluster/gres.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "formats/config/group_fields.h"
#include "formats/import_cluster/text_parts.h"

namespace tangram {
namespace {

constexpr absl::string_view kNull = "(null)";

// Drops indices or sockets at the end: "a100:4(IDX:0-3)" becomes "a100:4".
absl::string_view WithoutIndices(absl::string_view entry) {
  const size_t open = entry.rfind('(');
  if (!absl::EndsWith(entry, ")") || open == absl::string_view::npos ||
      absl::EndsWith(entry, kNull)) {
    return entry;
  }
  return entry.substr(0, open);
}

// Parses "gpu", "gpu:2" or "gpu:a100:2".
absl::StatusOr<InventoryGpus> ParseEntry(absl::string_view entry) {
  const std::vector<absl::string_view> parts =
      absl::StrSplit(WithoutIndices(entry), ':');
  InventoryGpus gpus{.count = 1};
  if (parts.size() == 3 && parts[1] != kNull) gpus.name = std::string(parts[1]);
  const bool counted = parts.size() == 2 || parts.size() == 3;
  if (parts.size() == 1 ||
      (counted && absl::SimpleAtoi(parts.back(), &gpus.count) &&
       gpus.count >= 0 && gpus.count <= kMaxGpusPerNode)) {
    return gpus;
  }
  return absl::InvalidArgumentError(
      absl::StrCat(Shown(entry), "; expected GPUs such as gpu:a100:8"));
}

}  // namespace

absl::StatusOr<std::vector<InventoryGpus>> ParseGres(absl::string_view text) {
  std::vector<InventoryGpus> gpus;
  for (const absl::string_view raw : SplitOutside(text, '(', ')')) {
    const absl::string_view entry = absl::StripAsciiWhitespace(raw);
    if (entry != "gpu" && !absl::StartsWith(entry, "gpu:")) continue;
    TANGRAM_ASSIGN_OR_RETURN(const InventoryGpus found, ParseEntry(entry));
    gpus.push_back(found);
  }
  return gpus;
}

}  // namespace tangram
