#include "web/view/timeline_runs.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

namespace tangram {
namespace {

using Kind = TimelineEvent::Kind;

// Limit of a period, in microbatches; 1F1B was seen to need no more.
constexpr size_t kMaxPattern = 4;
constexpr double kFinest =
    1e-6;                       // First tolerance, as a share of the iteration.
constexpr double kCoarser = 4;  // Factor from one tolerance to the next.
// The other fields of EventRun.
constexpr size_t kNumbersBesideStarts = 4;

int64_t Nanoseconds(double seconds) { return std::llround(seconds * 1e9); }

// The microbatch of event `i` of a run. Events of no microbatch have −1.
int Following(int first_microbatch, size_t i) {
  return first_microbatch < 0 ? first_microbatch
                              : first_microbatch + static_cast<int>(i);
}

// Returns the longest run from events[0] on with a pattern of `pattern` events.
// Each event i restricts the period to the interval
//   (start_i − start_{i mod p} ± tolerance) / ⌊i / p⌋
// The run ends where the intersection becomes empty.
EventRun LongestRun(absl::Span<const TimelineEvent> events, size_t pattern,
                    double tolerance_ns) {
  EventRun run{.first_microbatch = events[0].microbatch};
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  run.duration_ns = Nanoseconds(events[0].end_s - events[0].start_s);
  for (size_t i = 0; i < events.size(); ++i) {
    const TimelineEvent& event = events[i];
    const double duration_ns = 1e9 * (event.end_s - event.start_s);
    if (event.microbatch != Following(run.first_microbatch, i) ||
        std::abs(duration_ns - static_cast<double>(run.duration_ns)) >
            tolerance_ns) {
      break;
    }
    if (i < pattern) {
      run.starts_ns.push_back(Nanoseconds(event.start_s));
    } else {
      const size_t whole_periods = i / pattern;
      const auto periods = static_cast<double>(whole_periods);
      const double moved_ns =
          1e9 * event.start_s - static_cast<double>(run.starts_ns[i % pattern]);
      const double at_least =
          std::max(least, (moved_ns - tolerance_ns) / periods);
      const double at_most =
          std::min(most, (moved_ns + tolerance_ns) / periods);
      if (at_least > at_most) break;
      least = at_least;
      most = at_most;
    }
    ++run.count;
  }
  if (std::isfinite(least)) run.period_ns = (least + most) / 2;
  return run;
}

size_t Numbers(const EventRun& run) {
  return run.starts_ns.size() + kNumbersBesideStarts;
}

// Returns the run with most events per number; the shortest pattern of equals.
EventRun BestRun(absl::Span<const TimelineEvent> events, double tolerance_ns) {
  EventRun best = LongestRun(events, 1, tolerance_ns);
  for (size_t pattern = 2; pattern <= kMaxPattern; ++pattern) {
    EventRun run = LongestRun(events, pattern, tolerance_ns);
    if (static_cast<size_t>(run.count) * Numbers(best) >
        static_cast<size_t>(best.count) * Numbers(run)) {
      best = std::move(run);
    }
  }
  return best;
}

std::vector<EventRun> RunsOf(absl::Span<const TimelineEvent> events,
                             double tolerance_ns) {
  std::vector<EventRun> runs;
  while (!events.empty()) {
    runs.push_back(BestRun(events, tolerance_ns));
    events.remove_prefix(runs.back().count);
  }
  return runs;
}

// By stage, kind and group.
using EventsByTrack =
    std::map<std::tuple<int, Kind, int>, std::vector<TimelineEvent>>;

// Numbers events whose microbatches are not consecutive from 0. Returns their
// microbatches, else nothing.
std::vector<int> NumberEvents(std::vector<TimelineEvent>& events) {
  const int first = events.front().microbatch;
  std::vector<int> microbatches;
  bool consecutive = true;
  for (size_t i = 0; i < events.size(); ++i) {
    microbatches.push_back(events[i].microbatch);
    consecutive &= events[i].microbatch == Following(first, i);
  }
  if (consecutive) return {};
  for (size_t i = 0; i < events.size(); ++i) {
    events[i].microbatch = static_cast<int>(i);
  }
  return microbatches;
}

std::vector<Track> TracksWithin(const EventsByTrack& events,
                                double tolerance_ns, size_t& numbers) {
  std::vector<Track> tracks;
  numbers = 0;
  for (const auto& [key, of_track] : events) {
    const auto& [stage, kind, replica] = key;
    tracks.push_back({.kind = kind,
                      .stage = stage,
                      .replica = replica,
                      .runs = RunsOf(of_track, tolerance_ns)});
    for (const EventRun& run : tracks.back().runs) numbers += Numbers(run);
  }
  return tracks;
}

}  // namespace

std::vector<Track> TimelineTracks(absl::Span<const TimelineEvent> timeline,
                                  double iteration_time_s, size_t max_numbers) {
  EventsByTrack events;
  for (const TimelineEvent& event : timeline) {
    events[{event.stage, event.kind, event.replica}].push_back(event);
  }
  std::vector<std::vector<int>> microbatches;
  for (auto& [key, of_track] : events) {
    microbatches.push_back(NumberEvents(of_track));
  }
  const double iteration_ns = 1e9 * iteration_time_s;
  double tolerance_ns = kFinest * iteration_ns;
  size_t numbers = 0;
  std::vector<Track> tracks = TracksWithin(events, tolerance_ns, numbers);
  while (numbers > max_numbers && tolerance_ns < iteration_ns) {
    tolerance_ns *= kCoarser;
    tracks = TracksWithin(events, tolerance_ns, numbers);
  }
  for (size_t i = 0; i < tracks.size(); ++i) {
    tracks[i].microbatches = std::move(microbatches[i]);
  }
  return tracks;
}

}  // namespace tangram
