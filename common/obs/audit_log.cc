#include "common/obs/audit_log.h"

#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <cstdio>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/obs/log.h"
#include "common/obs/sparse_warning.h"

namespace tangram {
namespace {

constexpr char kAuditPattern[] = R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ",%v})";

// Also the files that follow when one is full.
void LetOnlyTheOwnerRead(const spdlog::filename_t& /*name*/,
                         std::FILE* stream) {
  fchmod(fileno(stream), S_IRUSR | S_IWUSR);
}

std::string LineOf(const AuditedCall& call) {
  const LogField caller("caller", call.caller), tenant("tenant", call.tenant),
      peer("peer", call.peer), target("target", call.target),
      code("code", call.code);
  if (call.times == 1) {
    return FormatLogLine(LogFormat::kJson, call.method,
                         {caller, tenant, peer, target, code});
  }
  return FormatLogLine(
      LogFormat::kJson, call.method,
      {caller, tenant, peer, target, code, {"times", call.times}});
}

class RotatingAuditLog : public AuditLog {
 public:
  explicit RotatingAuditLog(const AuditLogOptions& options)
      : logger_("audit",
                std::make_shared<spdlog::sinks::rotating_file_sink_mt>(
                    options.file, options.max_bytes, options.max_old_files,
                    /*rotate_on_open=*/false, Handlers())) {
    logger_.set_pattern(kAuditPattern, spdlog::pattern_time_type::utc);
    // A record that waits in a buffer is lost with the process.
    logger_.flush_on(spdlog::level::info);
    logger_.set_error_handler([this](const std::string& error) {
      if (const auto times = losses_.Note("audit")) {
        Log(LogLevel::kError, "a call is missing in the audit log",
            {{"reason", error}, {"times", *times}});
      }
    });
  }

  void Write(const AuditedCall& call) override {
    logger_.info(LineOf(call));
  }

 private:
  static spdlog::file_event_handlers Handlers() {
    spdlog::file_event_handlers handlers;
    handlers.after_open = LetOnlyTheOwnerRead;
    return handlers;
  }

  spdlog::logger logger_;
  SparseKinds losses_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<AuditLog>> AuditLog::Open(
    const AuditLogOptions& options) {
  try {
    return std::make_unique<RotatingAuditLog>(options);
  } catch (const spdlog::spdlog_ex& error) {
    return absl::InvalidArgumentError(
        absl::StrCat("--audit_log: ", options.file, ": ", error.what()));
  }
}

}  // namespace tangram
