#ifndef TANGRAM_CLI_FILES_TRACE_FILE_H_
#define TANGRAM_CLI_FILES_TRACE_FILE_H_

#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "cli/args/options.h"
#include "common/trace/trace.h"

namespace tangram {

// Returns an error if no trace can be written to `path`, as CheckWritable does.
// OK for "-" and for an empty path.
absl::Status CheckTraceOutput(const std::string& path);

// Writes the file whole or not at all. For "-" it writes to `out`.
absl::Status WriteTrace(const Trace& trace, TraceFormat format,
                        const std::string& path, std::ostream& out);

}  // namespace tangram

#endif  // TANGRAM_CLI_FILES_TRACE_FILE_H_
