#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "common/daemon/daemon.h"
#include "common/daemon/flag_checks.h"
#include "common/metrics/metrics.h"
#include "common/obs/build_info.h"
#include "common/obs/log.h"
#include "common/obs/termination.h"
#include "common/wire/worker_pool_wire.h"
#include "worker/adapters/builtin_parallelizers.h"
#include "worker/adapters/process/parallelizer_spec.h"
#include "worker/service/worker.h"

ABSL_FLAG(std::vector<std::string>, coordinator, {"127.0.0.1:7070"},
          "Addresses of the coordinators to serve, separated by commas.");
ABSL_FLAG(std::string, tls_ca_file, "",
          "PEM file with the authorities that sign the coordinator's "
          "certificate; empty: plain text.");
ABSL_FLAG(std::string, tls_cert_file, "",
          "PEM file with the worker's own certificate; empty: none.");
ABSL_FLAG(std::string, tls_key_file, "",
          "PEM file with the key of --tls_cert_file.");
ABSL_FLAG(std::string, token_file, "",
          "File with the worker's token; empty: none.");
ABSL_FLAG(bool, allow_plaintext_token, false,
          "Send the token in plain text to other machines too.");
ABSL_FLAG(std::string, name, "",
          "Name in logs; empty: host name and process id.");
ABSL_FLAG(int, threads, 0, "Queries to run at once; 0: one for each core.");
ABSL_FLAG(std::vector<std::string>, adapters, {},
          "Parallelizers to offer, separated by commas; empty: all built-in "
          "ones, or only --adapter if that is given.");
ABSL_FLAG(std::string, adapter, "",
          "Program to offer as a parallelizer: exec:COMMAND.");
ABSL_FLAG(double, adapter_search_s, tangram::ProcessOptions().max_search_s,
          "Seconds that the program may search for one query.");
ABSL_FLAG(double, adapter_memory_gb,
          tangram::ProcessOptions().max_memory_bytes / 1e9,
          "Memory that one copy of the program may use, in GB.");
ABSL_FLAG(
    std::string, adapter_isolation, "auto",
    "Whether the program runs in a sandbox by bubblewrap: auto (where the "
    "system allows it), required or none.");
ABSL_FLAG(std::string, metrics, "127.0.0.1:9091",
          "Address that serves GET /metrics; empty: none.");
ABSL_FLAG(double, drain_s, 20,
          "Seconds to finish running queries after SIGTERM before handing them "
          "back.");

namespace tangram {
namespace {

// More than any machine has, in GB.
constexpr double kMostMemoryGb = 1e6;

std::string DefaultName() {
  char host[256] = "worker";
  gethostname(host, sizeof(host) - 1);
  return absl::StrCat(host, "-", getpid());
}

absl::StatusOr<std::vector<std::unique_ptr<Parallelizer>>>
ParallelizersFromFlags() {
  std::vector<std::string> specs = absl::GetFlag(FLAGS_adapters);
  const std::string program = absl::GetFlag(FLAGS_adapter);
  if (!program.empty()) {
    specs.push_back(program);
  } else if (specs.empty()) {
    specs = BuiltinParallelizerNames();
  }
  TANGRAM_RETURN_IF_ERROR(
      CheckFlagPositive("adapter_search_s",
                        absl::GetFlag(FLAGS_adapter_search_s), kLongestWaitS));
  TANGRAM_RETURN_IF_ERROR(
      CheckFlagPositive("adapter_memory_gb",
                        absl::GetFlag(FLAGS_adapter_memory_gb), kMostMemoryGb));
  TANGRAM_ASSIGN_OR_RETURN(
      const Isolation isolation,
      ParseIsolation(absl::GetFlag(FLAGS_adapter_isolation)));
  const ProcessOptions limits = {
      .max_search_s = absl::GetFlag(FLAGS_adapter_search_s),
      .max_memory_bytes = 1e9 * absl::GetFlag(FLAGS_adapter_memory_gb),
      .isolation = isolation,
      .hidden_files = {absl::GetFlag(FLAGS_token_file),
                       absl::GetFlag(FLAGS_tls_key_file)}};
  std::vector<std::unique_ptr<Parallelizer>> parallelizers;
  std::set<std::string> names;
  for (const std::string& spec : specs) {
    TANGRAM_ASSIGN_OR_RETURN(auto parallelizer,
                             CreateParallelizer(spec, limits));
    if (!names.insert(parallelizer->name()).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("parallelizer: \"", spec, "\" is another ",
                       parallelizer->name(), "; expected different names"));
    }
    parallelizers.push_back(std::move(parallelizer));
  }
  return parallelizers;
}

std::vector<CoordinatorAccess> AccessFromFlags() {
  std::vector<CoordinatorAccess> accesses;
  for (const std::string& address : absl::GetFlag(FLAGS_coordinator)) {
    accesses.push_back(
        {.address = address,
         .tls = {.cert_file = absl::GetFlag(FLAGS_tls_cert_file),
                 .key_file = absl::GetFlag(FLAGS_tls_key_file),
                 .ca_file = absl::GetFlag(FLAGS_tls_ca_file)},
         .token_file = absl::GetFlag(FLAGS_token_file),
         .allow_plaintext_token = absl::GetFlag(FLAGS_allow_plaintext_token)});
  }
  return accesses;
}

absl::StatusOr<WorkerOptions> OptionsFromFlags() {
  WorkerOptions options{.coordinators = AccessFromFlags(),
                        .name = absl::GetFlag(FLAGS_name),
                        .num_threads = absl::GetFlag(FLAGS_threads)};
  if (options.coordinators.empty()) {
    return absl::InvalidArgumentError(
        "--coordinator: empty; expected HOST:PORT");
  }
  if (options.name.empty()) options.name = DefaultName();
  TANGRAM_RETURN_IF_ERROR(
      CheckFlagAtMost("threads", options.num_threads, kMaxWorkerThreads));
  TANGRAM_RETURN_IF_ERROR(
      CheckFlagAtMost("drain_s", absl::GetFlag(FLAGS_drain_s), kLongestWaitS));
  if (options.num_threads == 0) {
    options.num_threads =
        std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  }
  TANGRAM_ASSIGN_OR_RETURN(options.parallelizers, ParallelizersFromFlags());
  return options;
}

absl::Status RunWorker() {
  // Adapter programs run as the same user. This keeps them from reading the
  // worker's memory and environment.
  prctl(PR_SET_DUMPABLE, 0);
  TANGRAM_ASSIGN_OR_RETURN(WorkerOptions options, OptionsFromFlags());
  Metrics metrics;
  TANGRAM_ASSIGN_OR_RETURN(const int metrics_port,
                           metrics.Serve(absl::GetFlag(FLAGS_metrics)));
  Log(LogLevel::kInfo, "worker ready",
      {{"worker", options.name},
       {"coordinator", absl::StrJoin(absl::GetFlag(FLAGS_coordinator), ",")},
       {"threads", options.num_threads},
       {"metrics_port", metrics_port},
       {"version", Version()}});
  TANGRAM_ASSIGN_OR_RETURN(const auto worker,
                           Worker::Start(std::move(options), metrics));

  const int signal = WaitForTermination();
  Log(LogLevel::kInfo, "draining", {{"signal", signal}});
  worker->Drain(absl::GetFlag(FLAGS_drain_s));
  Log(LogLevel::kInfo, "worker stopped");
  return absl::OkStatus();
}

}  // namespace
}  // namespace tangram

int main(int argc, char** argv) {
  return tangram::RunDaemon(
      argc, argv,
      {.program = "tangram-worker",
       .usage = "Answers a coordinator's queries.\nusage: tangram-worker "
                "--coordinator HOST:PORT [flags]",
       .run = tangram::RunWorker});
}
