#include "formats/import_profile/nccl_output.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace tangram {
namespace {

struct Program {
  absl::string_view name;  // Prefix of "all_reduce_perf".
  CollectiveOp op;
};

constexpr Program kPrograms[] = {
    {"all_reduce", CollectiveOp::kAllReduce},
    {"all_gather", CollectiveOp::kAllGather},
    {"reduce_scatter", CollectiveOp::kReduceScatter},
    {"alltoall", CollectiveOp::kAllToAll},
    {"sendrecv", CollectiveOp::kPointToPoint}};

std::optional<CollectiveOp> FindProgram(absl::string_view text) {
  for (const Program& program : kPrograms) {
    if (absl::StrContains(text, absl::StrCat(program.name, "_perf")) ||
        absl::StrContains(text, absl::StrCat("nccl_", program.name))) {
      return program.op;
    }
  }
  return std::nullopt;
}

// Drops mpirun's prefix: "[1,0]<stdout>:#  Rank ..." becomes "#  Rank ...".
absl::string_view WithoutPrefix(absl::string_view line) {
  const size_t at = line.find(">:");
  if (!line.empty() && line[0] == '[' && at != absl::string_view::npos) {
    line.remove_prefix(at + 2);
  }
  return absl::StripAsciiWhitespace(line);
}

std::vector<absl::string_view> Words(absl::string_view line) {
  return absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
}

// Reads "Rank  0 Group  0 Pid 1234 on node-a device  0 [0000:16:00] Tesla T4".
void ReadRank(absl::string_view line, NcclRun& run) {
  ++run.num_ranks;
  const std::vector<absl::string_view> words = Words(line);
  const auto on = std::find(words.begin(), words.end(), "on");
  if (on != words.end() && on + 1 != words.end()) {
    run.hosts.insert(std::string(on[1]));
  }
  const size_t bracket = line.rfind(']');
  if (bracket != absl::string_view::npos) {
    run.gpus.insert(
        std::string(absl::StripAsciiWhitespace(line.substr(bracket + 1))));
  }
}

// Returns the index of the out-of-place time: the first of the columns "time
// algbw busbw #wrong".
std::optional<int> TimeColumn(absl::string_view line) {
  const std::vector<absl::string_view> words =
      Words(absl::StripPrefix(line, "#"));
  if (words.empty() || words[0] != "size") return std::nullopt;
  const auto time = std::find(words.begin(), words.end(), "time");
  if (time == words.end()) return std::nullopt;
  return static_cast<int>(time - words.begin());
}

bool IsPositive(double value) { return value > 0 && std::isfinite(value); }

void ReadPoint(absl::string_view line, int time_column, NcclRun& run) {
  const std::vector<absl::string_view> words = Words(line);
  CollectivePoint point;
  double time_us = 0;
  if (static_cast<int>(words.size()) < time_column + 3 ||
      !absl::SimpleAtod(words[0], &point.bytes) ||
      !absl::SimpleAtod(words[time_column], &time_us) ||
      !IsPositive(point.bytes) || !IsPositive(time_us)) {
    return;
  }
  double wrong = 0;
  if (static_cast<int>(words.size()) > time_column + 3 &&
      absl::SimpleAtod(words[time_column + 3], &wrong) && wrong >= 1) {
    ++run.num_wrong;
    return;
  }
  double algorithm = 0;
  double bus = 0;
  if (absl::SimpleAtod(words[time_column + 1], &algorithm) &&
      absl::SimpleAtod(words[time_column + 2], &bus) && algorithm > 0) {
    run.bus_factor = bus / algorithm;
  }
  run.adds = std::find(words.begin(), words.end(), "sum") != words.end() &&
             run.bus_factor == 1;
  point.seconds = time_us * 1e-6;
  run.points.push_back(point);
}

}  // namespace

NcclRun ReadNcclRun(absl::string_view text, absl::string_view name) {
  NcclRun run;
  std::optional<int> time_column;
  for (const absl::string_view raw : absl::StrSplit(text, '\n')) {
    const absl::string_view line = WithoutPrefix(raw);
    if (!run.op.has_value()) run.op = FindProgram(line);
    if (!absl::StartsWith(line, "#")) {
      if (time_column.has_value()) ReadPoint(line, *time_column, run);
      continue;
    }
    const absl::string_view comment =
        absl::StripAsciiWhitespace(line.substr(1));
    if (absl::StartsWith(comment, "Rank")) ReadRank(comment, run);
    if (const auto column = TimeColumn(line)) time_column = column;
  }
  if (run.op.has_value()) return run;
  // Only an all-reduce moves a byte more than once. With two ranks the factor
  // is 1, and of the collectives that add only an all-reduce has it.
  if (run.bus_factor > 1 || (run.num_ranks == 2 && run.adds)) {
    run.op = CollectiveOp::kAllReduce;
  }
  for (const Program& program : kPrograms) {
    if (absl::StrContains(name, program.name)) run.op = program.op;
  }
  return run;
}

// The bus bandwidth is 2(n−1)/n of the algorithm bandwidth for all-reduce and
// (n−1)/n for the others. With f = (n−1)/n, n = 1 / (1 − f).
int RanksFromBandwidths(const NcclRun& run) {
  const double factor =
      run.op == CollectiveOp::kAllReduce ? run.bus_factor / 2 : run.bus_factor;
  if (factor <= 0 || factor >= 1) return 0;
  return static_cast<int>(std::lround(1 / (1 - factor)));
}

}  // namespace tangram
