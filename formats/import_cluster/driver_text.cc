#include "formats/import_cluster/driver_text.h"

#include <algorithm>
#include <optional>
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
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "formats/config/units.h"
#include "formats/import_cluster/driver_node.h"
#include "formats/import_cluster/gpu_names.h"
#include "formats/import_cluster/text_parts.h"

namespace tangram {
namespace {

constexpr int kMaxPcieFigure = 64;

// The row of a GPU in the table: "|   0  NVIDIA A100-SXM4-40GB   On  | ...".
struct TableGpu {
  std::string number;
  std::string name;
  double memory_bytes = 0;
  bool in_mig_mode = false;
};

constexpr absl::string_view kModes[] = {"On",   "Off", "N/A",
                                        "WDDM", "TCC", "MCDM"};

// Reads the first cell of the first line of a GPU: its number, its name and
// whether persistence mode is on. Empty for any other line.
std::optional<TableGpu> GpuInRow(absl::string_view line) {
  const std::vector<absl::string_view> cells = absl::StrSplit(line, '|');
  if (cells.size() < 4) return std::nullopt;
  std::vector<absl::string_view> words = WordsIn(cells[1]);
  int number = 0;
  if (words.size() < 3 || !absl::SimpleAtoi(words[0], &number)) {
    return std::nullopt;
  }
  const absl::string_view mode = words.back();
  // On Windows, the model of the driver.
  if (!absl::c_linear_search(kModes, mode)) return std::nullopt;
  // The second cell has the address on the bus: "00000000:07:00.0 Off".
  if (!absl::StrContains(cells[2], ":")) return std::nullopt;
  TableGpu gpu{.number = std::string(words.front())};
  words.erase(words.begin());
  words.pop_back();
  gpu.name = absl::StrJoin(words, " ");
  return gpu;
}

constexpr absl::string_view kPyTorchTitle = "GPU models and configuration: ";

// Reads "0MiB / 40960MiB" in the second line of a GPU.
double MemoryInRow(absl::string_view line) {
  const std::vector<absl::string_view> cells = absl::StrSplit(line, '|');
  for (const absl::string_view cell : cells) {
    const std::vector<absl::string_view> words = WordsIn(cell);
    double mebibytes = 0;
    if (words.size() == 3 && words[1] == "/" &&
        absl::SimpleAtod(absl::StripSuffix(words[2], "MiB"), &mebibytes) &&
        absl::EndsWith(words[2], "MiB")) {
      return mebibytes * kMebibyte;
    }
  }
  return 0;
}

// Returns the memory of a line "    SIZE: 196592 MB" or "... : 206141652992".
double BytesAtEnd(absl::string_view value, double plain_scale) {
  return ParseQuantity(value, Dimension::kBytes, plain_scale).value_or(0);
}

// The titles of a csv line, in lower case and without units.
std::vector<std::string> CsvTitles(absl::string_view line) {
  std::vector<std::string> titles;
  for (absl::string_view title : absl::StrSplit(line, ',')) {
    title = title.substr(0, title.find('['));
    titles.push_back(absl::AsciiStrToLower(absl::StripAsciiWhitespace(title)));
  }
  return titles;
}

class CsvRow {
 public:
  CsvRow(const std::vector<std::string>& titles, absl::string_view line)
      : titles_(titles), cells_(absl::StrSplit(line, ',')) {}

  bool IsWhole() const { return cells_.size() == titles_.size(); }

  absl::string_view Get(absl::string_view title) const {
    for (size_t i = 0; i < titles_.size() && i < cells_.size(); ++i) {
      if (titles_[i] == title) return absl::StripAsciiWhitespace(cells_[i]);
    }
    return "";
  }

  // nvidia-smi counts memory in MiB, also with --format=nounits.
  double Bytes(absl::string_view title) const {
    const absl::string_view text = Get(title);
    double mebibytes = 0;
    if (absl::SimpleAtod(absl::StripSuffix(text, "MiB"), &mebibytes)) {
      return mebibytes * kMebibyte;
    }
    return 0;
  }

  int Small(absl::string_view title) const {
    int number = 0;
    const bool valid = absl::SimpleAtoi(Get(title), &number);
    return valid && number > 0 && number <= kMaxPcieFigure ? number : 0;
  }

 private:
  const std::vector<std::string>& titles_;
  std::vector<absl::string_view> cells_;
};

// Reads the third line of a GPU: "|    |    |   Enabled |".
bool IsMigRow(absl::string_view line) {
  const std::vector<absl::string_view> cells = absl::StrSplit(line, '|');
  return cells.size() == 5 && WordsIn(cells[1]).empty() &&
         WordsIn(cells[2]).empty() &&
         WordsIn(cells[3]) == std::vector<absl::string_view>{"Enabled"};
}

}  // namespace

absl::StatusOr<InventoryNode> ParseNvidiaSmiTable(absl::string_view text) {
  std::vector<TableGpu> gpus;
  bool has_slices = false;
  const bool has_frame = absl::StrContains(text, "---");
  bool is_cut = false;  // No line of the frame is below the last GPU.
  SeenGpus seen;
  InventoryNode node;
  for (const absl::string_view line : LinesOf(text)) {
    const bool is_frame = absl::StrContains(line, "---");
    if (auto gpu = GpuInRow(line)) {
      is_cut = has_frame;
      seen.Add(gpu->number);
      gpus.push_back(*std::move(gpu));
    } else if (is_frame) {
      is_cut = false;
    } else if (IsMigRow(line)) {
      if (!gpus.empty()) gpus.back().in_mig_mode = true;
    } else if (absl::StrContains(line, "MIG devices:")) {
      has_slices = true;
    } else if (const double bytes = MemoryInRow(line); bytes > 0) {
      if (!gpus.empty() && gpus.back().memory_bytes == 0) {
        gpus.back().memory_bytes = bytes;
      }
    }
  }
  if (is_cut) {
    return absl::InvalidArgumentError(
        absl::StrCat("the table ends within GPU ", gpus.size() - 1,
                     "; expected the whole output of nvidia-smi"));
  }
  TANGRAM_RETURN_IF_ERROR(seen.Check());
  // Slices of GPUs that the table does not tell apart.
  if (has_slices && absl::c_none_of(gpus, [](const TableGpu& gpu) {
        return gpu.in_mig_mode;
      })) {
    node.unusable = "its GPUs are cut into MIG slices";
  }
  for (const TableGpu& gpu : gpus) {
    const std::string name = CompleteGpuName(gpu.name, gpu.memory_bytes);
    CountNamed(gpu.in_mig_mode ? NameInMigMode(name) : name, node);
    KeepSmaller(gpu.memory_bytes, node.gpu_memory_bytes);
  }
  return CheckedNode(std::move(node), "nvidia-smi");
}

absl::StatusOr<InventoryNode> ParseNvidiaSmiList(absl::string_view text) {
  InventoryNode node;
  SeenGpus seen;
  std::string gpu;  // The last one, unless it is cut into slices.
  const auto end_gpu = [&] {
    if (!gpu.empty()) CountNamed(gpu, node);
    gpu.clear();
  };
  // Forms of bug trackers join the lines.
  const std::string lines = absl::StrReplaceAll(text, {{") GPU ", ")\nGPU "}});
  for (const absl::string_view raw : LinesOf(lines)) {
    absl::string_view line = absl::StripLeadingAsciiWhitespace(raw);
    if (absl::StartsWith(line, "MIG ")) {
      CountNamed(absl::StrCat("MIG-", WordsIn(line)[1]), node);
      gpu.clear();
      continue;
    }
    // PyTorch's description of a single GPU.
    absl::ConsumePrefix(&line, kPyTorchTitle);
    if (!absl::StartsWith(line, "GPU ")) continue;
    const size_t colon = line.find(": ");
    if (colon == absl::string_view::npos) continue;
    end_gpu();
    seen.Add(line.substr(4, colon - 4));
    line = line.substr(colon + 2);
    gpu = std::string(
        absl::StripAsciiWhitespace(line.substr(0, line.find(" (UUID"))));
  }
  end_gpu();
  TANGRAM_RETURN_IF_ERROR(seen.Check());
  return CheckedNode(std::move(node), "nvidia-smi -L");
}

absl::StatusOr<InventoryNode> ParseNvidiaSmiCsv(absl::string_view text) {
  InventoryNode node;
  std::vector<std::string> titles;
  SeenGpus seen;
  int number = 0;
  for (const absl::string_view line : LinesOf(text)) {
    ++number;
    // The prompt of a terminal may come first.
    const bool is_command = absl::StrContains(line, "--query-gpu");
    if (line.empty() || is_command) continue;
    if (titles.empty()) {
      titles = CsvTitles(line);
      if (!absl::c_linear_search(titles, "name") &&
          !absl::c_linear_search(titles, "gpu_name")) {
        return absl::InvalidArgumentError(
            "no column name; expected nvidia-smi "
            "--query-gpu=name,memory.total --format=csv");
      }
      continue;
    }
    const CsvRow row(titles, line);
    if (!row.IsWhole()) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", number, ": ", Shown(line), "; expected ",
                       titles.size(), " columns"));
    }
    absl::string_view name = row.Get("name");
    if (name.empty()) name = row.Get("gpu_name");
    for (const absl::string_view id : {"uuid", "pci.bus_id", "index"}) {
      if (row.Get(id).empty()) continue;
      seen.Add(row.Get(id));
      break;
    }
    const bool in_mig_mode = row.Get("mig.mode.current") == "Enabled";
    CountNamed(in_mig_mode ? NameInMigMode(name) : name, node);
    const double total = row.Bytes("memory.total");
    KeepSmaller(total, node.gpu_memory_bytes);
    if (const double reserved = row.Bytes("memory.reserved"); reserved > 0) {
      KeepSmaller(total - reserved, node.usable_gpu_memory_bytes);
    }
    KeepSmaller(row.Small("pcie.link.gen.max"), node.pcie_generation);
    KeepSmaller(row.Small("pcie.link.width.max"), node.pcie_lanes);
  }
  TANGRAM_RETURN_IF_ERROR(seen.Check());
  return CheckedNode(std::move(node), "nvidia-smi --format=csv");
}

// Each GPU has lines "GPU[0] : Card Series: AMD Instinct MI300X OAM"; newer
// ones also name the model, which may be a number.
absl::StatusOr<InventoryNode> ParseRocmSmi(absl::string_view text) {
  InventoryNode node;
  SeenGpus seen;
  for (const absl::string_view line : LinesOf(text)) {
    if (!absl::StartsWith(line, "GPU[")) continue;
    if (const auto series = ValueOf(line, "card series")) {
      seen.Add(line.substr(4, line.find(']') - 4));
      CountNamed(ProductInBrackets(*series), node);
    } else if (const auto bytes = ValueOf(line, "vram total memory (b)")) {
      KeepSmaller(BytesAtEnd(*bytes, 1), node.gpu_memory_bytes);
    }
  }
  TANGRAM_RETURN_IF_ERROR(seen.Check());
  return CheckedNode(std::move(node), "rocm-smi --showproductname");
}

// A block for each GPU: its ASIC's MARKET_NAME, its VRAM's SIZE in MB, and the
// COMPUTE_PARTITION that cuts it.
absl::StatusOr<InventoryNode> ParseAmdSmi(absl::string_view text) {
  InventoryNode node;
  bool in_vram = false;
  SeenGpus seen;
  std::string gpu;
  absl::string_view partition;
  int units = 0;
  const auto end_gpu = [&] {
    if (!gpu.empty()) {
      CountNamed(NameWithUnits(NameInPartition(gpu, partition), units), node);
    }
    gpu.clear();
    partition = "";
    units = 0;
  };
  for (const absl::string_view line : LinesOf(text)) {
    const absl::string_view field = absl::StripLeadingAsciiWhitespace(line);
    if (const auto name = ValueOf(field, "market_name")) {
      end_gpu();
      gpu = std::string(*name);
    } else if (absl::StartsWith(field, "GPU: ")) {
      seen.Add(field.substr(5));
    } else if (const auto mode = ValueOf(field, "compute_partition")) {
      partition = *mode;
    } else if (const auto number = ValueOf(field, "num_compute_units")) {
      units = NumberOf(*number);
    } else if (absl::EndsWith(field, ":")) {
      in_vram = field == "VRAM:";
    } else if (in_vram && absl::StartsWith(field, "SIZE:")) {
      double mebibytes = 0;
      const std::vector<absl::string_view> words = WordsIn(field);
      if (words.size() >= 2 && absl::SimpleAtod(words[1], &mebibytes)) {
        KeepSmaller(mebibytes * kMebibyte, node.gpu_memory_bytes);
      }
    }
  }
  end_gpu();
  TANGRAM_RETURN_IF_ERROR(seen.Check());
  return CheckedNode(std::move(node), "amd-smi static");
}

namespace {

// Returns the product in a line of lspci: the first text in brackets that is
// not a number of -nn ("[0302]", "[10de:20b0]") or the maker's short name. A
// product that lspci has no name for is "Device 25b2".
std::string ProductInLine(absl::string_view line) {
  for (const absl::string_view end : {" (rev", " (prog-if"}) {
    line = line.substr(0, line.find(end));
  }
  for (size_t at = line.find('['); at != absl::string_view::npos;
       at = line.find('[', at + 1)) {
    const size_t end = line.find(']', at);
    if (end == absl::string_view::npos) break;
    const absl::string_view inside = line.substr(at + 1, end - at - 1);
    const bool is_class = line.substr(end + 1, 1) == ":";
    if (is_class || absl::StrContains(inside, ":")) continue;
    if (inside != "AMD/ATI") return std::string(inside);
  }
  const size_t device = line.rfind("Device ");
  return std::string(line.substr(
      device == absl::string_view::npos ? line.find(": ") + 2 : device));
}

}  // namespace

absl::StatusOr<InventoryNode> ParseLspci(absl::string_view text) {
  InventoryNode node;
  SeenGpus seen;
  for (const absl::string_view line : LinesOf(text)) {
    const std::string lower = absl::AsciiStrToLower(line);
    const bool is_gpu = absl::StrContains(lower, "3d controller") ||
                        absl::StrContains(lower, "vga compatible") ||
                        absl::StrContains(lower, "display controller") ||
                        absl::StrContains(lower, "processing accelerators");
    const bool is_known = absl::StrContains(lower, "nvidia") ||
                          absl::StrContains(lower, "amd/ati");
    if (!is_gpu || !is_known) continue;
    seen.Add(line.substr(0, line.find(' ')));
    CountNamed(ProductInLine(line), node);
  }
  TANGRAM_RETURN_IF_ERROR(seen.Check());
  // A host shows each card, and its view for virtual machines.
  const auto is_view = [](const InventoryGpus& gpus) {
    return absl::EndsWith(gpus.name, " VF");
  };
  if (!absl::c_all_of(node.gpus, is_view)) {
    std::erase_if(node.gpus, is_view);
  }
  return CheckedNode(std::move(node), "lspci");
}

}  // namespace tangram
