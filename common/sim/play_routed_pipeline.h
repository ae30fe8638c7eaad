#ifndef TANGRAM_COMMON_SIM_PLAY_ROUTED_PIPELINE_H_
#define TANGRAM_COMMON_SIM_PLAY_ROUTED_PIPELINE_H_

#include <map>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "common/base/stop_poll.h"
#include "common/sim/evaluate_plan.h"
#include "common/sim/pass_sequence.h"

namespace tangram {

// Durations of one device of a stage, for each microbatch that it takes, and
// once an iteration.
struct RoutedDevice {
  double forward_s = 0;
  double backward_s = 0;
  double sync_s = 0;  // Inside the device, after its last pass.
  double optimizer_s = 0;
};

// Transfers of one microbatch between two devices of neighbouring stages.
struct BoundaryTimes {
  double forward_s = 0;   // Activations.
  double backward_s = 0;  // Gradients, in the other direction.
};

// A stage whose microbatches go to several devices, or all to one.
struct RoutedStage {
  std::vector<RoutedDevice> devices;
  std::vector<int> route;  // Device of each microbatch. Empty: all to device 0.
  // Gradients between the devices, once all have ended sync_s.
  double exchange_s = 0;
  // By device of this stage and of the next, for every pair in the routes.
  std::map<std::pair<int, int>, BoundaryTimes> sends;

  int DeviceOf(int microbatch) const {
    return route.empty() ? 0 : route[microbatch];
  }
};

struct RoutedRun {
  double iteration_time_s = 0;
  // Ends of the last passes, by stage and device.
  std::vector<std::vector<double>> passes_end_s;
};

// Plays a pipeline in which stages route microbatches. Each device runs the
// passes of its stage's PassSequence, without those of the microbatches that
// other devices of the stage take. Otherwise devices and transfers behave as in
// PlayPipeline without blocking transfers: a device runs one pass at a time,
// and sends in each direction one result at a time. The gradients of the
// devices of a stage are added up once all of them have reduced their own. Then
// each device runs its optimizer. `shape` is that of the whole pipeline, under
// 1F1B or GPipe. `timeline`, if given, is left empty if it could pass
// kMaxTimelineEvents. O(Σ devices · microbatches). If `poll` stops, the result
// is of no use.
RoutedRun PlayRoutedPipeline(const PipelineShape& shape,
                             absl::Span<const RoutedStage> stages,
                             std::vector<TimelineEvent>* timeline,
                             StopPoll& poll);
// As above, to the end.
RoutedRun PlayRoutedPipeline(const PipelineShape& shape,
                             absl::Span<const RoutedStage> stages,
                             std::vector<TimelineEvent>* timeline = nullptr);

// Returns the most microbatches that each device of stage `s` holds at once,
// from a forward pass to the end of the backward pass. It depends only on the
// order of passes. If `poll` stops, the result is of no use.
std::vector<int> HeldByDevices(const PipelineShape& shape, int s,
                               const RoutedStage& stage, StopPoll& poll);
// As above, to the end.
std::vector<int> HeldByDevices(const PipelineShape& shape, int s,
                               const RoutedStage& stage);

}  // namespace tangram

#endif  // TANGRAM_COMMON_SIM_PLAY_ROUTED_PIPELINE_H_
