#include "cli/files/trace_file.h"

#include <utility>

#include "cli/files/output_files.h"
#include "cli/files/plan_files.h"
#include "common/trace/trace_formats.h"

namespace tangram {

absl::Status CheckTraceOutput(const std::string& path) {
  if (path.empty() || IsStandardOutput(path)) return absl::OkStatus();
  return CheckWritable(path);
}

absl::Status WriteTrace(const Trace& trace, TraceFormat format,
                        const std::string& path, std::ostream& out) {
  std::string text =
      format == TraceFormat::kOtlp ? ToOtlpJson(trace) : ToChromeTrace(trace);
  if (IsStandardOutput(path)) {
    out << text;
    return absl::OkStatus();
  }
  OutputFiles files;
  files.Add(path, std::move(text));
  return files.Write();
}

}  // namespace tangram
