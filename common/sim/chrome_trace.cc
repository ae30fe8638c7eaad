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

// A device's tracks. Events of one track must not overlap, but transfers
// overlap with passes and with each other.
enum Track { kPasses, kSendsForward, kSendsBackward, kTracksPerDevice };

Track TrackOf(Kind kind) {
  switch (kind) {
    case Kind::kSendForward:
      return kSendsForward;
    case Kind::kSendBackward:
      return kSendsBackward;
    case Kind::kForward:
    case Kind::kBackward:
    case Kind::kWeightGradient:
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
    case Kind::kWeightGradient:
      return absl::StrCat("W", event.microbatch);
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

// " chunk 1" if the device has several.
std::string ChunkName(const PipelinePlan& plan, const TimelineEvent& event) {
  if (plan.virtual_stages == 1) return "";
  return absl::StrCat(" chunk ", event.stage / plan.num_devices());
}

// Kinds share a colour by category.
const char* Category(Kind kind) {
  switch (kind) {
    case Kind::kForward:
      return "forward";
    case Kind::kBackward:
      return "backward";
    case Kind::kWeightGradient:
      return "weight gradient";
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

// Returns a JSON string literal. Bytes above ASCII are copied as UTF-8.
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

int ThreadOf(int device, Track track) {
  return device * kTracksPerDevice + track;
}

void AppendMetadata(absl::string_view what, int process, int thread,
                    absl::string_view name, std::string& json) {
  absl::StrAppend(&json, R"({"ph":"M","name":")", what, R"(","pid":)", process,
                  R"(,"tid":)", thread, R"(,"args":{"name":)", Quoted(name),
                  "}},\n");
}

void AppendProcessNames(const Cluster& cluster, const PipelinePlan& plan,
                        std::string& json) {
  std::map<int, std::vector<GpuId>> gpus_of;
  for (int d = 0; d < plan.num_devices(); ++d) {
    const PlacedStage& stage = plan.stages[d];
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
  const int num_devices = plan.num_devices();
  // With several chunks on each, the last device sends to the first.
  const bool is_ring = plan.virtual_stages > 1 && num_devices > 1;
  for (int d = 0; d < num_devices; ++d) {
    const PlacedStage& stage = plan.stages[d];
    const std::string name = DeviceName(plan, d);
    const std::string passes =
        absl::StrCat(name, ": ", DescribeGpus(cluster, stage.gpus), ", ",
                     DescribeParallelism(stage.plan.parallelism));
    const int process = ProcessOf(stage);
    AppendMetadata("thread_name", process, ThreadOf(d, kPasses), passes, json);
    if (d + 1 < num_devices || is_ring) {
      AppendMetadata("thread_name", process, ThreadOf(d, kSendsForward),
                     absl::StrCat(name, " to ", (d + 1) % num_devices), json);
    }
    if (d > 0 || is_ring) {
      AppendMetadata(
          "thread_name", process, ThreadOf(d, kSendsBackward),
          absl::StrCat(name, " to ", (d + num_devices - 1) % num_devices),
          json);
    }
  }
}

// Rounds to nanoseconds. Callers round before they subtract, so events that
// touch in the schedule touch in the file.
int64_t Nanoseconds(double seconds) { return std::llround(seconds * 1e9); }

std::string Microseconds(int64_t nanoseconds) {
  return absl::StrFormat("%d.%03d", nanoseconds / 1000, nanoseconds % 1000);
}

void AppendEvent(const PipelinePlan& plan, const TimelineEvent& event,
                 std::string& json) {
  const int device = event.stage % plan.num_devices();
  const int64_t start_ns = Nanoseconds(event.start_s);
  const int64_t duration_ns = Nanoseconds(event.end_s) - start_ns;
  absl::StrAppend(&json, R"({"ph":"X","name":")", EventName(event),
                  ChunkName(plan, event), R"(","cat":")", Category(event.kind),
                  R"(","pid":)", ProcessOf(plan.stages[device]), R"(,"tid":)",
                  ThreadOf(device, TrackOf(event.kind)), R"(,"ts":)",
                  Microseconds(start_ns), R"(,"dur":)",
                  Microseconds(duration_ns), "},\n");
}

}  // namespace

std::string ToChromeTrace(const Cluster& cluster, const PipelinePlan& plan,
                          absl::Span<const TimelineEvent> timeline) {
  std::string json = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
  AppendProcessNames(cluster, plan, json);
  AppendThreadNames(cluster, plan, json);
  for (const TimelineEvent& event : timeline) {
    AppendEvent(plan, event, json);
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
