#include "tests/parity/mist_reference.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <tuple>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace tangram::mist::reference {
namespace {

using nlohmann::json;

constexpr double kNever = std::numeric_limits<double>::infinity();

int Log2(int n) { return std::bit_width(unsigned(n)) - 1; }

Channel ReadChannel(const json& channel) {
  return {.gb_per_s = channel["bw_GBps"], .latency_s = channel["latency_s"]};
}

// Reads the sets of `size` activities, in lexicographic order.
void ReadSlowdown(const json& values, int size, Hardware& hardware) {
  // With the bits reversed, the larger of two sets comes first.
  int next = 0;
  for (unsigned reversed = 16; reversed-- > 0;) {
    if (std::popcount(reversed) != size) continue;
    unsigned set = 0;
    for (int i = 0; i < kActivities; ++i) set |= (reversed >> (3 - i) & 1) << i;
    for (int i = 0; i < kActivities; ++i) {
      if (set >> i & 1) hardware.slowdown[set][i] = values[next++];
    }
  }
}

Hardware ReadOne(const json& entry) {
  Hardware hardware;
  hardware.capacity_mb = entry["memory_capacity_GB"].get<double>() * 1024;
  for (const json& row : entry["gpu_gpu"]) {
    hardware.between_gpus[Log2(row["inter"])][Log2(row["intra"])] =
        ReadChannel(row);
  }
  hardware.to_gpu = ReadChannel(entry["cpu_to_gpu"]);
  hardware.to_host = ReadChannel(entry["gpu_to_cpu"]);
  const json& interference = entry["interference"];
  ReadSlowdown(interference["all4"], 4, hardware);
  ReadSlowdown(interference["three"], 3, hardware);
  ReadSlowdown(interference["two"], 2, hardware);
  return hardware;
}

// The op cache holds backward seconds without gradient accumulation and with
// 15/16 of it.
PieceSeconds ReadPiece(const json& piece) {
  const double alone = piece["bwd_s_G1"];
  const double with16 = piece["bwd_s_G16"];
  return {.forward = piece["fwd_s_G1"],
          .backward = alone,
          .accumulate = (with16 - alone) * 16 / 15};
}

// Returns the numbers in a name such as "z_(0,_12,_3)" or "l_0_12".
std::vector<int> NumbersIn(absl::string_view name) {
  std::vector<int> numbers;
  for (const absl::string_view part :
       absl::StrSplit(name, absl::ByAnyChar("_(,)"), absl::SkipEmpty())) {
    int number = 0;
    if (absl::SimpleAtoi(part, &number)) numbers.push_back(number);
  }
  return numbers;
}

// A row of an MPS file: coefficients by variable, and the right side.
struct MpsRow {
  std::map<std::string, double> coefficients;
  double right_side = 0;
};

std::map<std::string, MpsRow> ReadMps(absl::string_view text) {
  std::map<std::string, MpsRow> rows;
  absl::string_view section;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::vector<std::string> words =
        absl::StrSplit(line, ' ', absl::SkipEmpty());
    if (words.empty()) continue;
    if (line[0] != ' ') {
      section = line.substr(0, line.find(' '));
      continue;
    }
    double value = 0;
    if (words.size() != 3 || !absl::SimpleAtod(words[2], &value)) continue;
    MpsRow& row = rows[words[1]];
    if (section == "COLUMNS") row.coefficients[words[0]] = value;
    if (section == "RHS") row.right_side = value;
  }
  return rows;
}

// Reads a row "T_i = Σ t·z_(i, j, k)", which the file holds as T_i − Σ t·z = 0.
// Some k are missing, and a D of 0 is omitted.
void ReadPolicies(const MpsRow& row, bool steady, InterStageMilp& milp) {
  for (const auto& [name, coefficient] : row.coefficients) {
    if (!absl::StartsWith(name, "z_")) continue;
    const std::vector<int> at = NumbersIn(name);
    std::vector<StagePolicy>& policies = milp.policies[at[0]][at[1]];
    policies.resize(std::max<size_t>(policies.size(), at[2] + 1),
                    {.steady_s = kNever});
    (steady ? policies[at[2]].steady_s : policies[at[2]].extra_s) =
        -coefficient;
  }
}

InterStageMilp MilpOf(const std::string& name, absl::string_view text) {
  const std::map<std::string, MpsRow> rows = ReadMps(text);
  InterStageMilp milp = {.name = name, .num_microbatches = 1};
  const auto& objective = rows.at("OBJ").coefficients;
  const auto slowest = objective.find("Max_t");
  if (slowest != objective.end()) {
    milp.num_microbatches = static_cast<int>(slowest->second) + 1;
  }
  milp.slowest_bound_s = kNever;
  milp.num_stages = static_cast<int>(
      std::count_if(objective.begin(), objective.end(),
                    [](const auto& at) { return at.first[0] == 'T'; }));
  milp.policies.resize(milp.num_stages);
  for (const auto& [unused, row] : rows) {
    const std::string first =
        row.coefficients.empty() ? "" : row.coefficients.begin()->first;
    const bool one_variable = row.coefficients.size() == 1;
    if (one_variable && first == "Max_t") {
      milp.slowest_bound_s = row.right_side / row.coefficients.begin()->second;
    } else if (absl::StartsWith(first, "T_") || absl::StartsWith(first, "D_")) {
      ReadPolicies(row, first[0] == 'T', milp);
    } else if (absl::StartsWith(first, "l_")) {
      milp.num_layers =
          std::max(milp.num_layers, static_cast<int>(row.right_side));
    }
  }
  return milp;
}

}  // namespace

std::map<std::string, Hardware> ReadHardware(const json& file) {
  const std::map<std::string, std::string> names = {
      {"l4", "l4"},
      {"a100-sxm4-40gb", "a100"},
      {"v100-sxm2-16gb", "v100-16"},
      {"v100-sxm2-32gb", "v100-32"}};
  std::map<std::string, Hardware> hardware;
  for (const json& entry : file["hardware"]) {
    const auto name = names.find(entry["gpu"]);
    if (name != names.end()) hardware[name->second] = ReadOne(entry);
  }
  return hardware;
}

std::map<int, PieceTable> ReadSeconds(const json& golden) {
  std::map<int, PieceTable> seconds;
  const json& pieces = golden["leaf_latency"]["noflash"];
  for (const int samples : {1, 2, 4, 8}) {
    const std::string key = std::to_string(samples);
    seconds[samples] = {.block = ReadPiece(pieces["block"][key]),
                        .pre = ReadPiece(pieces["pre"][key]),
                        .post = ReadPiece(pieces["post"][key])};
  }
  return seconds;
}

Policy ReadPolicy(const json& strategy) {
  return {.samples = strategy[0],
          .dp = strategy[1],
          .shard_weights = strategy[3] != 0,
          .shard_gradients = strategy[4] != 0,
          .shard_optimizer = strategy[5] != 0,
          .offload_weights = strategy[6],
          .offload_gradients = strategy[7],
          .offload_optimizer = strategy[8],
          .offload_activations = strategy[9]};
}

std::vector<InterStageMilp> ReadMilps(const std::string& archive) {
  // A tar entry is a header of 512 bytes, with the name at 0 and the size in
  // octal at 124, then the file, padded to whole blocks of 512.
  constexpr size_t kBlock = 512;
  std::vector<InterStageMilp> milps;
  for (size_t at = 0; at + kBlock <= archive.size() && archive[at] != 0;) {
    const std::string name = archive.c_str() + at;
    const size_t size = std::stoul(archive.substr(at + 124, 11), nullptr, 8);
    if (absl::EndsWith(name, ".mps")) {
      milps.push_back(
          MilpOf(name, absl::string_view(archive).substr(at + kBlock, size)));
    }
    at += kBlock + (size + kBlock - 1) / kBlock * kBlock;
  }
  std::sort(milps.begin(), milps.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return milps;
}

}  // namespace tangram::mist::reference
