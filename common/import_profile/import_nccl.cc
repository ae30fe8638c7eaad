#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/base/status_macros.h"
#include "common/import_profile/formats.h"
#include "common/import_profile/import_parts.h"

// Standard output of NVIDIA's nccl-tests, of any version, also with the line
// prefixes of mpirun. Taken are the out-of-place times (µs). Its sizes count
// the larger of what a rank sends and receives, which is how our tables count.
namespace tangram {
namespace {

struct Program {
  absl::string_view name;  // As in "all_reduce_perf".
  CollectiveOp op;
};

constexpr Program kPrograms[] = {
    {"all_reduce", CollectiveOp::kAllReduce},
    {"all_gather", CollectiveOp::kAllGather},
    {"reduce_scatter", CollectiveOp::kReduceScatter},
    {"alltoall", CollectiveOp::kAllToAll},
    {"sendrecv", CollectiveOp::kPointToPoint}};

struct NcclRun {
  std::optional<CollectiveOp> op;
  int num_ranks = 0;
  std::set<std::string> hosts;
  std::set<std::string> gpus;
  std::vector<CollectivePoint> points;
  double bus_factor = 0;  // Bus over algorithm bandwidth of the last point.
  int num_wrong = 0;
};

std::optional<CollectiveOp> FindProgram(absl::string_view text) {
  for (const Program& program : kPrograms) {
    if (absl::StrContains(text, absl::StrCat(program.name, "_perf")) ||
        absl::StrContains(text, absl::StrCat("nccl_", program.name))) {
      return program.op;
    }
  }
  return std::nullopt;
}

// "[1,0]<stdout>:#  Rank ..." without what mpirun put before.
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

// "Rank  0 Group  0 Pid 1234 on node-a device  0 [0000:16:00] Tesla T4"
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

// The first of the columns "time algbw busbw #wrong": out of place.
std::optional<int> TimeColumn(absl::string_view line) {
  const std::vector<absl::string_view> words =
      Words(absl::StripPrefix(line, "#"));
  if (words.empty() || words[0] != "size") return std::nullopt;
  const auto time = std::find(words.begin(), words.end(), "time");
  if (time == words.end()) return std::nullopt;
  return static_cast<int>(time - words.begin());
}

void ReadPoint(absl::string_view line, int time_column, NcclRun& run) {
  const std::vector<absl::string_view> words = Words(line);
  CollectivePoint point;
  double time_us = 0;
  if (static_cast<int>(words.size()) < time_column + 3 ||
      !absl::SimpleAtod(words[0], &point.bytes) ||
      !absl::SimpleAtod(words[time_column], &time_us) || point.bytes <= 0 ||
      time_us <= 0) {
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
  point.seconds = time_us * 1e-6;
  run.points.push_back(point);
}

NcclRun ReadRun(const ImportedFile& file) {
  NcclRun run;
  std::optional<int> time_column;
  for (const absl::string_view raw : absl::StrSplit(file.text, '\n')) {
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
  for (const Program& program : kPrograms) {
    if (absl::StrContains(file.name, program.name)) run.op = program.op;
  }
  return run;
}

// The bus bandwidth is 2(n−1)/n of the algorithm's for all-reduce, (n−1)/n for
// the others.
int RanksFromBandwidths(const NcclRun& run) {
  const double factor =
      run.op == CollectiveOp::kAllReduce ? run.bus_factor / 2 : run.bus_factor;
  if (factor <= 0 || factor >= 1) return 0;
  return static_cast<int>(std::lround(1 / (1 - factor)));
}

// Operation, ranks and nodes.
absl::StatusOr<MeasuredCollective> ShapeOf(const ImportedFile& file,
                                           const NcclRun& run,
                                           std::vector<std::string>& notes) {
  const auto error = [&file](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat(file.name, ": ", what));
  };
  if (run.points.empty()) {
    return error("no times; expected the output of an nccl-tests program");
  }
  if (!run.op.has_value()) {
    return error(
        "which collective it is, is not in the output; expected a file name "
        "with all_reduce, all_gather, reduce_scatter, alltoall or sendrecv");
  }
  if (run.gpus.size() > 1) {
    return error(absl::StrCat("ranks on ", absl::StrJoin(run.gpus, ", "),
                              "; expected one GPU type"));
  }
  MeasuredCollective shape = {
      .op = *run.op,
      .ranks = run.num_ranks,
      .nodes = std::max(1, static_cast<int>(run.hosts.size()))};
  if (run.num_ranks == 0) {
    shape.ranks = RanksFromBandwidths(run);
    notes.push_back(absl::StrCat(
        file.name, ": does not list its ranks: taken for ", shape.ranks,
        " in one node, from the ratio of its bandwidths"));
  }
  if (shape.ranks < 2) return error("one rank; expected at least 2");
  return shape;
}

// Empty: it can be used.
std::string WhyLeftOut(const MeasuredCollective& shape) {
  if (shape.op == CollectiveOp::kPointToPoint && shape.ranks != 2) {
    return absl::StrCat(shape.ranks,
                        " ranks send in a ring, expected one pair");
  }
  if (shape.ranks % shape.nodes != 0) {
    return absl::StrCat(shape.ranks, " ranks on ", shape.nodes,
                        " nodes, expected as many on each");
  }
  return "";
}

absl::Status AddRun(const ImportedFile& file, const ImportOptions& options,
                    ImportResult& result) {
  const NcclRun run = ReadRun(file);
  TANGRAM_ASSIGN_OR_RETURN(const MeasuredCollective shape,
                           ShapeOf(file, run, result.notes));
  TANGRAM_RETURN_IF_ERROR(SetDevice(run.gpus.empty() ? "" : *run.gpus.begin(),
                                    file.name, options, result.profile));
  if (run.num_wrong > 0) {
    result.notes.push_back(absl::StrCat(file.name, ": ", run.num_wrong,
                                        " sizes with wrong results: left out"));
  }
  const std::string why = WhyLeftOut(shape);
  if (!why.empty()) {
    result.notes.push_back(absl::StrCat(file.name, ": left out; ", why));
    return absl::OkStatus();
  }
  for (const CollectivePoint& point : run.points) {
    AddPoint(shape, point, result.profile);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ImportResult> ImportNccl(Files files,
                                        const ImportOptions& options) {
  ImportResult result;
  for (const ImportedFile& file : files) {
    TANGRAM_RETURN_IF_ERROR(AddRun(file, options, result));
  }
  result.profile.source = absl::StrCat("nccl-tests, ", files[0].name);
  return result;
}

}  // namespace tangram
