#ifndef TANGRAM_WEB_VIEW_TIMELINE_RUNS_H_
#define TANGRAM_WEB_VIEW_TIMELINE_RUNS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "common/sim/evaluate_plan.h"

namespace tangram {

// Repeating events of one stage and kind. Event i is of microbatch
// first_microbatch + i and starts at starts_ns[i mod p] + ⌊i / p⌋·period_ns,
// p = starts_ns.size(). Synchronisation and optimizer have microbatch −1.
struct EventRun {
  int first_microbatch = 0;
  int count = 0;  // Number of events.
  int64_t duration_ns = 0;
  double period_ns = 0;
  std::vector<int64_t> starts_ns;
  bool operator==(const EventRun&) const = default;
};

// The runs of one stage, kind and group, in order of time.
struct Track {
  TimelineEvent::Kind kind = TimelineEvent::Kind::kForward;
  int stage = 0;
  int replica = 0;
  std::vector<EventRun> runs;
  // If the microbatches of the events are not consecutive: the microbatch of
  // each event. EventRun::first_microbatch is then an index into it.
  std::vector<int> microbatches;
};

// Compresses the timeline that EvaluatePlan filled, by stage, kind and group. A
// pipeline soon repeats itself with a period of one or a few microbatches, so
// there are far fewer runs than events. Starts and durations are off by at most
// a millionth of the iteration. If that needs more than `max_numbers` numbers
// in all, the error grows until they suffice.
std::vector<Track> TimelineTracks(absl::Span<const TimelineEvent> timeline,
                                  double iteration_time_s, size_t max_numbers);

}  // namespace tangram

#endif  // TANGRAM_WEB_VIEW_TIMELINE_RUNS_H_
