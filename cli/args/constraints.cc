#include "cli/args/constraints.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "common/base/field_error.h"
#include "common/base/status_macros.h"
#include "formats/config/nearest_name.h"
#include "formats/import_cluster/hostlist.h"
#include "frameworks/framework_table.h"

namespace tangram {
namespace {

constexpr struct {
  absl::string_view field;
  absl::string_view option;
} kOptions[] = {
    {"cp_degrees", "--cp"},
    {"dp_degrees", "--dp"},
    {"ep_degree", "--ep"},
    {"exclude_islands", "--exclude-island"},
    {"exclude_nodes", "--exclude-node"},
    {"max_stages", "--max-stages"},
    {"pins", "--pin"},
    {"pp_degree", "--pp"},
    {"recompute", "--recompute"},
    {"runtime", "--runtime"},
    {"schedule", "--schedule"},
    {"tp_degrees", "--tp"},
    {"virtual_stages", "--vpp"},
    {"zero_degree", "--zero-degree"},
    {"zero_stage", "--zero"},
};

absl::Status Bad(const char* option, absl::string_view text,
                 absl::string_view advice, absl::string_view expected) {
  return FieldError(option, absl::StrCat(absl::Utf8SafeCEscape(text), advice),
                    expected);
}

absl::Status Bad(const char* option, absl::string_view text,
                 absl::string_view expected) {
  return Bad(option, text, /*advice=*/"", expected);
}

// Parses "a100=4" (a value for one island) or "4" (for all). The last "="
// separates, because names of islands may contain one.
absl::StatusOr<std::vector<IslandValue>> ParseValues(
    const char* option, const std::vector<std::string>& texts) {
  std::vector<IslandValue> values;
  for (const std::string& text : texts) {
    const size_t equals = text.rfind('=');
    IslandValue value;
    absl::string_view number = text;
    if (equals != std::string::npos) {
      value.island = text.substr(0, equals);
      number.remove_prefix(equals + 1);
    }
    const bool has_island = equals == std::string::npos || equals > 0;
    if (!has_island || !absl::SimpleAtoi(number, &value.value) ||
        value.value <= 0) {
      return Bad(option, text, "a positive integer, or <island>=<integer>");
    }
    values.push_back(std::move(value));
  }
  return values;
}

// Parses a layer as plans print it: "emb", "head", or the number of a
// transformer layer, from 1. Layer 0 is the embedding.
bool ParseLayer(absl::string_view text, int num_layers, int& layer) {
  if (text == "emb") {
    layer = 0;
  } else if (text == "head") {
    layer = num_layers - 1;
  } else {
    return absl::SimpleAtoi(text, &layer) && layer >= 0 && layer < num_layers;
  }
  return true;
}

// Parses "emb-11=a100" (a range of layers) or "7=0" (one layer on island 0).
absl::StatusOr<LayerPin> ParsePin(const std::string& text, int num_layers) {
  const size_t equals = text.find('=');
  LayerPin pin;
  if (equals != std::string::npos && equals + 1 < text.size()) {
    const absl::string_view layers = absl::string_view(text).substr(0, equals);
    const size_t dash = layers.find('-');
    const absl::string_view first = layers.substr(0, dash);
    const absl::string_view last =
        dash == absl::string_view::npos ? first : layers.substr(dash + 1);
    pin.island = text.substr(equals + 1);
    if (ParseLayer(first, num_layers, pin.first_layer) &&
        ParseLayer(last, num_layers, pin.last_layer) &&
        pin.first_layer <= pin.last_layer) {
      return pin;
    }
  }
  return Bad(
      "--pin", text,
      absl::StrCat("<first>-<last>=<island>, with layers from emb, 1 to ",
                   num_layers - 2, " and head"));
}

absl::StatusOr<std::optional<LayerRecompute>> ParseRecompute(
    const std::optional<std::string>& text) {
  if (!text.has_value()) return std::nullopt;
  for (const LayerRecompute recompute : kLayerRecomputes) {
    if (*text == RecomputeName(recompute)) return recompute;
  }
  return Bad("--recompute", *text, "none, selective or full");
}

absl::StatusOr<std::optional<PipelineSchedule>> ParseSchedule(
    const std::optional<std::string>& text) {
  if (!text.has_value()) return std::nullopt;
  const std::optional<PipelineSchedule> known = FindSchedule(*text);
  if (known.has_value()) return known;
  return Bad("--schedule", *text, ScheduleNames());
}

}  // namespace

absl::StatusOr<PlanConstraints> MakeConstraints(const ConstraintChoice& choice,
                                                int num_layers) {
  PlanConstraints constraints{.exclude_islands = choice.exclude_islands,
                              .runtime = choice.runtime};
  if (constraints.runtime.empty()) {
    constraints.runtime = kAutoRuntime;
  } else if (constraints.runtime == kAnyRuntime) {
    constraints.runtime.clear();
  } else if (constraints.runtime != kAutoRuntime &&
             !FindFramework(PlanningRuntimes(), kRuntimeField,
                            constraints.runtime)
                  .ok()) {
    std::vector<absl::string_view> names = {kAutoRuntime, kAnyRuntime};
    for (const Framework* framework : PlanningRuntimes()) {
      names.push_back(framework->name);
    }
    return Bad("--runtime", constraints.runtime,
               DidYouMean(constraints.runtime, names),
               absl::StrCat(kAutoRuntime, ", ", kAnyRuntime, " or one of ",
                            NamesOf(PlanningRuntimes())));
  }
  for (const std::string& nodes : choice.exclude_nodes) {
    const absl::StatusOr<std::vector<std::string>> names =
        ExpandHostlist(nodes);
    if (!names.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--exclude-node: ", names.status().message()));
    }
    constraints.exclude_nodes.insert(constraints.exclude_nodes.end(),
                                     names->begin(), names->end());
  }
  TANGRAM_ASSIGN_OR_RETURN(constraints.tp_degrees,
                           ParseValues("--tp", choice.tp_degrees));
  TANGRAM_ASSIGN_OR_RETURN(constraints.dp_degrees,
                           ParseValues("--dp", choice.dp_degrees));
  TANGRAM_ASSIGN_OR_RETURN(constraints.cp_degrees,
                           ParseValues("--cp", choice.cp_degrees));
  TANGRAM_ASSIGN_OR_RETURN(constraints.recompute,
                           ParseRecompute(choice.recompute));
  TANGRAM_ASSIGN_OR_RETURN(constraints.schedule,
                           ParseSchedule(choice.schedule));
  constraints.pp_degree = choice.pp_degree.value_or(0);
  constraints.ep_degree = choice.ep_degree.value_or(0);
  constraints.zero_stage = choice.zero_stage;
  constraints.zero_degree = choice.zero_degree.value_or(0);
  constraints.virtual_stages = choice.virtual_stages.value_or(0);
  TANGRAM_ASSIGN_OR_RETURN(constraints.max_stages,
                           ParseValues("--max-stages", choice.max_stages));
  for (const std::string& text : choice.pins) {
    TANGRAM_ASSIGN_OR_RETURN(constraints.pins.emplace_back(),
                             ParsePin(text, num_layers));
  }
  return constraints;
}

absl::Status NameOption(const absl::Status& error) {
  absl::string_view rest = error.message();
  if (!absl::ConsumePrefix(&rest, "constraints.")) return error;
  const absl::string_view field = rest.substr(0, rest.find_first_of(":[."));
  for (const auto& option : kOptions) {
    if (option.field != field) continue;
    // A list's index counts what was typed, and the message shows that.
    return absl::Status(
        error.code(), absl::StrCat(option.option, rest.substr(rest.find(':'))));
  }
  return error;
}

}  // namespace tangram
