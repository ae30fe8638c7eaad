#include "web/view/timeline_runs.h"

#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/one_f_one_b.h"

namespace tangram {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::SizeIs;
using Kind = TimelineEvent::Kind;

constexpr size_t kAnyNumber = std::numeric_limits<size_t>::max();

// Forward passes of stage 0, a second long, that start at `starts_s`.
std::vector<TimelineEvent> Passes(const std::vector<double>& starts_s) {
  std::vector<TimelineEvent> events;
  for (const double start_s : starts_s) {
    events.push_back({.microbatch = static_cast<int>(events.size()),
                      .start_s = start_s,
                      .end_s = start_s + 1});
  }
  return events;
}

double StartOf(const EventRun& run, int i) {
  const int pattern = static_cast<int>(run.starts_ns.size());
  return static_cast<double>(run.starts_ns[i % pattern]) +
         i / pattern * run.period_ns;
}

TEST(TimelineTracksTest, EvenPassesAreOneRun) {
  const std::vector<Track> tracks =
      TimelineTracks(Passes({0, 1.5, 3, 4.5, 6}), 7, kAnyNumber);

  ASSERT_THAT(tracks, SizeIs(1));
  EXPECT_THAT(tracks[0].runs, ElementsAre(EventRun{.count = 5,
                                                   .duration_ns = 1'000'000'000,
                                                   .period_ns = 1.5e9,
                                                   .starts_ns = {0}}));
}

// A forward pass alone, then two at a time: 0 | 3 4, 6 7, 9 10.
TEST(TimelineTracksTest, PairsOfPassesAreOneRun) {
  const std::vector<Track> tracks =
      TimelineTracks(Passes({3, 4, 6, 7, 9, 10, 12, 13}), 14, kAnyNumber);

  ASSERT_THAT(tracks, SizeIs(1));
  EXPECT_THAT(
      tracks[0].runs,
      ElementsAre(EventRun{.count = 8,
                           .duration_ns = 1'000'000'000,
                           .period_ns = 3e9,
                           .starts_ns = {3'000'000'000, 4'000'000'000}}));
}

TEST(TimelineTracksTest, OnePassIsARun) {
  const std::vector<Track> tracks = TimelineTracks(Passes({2}), 3, kAnyNumber);

  ASSERT_THAT(tracks, SizeIs(1));
  EXPECT_THAT(tracks[0].runs,
              ElementsAre(EventRun{.count = 1,
                                   .duration_ns = 1'000'000'000,
                                   .starts_ns = {2'000'000'000}}));
}

TEST(TimelineTracksTest, StagesAndKindsAreTracksOfTheirOwn) {
  std::vector<TimelineEvent> events = Passes({0, 1});
  events.push_back({.kind = Kind::kBackward, .start_s = 2, .end_s = 3});
  events.push_back({.kind = Kind::kForward, .stage = 1, .end_s = 1});
  events.push_back(
      {.kind = Kind::kOptimizer, .stage = 1, .microbatch = -1, .end_s = 1});

  const auto is = [](int stage, Kind kind) {
    return ::testing::AllOf(Field(&Track::stage, stage),
                            Field(&Track::kind, kind));
  };
  EXPECT_THAT(TimelineTracks(events, 3, kAnyNumber),
              ElementsAre(is(0, Kind::kForward), is(0, Kind::kBackward),
                          is(1, Kind::kForward), is(1, Kind::kOptimizer)));
}

TEST(TimelineTracksTest, ALongerPassEndsARun) {
  std::vector<TimelineEvent> events = Passes({0, 2, 4, 6});
  events[2].end_s += 0.5;

  const std::vector<Track> tracks = TimelineTracks(events, 7, kAnyNumber);
  ASSERT_THAT(tracks, SizeIs(1));
  EXPECT_THAT(tracks[0].runs, SizeIs(3));
}

TEST(TimelineTracksTest, GetsCoarserWhereThereAreTooManyNumbers) {
  // Accelerating: no period at all.
  std::vector<double> starts_s;
  for (int i = 0; i < 200; ++i) starts_s.push_back(2 * i + 0.001 * i * i);
  const std::vector<TimelineEvent> events = Passes(starts_s);

  const std::vector<Track> fine = TimelineTracks(events, 440, kAnyNumber);
  const std::vector<Track> coarse = TimelineTracks(events, 440, 20);
  EXPECT_GT(fine[0].runs.size(), 4u);
  EXPECT_LE(coarse[0].runs.size(), 4u);
}

// Unlike stages with transfers, as EvaluatePlan would play them.
TEST(TimelineTracksTest, SayWhenEveryEventIs) {
  std::vector<TimelineEvent> events;
  const PipelineRun run = testing::RunOneFOneB(
      {{.forward_s = 1,
        .backward_s = 2.1,
        .send_forward_s = 0.3,
        .send_backward_s = 0.4,
        .sync_s = 1,
        .optimizer_s = 0.5},
       {.forward_s = 1.3,
        .backward_s = 1.9,
        .send_forward_s = 0.2,
        .send_backward_s = 0.2,
        .sync_s = 1},
       {.forward_s = 0.9, .backward_s = 2.4, .optimizer_s = 0.25}},
      /*num_microbatches=*/64, &events);
  const std::vector<Track> tracks =
      TimelineTracks(events, run.iteration_time_s, kAnyNumber);

  std::map<std::pair<int, Kind>, std::vector<TimelineEvent>> expected;
  for (const TimelineEvent& event : events) {
    expected[{event.stage, event.kind}].push_back(event);
  }
  ASSERT_EQ(tracks.size(), expected.size());
  const double tolerance_ns = 1e3 * run.iteration_time_s + 1;
  size_t numbers = 0;
  for (const Track& track : tracks) {
    const auto& of_track = expected.at({track.stage, track.kind});
    size_t at = 0;
    for (const EventRun& events_of_run : track.runs) {
      numbers += events_of_run.starts_ns.size() + 4;
      for (int i = 0; i < events_of_run.count; ++i, ++at) {
        ASSERT_LT(at, of_track.size());
        const bool is_pass = of_track[at].microbatch >= 0;
        EXPECT_EQ(of_track[at].microbatch,
                  events_of_run.first_microbatch + (is_pass ? i : 0));
        EXPECT_NEAR(StartOf(events_of_run, i), 1e9 * of_track[at].start_s,
                    tolerance_ns);
        EXPECT_NEAR(static_cast<double>(events_of_run.duration_ns),
                    1e9 * (of_track[at].end_s - of_track[at].start_s),
                    tolerance_ns);
      }
    }
    EXPECT_EQ(at, of_track.size());
  }
  // Far fewer than the 640 starts and as many durations.
  EXPECT_LT(numbers, 250u);
}

TEST(TimelineTracksTest, GroupsOfAStageHaveTracksWithTheirMicrobatches) {
  const std::vector<TimelineEvent> timeline = {
      {TimelineEvent::Kind::kForward, 0, 0, 0, 0, 1},
      {TimelineEvent::Kind::kForward, 0, 1, 1, 0, 3},
      {TimelineEvent::Kind::kForward, 0, 2, 0, 1, 2},
      {TimelineEvent::Kind::kForward, 0, 4, 0, 2, 3}};
  const std::vector<Track> tracks = TimelineTracks(timeline, 3, 1000);
  ASSERT_EQ(tracks.size(), 2u);
  EXPECT_EQ(tracks[0].replica, 0);
  EXPECT_THAT(tracks[0].microbatches, ::testing::ElementsAre(0, 2, 4));
  ASSERT_EQ(tracks[0].runs.size(), 1u);
  EXPECT_EQ(tracks[0].runs[0].first_microbatch, 0);
  EXPECT_EQ(tracks[0].runs[0].count, 3);
  EXPECT_EQ(tracks[1].replica, 1);
  // One event is consecutive.
  EXPECT_THAT(tracks[1].microbatches, ::testing::IsEmpty());
}

}  // namespace
}  // namespace tangram
