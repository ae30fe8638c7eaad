#include "cli/print/worker_text.h"

namespace tangram {

std::string WorkerStateText(const v1::WorkerStatus& worker) {
  if (worker.away()) return "away";
  if (worker.quarantined()) return "quarantined";
  return worker.draining() ? "draining" : "ready";
}

}  // namespace tangram
