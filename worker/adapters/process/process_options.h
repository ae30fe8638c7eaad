#ifndef TANGRAM_WORKER_ADAPTERS_PROCESS_PROCESS_OPTIONS_H_
#define TANGRAM_WORKER_ADAPTERS_PROCESS_PROCESS_OPTIONS_H_

#include <string>

namespace tangram {

// An adapter program and what it may take.
struct ProcessOptions {
  std::string command;            // For /bin/sh.
  double max_search_s = 600;      // Wall time of one Parallelize.
  double max_reply_s = 30;        // Of the others, starting included.
  double max_memory_bytes = 8e9;  // Of one process and all that it starts.
  // Between starts after failures, doubling.
  double min_backoff_s = 0.1;
  double max_backoff_s = 5;
};

}  // namespace tangram

#endif  // TANGRAM_WORKER_ADAPTERS_PROCESS_PROCESS_OPTIONS_H_
