#include "common/obs/log.h"

#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/base/printable_text.h"
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

// Longer texts are cut, so that nobody can fill the disk with one line.
constexpr size_t kMaxLoggedBytes = 1 << 12;

constexpr absl::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// Returns `text` in quotes. JSON must be UTF-8, so bytes that are not become
// U+FFFD.
std::string JsonString(absl::string_view text) {
  std::string out = "\"";
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    const size_t size = Utf8Bytes(text.substr(i));
    if (size == 0) {
      absl::StrAppend(&out, kReplacement);
    } else if (c == '"' || c == '\\') {
      out.push_back('\\');
      out.push_back(c);
    } else if (size == 1 && c < 0x20) {
      absl::StrAppendFormat(&out, "\\u%04x", c);
    } else {
      absl::StrAppend(&out, text.substr(i, size));
    }
    i += std::max<size_t>(size, 1);
  }
  out.push_back('"');
  return out;
}

// Logs a library's errors, each place in its code at most once a minute.
// Callers can cause any number of them.
void LogFromLibrary(absl::string_view library, absl::string_view message,
                    absl::string_view file, int line) {
  static SparseKinds& errors = *new SparseKinds();
  const auto times = errors.Note(absl::StrCat(file, ":", line));
  if (!times.has_value()) return;
  Log(LogLevel::kWarning, message, {{"source", library}, {"times", *times}});
}

// Errors are about connections that gRPC will restore.
void LogFromGrpc(gpr_log_func_args* args) {
  if (args->severity == GPR_LOG_SEVERITY_ERROR) {
    LogFromLibrary("grpc", args->message, args->file, args->line);
  } else {
    Log(LogLevel::kDebug, args->message, {{"source", "grpc"}});
  }
}

// Errors are about messages that it refuses to read.
void LogFromProtobuf(google::protobuf::LogLevel /*level*/, const char* file,
                     int line, const std::string& message) {
  LogFromLibrary("protobuf", message, file, line);
}

// Returns whether a value would run into its neighbours or start a new line.
bool NeedsQuotes(absl::string_view value) {
  return std::any_of(value.begin(), value.end(), [](unsigned char c) {
    return c <= ' ' || c == '"' || c == 0x7f;
  });
}

}  // namespace

// Callers and workers choose some texts.
LogField::LogField(absl::string_view name, absl::string_view text)
    : name_(name),
      value_(text.size() <= kMaxLoggedBytes
                 ? std::string(text)
                 : absl::StrCat(text.substr(0, kMaxLoggedBytes), "... (",
                                text.size(), " bytes)")),
      is_number_(false) {}
LogField::LogField(absl::string_view name, int64_t number)
    : name_(name), value_(absl::StrCat(number)), is_number_(true) {}
LogField::LogField(absl::string_view name, double number)
    : name_(name),
      value_(absl::StrFormat("%.6g", number)),
      // Infinity and NaN are strings, because JSON has neither.
      is_number_(std::isfinite(number)) {}

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
  google::protobuf::SetLogHandler(LogFromProtobuf);
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
  return EscapedControls(line);
}

}  // namespace tangram
