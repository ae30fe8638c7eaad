#ifndef TANGRAM_CLI_PRINT_DONE_JSON_H_
#define TANGRAM_CLI_PRINT_DONE_JSON_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "cli/print/console.h"
#include "tangram/v1/job_service.pb.h"

// The JSON answers of commands that do something (docs/json.md).
namespace tangram {

// Something that was done to a number of things. `names` may be empty: not
// known.
struct DoneAnswer {
  std::string done;  // "deleted"
  std::string what;  // "job"
  int64_t count = 0;
  std::vector<std::string> names = {};
  std::vector<std::string> notes = {};
};

// Prints it as tangram.done/v1.
void PrintDoneAsJson(const DoneAnswer& answer, Console& console);

// Prints jobs as tangram.jobs/v1.
void PrintJobsAsJson(absl::Span<const v1::Job> jobs, Console& console);

}  // namespace tangram

#endif  // TANGRAM_CLI_PRINT_DONE_JSON_H_
