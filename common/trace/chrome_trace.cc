#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/trace/trace_formats.h"

namespace tangram {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kProcess = 1;  // Viewers group rows by process.

// A row of the picture. Two spans in it are disjoint or one contains the other.
class Row {
 public:
  // Adds a span if it fits. Spans must come by start, the longer first.
  bool Take(const Span& span) {
    while (!open_ends_s_.empty() && open_ends_s_.back() <= span.start_s) {
      open_ends_s_.pop_back();
    }
    if (!open_ends_s_.empty() && open_ends_s_.back() < span.end_s) {
      return false;
    }
    open_ends_s_.push_back(span.end_s);
    return true;
  }

 private:
  std::vector<double> open_ends_s_;  // Ends of open spans, innermost last.
};

std::map<std::string, std::vector<const Span*>> SpansByLane(
    const Trace& trace) {
  std::map<std::string, std::vector<const Span*>> lanes;
  for (const Span& span : trace.spans) {
    if (!span.lane.empty()) lanes[span.lane].push_back(&span);
  }
  for (auto& [lane, spans] : lanes) {
    std::sort(spans.begin(), spans.end(), [](const Span* a, const Span* b) {
      return std::tuple(a->start_s, -a->end_s, a->id) <
             std::tuple(b->start_s, -b->end_s, b->id);
    });
  }
  return lanes;
}

Json Arguments(const Span& span) {
  Json arguments = Json::object();
  for (const auto& [key, value] : span.attributes) {
    Json& argument = arguments[key];
    std::visit([&](const auto& v) { argument = v; }, value);
  }
  if (!span.error.empty()) arguments["error"] = span.error;
  return arguments;
}

// Returns the event of a span; the format counts in microseconds.
Json CompleteEvent(const Span& span, int row) {
  return {
      {"name", span.name},        {"ph", "X"},
      {"pid", kProcess},          {"tid", row},
      {"ts", 1e6 * span.start_s}, {"dur", 1e6 * (span.end_s - span.start_s)},
      {"args", Arguments(span)}};
}

Json NameEvent(const char* what, int row, const std::string& name) {
  return {{"name", what},
          {"ph", "M"},
          {"pid", kProcess},
          {"tid", row},
          {"args", {{"name", name}}}};
}

}  // namespace

std::string ToChromeTrace(const Trace& trace) {
  Json events = Json::array({NameEvent("process_name", 0, trace.name)});
  int num_rows = 0;
  for (const auto& [lane, spans] : SpansByLane(trace)) {
    std::vector<Row> rows;
    for (const Span* span : spans) {
      auto row = std::find_if(rows.begin(), rows.end(),
                              [&](Row& r) { return r.Take(*span); });
      if (row == rows.end()) {
        row = rows.insert(rows.end(), Row());
        row->Take(*span);
        events.push_back(NameEvent(
            "thread_name", num_rows + static_cast<int>(rows.size()), lane));
      }
      const auto index = static_cast<int>(row - rows.begin());
      events.push_back(CompleteEvent(*span, num_rows + index + 1));
    }
    num_rows += static_cast<int>(rows.size());
  }
  const Json file = {{"traceEvents", std::move(events)},
                     {"displayTimeUnit", "ms"},
                     {"otherData", {{"dropped_spans", trace.num_dropped}}}};
  return file.dump(-1, ' ', /*ensure_ascii=*/false,
                   Json::error_handler_t::replace) +
         "\n";
}

}  // namespace tangram
