#include "common/obs/audit_log.h"

#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/obs/clocks.h"
#include "common/obs/log.h"
#include "common/obs/sparse_warning.h"
#include "common/sync/mutex.h"

namespace tangram {
namespace {

constexpr char kAuditPattern[] = R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ",%v})";
// A file that cannot be opened is tried again after this time, because spdlog
// takes 50 ms to find out.
constexpr double kReopenIntervalS = 1;

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
      : options_(options), logger_("audit", OpenFile()) {
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
    const MutexLock lock(mutex_);
    FollowName();
    logger_.info(LineOf(call));
  }

 private:
  std::shared_ptr<spdlog::sinks::sink> OpenFile() {
    spdlog::file_event_handlers handlers;
    // Also for the files that follow when one is full.
    handlers.after_open = [this](const spdlog::filename_t& /*name*/,
                                 std::FILE* stream) {
      fchmod(fileno(stream), S_IRUSR | S_IWUSR);
      fstat(fileno(stream), &opened_);
    };
    return std::make_shared<spdlog::sinks::rotating_file_sink_mt>(
        options_.file, options_.max_bytes, options_.max_old_files,
        /*rotate_on_open=*/false, handlers);
  }

  // Opens the file again if another program has removed or renamed it.
  // Otherwise the lines would go where nobody finds them.
  void FollowName() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    struct stat named = {};
    if (stat(options_.file.c_str(), &named) == 0 &&
        named.st_dev == opened_.st_dev && named.st_ino == opened_.st_ino) {
      return;
    }
    if (SteadySeconds() < retry_s_) return;
    try {
      logger_.sinks().front() = OpenFile();
      logger_.set_pattern(kAuditPattern, spdlog::pattern_time_type::utc);
    } catch (const spdlog::spdlog_ex& error) {
      retry_s_ = SteadySeconds() + kReopenIntervalS;
      if (const auto times = losses_.Note("reopen")) {
        Log(LogLevel::kError, "the audit log cannot be opened again",
            {{"reason", error.what()}, {"times", *times}});
      }
    }
  }

  const AuditLogOptions options_;
  Mutex mutex_;
  // The file that is open. Written where the logger opens one, with the lock
  // or before there is another thread.
  struct stat opened_ = {};
  double retry_s_ ABSL_GUARDED_BY(mutex_) = 0;
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
