#include "cli/print/frontier_json.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "common/base/status_macros.h"
#include "nlohmann/json.hpp"

namespace tangram {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kFormat[] = "tangram.frontier/v1";

Json NodesOf(const Frontier& frontier, const FrontierPoint& point) {
  Json nodes = Json::object();
  for (size_t g = 0; g < frontier.groups.size(); ++g) {
    nodes[frontier.groups[g]] = point.nodes[g];
  }
  return nodes;
}

const char* StateName(AllocationAnswer::State state) {
  switch (state) {
    case AllocationAnswer::State::kPlanned:
      return "planned";
    case AllocationAnswer::State::kNoPlan:
      return "no_plan";
    case AllocationAnswer::State::kPending:
      return "pending";
  }
  return "";
}

// The figures with their names in JSON and in CSV, in order.
std::vector<std::pair<const char*, std::optional<double>>> OptionalFigures(
    const ObjectiveValues& values) {
  return {{"hours", values.hours},
          {"hours_at_certainty", values.hours_at_certainty},
          {"price_per_hour", values.price_per_hour},
          {"price_per_iteration", values.price_per_iteration},
          {"price_per_million_tokens", values.price_per_million_tokens},
          {"tokens_per_price", values.tokens_per_price},
          {"total_price", values.total_price},
          {"kwh_per_iteration", values.kwh_per_iteration},
          {"kwh_per_million_tokens", values.kwh_per_million_tokens},
          {"grams_co2_per_million_tokens", values.grams_per_million_tokens},
          {"checkpoint_interval_s", values.checkpoint_interval_s}};
}

void AddPlanned(const Frontier& frontier, const FrontierPoint& point,
                Json& view) {
  const AllocationAnswer& answer = point.answer;
  const ObjectiveValues& values = point.values;
  view["iteration_time_s"] = answer.iteration_time_s;
  view["tokens_per_s"] = values.tokens_per_s;
  view["memory_fraction"] = answer.memory_fraction;
  view["gpus_used"] = answer.num_gpus;
  view["stages"] = answer.num_stages;
  Json busy = Json::object();
  for (size_t g = 0; g < answer.busy_gpu_s.size(); ++g) {
    busy[frontier.groups[g]] = answer.busy_gpu_s[g];
  }
  view["busy_gpu_s"] = std::move(busy);
  if (answer.band_high > 0) view["band_high"] = answer.band_high;
  view["progress"] = values.progress;
  for (const auto& [name, value] : OptionalFigures(values)) {
    if (value.has_value()) view[name] = *value;
  }
  if (!answer.plan_id.empty()) {
    view["plan_id"] = absl::BytesToHexString(answer.plan_id);
  }
}

Json View(const Frontier& frontier, const FrontierPoint& point) {
  Json view = {{"nodes", NodesOf(frontier, point)},
               {"gpus", point.num_gpus},
               {"state", StateName(point.answer.state)}};
  if (point.has_plan()) {
    AddPlanned(frontier, point, view);
  } else if (!point.answer.why_none.empty()) {
    view["reason"] = point.answer.why_none;
  }
  return view;
}

std::string Dump(const Json& json, int indent) {
  return json.dump(indent, ' ', /*ensure_ascii=*/false,
                   Json::error_handler_t::replace);
}

// Quotes a cell that has a separator, by RFC 4180.
std::string CsvCell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
}

std::string Number(const std::optional<double>& value) {
  return value.has_value() ? absl::StrFormat("%.17g", *value) : std::string();
}

// Reads a frontier, and says what is wrong with it.
class Reader {
 public:
  explicit Reader(std::string file) : file_(std::move(file)) {}

  absl::StatusOr<Frontier> Read(absl::string_view text) const {
    const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object() || !json.contains("format_version") ||
        json["format_version"] != kFormat) {
      return Wrong("format_version", kFormat);
    }
    Frontier frontier;
    TANGRAM_RETURN_IF_ERROR(ReadGroups(json, frontier));
    const auto tokens = json.find("tokens_per_iteration");
    if (tokens == json.end() || !tokens->is_number_integer() ||
        tokens->get<int64_t>() < 1) {
      return Wrong("tokens_per_iteration", "a positive integer");
    }
    frontier.terms.tokens_per_iteration = tokens->get<int64_t>();
    const auto points = json.find("allocations");
    if (points == json.end() || !points->is_array() || points->empty()) {
      return Wrong("allocations", "a list that is not empty");
    }
    for (size_t i = 0; i < points->size(); ++i) {
      TANGRAM_RETURN_IF_ERROR(ReadPoint(absl::StrCat("allocations[", i, "]"),
                                        (*points)[i], frontier));
    }
    std::sort(frontier.points.begin(), frontier.points.end(),
              [](const FrontierPoint& a, const FrontierPoint& b) {
                return a.nodes < b.nodes;
              });
    for (size_t i = 1; i < frontier.points.size(); ++i) {
      if (frontier.points[i - 1].nodes == frontier.points[i].nodes) {
        return Wrong("allocations", "each allocation once");
      }
    }
    return frontier;
  }

 private:
  absl::Status Wrong(absl::string_view field,
                     absl::string_view expected) const {
    return absl::InvalidArgumentError(
        absl::StrCat(file_, ": ", field, "; expected ", expected));
  }

  absl::Status ReadGroups(const Json& json, Frontier& frontier) const {
    const auto groups = json.find("groups");
    const auto gpus = json.find("gpus_per_node");
    if (groups == json.end() || !groups->is_array() || groups->empty()) {
      return Wrong("groups", "a list of names");
    }
    if (gpus == json.end() || !gpus->is_object()) {
      return Wrong("gpus_per_node", "the GPUs in a node of each group");
    }
    Json devices = Json::object();
    if (json.contains("devices") && json["devices"].is_object()) {
      devices = json["devices"];
    }
    std::set<std::string> seen;
    for (const Json& group : *groups) {
      if (!group.is_string() || !seen.insert(group.get<std::string>()).second) {
        return Wrong("groups", "different names");
      }
      const auto count = gpus->find(group.get<std::string>());
      if (count == gpus->end() || !count->is_number_integer() ||
          count->get<int64_t>() < 1 || count->get<int64_t>() > 1'000'000) {
        return Wrong(absl::StrCat("gpus_per_node.", group.get<std::string>()),
                     "a positive integer");
      }
      frontier.groups.push_back(group);
      const auto device = devices.find(group.get<std::string>());
      frontier.devices.push_back(device == devices.end() || !device->is_string()
                                     ? std::string()
                                     : device->get<std::string>());
      frontier.terms.groups.push_back({.gpus_per_node = *count});
    }
    return absl::OkStatus();
  }

  // Reads a finite number of at least `least`.
  absl::StatusOr<double> ReadNumber(const std::string& at, const Json& json,
                                    const char* name, double least) const {
    const auto it = json.find(name);
    if (it == json.end() || !it->is_number() || !(it->get<double>() >= least) ||
        !std::isfinite(it->get<double>())) {
      return Wrong(absl::StrCat(at, ".", name),
                   absl::StrCat("a number of at least ", least));
    }
    return it->get<double>();
  }

  absl::Status ReadPoint(const std::string& at, const Json& json,
                         Frontier& frontier) const {
    if (!json.is_object()) return Wrong(at, "an object");
    FrontierPoint& point = frontier.points.emplace_back();
    const auto nodes = json.find("nodes");
    if (nodes == json.end() || !nodes->is_object()) {
      return Wrong(absl::StrCat(at, ".nodes"), "numbers by group");
    }
    for (size_t g = 0; g < frontier.groups.size(); ++g) {
      const auto count = nodes->find(frontier.groups[g]);
      if (count == nodes->end() || !count->is_number_integer() ||
          count->get<int64_t>() < 0 || count->get<int64_t>() > 1'000'000) {
        return Wrong(absl::StrCat(at, ".nodes.", frontier.groups[g]),
                     "a number of nodes");
      }
      point.nodes.push_back(*count);
      point.num_gpus += point.nodes[g] * frontier.terms.groups[g].gpus_per_node;
    }
    const std::string state = json.value("state", Json()).is_string()
                                  ? json["state"].get<std::string>()
                                  : "";
    AllocationAnswer& answer = point.answer;
    if (state == "planned") {
      answer.state = AllocationAnswer::State::kPlanned;
      return ReadPlanned(at, json, frontier, answer);
    }
    if (state != "no_plan" && state != "pending") {
      return Wrong(absl::StrCat(at, ".state"), "planned, no_plan or pending");
    }
    if (state == "no_plan") answer.state = AllocationAnswer::State::kNoPlan;
    if (json.contains("reason") && json["reason"].is_string()) {
      answer.why_none = json["reason"];
    }
    return absl::OkStatus();
  }

  absl::Status ReadPlanned(const std::string& at, const Json& json,
                           const Frontier& frontier,
                           AllocationAnswer& answer) const {
    TANGRAM_ASSIGN_OR_RETURN(answer.iteration_time_s,
                             ReadNumber(at, json, "iteration_time_s", 1e-12));
    TANGRAM_ASSIGN_OR_RETURN(answer.memory_fraction,
                             ReadNumber(at, json, "memory_fraction", 0));
    TANGRAM_ASSIGN_OR_RETURN(const double gpus,
                             ReadNumber(at, json, "gpus_used", 1));
    TANGRAM_ASSIGN_OR_RETURN(const double stages,
                             ReadNumber(at, json, "stages", 1));
    answer.num_gpus = static_cast<int>(std::min(gpus, 1e9));
    answer.num_stages = static_cast<int>(std::min(stages, 1e9));
    if (json.contains("band_high")) {
      TANGRAM_ASSIGN_OR_RETURN(answer.band_high,
                               ReadNumber(at, json, "band_high", 0));
    }
    // Frontiers of earlier versions lack it.
    const auto busy = json.find("busy_gpu_s");
    if (busy == json.end()) return absl::OkStatus();
    for (const std::string& group : frontier.groups) {
      TANGRAM_ASSIGN_OR_RETURN(
          answer.busy_gpu_s.emplace_back(),
          ReadNumber(absl::StrCat(at, ".busy_gpu_s"), *busy, group.c_str(), 0));
    }
    return absl::OkStatus();
  }

  const std::string file_;
};

}  // namespace

std::string FrontierPointAsLine(const Frontier& frontier,
                                const FrontierPoint& point) {
  return absl::StrCat(Dump(View(frontier, point), -1), "\n");
}

std::string FrontierAsJson(const Frontier& frontier, const FrontierWork& work) {
  Json points = Json::array();
  for (const FrontierPoint& point : frontier.points) {
    Json view = View(frontier, point);
    if (point.has_plan()) {
      view["on_front"] = point.on_front;
      view["on_wide_front"] = point.on_wide_front;
      view["knee"] = point.is_knee;
    }
    if (point.envelope_s.has_value()) {
      view["envelope_s"] = *point.envelope_s;
      view["envelope_at"] =
          NodesOf(frontier, frontier.points[point.envelope_at]);
    }
    points.push_back(std::move(view));
  }
  Json choices = Json::object();
  for (const FrontierChoice& choice : ChoicesOf(frontier)) {
    choices[choice.key] =
        choice.point == nullptr ? Json() : NodesOf(frontier, *choice.point);
  }
  Json gpus = Json::object();
  Json devices = Json::object();
  for (size_t g = 0; g < frontier.groups.size(); ++g) {
    gpus[frontier.groups[g]] = frontier.terms.groups[g].gpus_per_node;
    devices[frontier.groups[g]] = frontier.devices[g];
  }
  Json view = {{"format_version", kFormat},
               {"groups", frontier.groups},
               {"gpus_per_node", std::move(gpus)},
               {"devices", std::move(devices)},
               {"tokens_per_iteration", frontier.terms.tokens_per_iteration}};
  if (work.slice_queries.has_value()) {
    view["slice_queries"] = *work.slice_queries;
  }
  if (work.from_cache > 0) view["from_cache"] = work.from_cache;
  view["choices"] = std::move(choices);
  view["allocations"] = std::move(points);
  constexpr int kIndent = 2;  // As in plan files.
  return absl::StrCat(Dump(view, kIndent), "\n");
}

std::string FrontierAsCsv(const Frontier& frontier) {
  std::vector<std::string> header;
  for (const std::string& group : frontier.groups) {
    header.push_back(CsvCell(absl::StrCat("nodes_", group)));
  }
  for (const char* name : {"gpus", "state", "iteration_time_s", "tokens_per_s",
                           "memory_fraction", "envelope_s", "on_front"}) {
    header.emplace_back(name);
  }
  for (const auto& [name, none] : OptionalFigures({}))
    header.emplace_back(name);
  for (const char* name : {"progress", "on_wide_front", "knee", "reason"}) {
    header.emplace_back(name);
  }
  std::string csv = absl::StrJoin(header, ",") + "\r\n";
  for (const FrontierPoint& point : frontier.points) {
    const bool planned = point.has_plan();
    const auto flag = [planned](bool value) {
      return !planned ? "" : value ? "1" : "0";
    };
    const auto if_planned = [planned](double value) {
      return Number(planned ? std::make_optional(value) : std::nullopt);
    };
    std::vector<std::string> row;
    for (const int nodes : point.nodes) row.push_back(absl::StrCat(nodes));
    row.push_back(absl::StrCat(point.num_gpus));
    row.emplace_back(StateName(point.answer.state));
    row.push_back(if_planned(point.answer.iteration_time_s));
    row.push_back(if_planned(point.values.tokens_per_s));
    row.push_back(if_planned(point.answer.memory_fraction));
    row.push_back(Number(point.envelope_s));
    row.emplace_back(flag(point.on_front));
    for (const auto& [name, value] : OptionalFigures(point.values)) {
      row.push_back(Number(value));
    }
    row.push_back(if_planned(point.values.progress));
    row.emplace_back(flag(point.on_wide_front));
    row.emplace_back(flag(point.is_knee));
    row.push_back(CsvCell(point.answer.why_none));
    absl::StrAppend(&csv, absl::StrJoin(row, ","), "\r\n");
  }
  return csv;
}

absl::StatusOr<Frontier> FrontierFromJson(absl::string_view text,
                                          const std::string& file) {
  return Reader(file).Read(text);
}

}  // namespace tangram
