#ifndef TANGRAM_CLI_PRINT_WORKER_TEXT_H_
#define TANGRAM_CLI_PRINT_WORKER_TEXT_H_

#include <string>

#include "tangram/v1/status_service.pb.h"

namespace tangram {

// Returns "ready", "draining", "quarantined", or "away" for a worker in
// quarantine that is not connected.
std::string WorkerStateText(const v1::WorkerStatus& worker);

}  // namespace tangram

#endif  // TANGRAM_CLI_PRINT_WORKER_TEXT_H_
