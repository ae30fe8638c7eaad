#include "common/sim/chrome_trace.h"

#include <cmath>
#include <cstdint>
#include <map>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "common/sim/describe.h"

namespace tangram {
namespace {

using Kind = TimelineEvent::Kind;

// A stage's tracks. Transfers overlap with passes and with each other, and
// events of one track may not.
enum Track { kPasses, kSendsForward, kSendsBackward, kTracksPerStage };

Track TrackOf(Kind kind) {
  switch (kind) {
    case Kind::kSendForward:
      return kSendsForward;
    case Kind::kSendBackward:
      return kSendsBackward;
    case Kind::kForward:
    case Kind::kBackward:
    case Kind::kGradientSync:
    case Kind::kOptimizer:
      return kPasses;
  }
  return kPasses;
}

std::string EventName(const TimelineEvent& event) {
  switch (event.kind) {
    case Kind::kForward:
      return absl::StrCat("F", event.microbatch);
    case Kind::kBackward:
      return absl::StrCat("B", event.microbatch);
    case Kind::kSendForward:
      return absl::StrCat("send F", event.microbatch);
    case Kind::kSendBackward:
      return absl::StrCat("send B", event.microbatch);
    case Kind::kGradientSync:
      return "gradient sync";
    case Kind::kOptimizer:
      return "optimizer";
  }
  return "";
}

// Kinds share a colour by category.
const char* Category(Kind kind) {
  switch (kind) {
    case Kind::kForward:
      return "forward";
    case Kind::kBackward:
      return "backward";
    case Kind::kSendForward:
    case Kind::kSendBackward:
      return "send";
    case Kind::kGradientSync:
      return "sync";
    case Kind::kOptimizer:
      return "optimizer";
  }
  return "";
}

// A JSON string literal; bytes above ASCII are taken for UTF-8.
std::string Quoted(absl::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      absl::StrAppendFormat(&out, "\\u%04x", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  out += '"';
  return out;
}

// Islands count from 0; stages without one share process 0.
int ProcessOf(const PlacedStage& stage) { return stage.island + 1; }

int ThreadOf(int stage, Track track) { return stage * kTracksPerStage + track; }

void AppendMetadata(absl::string_view what, int process, int thread,
                    absl::string_view name, std::string& json) {
  absl::StrAppend(&json, R"({"ph":"M","name":")", what, R"(","pid":)", process,
                  R"(,"tid":)", thread, R"(,"args":{"name":)", Quoted(name),
                  "}},\n");
}

void AppendProcessNames(const Cluster& cluster, const PipelinePlan& plan,
                        std::string& json) {
  std::map<int, std::vector<GpuId>> gpus_of;
  for (const PlacedStage& stage : plan.stages) {
    std::vector<GpuId>& gpus = gpus_of[ProcessOf(stage)];
    gpus.insert(gpus.end(), stage.gpus.begin(), stage.gpus.end());
  }
  for (const auto& [process, gpus] : gpus_of) {
    const std::string where =
        process == 0 ? "GPUs" : absl::StrCat("island ", process - 1);
    AppendMetadata("process_name", process, 0,
                   absl::StrCat(where, ": ", DescribeGpus(cluster, gpus)),
                   json);
  }
}

void AppendThreadNames(const Cluster& cluster, const PipelinePlan& plan,
                       std::string& json) {
  for (int s = 0; s < plan.num_stages(); ++s) {
    const PlacedStage& stage = plan.stages[s];
    const std::string name = absl::StrCat("stage ", s);
    const std::string passes =
        absl::StrCat(name, ": ", DescribeGpus(cluster, stage.gpus), ", ",
                     DescribeParallelism(stage.plan.parallelism));
    const int process = ProcessOf(stage);
    AppendMetadata("thread_name", process, ThreadOf(s, kPasses), passes, json);
    if (s + 1 < plan.num_stages()) {
      AppendMetadata("thread_name", process, ThreadOf(s, kSendsForward),
                     absl::StrCat(name, " to ", s + 1), json);
    }
    if (s > 0) {
      AppendMetadata("thread_name", process, ThreadOf(s, kSendsBackward),
                     absl::StrCat(name, " to ", s - 1), json);
    }
  }
}

// Whole nanoseconds, rounded before subtracting, so that events that touch in
// the schedule touch in the file.
int64_t Nanoseconds(double seconds) { return std::llround(seconds * 1e9); }

std::string Microseconds(int64_t nanoseconds) {
  return absl::StrFormat("%d.%03d", nanoseconds / 1000, nanoseconds % 1000);
}

void AppendEvent(const PlacedStage& stage, const TimelineEvent& event,
                 std::string& json) {
  const int64_t start_ns = Nanoseconds(event.start_s);
  const int64_t duration_ns = Nanoseconds(event.end_s) - start_ns;
  absl::StrAppend(
      &json, R"({"ph":"X","name":")", EventName(event), R"(","cat":")",
      Category(event.kind), R"(","pid":)", ProcessOf(stage), R"(,"tid":)",
      ThreadOf(event.stage, TrackOf(event.kind)), R"(,"ts":)",
      Microseconds(start_ns), R"(,"dur":)", Microseconds(duration_ns), "},\n");
}

}  // namespace

std::string ToChromeTrace(const Cluster& cluster, const PipelinePlan& plan,
                          absl::Span<const TimelineEvent> timeline) {
  std::string json = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
  AppendProcessNames(cluster, plan, json);
  AppendThreadNames(cluster, plan, json);
  for (const TimelineEvent& event : timeline) {
    AppendEvent(plan.stages[event.stage], event, json);
  }
  // JSON allows no comma after the last one.
  constexpr absl::string_view kSeparator = ",\n";
  if (absl::EndsWith(json, kSeparator)) {
    json.resize(json.size() - kSeparator.size());
  }
  json += "\n]}\n";
  return json;
}

}  // namespace tangram
