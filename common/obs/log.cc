#include "common/obs/log.h"

#include <grpc/support/log.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/obs/sparse_warning.h"

namespace tangram {
namespace {

constexpr char kTextPattern[] = "%Y-%m-%dT%H:%M:%S.%eZ %l %v";
constexpr char kJsonPattern[] =
    R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l",%v})";

std::atomic<bool> started = false;
std::atomic<LogFormat> log_format = LogFormat::kText;

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

std::string JsonString(absl::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out.push_back('\\');
      out.push_back(c);
    } else if (static_cast<unsigned char>(c) < 0x20) {
      absl::StrAppendFormat(&out, "\\u%04x", static_cast<unsigned char>(c));
    } else {
      out.push_back(c);
    }
  }
  out.push_back('"');
  return out;
}

// gRPC's errors are about connections that it will make again, and callers can
// cause as many as they like: they are told sparsely, by where they arise.
void LogFromGrpc(gpr_log_func_args* args) {
  if (args->severity != GPR_LOG_SEVERITY_ERROR) {
    Log(LogLevel::kDebug, args->message, {{"source", "grpc"}});
    return;
  }
  static SparseKinds& errors = *new SparseKinds();
  const auto times = errors.Note(absl::StrCat(args->file, ":", args->line));
  if (!times.has_value()) return;
  Log(LogLevel::kWarning, args->message,
      {{"source", "grpc"}, {"times", *times}});
}

// Whether a value would run into its neighbours, or make a line of its own.
bool NeedsQuotes(absl::string_view value) {
  return std::any_of(value.begin(), value.end(), [](unsigned char c) {
    return c <= ' ' || c == '"' || c == 0x7f;
  });
}

}  // namespace

LogField::LogField(absl::string_view name, absl::string_view text)
    : name_(name), value_(text), is_number_(false) {}
LogField::LogField(absl::string_view name, int64_t number)
    : name_(name), value_(absl::StrCat(number)), is_number_(true) {}
LogField::LogField(absl::string_view name, double number)
    : name_(name), value_(absl::StrFormat("%.6g", number)), is_number_(true) {}

absl::StatusOr<LogFormat> ParseLogFormat(absl::string_view text) {
  if (text == "text") return LogFormat::kText;
  if (text == "json") return LogFormat::kJson;
  return absl::InvalidArgumentError(
      absl::StrCat("log format: \"", text, "\"; expected text or json"));
}

absl::StatusOr<LogLevel> ParseLogLevel(absl::string_view text) {
  if (text == "debug") return LogLevel::kDebug;
  if (text == "info") return LogLevel::kInfo;
  if (text == "warning") return LogLevel::kWarning;
  if (text == "error") return LogLevel::kError;
  return absl::InvalidArgumentError(absl::StrCat(
      "log level: \"", text, "\"; expected debug, info, warning or error"));
}

void StartLog(LogFormat format, LogLevel level) {
  log_format = format;
  auto logger = std::make_shared<spdlog::logger>(
      "tangram", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_pattern(format == LogFormat::kJson ? kJsonPattern : kTextPattern,
                      spdlog::pattern_time_type::utc);
  logger->set_level(ToSpdlog(level));
  logger->flush_on(spdlog::level::debug);
  spdlog::set_default_logger(std::move(logger));
  gpr_set_log_function(LogFromGrpc);
  started = true;
}

bool IsLogged(LogLevel level) {
  return started && spdlog::should_log(ToSpdlog(level));
}

void Log(LogLevel level, absl::string_view message, LogFields fields) {
  if (!IsLogged(level)) return;
  spdlog::default_logger_raw()->log(
      ToSpdlog(level),
      spdlog::string_view_t(FormatLogLine(log_format, message, fields)));
}

std::string FormatLogLine(LogFormat format, absl::string_view message,
                          LogFields fields) {
  if (format == LogFormat::kJson) {
    std::string line = absl::StrCat("\"message\":", JsonString(message));
    for (const LogField& field : fields) {
      absl::StrAppend(
          &line, ",", JsonString(field.name()), ":",
          field.is_number() ? field.value() : JsonString(field.value()));
    }
    return line;
  }
  std::string line(message);
  for (const LogField& field : fields) {
    absl::StrAppend(
        &line, " ", field.name(), "=",
        NeedsQuotes(field.value()) ? JsonString(field.value()) : field.value());
  }
  return line;
}

}  // namespace tangram
