#ifndef TANGRAM_CLI_PRINT_PRINT_ANSWER_H_
#define TANGRAM_CLI_PRINT_PRINT_ANSWER_H_

#include <optional>
#include <string>
#include <vector>

#include "cli/args/detail.h"
#include "cli/print/console.h"
#include "common/sim/guesses.h"
#include "common/wire/plan_file.h"
#include "frameworks/export_plan.h"

namespace tangram {

// An answer to print, and what is known around it. Refers to the file.
struct AnswerView {
  const PlanFile& file;
  std::string plan_path;  // The written plan; empty: there is none.
  // The frameworks that run the plan as it is.
  std::vector<PlanTaker> takers;
  // The fastest framework on the user's data, if none of `takers` reads it.
  // Null: none is known.
  const PlanAlternative* on_own_data = nullptr;
  std::vector<GuessEffect> guesses;      // As EffectsOf orders them.
  std::optional<double> tokens;          // To train; empty: not said.
  std::optional<double> price_per_hour;  // The nodes that the plan uses.
  // All nodes, as a frontier counts them.
  std::optional<double> price_per_hour_of_all;
  Detail detail = Detail::kUsual;
};

// Time and GPUs that training on the tokens takes.
struct TrainingNeeds {
  double tokens = 0;
  double hours = 0;
  int num_gpus = 0;
};
// The file of `view` must have a plan.
TrainingNeeds NeedsOf(const AnswerView& view);

// Returns the command that writes the launch files for `taker`. An empty
// `plan_path` stands for plan.json.
std::string ExportCommand(const PlanTaker& taker, const std::string& plan_path);

// Prints the request and the headline: time, tokens, what a training takes,
// memory, framework and the next command; or why no plan fits.
void PrintHeadline(const AnswerView& view, Console& console);

// Prints the whole answer: the headline, islands, stages, the guesses that
// matter, other frameworks and notes.
void PrintAnswer(const AnswerView& view, Console& console);

}  // namespace tangram

#endif  // TANGRAM_CLI_PRINT_PRINT_ANSWER_H_
