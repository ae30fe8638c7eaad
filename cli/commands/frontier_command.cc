#include <algorithm>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "cli/commands/commands.h"
#include "cli/commands/frontier_terms.h"
#include "cli/files/input_file.h"
#include "cli/files/plan_files.h"
#include "cli/planning/interrupt.h"
#include "cli/planning/plan_allocations.h"
#include "cli/print/frontier_json.h"
#include "cli/print/print_frontier.h"
#include "cli/print/progress_mode.h"
#include "cli/remote/remote_frontier.h"
#include "cli/remote/remote_planning.h"
#include "common/base/status_macros.h"
#include "common/domain/keep_nodes.h"
#include "coordinator/planners/frontier/allocation_list.h"
#include "formats/config/node_lattice.h"
#include "web/view/allocation_page.h"

namespace tangram {
namespace {

// Allocations beyond so many are refused: each takes a hundredth of a second or
// more.
constexpr int64_t kMostAllocations = 100'000;
constexpr int64_t kMostFrontierBytes = int64_t{1} << 30;

absl::Status AddLattice(const std::string& nodes, const Cluster& cluster,
                        std::vector<Allocation>& allocations) {
  Lattice lattice;
  TANGRAM_ASSIGN_OR_RETURN(lattice.counts, ParseNodeLattice(nodes, cluster));
  int64_t size = 1;
  for (const std::vector<int>& counts : lattice.counts) {
    size *= static_cast<int64_t>(counts.size());
    if (size > kMostAllocations) {
      return absl::InvalidArgumentError(
          absl::StrCat("--nodes: more than ", kMostAllocations,
                       " allocations; expected fewer"));
    }
  }
  for (int64_t i = 0; i < size; ++i) allocations.push_back(lattice.At(i));
  return absl::OkStatus();
}

absl::StatusOr<Allocation> ParseCenter(absl::string_view text,
                                       const Cluster& cluster) {
  Lattice lattice;
  TANGRAM_ASSIGN_OR_RETURN(lattice.counts,
                           ParseNodeLattice(std::string(text), cluster));
  if (text.empty() || lattice.size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("--set: near:", text,
                     "; expected one number of nodes "
                     "for each group, such as near:t4=2,v100=4"));
  }
  return lattice.At(0);
}

absl::Status AddSet(absl::string_view set, const Cluster& cluster,
                    std::vector<Allocation>& allocations) {
  const std::vector<int> available = NodesOfGroups(cluster);
  std::vector<Allocation> found;
  absl::string_view rest = set;
  if (absl::ConsumePrefix(&rest, "near:")) {
    TANGRAM_ASSIGN_OR_RETURN(const Allocation center,
                             ParseCenter(rest, cluster));
    int64_t size = 1;
    for (size_t g = 0; g < center.size(); ++g) {
      size *= 3;
      if (size > 2 * kMostAllocations) {
        return absl::InvalidArgumentError(absl::StrCat(
            "--set: ", set, ": too many neighbours; expected fewer groups"));
      }
    }
    found = NeighboursOf(center, available);
  } else if (set == "sia") {
    found = PowersOfOneGroup(available);
  } else if (absl::ConsumePrefix(&rest, "gavel:")) {
    int num_gpus = 0;
    if (!absl::SimpleAtoi(rest, &num_gpus) || num_gpus < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("--set: ", set, "; expected gavel:<number of GPUs>"));
    }
    found = OneGroupWithGpus(num_gpus, available, GpusOfNodes(cluster));
  } else {
    return absl::InvalidArgumentError(absl::StrCat(
        "--set: ", set,
        "; expected near:<group>=<nodes>,.., sia or gavel:<GPUs>"));
  }
  allocations.insert(allocations.end(), found.begin(), found.end());
  return absl::OkStatus();
}

// Returns the allocations that the options name, each once, without that of no
// nodes.
absl::StatusOr<std::vector<Allocation>> AllocationsOf(
    const FrontierOptions& options, const Cluster& cluster) {
  std::vector<Allocation> allocations;
  const std::string& nodes = options.plan.cluster.nodes;
  if (!nodes.empty() || options.sets.empty()) {
    TANGRAM_RETURN_IF_ERROR(AddLattice(nodes, cluster, allocations));
  }
  for (const std::string& set : options.sets) {
    TANGRAM_RETURN_IF_ERROR(AddSet(set, cluster, allocations));
  }
  SortOnce(allocations);
  std::erase_if(allocations, [](const Allocation& allocation) {
    return std::all_of(allocation.begin(), allocation.end(),
                       [](int count) { return count == 0; });
  });
  if (allocations.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(options.sets.empty() ? "--nodes" : "--set",
                     ": none in any allocation; expected at least one node"));
  }
  if (static_cast<int64_t>(allocations.size()) > kMostAllocations) {
    return absl::InvalidArgumentError(
        absl::StrCat("--set: ", allocations.size(),
                     " allocations; expected at most ", kMostAllocations));
  }
  return allocations;
}

// The frontier of some allocations, none of them planned.
Frontier FrontierOf(const Cluster& cluster,
                    const std::vector<Allocation>& allocations) {
  Frontier frontier{.groups = cluster.groups};
  frontier.devices.resize(cluster.groups.size());
  frontier.terms.groups.resize(cluster.groups.size());
  for (const Node& node : cluster.nodes) {
    frontier.devices[node.group] = node.device.type;
    frontier.terms.groups[node.group].gpus_per_node = node.num_gpus;
  }
  for (const Allocation& nodes : allocations) {
    FrontierPoint& point = frontier.points.emplace_back();
    point.nodes = nodes;
    for (size_t g = 0; g < nodes.size(); ++g) {
      point.num_gpus += nodes[g] * frontier.terms.groups[g].gpus_per_node;
    }
  }
  return frontier;
}

// Fills a frontier with answers, of this process or of a coordinator.
class FrontierRun {
 public:
  FrontierRun(const FrontierOptions& options,
              const AllocationRequests& requests, PlanningSetup setup,
              Frontier& frontier, const StopCondition& stop, Console& console)
      : options_(options),
        requests_(requests),
        setup_(std::move(setup)),
        frontier_(frontier),
        stop_(stop),
        line_(console.err, ShowsProgress(options.plan.progress, console)),
        out_(console.out) {}

  absl::Status Run() {
    std::vector<Allocation> allocations;
    std::vector<int> gpus;
    for (const FrontierPoint& point : frontier_.points) {
      allocations.push_back(point.nodes);
    }
    for (const GroupTerms& group : frontier_.terms.groups) {
      gpus.push_back(group.gpus_per_node);
    }
    std::vector<int64_t> order = PlanningOrder(allocations, gpus);
    if (!setup_.coordinator.address.empty()) {
      TANGRAM_RETURN_IF_ERROR(AskInOneCall(order));
    }
    PlanEach(order);
    line_.Clear();
    if (Interrupted()) return absl::CancelledError("interrupted");
    TANGRAM_RETURN_IF_ERROR(plans_error_);
    return any_answer_ ? absl::OkStatus() : error_;
  }

  const FrontierWork& work() const { return work_; }
  const OutputFiles& plans() const { return plans_; }

 private:
  // Asks for all allocations whose requests differ from that for the whole
  // cluster in their nodes alone, and removes them from `order`.
  absl::Status AskInOneCall(std::vector<int64_t>& order) {
    if (requests_.is_rented()) return absl::OkStatus();
    TANGRAM_ASSIGN_OR_RETURN(const PlanRequest whole, requests_.ForAll());
    std::vector<Allocation> asked;
    std::vector<int64_t> points;
    std::vector<int64_t> rest;
    // The choice of a precision depends on the kinds of GPUs, not their number.
    std::map<std::vector<bool>, bool> trains_alike;  // By groups with nodes.
    for (const int64_t i : order) {
      const std::vector<int>& nodes = frontier_.points[i].nodes;
      std::vector<bool> groups;
      for (const int count : nodes) groups.push_back(count > 0);
      const auto [known, is_new] = trains_alike.try_emplace(groups, false);
      if (is_new) {
        const absl::StatusOr<PlanRequest> one = requests_.For(nodes);
        known->second = one.ok() && one->training == whole.training;
      }
      if (known->second) {
        asked.push_back(nodes);
        points.push_back(i);
      } else {
        rest.push_back(i);
      }
    }
    order = std::move(rest);
    if (asked.empty()) return absl::OkStatus();
    const absl::Status status =
        AskFrontier(whole, asked, setup_, stop_,
                    [&](int64_t index, AllocationAnswer answer) {
                      if (answer.from_cache) ++work_.from_cache;
                      Take(points[index], std::move(answer));
                    });
    if (stop_.DeadlinePassed()) return absl::OkStatus();
    TANGRAM_RETURN_IF_ERROR(status);
    return options_.output_folder.empty() ? absl::OkStatus() : GetPlans(points);
  }

  absl::Status GetPlans(const std::vector<int64_t>& points) {
    for (const int64_t i : points) {
      const FrontierPoint& point = frontier_.points[i];
      if (!point.has_plan()) continue;
      absl::StatusOr<PlanFile> file =
          GetKeptPlan(point.answer.plan_id, setup_, stop_);
      if (absl::IsNotFound(file.status())) file = PlanOne(i, setup_, nullptr);
      TANGRAM_RETURN_IF_ERROR(file.status());
      TANGRAM_RETURN_IF_ERROR(AddPlan(point, *file));
    }
    return absl::OkStatus();
  }

  void PlanEach(const std::vector<int64_t>& order) {
    if (order.empty()) return;
    SharedSlicePlans shared;
    PlanningSetup alone = setup_;
    alone.num_threads = 1;
    PlanAllocations(
        order, NumThreads(setup_), stop_,
        [&](int64_t i) { return PlanOne(i, alone, &shared); },
        [&](int64_t i, const absl::StatusOr<PlanFile>& file) {
          if (!file.ok() && error_.ok()) error_ = file.status();
          if (file.ok() && file->result.has_plan() &&
              !options_.output_folder.empty()) {
            plans_error_.Update(AddPlan(frontier_.points[i], *file));
          }
          any_answer_ |= file.ok();
          Take(i, AllocationAnswerOf(file, frontier_.groups));
        });
    if (setup_.coordinator.address.empty()) {
      work_.slice_queries = shared.num_asked();
    }
  }

  absl::StatusOr<PlanFile> PlanOne(int64_t i, const PlanningSetup& setup,
                                   SharedSlicePlans* shared) {
    TANGRAM_ASSIGN_OR_RETURN(const PlanRequest request,
                             requests_.For(frontier_.points[i].nodes));
    std::ostringstream no_line;
    ProgressLine hidden(no_line, /*enabled=*/false);
    return setup.coordinator.address.empty()
               ? PlanLocally(request, setup, stop_, hidden, /*tracer=*/nullptr,
                             shared)
               : PlanRemotely(request, setup, stop_, hidden);
  }

  absl::Status AddPlan(const FrontierPoint& point, const PlanFile& file) {
    TANGRAM_ASSIGN_OR_RETURN(std::string json, PlanFileToJson(file));
    plans_.Add(absl::StrCat(options_.output_folder, "/",
                            NodesText(frontier_.groups, point.nodes), ".json"),
               std::move(json));
    return absl::OkStatus();
  }

  // Calls come one at a time.
  void Take(int64_t i, AllocationAnswer answer) {
    FrontierPoint& point = frontier_.points[i];
    point.answer = std::move(answer);
    any_answer_ |= !setup_.coordinator.address.empty() || point.has_plan();
    line_.Show({.phase = "allocations",
                .pairs_done = ++num_done_,
                .pairs_total = static_cast<int>(frontier_.points.size())});
    if (!options_.streams) return;
    FrontierPoint alone = point;
    if (point.has_plan()) {
      alone.values = Evaluate(frontier_.terms, PlannedOf(point));
    }
    out_ << FrontierPointAsLine(frontier_, alone) << std::flush;
  }

  const FrontierOptions& options_;
  const AllocationRequests& requests_;
  const PlanningSetup setup_;
  Frontier& frontier_;
  const StopCondition& stop_;
  ProgressLine line_;
  std::ostream& out_;
  FrontierWork work_;
  OutputFiles plans_;
  absl::Status error_;        // The first of a request.
  absl::Status plans_error_;  // The first of writing a plan.
  bool any_answer_ = false;
  int num_done_ = 0;
};

// Returns the exit code of a frontier.
ExitCode CodeOf(const Frontier& frontier) {
  bool any_plan = false;
  for (const FrontierPoint& point : frontier.points) {
    if (point.answer.state == AllocationAnswer::State::kPending) {
      return ExitCode::kDeadlineExceeded;
    }
    any_plan |= point.has_plan();
  }
  return any_plan ? ExitCode::kOk : ExitCode::kNoPlan;
}

absl::Status CheckFrontierOutputs(const FrontierOptions& options) {
  if (!options.output_folder.empty()) {
    TANGRAM_RETURN_IF_ERROR(MakeFolder(options.output_folder));
  }
  for (const std::string& file : {options.csv_file, options.page_file}) {
    if (file.empty() || file == "-") continue;
    TANGRAM_RETURN_IF_ERROR(CheckWritable(file));
  }
  return absl::OkStatus();
}

CommandResult WriteAndPrint(const FrontierOptions& options,
                            const FrontierWork& work, OutputFiles files,
                            Frontier& frontier, Console& console) {
  TANGRAM_RETURN_IF_ERROR(Assess(frontier));
  if (!options.csv_file.empty() && options.csv_file != "-") {
    files.Add(options.csv_file, FrontierAsCsv(frontier));
  }
  if (!options.page_file.empty() && options.page_file != "-") {
    files.Add(options.page_file, FrontierPage(FrontierAsJson(frontier, work)));
  }
  TANGRAM_RETURN_IF_ERROR(files.Write());
  if (options.csv_file == "-") {
    console.out << FrontierAsCsv(frontier);
  } else if (options.page_file == "-") {
    console.out << FrontierPage(FrontierAsJson(frontier, work));
  } else if (options.streams) {
    return CodeOf(frontier);
  } else if (console.format == OutputFormat::kJson) {
    console.out << FrontierAsJson(frontier, work);
  } else {
    PrintFrontier(frontier, console);
  }
  return CodeOf(frontier);
}

// Carries out --from.
CommandResult Reassess(const FrontierOptions& options, Console& console) {
  TANGRAM_ASSIGN_OR_RETURN(
      const std::string text,
      ReadInputFile(options.from_file, kMostFrontierBytes));
  TANGRAM_ASSIGN_OR_RETURN(
      Frontier frontier, FrontierFromJson(text, InputName(options.from_file)));
  TANGRAM_RETURN_IF_ERROR(AddTerms(options, frontier));
  TANGRAM_RETURN_IF_ERROR(CheckFrontierOutputs(options));
  return WriteAndPrint(options, {}, {}, frontier, console);
}

}  // namespace

CommandResult Run(const FrontierOptions& options, Console& console) {
  if (!options.from_file.empty()) return Reassess(options, console);
  TANGRAM_ASSIGN_OR_RETURN(const AllocationRequests requests,
                           AllocationRequests::Load(options.plan));
  TANGRAM_ASSIGN_OR_RETURN(const std::vector<Allocation> allocations,
                           AllocationsOf(options, requests.cluster()));
  Frontier frontier = FrontierOf(requests.cluster(), allocations);
  TANGRAM_ASSIGN_OR_RETURN(const PlanRequest request,
                           requests.For(allocations.back()));
  frontier.terms.tokens_per_iteration =
      int64_t{request.training.global_batch_size} *
      request.training.sequence_length;
  TANGRAM_RETURN_IF_ERROR(AddTerms(options, frontier));
  TANGRAM_ASSIGN_OR_RETURN(PlanningSetup setup, PlanningSetupOf(options.plan));
  TANGRAM_RETURN_IF_ERROR(CheckFrontierOutputs(options));

  const StopCondition stop(options.plan.timeout_s);
  FrontierRun run(options, requests, std::move(setup), frontier, stop, console);
  TANGRAM_RETURN_IF_ERROR(run.Run());
  return WriteAndPrint(options, run.work(), run.plans(), frontier, console);
}

}  // namespace tangram
