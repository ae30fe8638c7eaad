#include "cli/print/frontier.h"

#include <functional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/base/status_macros.h"
#include "coordinator/planners/frontier/allocation_list.h"
#include "coordinator/planners/frontier/fronts.h"

namespace tangram {
namespace {

absl::Status AddEnvelope(Frontier& frontier) {
  std::vector<Allocation> allocations;
  std::vector<std::optional<double>> seconds;
  for (const FrontierPoint& point : frontier.points) {
    allocations.push_back(point.nodes);
    seconds.emplace_back();
    if (point.has_plan()) seconds.back() = point.answer.iteration_time_s;
  }
  TANGRAM_ASSIGN_OR_RETURN(const auto envelope,
                           EnvelopeOf(allocations, seconds));
  for (size_t i = 0; i < envelope.size(); ++i) {
    if (!envelope[i].has_value()) continue;
    frontier.points[i].envelope_s = envelope[i]->seconds;
    frontier.points[i].envelope_at = envelope[i]->index;
  }
  return absl::OkStatus();
}

// Marks the points that no other beats in time without more GPUs, or a higher
// price if there are prices; and those that none beats in any figure.
void MarkFronts(Frontier& frontier) {
  std::vector<std::optional<TimeAndPrice>> points;
  std::vector<std::optional<FrontFigures>> figures;
  for (const FrontierPoint& point : frontier.points) {
    points.emplace_back();
    figures.emplace_back();
    if (!frontier.MayChoose(point)) continue;
    // Failures make time longer for the same plan.
    const double seconds =
        point.answer.iteration_time_s / point.values.progress;
    const double price = point.values.price_per_hour.value_or(point.num_gpus);
    points.back() = {.seconds = seconds, .price = price};
    figures.back() = {seconds,
                      point.values.price_per_million_tokens.value_or(price),
                      point.values.kwh_per_million_tokens.value_or(0),
                      -point.values.memory_free};
  }
  const std::vector<int64_t> front = ParetoFront(points);
  for (const int64_t i : front) frontier.points[i].on_front = true;
  for (const int64_t i : NotDominated(figures)) {
    frontier.points[i].on_wide_front = true;
  }
  const std::optional<int64_t> knee = KneeOf(front, points);
  if (knee.has_value()) frontier.points[*knee].is_knee = true;
}

// Finds points among those that may be chosen.
class Chooser {
 public:
  using Figure =
      std::function<std::optional<double>(const FrontierPoint& point)>;

  explicit Chooser(const Frontier& frontier) : frontier_(frontier) {}

  // Returns the first point with the least `figure` among those that `may`
  // allows. Null: none has it.
  const FrontierPoint* Least(
      const Figure& figure,
      const std::function<bool(const FrontierPoint&)>& may = nullptr) const {
    const FrontierPoint* least = nullptr;
    std::optional<double> least_figure;
    for (const FrontierPoint& point : frontier_.points) {
      if (!frontier_.MayChoose(point) || (may && !may(point))) continue;
      const std::optional<double> value = figure(point);
      if (!value.has_value()) continue;
      if (least_figure.has_value() && *value >= *least_figure) continue;
      least = &point;
      least_figure = value;
    }
    return least;
  }

 private:
  const Frontier& frontier_;
};

std::optional<double> EffectiveSeconds(const FrontierPoint& point) {
  return point.answer.iteration_time_s / point.values.progress;
}

}  // namespace

PlannedAllocation PlannedOf(const FrontierPoint& point) {
  return {.nodes = point.nodes,
          .iteration_time_s = point.answer.iteration_time_s,
          .memory_fraction = point.answer.memory_fraction,
          .busy_gpu_s = point.answer.busy_gpu_s,
          .band_high = point.answer.band_high};
}

bool Frontier::has_prices() const {
  return absl::c_any_of(terms.groups, [](const GroupTerms& group) {
    return group.node_hour_price.has_value();
  });
}

bool Frontier::MayChoose(const FrontierPoint& point) const {
  return point.has_plan() && point.values.makes_progress() &&
         point.values.memory_free >= terms.least_memory_free;
}

absl::Status Assess(Frontier& frontier) {
  for (FrontierPoint& point : frontier.points) {
    point.on_front = point.on_wide_front = point.is_knee = false;
    point.envelope_s.reset();
    point.values = {};
    if (!point.has_plan()) continue;
    point.values = Evaluate(frontier.terms, PlannedOf(point));
  }
  TANGRAM_RETURN_IF_ERROR(AddEnvelope(frontier));
  MarkFronts(frontier);
  return absl::OkStatus();
}

std::vector<FrontierChoice> ChoicesOf(const Frontier& frontier) {
  const Chooser chooser(frontier);
  const ObjectiveTerms& terms = frontier.terms;
  const auto price = [](const FrontierPoint& point) {
    return point.values.price_per_million_tokens;
  };
  std::vector<FrontierChoice> choices = {
      {"fastest", "fastest", chooser.Least(EffectiveSeconds)}};
  const auto add = [&](const char* key, std::string question,
                       const FrontierPoint* point) {
    choices.push_back({key, std::move(question), point});
  };
  if (frontier.has_prices()) {
    add("cheapest", "least a token", chooser.Least(price));
  }
  if (terms.tokens.has_value() && terms.deadline_hours.has_value()) {
    add("in_time",
        absl::StrFormat("%s within %g h",
                        frontier.has_prices() ? "cheapest" : "fewest GPUs",
                        *terms.deadline_hours),
        chooser.Least(
            [&](const FrontierPoint& point) -> std::optional<double> {
              if (!frontier.has_prices()) return point.num_gpus;
              return price(point);
            },
            [&](const FrontierPoint& point) {
              return *point.values.hours_at_certainty <= *terms.deadline_hours;
            }));
  }
  if (terms.budget.has_value() && frontier.has_prices()) {
    add("within_budget", absl::StrFormat("fastest for %g", *terms.budget),
        chooser.Least(EffectiveSeconds, [&](const FrontierPoint& point) {
          return point.values.total_price.has_value() &&
                 *point.values.total_price <= *terms.budget;
        }));
  }
  if (frontier.shows_energy) {
    add("least_energy", "least energy",
        chooser.Least([](const FrontierPoint& point) {
          return point.values.kwh_per_million_tokens;
        }));
  }
  if (terms.price_of_an_hour.has_value()) {
    add("best_value",
        absl::StrFormat("least with %g an hour of time",
                        *terms.price_of_an_hour),
        chooser.Least(
            [](const FrontierPoint& point) { return point.values.waiting; }));
  }
  return choices;
}

std::string NameOf(const Frontier& frontier, const FrontierPoint& point,
                   absl::string_view separator) {
  std::vector<std::string> parts;
  for (size_t g = 0; g < frontier.groups.size(); ++g) {
    parts.push_back(absl::StrCat(frontier.groups[g], "=", point.nodes[g]));
  }
  return absl::StrJoin(parts, separator);
}

}  // namespace tangram
