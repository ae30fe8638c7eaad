#ifndef TANGRAM_CLI_COMMANDS_ANSWER_H_
#define TANGRAM_CLI_COMMANDS_ANSWER_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/args/options.h"
#include "cli/print/print_answer.h"

namespace tangram {

// Returns what is printed about the plan of `file`, which is evaluated and
// valid on its cluster, or about the reason why there is none. It takes two
// evaluations for each guess, unless `answer.detail` is kBrief. `plan_path` is
// where the plan is written; empty: nowhere. kInvalidArgument names --prices.
// The view refers to `file`.
absl::StatusOr<AnswerView> ViewOf(const PlanFile& file,
                                  const AnswerChoice& answer,
                                  const std::string& plan_path);

// Prints that view.
absl::Status PrintAnswerOf(const PlanFile& file, const AnswerChoice& answer,
                           const std::string& plan_path, Console& console);

}  // namespace tangram

#endif  // TANGRAM_CLI_COMMANDS_ANSWER_H_
