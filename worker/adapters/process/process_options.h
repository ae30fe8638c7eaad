#ifndef TANGRAM_WORKER_ADAPTERS_PROCESS_PROCESS_OPTIONS_H_
#define TANGRAM_WORKER_ADAPTERS_PROCESS_PROCESS_OPTIONS_H_

#include <string>
#include <vector>

#include "worker/adapters/process/adapter_sandbox.h"

namespace tangram {

// An adapter program and its limits.
struct ProcessOptions {
  std::string command;        // Run by /bin/sh.
  double max_search_s = 600;  // Wall time of one Parallelize call.
  double max_reply_s = 30;    // Wall time of any other call, and of the start.
  double max_memory_bytes = 8e9;  // For one process and all that it starts.
  Isolation isolation = Isolation::kAuto;
  // Files that a sandbox hides: tokens and keys of the worker.
  std::vector<std::string> hidden_files;
  // Pauses between starts after failures; each is twice the one before.
  double min_backoff_s = 0.1;
  double max_backoff_s = 5;
};

}  // namespace tangram

#endif  // TANGRAM_WORKER_ADAPTERS_PROCESS_PROCESS_OPTIONS_H_
