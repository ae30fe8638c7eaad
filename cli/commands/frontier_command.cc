#include <algorithm>
#include <atomic>
#include <numeric>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/args/prices.h"
#include "cli/args/request.h"
#include "cli/commands/commands.h"
#include "cli/files/plan_files.h"
#include "cli/planning/interrupt.h"
#include "cli/planning/local_planning.h"
#include "cli/print/print_frontier.h"
#include "cli/print/progress_mode.h"
#include "cli/remote/remote_planning.h"
#include "common/base/status_macros.h"
#include "common/sync/mutex.h"
#include "coordinator/planners/frontier/lattice.h"
#include "formats/config/node_lattice.h"

namespace tangram {
namespace {

// Allocations beyond so many are refused: each takes a tenth of a second or
// more.
constexpr int64_t kMostAllocations = 100'000;

absl::Status CheckCosts(const FrontierOptions& options) {
  if (options.deadline_hours && !options.tokens) {
    return absl::InvalidArgumentError("--deadline: needs --tokens");
  }
  if (options.budget && (!options.tokens || options.prices.empty())) {
    return absl::InvalidArgumentError("--budget: needs --tokens and --prices");
  }
  return absl::OkStatus();
}

// "h100=2,a100=4", as --nodes of `plan` takes it.
std::string NodesText(const std::vector<std::string>& groups,
                      const std::vector<int>& nodes) {
  std::vector<std::string> parts;
  for (size_t g = 0; g < groups.size(); ++g) {
    parts.push_back(absl::StrCat(groups[g], "=", nodes[g]));
  }
  return absl::StrJoin(parts, ",");
}

// Returns the points of all allocations with a node, in the lattice's order.
std::vector<FrontierPoint> PointsOf(const Lattice& lattice,
                                    const Cluster& cluster) {
  std::vector<int> gpus_of_node(cluster.groups.size());
  for (const Node& node : cluster.nodes) {
    gpus_of_node[node.group] = node.num_gpus;
  }
  std::vector<FrontierPoint> points;
  for (int64_t i = 0; i < lattice.size(); ++i) {
    FrontierPoint& point = points.emplace_back();
    point.nodes = lattice.At(i);
    for (size_t g = 0; g < point.nodes.size(); ++g) {
      point.num_gpus += point.nodes[g] * gpus_of_node[g];
    }
  }
  return points;
}

// Plans the allocations. Threads share slice plans: islands of equal
// allocations recur.
class AllocationPlanner {
 public:
  AllocationPlanner(const FrontierOptions& options, PlanningSetup setup,
                    Frontier& frontier, const StopCondition& stop,
                    ProgressLine& line)
      : options_(options),
        setup_(std::move(setup)),
        frontier_(frontier),
        stop_(stop),
        line_(line) {}

  // The largest allocation goes first, on all threads; it has most of the
  // slice plans of the others.
  void Run() {
    const auto num_points = static_cast<int64_t>(frontier_.points.size());
    PlanOne(num_points - 1, setup_);
    PlanningSetup alone = setup_;
    alone.num_threads = 1;
    std::atomic<int64_t> next = 0;
    const auto work = [&] {
      while (!stop_.ShouldStop()) {
        const int64_t i = next++;
        if (i >= num_points - 1) return;
        PlanOne(i, alone);
      }
    };
    std::vector<std::jthread> helpers;
    for (int t = 1; t < NumThreads(setup_); ++t) helpers.emplace_back(work);
    work();
  }

  OutputFiles TakePlans() {
    const MutexLock lock(mutex_);
    return std::move(plans_);
  }
  // The first error of a request. OK if some request was good.
  absl::Status WorstStatus() {
    const MutexLock lock(mutex_);
    return any_answer_ ? absl::OkStatus() : error_;
  }

 private:
  void PlanOne(int64_t i, const PlanningSetup& setup) {
    FrontierPoint& point = frontier_.points[i];
    if (point.is_empty()) {
      point.state = FrontierPoint::State::kNoPlan;
      return;
    }
    const absl::StatusOr<PlanFile> file = Plan(point, setup);
    if (!file.ok() && stop_.ShouldStop()) return;
    Take(file, point);
  }

  absl::StatusOr<PlanFile> Plan(const FrontierPoint& point,
                                const PlanningSetup& setup) {
    PlanOptions plan = options_.plan;
    plan.cluster.nodes = NodesText(frontier_.groups, point.nodes);
    TANGRAM_ASSIGN_OR_RETURN(const PlanRequest request, MakePlanRequest(plan));
    ProgressLine hidden(line_out_, /*enabled=*/false);
    return setup.coordinator.address.empty()
               ? PlanLocally(request, setup, stop_, hidden, /*tracer=*/nullptr,
                             &shared_)
               : PlanRemotely(request, setup, stop_, hidden);
  }

  void Take(const absl::StatusOr<PlanFile>& file, FrontierPoint& point) {
    const MutexLock lock(mutex_);
    ++num_done_;
    line_.Show({.phase = "allocations",
                .pairs_done = num_done_,
                .pairs_total = static_cast<int>(frontier_.points.size())});
    any_answer_ |= file.ok();
    if (!file.ok() && error_.ok()) error_ = file.status();
    if (!file.ok() || !file->result.has_plan()) {
      point.state = FrontierPoint::State::kNoPlan;
      point.why_none = WhyNone(file);
      return;
    }
    point.state = FrontierPoint::State::kPlanned;
    point.figures = FiguresOf(*file);
    if (options_.output_folder.empty()) return;
    absl::StatusOr<std::string> json = PlanFileToJson(*file);
    if (!json.ok()) {
      error_ = json.status();
      return;
    }
    plans_.Add(absl::StrCat(options_.output_folder, "/",
                            NodesText(frontier_.groups, point.nodes), ".json"),
               *std::move(json));
  }

  const FrontierOptions& options_;
  const PlanningSetup setup_;
  Frontier& frontier_;
  const StopCondition& stop_;
  std::ostringstream line_out_;
  SharedSlicePlans shared_;
  Mutex mutex_;
  ProgressLine& line_ ABSL_GUARDED_BY(mutex_);
  OutputFiles plans_ ABSL_GUARDED_BY(mutex_);
  absl::Status error_ ABSL_GUARDED_BY(mutex_);
  bool any_answer_ ABSL_GUARDED_BY(mutex_) = false;
  int num_done_ ABSL_GUARDED_BY(mutex_) = 0;
};

void AddEnvelope(const Lattice& lattice, Frontier& frontier) {
  std::vector<std::optional<double>> seconds;
  for (const FrontierPoint& point : frontier.points) {
    seconds.emplace_back();
    if (point.has_plan()) seconds.back() = point.figures.iteration_time_s;
  }
  const std::vector<std::optional<EnvelopePoint>> envelope =
      Envelope(lattice, seconds);
  for (size_t i = 0; i < envelope.size(); ++i) {
    if (!envelope[i].has_value()) continue;
    frontier.points[i].envelope_s = envelope[i]->seconds;
    frontier.points[i].envelope_at = envelope[i]->index;
  }
}

// The answer of a lattice that was read.
absl::StatusOr<Frontier> FrontierOf(const FrontierOptions& options,
                                    const Cluster& cluster,
                                    const Lattice& lattice) {
  if (lattice.size() > kMostAllocations) {
    return absl::InvalidArgumentError(absl::StrCat("--nodes: ", lattice.size(),
                                                   " allocations; expected at "
                                                   "most ",
                                                   kMostAllocations));
  }
  Frontier frontier{.groups = cluster.groups,
                    .points = PointsOf(lattice, cluster),
                    .tokens = options.tokens,
                    .deadline_hours = options.deadline_hours,
                    .budget = options.budget};
  if (frontier.points.back().num_gpus == 0) {
    return absl::InvalidArgumentError(
        "--nodes: none in any allocation; expected at least one node");
  }
  TANGRAM_RETURN_IF_ERROR(CheckCosts(options));
  if (!options.prices.empty()) {
    TANGRAM_ASSIGN_OR_RETURN(frontier.node_hour_prices,
                             ParsePrices(options.prices, cluster.groups));
  }
  return frontier;
}

// Returns the exit code of a frontier.
ExitCode CodeOf(const Frontier& frontier) {
  bool any_plan = false;
  for (const FrontierPoint& point : frontier.points) {
    if (point.state == FrontierPoint::State::kPending) {
      return ExitCode::kDeadlineExceeded;
    }
    any_plan |= point.has_plan();
  }
  return any_plan ? ExitCode::kOk : ExitCode::kNoPlan;
}

}  // namespace

CommandResult Run(const FrontierOptions& options, Console& console) {
  ClusterChoice whole = options.plan.cluster;
  whole.nodes.clear();
  TANGRAM_ASSIGN_OR_RETURN(const Cluster cluster, LoadCluster(whole));
  Lattice lattice;
  TANGRAM_ASSIGN_OR_RETURN(
      lattice.counts, ParseNodeLattice(options.plan.cluster.nodes, cluster));
  TANGRAM_ASSIGN_OR_RETURN(Frontier frontier,
                           FrontierOf(options, cluster, lattice));
  PlanOptions largest = options.plan;
  largest.cluster.nodes =
      NodesText(cluster.groups, frontier.points.back().nodes);
  TANGRAM_ASSIGN_OR_RETURN(const PlanRequest request, MakePlanRequest(largest));
  frontier.tokens_per_iteration = int64_t{request.training.global_batch_size} *
                                  request.training.sequence_length;
  TANGRAM_ASSIGN_OR_RETURN(PlanningSetup setup, PlanningSetupOf(options.plan));
  if (!options.output_folder.empty()) {
    TANGRAM_RETURN_IF_ERROR(MakeFolder(options.output_folder));
  }
  if (!options.csv_file.empty() && options.csv_file != "-") {
    TANGRAM_RETURN_IF_ERROR(CheckWritable(options.csv_file));
  }

  const StopCondition stop(options.plan.timeout_s);
  ProgressLine line(console.err, ShowsProgress(options.plan.progress, console));
  AllocationPlanner planner(options, std::move(setup), frontier, stop, line);
  planner.Run();
  line.Clear();
  if (Interrupted()) return absl::CancelledError("interrupted");
  TANGRAM_RETURN_IF_ERROR(planner.WorstStatus());

  AddEnvelope(lattice, frontier);
  MarkFront(frontier);
  OutputFiles files = planner.TakePlans();
  if (!options.csv_file.empty() && options.csv_file != "-") {
    files.Add(options.csv_file, FrontierAsCsv(frontier));
  }
  TANGRAM_RETURN_IF_ERROR(files.Write());
  if (options.csv_file == "-") {
    console.out << FrontierAsCsv(frontier);
  } else if (console.format == OutputFormat::kJson) {
    PrintFrontierAsJson(frontier, console);
  } else {
    PrintFrontier(frontier, console);
  }
  return CodeOf(frontier);
}

}  // namespace tangram
