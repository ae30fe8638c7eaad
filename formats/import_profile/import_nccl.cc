#include <algorithm>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "formats/import_profile/formats.h"
#include "formats/import_profile/import_parts.h"
#include "formats/import_profile/nccl_output.h"

// nccl-tests count the larger of the bytes that a rank sends and receives, and
// so do our tables.
namespace tangram {
namespace {

// Returns operation, ranks and nodes.
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
        "no collective in the output; expected a file name with all_reduce, "
        "all_gather, reduce_scatter, alltoall or sendrecv");
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

// Returns why a table cannot be used; empty if it can.
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
  const NcclRun run = ReadNcclRun(file.text, file.name);
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
