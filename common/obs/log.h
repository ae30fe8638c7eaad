#ifndef TANGRAM_COMMON_OBS_LOG_H_
#define TANGRAM_COMMON_OBS_LOG_H_

#include <cstdint>
#include <initializer_list>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

// Structured log lines on standard error, as text or as one JSON object a line.
// The process has one log. Nothing is written before StartLog.
namespace tangram {

enum class LogFormat { kText, kJson };
enum class LogLevel { kDebug, kInfo, kWarning, kError };

absl::StatusOr<LogFormat> ParseLogFormat(absl::string_view text);
absl::StatusOr<LogLevel> ParseLogLevel(absl::string_view text);

class LogField {
 public:
  LogField(absl::string_view name, absl::string_view text);
  LogField(absl::string_view name, const char* text)
      : LogField(name, absl::string_view(text)) {}
  LogField(absl::string_view name, const std::string& text)
      : LogField(name, absl::string_view(text)) {}
  LogField(absl::string_view name, int64_t number);
  LogField(absl::string_view name, int number)
      : LogField(name, int64_t{number}) {}
  LogField(absl::string_view name, double number);

  const std::string& name() const { return name_; }
  const std::string& value() const { return value_; }
  bool is_number() const { return is_number_; }

 private:
  std::string name_;
  std::string value_;
  bool is_number_;
};
using LogFields = std::initializer_list<LogField>;

// Starts the log. Also takes over the lines that gRPC and Protocol Buffers
// would write themselves.
void StartLog(LogFormat format, LogLevel level);

// Returns whether Log writes lines of this level. Callers check it before they
// gather fields at a cost.
bool IsLogged(LogLevel level);

void Log(LogLevel level, absl::string_view message, LogFields fields = {});

// Returns a line without time and level. For Log and tests.
std::string FormatLogLine(LogFormat format, absl::string_view message,
                          LogFields fields);

}  // namespace tangram

#endif  // TANGRAM_COMMON_OBS_LOG_H_
