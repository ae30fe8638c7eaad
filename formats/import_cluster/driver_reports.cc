#include "formats/import_cluster/driver_reports.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "formats/import_cluster/driver_node.h"
#include "formats/import_cluster/gpu_names.h"
#include "formats/import_cluster/json_fields.h"
#include "formats/import_cluster/text_parts.h"

namespace tangram {
namespace {

using ::nlohmann::json;

// "Key : value" of a line; the key is in lower case. Empty key: none.
struct KeyAndValue {
  std::string key;
  absl::string_view value;
};

KeyAndValue FieldIn(absl::string_view line) {
  const size_t colon = line.find(" : ");
  if (colon == absl::string_view::npos) return {};
  return {
      absl::AsciiStrToLower(absl::StripAsciiWhitespace(line.substr(0, colon))),
      absl::StripAsciiWhitespace(line.substr(colon + 3))};
}

// Returns the bytes of "81559 MiB" or "81559"; 0 for anything else.
double BytesOf(absl::string_view text) {
  double mebibytes = 0;
  if (absl::SimpleAtod(absl::StripSuffix(text, "MiB"), &mebibytes)) {
    return mebibytes * kMebibyte;
  }
  return 0;
}

// The cells of a row without titles, in order.
std::vector<absl::string_view> CellsOf(absl::string_view line) {
  std::vector<absl::string_view> cells = absl::StrSplit(line, ',');
  for (absl::string_view& cell : cells) {
    cell = absl::StripAsciiWhitespace(cell);
  }
  return cells;
}

// Returns the name in the first two cells of a row, as an index may come
// first. Empty: there is none.
absl::string_view NameInCells(const std::vector<absl::string_view>& cells) {
  for (size_t i = 0; i < std::min<size_t>(2, cells.size()); ++i) {
    if (MatchGpu(cells[i], 0).device != nullptr) return cells[i];
  }
  return "";
}

}  // namespace

absl::StatusOr<InventoryNode> ParseNvidiaSmiQuery(absl::string_view text) {
  InventoryNode node;
  std::string name;
  bool is_cut = false;
  bool in_memory = false;
  bool in_mig_mode = false;
  int num_attached = 0;  // As the head says; 0: it is not there.
  int num_described = 0;
  SeenGpus seen;
  const auto end_gpu = [&] {
    if (name.empty()) return;
    CountNamed(is_cut ? NameInMigMode(name) : name, node);
    ++num_described;
    name.clear();
    is_cut = false;
  };
  for (const absl::string_view line : LinesOf(text)) {
    const KeyAndValue field = FieldIn(line);
    const absl::string_view title = absl::StripAsciiWhitespace(line);
    if (field.key.empty()) {
      if (absl::StartsWith(line, "GPU ")) seen.Add(title.substr(4));
      in_memory = title == "FB Memory Usage";
      in_mig_mode = title == "MIG Mode";
    } else if (field.key == "attached gpus") {
      if (!absl::SimpleAtoi(field.value, &num_attached)) num_attached = 0;
    } else if (field.key == "product name") {
      end_gpu();
      name = std::string(field.value);
    } else if (in_mig_mode && field.key == "current") {
      is_cut = field.value == "Enabled";
    } else if (in_memory && field.key == "total") {
      KeepSmaller(BytesOf(field.value), node.gpu_memory_bytes);
    }
  }
  end_gpu();
  TANGRAM_RETURN_IF_ERROR(seen.Check());
  // People quote the first GPU alone. One that is lost has no name.
  if (num_described < num_attached) {
    return absl::InvalidArgumentError(absl::StrCat(
        "describes ", num_described, " of ", num_attached,
        " attached GPUs; expected the whole output of nvidia-smi -q"));
  }
  return CheckedNode(std::move(node), "nvidia-smi -q");
}

bool IsRocmSmiTitles(absl::string_view line) {
  return absl::StartsWithIgnoreCase(line, "device,");
}

bool IsNvidiaSmiRows(absl::string_view text) {
  bool has_rows = false;
  for (const absl::string_view line : LinesOf(text)) {
    if (line.empty()) continue;
    if (NameInCells(CellsOf(line)).empty()) return false;
    has_rows = true;
  }
  return has_rows;
}

absl::StatusOr<InventoryNode> ParseNvidiaSmiRows(absl::string_view text) {
  InventoryNode node;
  SeenGpus seen;
  int number = 0;
  for (const absl::string_view line : LinesOf(text)) {
    ++number;
    if (line.empty()) continue;
    const std::vector<absl::string_view> cells = CellsOf(line);
    const absl::string_view name = NameInCells(cells);
    if (name.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "line ", number, ": ", Shown(line), "; expected a GPU's name first"));
    }
    if (name != cells[0]) seen.Add(cells[0]);
    CountNamed(name, node);
    // Without titles, only the column beside the name is known.
    const auto after = absl::c_find(cells, name) + 1;
    if (after != cells.end()) {
      KeepSmaller(BytesOf(*after), node.gpu_memory_bytes);
    }
  }
  TANGRAM_RETURN_IF_ERROR(seen.Check());
  return CheckedNode(std::move(node), "nvidia-smi --format=csv");
}

absl::StatusOr<InventoryNode> ParseRocmSmiJson(absl::string_view text) {
  TANGRAM_ASSIGN_OR_RETURN(const json root, ParseJson(text));
  InventoryNode node;
  for (const auto& [card, fields] : root.items()) {
    if (!absl::StartsWith(card, "card") || !fields.is_object()) continue;
    std::string name;
    for (const auto& [key, value] : fields.items()) {
      const std::string lower = absl::AsciiStrToLower(key);
      if (lower == "card series" || (lower == "device name" && name.empty())) {
        name = ProductInBrackets(TextOf(value));
      } else if (lower == "vram total memory (b)") {
        double bytes = 0;
        if (absl::SimpleAtod(TextOf(value), &bytes)) {
          KeepSmaller(bytes, node.gpu_memory_bytes);
        }
      }
    }
    if (!name.empty()) CountNamed(name, node);
  }
  return CheckedNode(std::move(node),
                     "rocm-smi --showproductname --showmeminfo vram --json");
}

absl::StatusOr<InventoryNode> ParseRocmSmiCsv(absl::string_view text) {
  InventoryNode node;
  std::vector<std::string> titles;
  for (const absl::string_view line : LinesOf(text)) {
    const std::vector<absl::string_view> cells = CellsOf(line);
    if (titles.empty()) {
      if (!IsRocmSmiTitles(line)) continue;
      for (const absl::string_view title : cells) {
        titles.push_back(absl::AsciiStrToLower(title));
      }
      continue;
    }
    std::string name;
    for (size_t i = 0; i < std::min(titles.size(), cells.size()); ++i) {
      // Older versions number the series, and name the model.
      const bool is_name = titles[i] == "card series" ||
                           titles[i] == "card model" ||
                           titles[i] == "device name";
      const bool is_number = absl::StartsWith(cells[i], "0x");
      if (is_name && name.empty() && !is_number) {
        name = ProductInBrackets(cells[i]);
      } else if (titles[i] == "vram total memory (b)") {
        double bytes = 0;
        if (absl::SimpleAtod(cells[i], &bytes)) {
          KeepSmaller(bytes, node.gpu_memory_bytes);
        }
      }
    }
    if (!name.empty()) CountNamed(name, node);
  }
  return CheckedNode(std::move(node),
                     "rocm-smi --showproductname --showmeminfo vram --csv");
}

absl::StatusOr<InventoryNode> ParseAmdSmiJson(absl::string_view text) {
  TANGRAM_ASSIGN_OR_RETURN(const json root, ParseJson(text));
  InventoryNode node;
  for (const json& gpu :
       Elements(root.is_array() ? root : At(root, {"gpu_data"}))) {
    const std::string name = TextOf(At(gpu, {"asic", "market_name"}));
    if (name.empty()) continue;
    const std::string mode =
        TextOf(At(gpu, {"partition", "compute_partition"}));
    const int units = NumberOf(TextOf(At(gpu, {"asic", "num_compute_units"})));
    CountNamed(NameWithUnits(NameInPartition(name, mode), units), node);
    double mebibytes = 0;
    if (absl::SimpleAtod(TextOf(At(gpu, {"vram", "size", "value"})),
                         &mebibytes)) {
      KeepSmaller(mebibytes * kMebibyte, node.gpu_memory_bytes);
    }
  }
  return CheckedNode(std::move(node), "amd-smi static --json");
}

absl::StatusOr<InventoryNode> ParseGpustat(absl::string_view text) {
  InventoryNode node;
  SeenGpus seen;
  for (const absl::string_view line : LinesOf(text)) {
    const size_t end = line.find("] ");
    const std::vector<absl::string_view> cells = absl::StrSplit(line, '|');
    if (!absl::StartsWith(line, "[") || end == absl::string_view::npos ||
        cells.size() < 3) {
      continue;
    }
    seen.Add(line.substr(1, end - 1));
    CountNamed(absl::StripAsciiWhitespace(cells[0].substr(end + 2)), node);
    const std::vector<absl::string_view> words = WordsIn(cells[2]);
    double mebibytes = 0;
    if (words.size() == 4 && words[3] == "MB" &&
        absl::SimpleAtod(words[2], &mebibytes)) {
      KeepSmaller(mebibytes * kMebibyte, node.gpu_memory_bytes);
    }
  }
  TANGRAM_RETURN_IF_ERROR(seen.Check());
  return CheckedNode(std::move(node), "gpustat");
}

absl::StatusOr<InventoryNode> ParseRocmInfo(absl::string_view text) {
  InventoryNode node;
  std::string name;
  bool is_gpu = false;
  int units = 0;
  const auto end_agent = [&] {
    if (is_gpu) CountNamed(NameWithUnits(name, units), node);
    is_gpu = false;
    units = 0;
  };
  for (const absl::string_view line : LinesOf(text)) {
    if (const auto marketing = ValueOf(line, "marketing name")) {
      end_agent();
      name = std::string(*marketing);
    } else if (const auto type = ValueOf(line, "device type")) {
      is_gpu = *type == "GPU";
    } else if (const auto number = ValueOf(line, "compute unit")) {
      units = NumberOf(*number);
    }
  }
  end_agent();
  return CheckedNode(std::move(node), "rocminfo");
}

absl::StatusOr<InventoryNode> ParseAmdSmiTable(absl::string_view text) {
  InventoryNode node;
  std::string name;
  for (const absl::string_view line : LinesOf(text)) {
    const std::vector<absl::string_view> cells = absl::StrSplit(line, '|');
    if (cells.size() < 4) continue;
    std::vector<absl::string_view> words = WordsIn(cells[1]);
    if (words.size() < 2) continue;
    const std::vector<absl::string_view> bus = absl::StrSplit(words[0], ':');
    if (bus.size() == 3) {
      words.erase(words.begin());
      name = absl::StrJoin(words, " ");
      continue;
    }
    int number = 0;
    if (name.empty() || !absl::SimpleAtoi(words[0], &number)) continue;
    CountNamed(NameInPartition(name, words.back()), node);
    name.clear();
    const std::vector<absl::string_view> right = WordsIn(cells[2]);
    for (const absl::string_view word : right) {
      const size_t slash = word.find('/');
      double mebibytes = 0;
      if (right.back() == "MB" && slash != absl::string_view::npos &&
          absl::SimpleAtod(word.substr(slash + 1), &mebibytes)) {
        KeepSmaller(mebibytes * kMebibyte, node.gpu_memory_bytes);
      }
    }
  }
  return CheckedNode(std::move(node), "amd-smi");
}

}  // namespace tangram
