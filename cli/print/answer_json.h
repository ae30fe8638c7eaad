#ifndef TANGRAM_CLI_PRINT_ANSWER_JSON_H_
#define TANGRAM_CLI_PRINT_ANSWER_JSON_H_

#include "absl/status/status.h"
#include "cli/print/console.h"
#include "cli/print/print_answer.h"
#include "nlohmann/json.hpp"

namespace tangram {

// Prints a JSON answer in the layout of plan files.
void PrintJson(const nlohmann::ordered_json& json, Console& console);

// Returns what is assumed of a cluster, as part of an answer.
nlohmann::ordered_json AssumptionsJson(const Cluster& cluster);

// Returns an answer as tangram.answer/v1 without the plan file.
nlohmann::ordered_json AnswerJson(const AnswerView& view);

// Prints an answer as tangram.answer/v1 (docs/json.md). The plan file is part
// of it unless the headline alone was asked for. Errors: kInternal, if the plan
// file cannot be written as JSON.
absl::Status PrintAnswerAsJson(const AnswerView& view, Console& console);

}  // namespace tangram

#endif  // TANGRAM_CLI_PRINT_ANSWER_JSON_H_
