#include "formats/import_cluster/gpu_topology.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/field_error.h"
#include "common/base/status_macros.h"
#include "formats/config/group_fields.h"
#include "formats/import_cluster/text_parts.h"

namespace tangram {
namespace {

using Words = std::vector<std::string>;

// An upper limit; today's GPUs have at most 18.
constexpr int kMaxNvLinks = 72;

// Removes a terminal's escape codes: ESC [ parameters letter.
std::string WithoutEscapes(absl::string_view line) {
  std::string plain;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\x1b') {
      plain += line[i];
      continue;
    }
    while (i + 1 < line.size() && !absl::ascii_isalpha(line[i + 1])) ++i;
    ++i;
  }
  return plain;
}

Words WordsOf(absl::string_view raw) {
  return absl::StrSplit(WithoutEscapes(raw), absl::ByAnyChar(" \t\r"),
                        absl::SkipEmpty());
}

bool IsGpu(absl::string_view word) {
  int number = 0;
  return absl::ConsumePrefix(&word, "GPU") && absl::SimpleAtoi(word, &number);
}

// Returns the titles of the matrix: all words before "CPU Affinity".
Words Titles(Words words) {
  words.erase(std::find(words.begin(), words.end(), "CPU"), words.end());
  return words;
}

// Returns the NVLinks of a cell, 0 for PCIe; negative if it is not a cell.
int NvLinksOf(absl::string_view cell) {
  for (const absl::string_view pcie :
       {"X", "PIX", "PXB", "PHB", "NODE", "SYS", "SOC"}) {
    if (cell == pcie) return 0;
  }
  int links = 0;
  const bool is_nvlink =
      absl::ConsumePrefix(&cell, "NV") && absl::SimpleAtoi(cell, &links);
  return is_nvlink && links > 0 && links <= kMaxNvLinks ? links : -1;
}

// Appends a row of cells between GPUs; cells of NICs are checked and dropped.
absl::Status AddRow(const Words& titles, const Words& words,
                    GpuTopology& topology) {
  if (words.size() < titles.size() + 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(words[0], " has ", words.size() - 1, " cells; expected ",
                     titles.size(), ", as in the header"));
  }
  std::vector<int> row;
  for (size_t i = 0; i < titles.size(); ++i) {
    const std::string& cell = words[i + 1];
    const int links = NvLinksOf(cell);
    if (links < 0) {
      return FieldError(absl::StrCat(titles[i], " of ", words[0]), Shown(cell),
                        "X, NV1 and so on, PIX, PXB, PHB, NODE or SYS");
    }
    if (!IsGpu(titles[i])) continue;
    row.push_back(links);
    topology.crosses_sockets = topology.crosses_sockets || cell == "SYS";
  }
  topology.nvlinks.push_back(std::move(row));
  return absl::OkStatus();
}

}  // namespace

bool GpuTopology::HasNvLink() const {
  return absl::c_any_of(nvlinks, [](const std::vector<int>& row) {
    return absl::c_any_of(row, [](int links) { return links > 0; });
  });
}

bool GpuTopology::AllPairsHaveNvLink() const {
  for (int a = 0; a < num_gpus; ++a) {
    for (int b = 0; b < num_gpus; ++b) {
      if (a != b && nvlinks[a][b] == 0) return false;
    }
  }
  return num_gpus > 1;
}

absl::StatusOr<GpuTopology> ParseGpuTopology(absl::string_view text) {
  GpuTopology topology;
  Words titles;
  int number = 0;
  for (const absl::string_view raw : absl::StrSplit(text, '\n')) {
    ++number;
    const Words words = WordsOf(raw);
    if (words.empty() || !(IsGpu(words[0]))) continue;
    if (titles.empty()) {
      titles = Titles(words);
      topology.num_gpus = static_cast<int>(absl::c_count_if(titles, IsGpu));
      topology.num_nics = static_cast<int>(titles.size()) - topology.num_gpus;
    } else if (absl::Status status = AddRow(titles, words, topology);
               !status.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", number, ": ", status.message()));
    }
  }
  if (topology.num_gpus == 0 || topology.num_gpus > kMaxGpusPerNode ||
      static_cast<int>(topology.nvlinks.size()) != topology.num_gpus) {
    return absl::InvalidArgumentError(
        absl::StrCat(topology.nvlinks.size(), " rows under ", topology.num_gpus,
                     " GPUs; expected the whole output of nvidia-smi topo -m"));
  }
  return topology;
}

}  // namespace tangram
