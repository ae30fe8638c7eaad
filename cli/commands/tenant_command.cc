#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/commands/commands.h"
#include "cli/files/output_files.h"
#include "cli/files/plan_files.h"
#include "cli/print/answer_json.h"
#include "cli/print/done_json.h"
#include "cli/print/table.h"
#include "cli/remote/tenant_calls.h"
#include "common/base/format.h"
#include "common/base/status_macros.h"
#include "common/wire/message_json.h"

namespace tangram {
namespace {

std::string LimitText(int64_t limit) {
  return limit == 0 ? "none" : FormatThousands(limit);
}

void PrintUsageAsJson(const v1::TenantUsage& usage, Console& console) {
  // A limit of 0 is none, and has no field.
  const auto figure = [](int64_t has, int64_t limit) {
    nlohmann::ordered_json json = {{"has", has}};
    if (limit != 0) json["limit"] = limit;
    return json;
  };
  PrintJson({{"format_version", "tangram.tenant/v1"},
             {"tenant", usage.tenant()},
             {"unfinished_jobs",
              figure(usage.unfinished_jobs(), usage.max_unfinished_jobs())},
             {"ended_jobs", figure(usage.ended_jobs(), usage.max_ended_jobs())},
             {"stored_bytes",
              figure(usage.stored_bytes(), usage.max_stored_bytes())}},
            console);
}

// Prints "erased 2 jobs".
void PrintDone(const std::string& done, int64_t num_jobs, Console& console) {
  if (console.format == OutputFormat::kJson) {
    PrintDoneAsJson({.done = done, .what = "job", .count = num_jobs}, console);
    return;
  }
  console.out << done << " " << FormatItems(num_jobs, "job") << "\n";
}

}  // namespace

CommandResult Run(const TenantUsageOptions& options, Console& console) {
  TANGRAM_ASSIGN_OR_RETURN(const v1::TenantUsage usage,
                           GetTenantUsage(options.coordinator, options.tenant,
                                          StopCondition(std::nullopt)));
  if (console.format == OutputFormat::kJson) {
    PrintUsageAsJson(usage, console);
    return ExitCode::kOk;
  }
  Table table({{"tenant " + usage.tenant()},
               {"has", Table::kRight},
               {"limit", Table::kRight}});
  table.AddRow({"jobs that have not ended",
                FormatThousands(usage.unfinished_jobs()),
                LimitText(usage.max_unfinished_jobs())});
  table.AddRow({"ended jobs", FormatThousands(usage.ended_jobs()),
                LimitText(usage.max_ended_jobs())});
  table.AddRow({"bytes of jobs", FormatThousands(usage.stored_bytes()),
                LimitText(usage.max_stored_bytes())});
  console.out << table.ToString();
  return ExitCode::kOk;
}

CommandResult Run(const ExportTenantOptions& options, Console& console) {
  const bool is_file = !IsStandardOutput(options.output_file);
  if (is_file) TANGRAM_RETURN_IF_ERROR(CheckWritable(options.output_file));
  std::string lines;
  int64_t num_jobs = 0;
  const auto take = [&](const v1::TenantRecord& record) -> absl::Status {
    TANGRAM_ASSIGN_OR_RETURN(std::string line,
                             MessageToJson(record, DefaultValues::kLeaveOut));
    ++num_jobs;
    if (is_file) {
      absl::StrAppend(&lines, line, "\n");
    } else {
      console.out << line << "\n";
    }
    return absl::OkStatus();
  };
  TANGRAM_RETURN_IF_ERROR(ExportTenant(options.coordinator, options.tenant,
                                       StopCondition(std::nullopt), take));
  if (!is_file) return ExitCode::kOk;
  OutputFiles files;
  files.Add(options.output_file, std::move(lines));
  TANGRAM_RETURN_IF_ERROR(files.Write());
  PrintDone("exported", num_jobs, console);
  return ExitCode::kOk;
}

CommandResult Run(const EraseTenantOptions& options, Console& console) {
  if (!options.yes) {
    return absl::InvalidArgumentError(
        absl::StrCat("tenant erase: deletes all jobs of ", options.tenant,
                     " for good; expected --yes"));
  }
  TANGRAM_ASSIGN_OR_RETURN(const int64_t num_jobs,
                           EraseTenant(options.coordinator, options.tenant,
                                       StopCondition(std::nullopt)));
  PrintDone("erased", num_jobs, console);
  return ExitCode::kOk;
}

}  // namespace tangram
