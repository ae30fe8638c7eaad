#ifndef TANGRAM_CLI_FILES_TRACE_FILE_H_
#define TANGRAM_CLI_FILES_TRACE_FILE_H_

#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "cli/args/options.h"
#include "common/trace/trace.h"

namespace tangram {

// OK if a trace can be written to `path`, so far as can be told before.
absl::Status CheckTraceOutput(const std::string& path);

// Writes the file whole or not at all; "-": to `out`.
absl::Status WriteTrace(const Trace& trace, TraceFormat format,
                        const std::string& path, std::ostream& out);

}  // namespace tangram

#endif  // TANGRAM_CLI_FILES_TRACE_FILE_H_
