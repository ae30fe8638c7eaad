#include "common/sim/chrome_trace.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "common/domain/stage_part.h"
#include "common/sim/describe.h"

namespace tangram {
namespace {

using Kind = TimelineEvent::Kind;

// A device's tracks. Events of one track must not overlap, but transfers
// overlap with passes and with each other.
enum Track {
  kPasses,
  kSendsForward,
  kSendsBackward,
  kTracksPerDevice,
  kExchanges
};

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
    case Kind::kReplicaSync:
      return kExchanges;
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
    case Kind::kReplicaSync:
      return "exchange between pipelines";
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
    case Kind::kReplicaSync:
      return "exchange";
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

// Rounds to nanoseconds. Callers round before they subtract, so events that
// touch in the schedule touch in the file.
int64_t Nanoseconds(double seconds) { return std::llround(seconds * 1e9); }

std::string Microseconds(int64_t nanoseconds) {
  return absl::StrFormat("%d.%03d", nanoseconds / 1000, nanoseconds % 1000);
}

// Writes the events of one pipeline. Processes count from `first_process`;
// their names begin with `prefix`.
class PipelineTrace {
 public:
  PipelineTrace(const Cluster& cluster, const PipelinePlan& plan,
                int first_process, std::string prefix, std::string& json)
      : cluster_(cluster),
        plan_(plan),
        first_process_(first_process),
        prefix_(std::move(prefix)),
        json_(json) {
    for (int d = 0; d < plan.num_devices(); ++d) {
      first_slots_.push_back(num_slots_);
      num_slots_ += NumReplicas(d);
    }
  }

  // Returns the number of processes that a pipeline may need.
  static int NumProcesses(const PipelinePlan& plan) {
    int most = 0;
    for (const PlacedStage& stage : plan.stages) {
      most = std::max(most, stage.island + 1);
    }
    return most + 1;
  }

  void Append(absl::Span<const TimelineEvent> timeline) {
    AppendProcessNames();
    AppendThreadNames();
    AppendExchangeNames(timeline);
    for (const TimelineEvent& event : timeline) AppendEvent(event);
  }

 private:
  // The groups of a stage that routes microbatches run passes of their own.
  int NumReplicas(int device) const {
    const PlacedStage& stage = plan_.stages[device];
    return IsRouted(stage) ? static_cast<int>(stage.mixed.groups.size()) : 1;
  }

  // Islands count from 0; stages without one share the first process.
  int ProcessOf(const PlacedStage& stage) const {
    return first_process_ + stage.island + 1;
  }

  int ThreadOf(int device, int replica, Track track) const {
    if (track == kExchanges) return num_slots_ * kTracksPerDevice + device;
    return (first_slots_[device] + replica) * kTracksPerDevice + track;
  }

  void AppendMetadata(absl::string_view what, int process, int thread,
                      absl::string_view name) {
    absl::StrAppend(&json_, R"({"ph":"M","name":")", what, R"(","pid":)",
                    process, R"(,"tid":)", thread, R"(,"args":{"name":)",
                    Quoted(name), "}},\n");
  }

  void AppendProcessNames() {
    std::map<int, std::vector<GpuId>> gpus_of;
    for (int d = 0; d < plan_.num_devices(); ++d) {
      const PlacedStage& stage = plan_.stages[d];
      std::vector<GpuId>& gpus = gpus_of[stage.island];
      gpus.insert(gpus.end(), stage.gpus.begin(), stage.gpus.end());
    }
    for (const auto& [island, gpus] : gpus_of) {
      const std::string where =
          island < 0 ? "GPUs" : absl::StrCat("island ", island);
      AppendMetadata(
          "process_name", first_process_ + island + 1, 0,
          absl::StrCat(prefix_, where, ": ", DescribeGpus(cluster_, gpus)));
    }
  }

  void AppendThreadNames() {
    for (int d = 0; d < plan_.num_devices(); ++d) {
      const std::vector<StagePart> parts = PartsOf(plan_.stages[d], 1, 1);
      for (int i = 0; i < NumReplicas(d); ++i) {
        AppendThreadNames(
            d, i,
            absl::StrCat(DeviceName(plan_, d),
                         NumReplicas(d) == 1 ? "" : absl::StrCat(" group ", i)),
            parts);
      }
    }
  }

  void AppendThreadNames(int d, int replica, const std::string& name,
                         absl::Span<const StagePart> parts) {
    const int num_devices = plan_.num_devices();
    // With several chunks on each, the last device sends to the first.
    const bool is_ring = plan_.virtual_stages > 1 && num_devices > 1;
    const PlacedStage& stage = plan_.stages[d];
    const bool is_group = NumReplicas(d) > 1;
    const int process = ProcessOf(stage);
    AppendMetadata(
        "thread_name", process, ThreadOf(d, replica, kPasses),
        absl::StrCat(
            name, ": ",
            DescribeGpus(cluster_, is_group ? parts[replica].gpus
                                            : absl::MakeConstSpan(stage.gpus)),
            ", ",
            is_group ? DescribeParallelism(parts[replica].parallelism)
                     : DescribeStageParallelism(stage)));
    if (d + 1 < num_devices || is_ring) {
      AppendMetadata("thread_name", process,
                     ThreadOf(d, replica, kSendsForward),
                     absl::StrCat(name, " to ", (d + 1) % num_devices));
    }
    if (d > 0 || is_ring) {
      AppendMetadata(
          "thread_name", process, ThreadOf(d, replica, kSendsBackward),
          absl::StrCat(name, " to ", (d + num_devices - 1) % num_devices));
    }
  }

  void AppendExchangeNames(absl::Span<const TimelineEvent> timeline) {
    std::set<int> devices;
    for (const TimelineEvent& event : timeline) {
      if (event.kind == Kind::kReplicaSync) {
        devices.insert(event.stage % plan_.num_devices());
      }
    }
    for (const int d : devices) {
      AppendMetadata("thread_name", ProcessOf(plan_.stages[d]),
                     ThreadOf(d, 0, kExchanges),
                     absl::StrCat(DeviceName(plan_, d), " to other pipelines"));
    }
  }

  void AppendEvent(const TimelineEvent& event) {
    const int device = event.stage % plan_.num_devices();
    const int64_t start_ns = Nanoseconds(event.start_s);
    const int64_t duration_ns = Nanoseconds(event.end_s) - start_ns;
    absl::StrAppend(&json_, R"({"ph":"X","name":")", EventName(event),
                    ChunkName(plan_, event), R"(","cat":")",
                    Category(event.kind), R"(","pid":)",
                    ProcessOf(plan_.stages[device]), R"(,"tid":)",
                    ThreadOf(device, event.replica, TrackOf(event.kind)),
                    R"(,"ts":)", Microseconds(start_ns), R"(,"dur":)",
                    Microseconds(duration_ns), "},\n");
  }

  const Cluster& cluster_;
  const PipelinePlan& plan_;
  const int first_process_;
  const std::string prefix_;
  std::string& json_;
  // Rows of three tracks: one for each device, or for each of its groups.
  std::vector<int> first_slots_;
  int num_slots_ = 0;
};

constexpr absl::string_view kHead =
    "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";

// Ends the list of events. JSON allows no comma after the last one.
std::string Ended(std::string json) {
  constexpr absl::string_view kSeparator = ",\n";
  if (absl::EndsWith(json, kSeparator)) {
    json.resize(json.size() - kSeparator.size());
  }
  return json + "\n]}\n";
}

}  // namespace

std::string ToChromeTrace(const Cluster& cluster, const PipelinePlan& plan,
                          absl::Span<const TimelineEvent> timeline) {
  std::string json(kHead);
  PipelineTrace(cluster, plan, /*first_process=*/0, "", json).Append(timeline);
  return Ended(std::move(json));
}

std::string ToChromeTrace(
    const Cluster& cluster, const ReplicatedPlan& plan,
    absl::Span<const std::vector<TimelineEvent>> timelines) {
  std::string json(kHead);
  int first_process = 0;
  for (size_t r = 0; r < plan.pipelines.size(); ++r) {
    const PipelinePlan& pipeline = plan.pipelines[r].plan;
    PipelineTrace(cluster, pipeline, first_process,
                  absl::StrCat("pipeline ", r, ", "), json)
        .Append(timelines[r]);
    first_process += PipelineTrace::NumProcesses(pipeline);
  }
  return Ended(std::move(json));
}

}  // namespace tangram
