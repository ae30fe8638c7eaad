#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/commands/commands.h"
#include "cli/planning/interrupt.h"
#include "cli/print/answer_json.h"
#include "cli/print/job_text.h"
#include "cli/print/table.h"
#include "cli/print/worker_text.h"
#include "cli/remote/coordinator_channel.h"
#include "cli/remote/job_calls.h"
#include "common/base/format.h"
#include "common/base/status_macros.h"
#include "tangram/v1/status_service.grpc.pb.h"

namespace tangram {
namespace {

using Json = nlohmann::ordered_json;

// A coordinator that does not answer within this time counts as gone. A running
// one answers within milliseconds.
constexpr std::chrono::seconds kCallTimeout(10);
// Lets jobs and a few workers fit a terminal of 24 lines.
constexpr int kShownJobs = 10;
// Moves the cursor home and clears everything below it.
constexpr char kClearScreen[] = "\x1b[H\x1b[J";

struct Snapshot {
  v1::CoordinatorStatus status;
  std::vector<v1::Job> jobs;  // The latest kShownJobs.
};

absl::StatusOr<Snapshot> TakeSnapshot(const CoordinatorAccess& coordinator,
                                      const StopCondition& stop) {
  Snapshot snapshot;
  TANGRAM_ASSIGN_OR_RETURN(const auto channel,
                           ConnectToCoordinator(coordinator, stop));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kCallTimeout);
  TANGRAM_RETURN_IF_ERROR(CallStatus(v1::Status::NewStub(channel)->GetStatus(
      &context, v1::GetStatusRequest(), &snapshot.status)));
  TANGRAM_ASSIGN_OR_RETURN(snapshot.jobs,
                           ListJobs(coordinator, {}, kShownJobs, stop));
  return snapshot;
}

void PrintSummary(const std::string& coordinator,
                  const v1::CoordinatorStatus& status, Console& console) {
  int slots = 0;
  for (const v1::WorkerStatus& worker : status.workers()) {
    if (!worker.draining() && !worker.quarantined()) slots += worker.slots();
  }
  console.out << coordinator << ", version " << status.version() << ", up "
              << FormatSeconds(status.uptime_s()) << "\n"
              << "plans    " << status.running_plans() << " running, "
              << status.waiting_plans() << " waiting; "
              << FormatItems(status.running_jobs(), "job") << " running\n"
              << "queries  " << FormatThousands(status.pending())
              << " waiting, " << FormatThousands(status.leased())
              << " with workers\n"
              << "workers  " << FormatThousands(status.workers_size()) << ", "
              << FormatItems(slots, "slot") << "\n"
              << "cache    " << FormatThousands(status.cached_answers())
              << " answers, "
              << FormatBytes(static_cast<double>(status.cache_bytes())) << "\n";
}

void PrintLatestJobs(const std::vector<v1::Job>& jobs, Console& console) {
  if (jobs.empty()) return;
  Table table({{"job"}, {"state"}, {"submitted"}, {"took", Table::kRight}});
  for (const v1::Job& job : jobs) {
    table.AddRow(
        {job.job_id(), JobStateText(job), JobTimeText(job), JobTookText(job)});
  }
  console.out << "\n" << table.ToString();
}

// Work completed since the previous sample, or since the worker joined.
struct Pace {
  double busy = 0;  // Mean fraction of its slots that were busy, at most 1.
  double answers_per_s = 0;
};

// Returns the worker's pace between samples `before` and `now`:
//   busy = (busy_s now - busy_s before) / (elapsed_s x slots)
// Counts from the time the worker joined if `before` is null, or if the worker
// has connected again since.
Pace PaceOf(const v1::WorkerStatus& now, const v1::WorkerStatus* before) {
  const v1::WorkerStatus none;
  if (before == nullptr || before->connected_s() >= now.connected_s()) {
    before = &none;
  }
  const double seconds =
      std::max(now.connected_s() - before->connected_s(), 1e-3);
  return {
      .busy = std::min(
          (now.busy_s() - before->busy_s()) / seconds / now.slots(), 1.0),
      .answers_per_s =
          static_cast<double>(now.answered() - before->answered()) / seconds};
}

void PrintWorkers(const v1::CoordinatorStatus& status,
                  const std::map<std::string, v1::WorkerStatus>& before,
                  int limit, Console& console) {
  std::vector<const v1::WorkerStatus*> workers;
  for (const auto& worker : status.workers()) workers.push_back(&worker);
  std::stable_sort(
      workers.begin(), workers.end(),
      [](const auto* a, const auto* b) { return a->leased() > b->leased(); });
  Table table({{"worker"},
               {"state"},
               {"slots", Table::kRight},
               {"queries", Table::kRight},
               {"busy", Table::kRight},
               {"answers/s", Table::kRight},
               {"answered", Table::kRight},
               {"silent", Table::kRight},
               {"adapters"}});
  for (size_t i = 0; i < workers.size() && static_cast<int>(i) < limit; ++i) {
    const v1::WorkerStatus& worker = *workers[i];
    const auto it = before.find(worker.name());
    const Pace pace =
        PaceOf(worker, it == before.end() ? nullptr : &it->second);
    table.AddRow(
        {worker.name(), WorkerStateText(worker), absl::StrCat(worker.slots()),
         absl::StrCat(worker.leased()), FormatPercent(pace.busy),
         absl::StrFormat("%.1f", pace.answers_per_s),
         FormatThousands(worker.answered()), FormatSeconds(worker.silent_s()),
         absl::StrJoin(worker.adapters(), ", ")});
  }
  if (workers.empty()) return;
  console.out << "\n" << table.ToString();
  if (static_cast<int>(workers.size()) > limit) {
    console.out << "  and " << workers.size() - limit << " more\n";
  }
}

// Prints a snapshot as tangram.status/v1 (docs/json.md).
void PrintSnapshotAsJson(const std::string& coordinator,
                         const Snapshot& snapshot, Console& console) {
  const v1::CoordinatorStatus& status = snapshot.status;
  Json jobs = Json::array();
  for (const v1::Job& job : snapshot.jobs) {
    jobs.push_back({{"job", job.job_id()}, {"state", JobStateText(job)}});
  }
  Json workers = Json::array();
  for (const v1::WorkerStatus& worker : status.workers()) {
    workers.push_back({{"worker", worker.name()},
                       {"state", WorkerStateText(worker)},
                       {"slots", worker.slots()},
                       {"queries", worker.leased()},
                       {"busy", PaceOf(worker, nullptr).busy},
                       {"answered", worker.answered()},
                       {"silent_s", worker.silent_s()}});
  }
  PrintJson({{"format_version", "tangram.status/v1"},
             {"coordinator", coordinator},
             {"version", status.version()},
             {"uptime_s", status.uptime_s()},
             {"running_plans", status.running_plans()},
             {"waiting_plans", status.waiting_plans()},
             {"running_jobs", status.running_jobs()},
             {"waiting_queries", status.pending()},
             {"leased_queries", status.leased()},
             {"cached_answers", status.cached_answers()},
             {"cache_bytes", status.cache_bytes()},
             {"jobs", jobs},
             {"workers", workers},
             {"workers_left_out", status.workers_left_out()}},
            console);
}

void Sleep(double seconds, const StopCondition& stop) {
  const auto end =
      std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (std::chrono::steady_clock::now() < end && !stop.ShouldStop()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(kPollMilliseconds));
  }
}

}  // namespace

CommandResult Run(const TopOptions& options, Console& console) {
  const StopCondition stop(std::nullopt);
  if (console.format == OutputFormat::kJson) {
    TANGRAM_ASSIGN_OR_RETURN(const Snapshot snapshot,
                             TakeSnapshot(options.coordinator, stop));
    PrintSnapshotAsJson(options.coordinator.address, snapshot, console);
    return ExitCode::kOk;
  }
  std::map<std::string, v1::WorkerStatus> before;
  for (bool is_first = true;; is_first = false) {
    const absl::StatusOr<Snapshot> snapshot =
        TakeSnapshot(options.coordinator, stop);
    if (stop.ShouldStop()) break;
    // A coordinator that answered before may come back, so keep asking.
    if (!snapshot.ok() && (is_first || options.once)) return snapshot.status();
    if (console.color) console.out << kClearScreen;
    if (snapshot.ok()) {
      PrintSummary(options.coordinator.address, snapshot->status, console);
      PrintLatestJobs(snapshot->jobs, console);
      PrintWorkers(snapshot->status, before, options.limit, console);
      before.clear();
      for (const v1::WorkerStatus& worker : snapshot->status.workers()) {
        before[worker.name()] = worker;
      }
    } else {
      console.out << snapshot.status().message() << "\n";
    }
    if (options.once) break;
    if (!console.color) console.out << "\n";
    console.out.flush();
    Sleep(options.interval_s, stop);
    if (stop.ShouldStop()) break;
  }
  return ExitCode::kOk;
}

}  // namespace tangram
