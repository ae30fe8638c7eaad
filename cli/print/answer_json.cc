#include "cli/print/answer_json.h"

#include <string>
#include <utility>
#include <vector>

#include "cli/print/plan_figures.h"
#include "common/base/status_macros.h"
#include "common/wire/allocation_answer.h"
#include "formats/config/memory_margin.h"

namespace tangram {
namespace {

using Json = nlohmann::ordered_json;

Json TrainingJson(const AnswerView& view) {
  const TrainingNeeds needs = NeedsOf(view);
  Json training = {{"tokens", needs.tokens},
                   {"hours", needs.hours},
                   {"gpu_hours", needs.hours * needs.num_gpus}};
  if (view.price_per_hour) {
    training["price"] = needs.hours * *view.price_per_hour;
  }
  if (view.price_per_hour_of_all) {
    training["price_of_all_nodes"] = needs.hours * *view.price_per_hour_of_all;
  }
  return training;
}

Json MemoryJson(const AnswerView& view,
                const std::vector<EvaluatedPlan>& pipelines) {
  bool fits = true;
  for (const EvaluatedPlan& pipeline : pipelines) {
    fits = fits && pipeline.evaluation.violations.empty();
  }
  const Fullest fullest = FullestOf(pipelines);
  Json memory = {{"fits", fits}};
  if (fullest.stage == nullptr) return memory;
  memory["fullest"] = fullest.name;
  memory["peak_bytes"] = fullest.stage->peak_bytes;
  memory["usable_bytes"] = fullest.stage->capacity_bytes;
  memory["real_bytes"] =
      fullest.stage->capacity_bytes / (1 - MemoryMarginOf(view.file.cluster));
  return memory;
}

Json FrameworksJson(const AnswerView& view) {
  Json frameworks = Json::array();
  for (const PlanTaker& taker : view.takers) {
    frameworks.push_back({{"name", taker.framework},
                          {"reads_data", taker.reads_data},
                          {"losses", taker.losses},
                          {"command", ExportCommand(taker, view.plan_path)}});
  }
  return frameworks;
}

Json GuessesJson(const AnswerView& view) {
  Json guesses = Json::array();
  for (const GuessEffect& effect : view.guesses) {
    guesses.push_back({{"name", effect.guess.name},
                       {"value", effect.guess.value},
                       {"source", effect.guess.source},
                       {"between_groups", effect.guess.between_groups},
                       {"change_if_less", effect.if_less},
                       {"change_if_more", effect.if_more}});
  }
  return guesses;
}

}  // namespace

void PrintJson(const Json& json, Console& console) {
  constexpr int kIndent = 2;  // As in plan files.
  console.out << json.dump(kIndent, ' ', /*ensure_ascii=*/false,
                           Json::error_handler_t::replace)
              << "\n";
}

Json AssumptionsJson(const Cluster& cluster) {
  Json assumptions = Json::array();
  for (const Assumption& assumption : cluster.assumptions) {
    assumptions.push_back({{"field", assumption.field},
                           {"value", assumption.value},
                           {"source", assumption.source}});
  }
  return assumptions;
}

Json AnswerJson(const AnswerView& view) {
  const PlanResult& result = view.file.result;
  Json answer = {{"format_version", "tangram.answer/v1"},
                 {"has_plan", result.has_plan()}};
  if (result.has_plan()) {
    const std::vector<EvaluatedPlan> pipelines = PipelinesOf(result);
    answer["iteration_time_s"] = result.iteration_time_s();
    if (result.band) {
      answer["iteration_time_low_s"] =
          result.iteration_time_s() * result.band->time.low;
      answer["iteration_time_high_s"] =
          result.iteration_time_s() * result.band->time.high;
    }
    answer["tokens_per_s"] = TokensPerSecond(result);
    answer["training"] = TrainingJson(view);
    answer["memory"] = MemoryJson(view, pipelines);
    answer["frameworks"] = FrameworksJson(view);
    answer["guesses"] = GuessesJson(view);
  } else {
    answer["reason"] = WhyNone(view.file);
  }
  return answer;
}

absl::Status PrintAnswerAsJson(const AnswerView& view, Console& console) {
  Json answer = AnswerJson(view);
  if (view.detail != Detail::kBrief) {
    TANGRAM_ASSIGN_OR_RETURN(const std::string text, PlanFileToJson(view.file));
    Json plan = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (plan.is_discarded()) {
      return absl::InternalError("the plan file is no JSON");
    }
    answer["plan_file"] = std::move(plan);
  }
  PrintJson(answer, console);
  return absl::OkStatus();
}

}  // namespace tangram
