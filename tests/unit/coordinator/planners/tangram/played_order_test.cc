#include "coordinator/planners/tangram/played_order.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using testing::StatusIs;

constexpr int kWidth = 40;  // How wide dives are.
constexpr double kEveryTime = std::numeric_limits<double>::infinity();

bool GoOn() { return false; }

// A transfer between islands i and j takes 0.3·(i + 2 j) seconds forward.
void SetTransfers(const PlayedSlice& from, const PlayedSlice& to,
                  StageTimes& last) {
  last.send_forward_s = 0.3 * (from.island + 2 * to.island);
  last.send_backward_s = 0.2 * (from.island + to.island);
}
std::pair<double, double> LeastTransfers(int, int from, int to) {
  return {0.3 * (from + 2 * to), 0.2 * (from + to)};
}

// The first and the last stage exchange gradients for 0.4·(i + 1) + 0.3·j
// seconds.
double ExchangeSeconds(const PlayedSlice& first, const PlayedSlice& last) {
  return 0.4 * (first.island + 1) + 0.3 * last.island;
}
double LeastExchangeSeconds(const PlayedSlice& last, int first_island) {
  return ExchangeSeconds({.island = first_island}, last);
}

PlayedProblem RandomProblem(std::mt19937& rng, int num_atoms, int num_islands) {
  std::uniform_real_distribution<double> seconds(0.1, 2);
  PlayedProblem problem{.num_atoms = num_atoms,
                        .num_islands = num_islands,
                        .num_microbatches = 1 + static_cast<int>(rng() % 8),
                        .max_stages = 3 + static_cast<int>(rng() % 4),
                        .set_transfers = SetTransfers};
  if (rng() % 2 == 0) problem.least_transfers = LeastTransfers;
  if (rng() % 2 == 0) {
    problem.exchange_s = ExchangeSeconds;
    problem.least_exchange_s = LeastExchangeSeconds;
  }
  for (int begin = 0; begin < num_atoms; ++begin) {
    for (int end = begin + 1; end <= num_atoms; ++end) {
      for (int island = 0; island < num_islands; ++island) {
        for (int plan = static_cast<int>(rng() % 3); plan > 0; --plan) {
          problem.slices.push_back(
              {{begin, end}, island, static_cast<int>(problem.plans.size())});
          PlayedPlan& added = problem.plans.emplace_back();
          added.max_trailing_stages = static_cast<int>(rng() % 5);
          for (int stages = 1 + static_cast<int>(rng() % 2); stages > 0;
               --stages) {
            added.stages.push_back(
                {.forward_s = (end - begin) * seconds(rng),
                 .backward_s = (end - begin) * seconds(rng),
                 .send_forward_s = stages > 1 ? seconds(rng) : 0,
                 .send_backward_s = stages > 1 ? seconds(rng) : 0,
                 .sync_s = seconds(rng)});
          }
        }
      }
    }
  }
  return problem;
}

double PlayedSeconds(const PlayedProblem& problem,
                     const std::vector<int>& pipeline) {
  std::vector<StageTimes> stages;
  for (size_t i = 0; i < pipeline.size(); ++i) {
    const PlayedSlice& slice = problem.slices[pipeline[i]];
    const std::vector<StageTimes>& own = problem.plans[slice.plan].stages;
    stages.insert(stages.end(), own.begin(), own.end());
    if (i + 1 < pipeline.size()) {
      SetTransfers(slice, problem.slices[pipeline[i + 1]], stages.back());
    }
  }
  if (problem.exchange_s && stages.size() > 1) {
    const double exchange_s = ExchangeSeconds(problem.slices[pipeline.front()],
                                              problem.slices[pipeline.back()]);
    stages.front().sync_s += exchange_s;
    stages.back().sync_s += exchange_s;
  }
  return PlayPipeline({.num_devices = static_cast<int>(stages.size()),
                       .num_microbatches = problem.num_microbatches},
                      stages)
      .iteration_time_s;
}

// Whether the plans support the stages behind them, and there are not too many.
bool IsAllowed(const PlayedProblem& problem, const std::vector<int>& pipeline) {
  int trailing = 0;
  for (size_t i = pipeline.size(); i-- > 0;) {
    const PlayedPlan& plan = problem.plans[problem.slices[pipeline[i]].plan];
    if (plan.max_trailing_stages < trailing) return false;
    trailing += static_cast<int>(plan.stages.size());
  }
  return trailing <= problem.max_stages;
}

// The times of all compositions below the limit, by trying each.
std::vector<double> AllTimes(const std::vector<PlayedProblem>& problems,
                             double limit_s) {
  std::vector<double> times;
  for (const PlayedProblem& problem : problems) {
    std::vector<int> pipeline;
    const std::function<void(int, int)> extend = [&](int atom, int islands) {
      if (atom == problem.num_atoms) {
        if (!IsAllowed(problem, pipeline)) return;
        const double seconds = PlayedSeconds(problem, pipeline);
        if (seconds < limit_s) times.push_back(seconds);
        return;
      }
      for (int s = 0; s < static_cast<int>(problem.slices.size()); ++s) {
        const PlayedSlice& slice = problem.slices[s];
        const int island = 1 << slice.island;
        if (slice.atoms.begin != atom || (islands & island) != 0) continue;
        pipeline.push_back(s);
        extend(slice.atoms.end, islands | island);
        pipeline.pop_back();
      }
    };
    extend(0, 0);
  }
  std::sort(times.begin(), times.end());
  return times;
}

TEST(PlayedOrderTest, ReturnsEveryCompositionInOrderOfItsTime) {
  size_t most = 0;
  for (uint32_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937 rng(seed);
    // With six islands, the bounds do not tell sets of islands apart.
    const bool many = seed % 5 == 0;
    std::vector<PlayedProblem> problems;
    for (int i = 0; i < 2; ++i) {
      problems.push_back(RandomProblem(rng, many ? 3 : 4, many ? 6 : 3));
    }
    std::vector<double> expected = AllTimes(problems, kEveryTime);
    const double limit_s =
        expected.empty() ? kEveryTime : expected[expected.size() / 2];
    expected = AllTimes(problems, limit_s);
    PlayedOrder order(problems, limit_s);
    std::vector<double> found;
    while (true) {
      ASSERT_OK_AND_ASSIGN(const auto next, order.Next(limit_s, GoOn));
      if (!next.has_value()) break;
      EXPECT_TRUE(IsAllowed(problems[next->problem], next->slices));
      EXPECT_EQ(PlayedSeconds(problems[next->problem], next->slices),
                next->seconds);
      found.push_back(next->seconds);
    }
    EXPECT_TRUE(order.is_exact());
    EXPECT_EQ(found, expected);
    most = std::max(most, found.size());
  }
  EXPECT_GT(most, 100);
}

TEST(PlayedOrderTest, ADiveLosesNoComposition) {
  int found_best = 0;
  for (uint32_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937 rng(seed);
    const std::vector<PlayedProblem> problems = {RandomProblem(rng, 4, 3),
                                                 RandomProblem(rng, 4, 3)};
    std::vector<double> expected = AllTimes(problems, kEveryTime);
    PlayedOrder order(problems, kEveryTime);
    ASSERT_OK_AND_ASSIGN(const auto dived,
                         order.Dive(kEveryTime, kWidth, GoOn));
    ASSERT_EQ(dived.has_value(), !expected.empty());
    if (!dived.has_value()) continue;
    EXPECT_EQ(PlayedSeconds(problems[dived->problem], dived->slices),
              dived->seconds);
    EXPECT_TRUE(
        std::binary_search(expected.begin(), expected.end(), dived->seconds));
    found_best += dived->seconds == expected.front() ? 1 : 0;
    // Bounds of a lower limit, or the same ones.
    double limit_s = kEveryTime;
    if (seed % 2 == 0) {
      limit_s = std::nextafter(dived->seconds, kEveryTime);
      expected = AllTimes(problems, limit_s);
      order.Narrow(limit_s);
      ASSERT_OK_AND_ASSIGN(const auto again, order.Dive(limit_s, kWidth, GoOn));
      EXPECT_TRUE(again.has_value());
    }
    std::vector<double> found;
    while (true) {
      ASSERT_OK_AND_ASSIGN(const auto next, order.Next(limit_s, GoOn));
      if (!next.has_value()) break;
      found.push_back(next->seconds);
    }
    EXPECT_EQ(found, expected);
  }
  EXPECT_GT(found_best, 50);
}

// Bounds of such small pipelines lack up to a tenth of their times.
TEST(PlayedOrderTest, ASearchForTheFastestLosesLittle) {
  std::mt19937 rng(11);
  int num_exact = 0;
  int num_problems = 0;
  for (int i = 0; i < 200; ++i) {
    const PlayedProblem problem = RandomProblem(rng, 5, 3);
    const std::vector<double> times = AllTimes({problem}, kEveryTime);
    PlayedOrder order({problem}, kEveryTime, PlayedOrder::Scope::kFastest);
    ASSERT_OK_AND_ASSIGN(const auto first, order.Next(kEveryTime, GoOn));
    ASSERT_EQ(first.has_value(), !times.empty());
    if (times.empty()) continue;
    EXPECT_LE(first->seconds, 1.1 * times.front());
    ++num_problems;
    num_exact += first->seconds == times.front() ? 1 : 0;
  }
  EXPECT_GT(num_exact, num_problems * 9 / 10);
}

TEST(PlayedOrderTest, AFallingLimitEndsIt) {
  std::mt19937 rng(3);
  const std::vector<PlayedProblem> problems = {RandomProblem(rng, 4, 3)};
  const std::vector<double> times = AllTimes(problems, kEveryTime);
  ASSERT_GT(times.size(), 2);
  PlayedOrder order(problems, kEveryTime);
  ASSERT_OK_AND_ASSIGN(const auto first, order.Next(kEveryTime, GoOn));
  EXPECT_EQ(first->seconds, times[0]);
  ASSERT_OK_AND_ASSIGN(const auto second, order.Next(first->seconds, GoOn));
  EXPECT_FALSE(second.has_value());
}

TEST(PlayedOrderTest, SkipsSettledSetsOfIslands) {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937 rng(seed);
    const std::vector<PlayedProblem> problems = {RandomProblem(rng, 4, 3)};
    const auto islands_of = [&](const std::vector<int>& slices) {
      uint32_t islands = 0;
      for (const int s : slices) islands |= 1 << problems[0].slices[s].island;
      return islands;
    };
    // The first of each set, in order.
    PlayedOrder all(problems, kEveryTime);
    std::vector<double> expected;
    std::set<uint32_t> seen;
    while (true) {
      ASSERT_OK_AND_ASSIGN(const auto next, all.Next(kEveryTime, GoOn));
      if (!next.has_value()) break;
      if (!seen.insert(islands_of(next->slices)).second) continue;
      expected.push_back(next->seconds);
    }
    PlayedOrder order(problems, kEveryTime);
    std::vector<double> found;
    while (true) {
      ASSERT_OK_AND_ASSIGN(const auto next, order.Next(kEveryTime, GoOn));
      if (!next.has_value()) break;
      found.push_back(next->seconds);
      order.Settle(islands_of(next->slices));
    }
    EXPECT_EQ(found, expected);
  }
}

// Returns a copy of a problem of two islands. Further ones are alike to the
// second of them, with the same slices, transfers and exchanges.
PlayedProblem WithCopies(PlayedProblem problem, int num_islands) {
  const auto original = [](int island) { return std::min(island, 1); };
  const auto of = [original](PlayedSlice slice) {
    slice.island = original(slice.island);
    return slice;
  };
  const std::vector<PlayedSlice> slices = problem.slices;
  problem.num_islands = num_islands;
  for (int island = 0; island < num_islands; ++island) {
    problem.first_alike.push_back(original(island));
    if (island < 2) continue;
    for (PlayedSlice slice : slices) {
      if (slice.island != 1) continue;
      slice.island = island;
      problem.slices.push_back(slice);
    }
  }
  problem.set_transfers = [of](const PlayedSlice& from, const PlayedSlice& to,
                               StageTimes& last) {
    SetTransfers(of(from), of(to), last);
  };
  problem.least_transfers = [original](int atom, int from, int to) {
    return LeastTransfers(atom, original(from), original(to));
  };
  problem.exchange_s = [of](const PlayedSlice& first, const PlayedSlice& last) {
    return ExchangeSeconds(of(first), of(last));
  };
  problem.least_exchange_s = [of, original](const PlayedSlice& last,
                                            int first) {
    return LeastExchangeSeconds(of(last), original(first));
  };
  return problem;
}

// Returns the times and the sets of islands of all that an order returns.
std::vector<std::pair<double, uint32_t>> AllOf(const PlayedProblem& problem) {
  std::vector<std::pair<double, uint32_t>> found;
  PlayedOrder order({problem}, kEveryTime);
  while (true) {
    const auto next = order.Next(kEveryTime, GoOn).value();
    if (!next.has_value()) break;
    uint32_t islands = 0;
    for (const int s : next->slices) islands |= 1 << problem.slices[s].island;
    found.push_back({next->seconds, islands});
  }
  EXPECT_TRUE(order.is_exact());
  return found;
}

// With few islands bounds tell sets of them apart, with more they do not.
TEST(PlayedOrderTest, LeavesOutOnlyCopiesOnAlikeIslands) {
  size_t num_left_out = 0;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937 rng(seed);
    PlayedProblem problem = WithCopies(RandomProblem(rng, 3, 2),
                                       /*num_islands=*/seed % 4 == 0 ? 6 : 4);
    const auto found = AllOf(problem);
    std::set<double> times;
    for (const auto& [seconds, islands] : found) {
      times.insert(seconds);
      // The first of islands 1, 2, … are in use.
      EXPECT_EQ((islands >> 1) & ((islands >> 1) + 1), 0);
    }
    problem.first_alike.clear();
    std::set<double> expected;
    const auto all = AllOf(problem);
    for (const auto& [seconds, islands] : all) expected.insert(seconds);
    EXPECT_EQ(times, expected);
    num_left_out += all.size() - found.size();
  }
  EXPECT_GT(num_left_out, 1000);
}

// The model of `num_atoms` equal atoms on two islands, with many plans.
PlayedProblem LargeProblem(int num_atoms) {
  PlayedProblem problem{.num_atoms = num_atoms,
                        .num_islands = 2,
                        .num_microbatches = 8,
                        .set_transfers = SetTransfers};
  for (int begin = 0; begin < num_atoms; ++begin) {
    for (int end = begin + 1; end <= num_atoms; ++end) {
      for (int island = 0; island < 2; ++island) {
        for (int plan = 0; plan < 20; ++plan) {
          problem.slices.push_back(
              {{begin, end}, island, static_cast<int>(problem.plans.size())});
          problem.plans.push_back(
              {.stages = {{.forward_s = (end - begin) * (1 + 1e-4 * plan),
                           .backward_s = (end - begin) * (2 - 1e-4 * plan)}},
               .max_trailing_stages = 10});
        }
      }
    }
  }
  return problem;
}

TEST(PlayedOrderTest, SaysThatItStoppedAtItsLimits) {
  PlayedOrder order({LargeProblem(60)}, kEveryTime);
  while (true) {
    ASSERT_OK_AND_ASSIGN(const auto next, order.Next(kEveryTime, GoOn));
    if (!next.has_value()) break;
  }
  EXPECT_FALSE(order.is_exact());
}

TEST(PlayedOrderTest, StopsWhenItIsTold) {
  PlayedOrder order({LargeProblem(60)}, kEveryTime);
  EXPECT_THAT(order.Next(kEveryTime, [] { return true; }),
              StatusIs(absl::StatusCode::kCancelled, "planning stopped"));
}

}  // namespace
}  // namespace tangram
