#include "worker/adapters/alpa/alpa_inter_operator.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram::alpa {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pointwise;
using ::testing::SizeIs;

constexpr double kNever = std::numeric_limits<double>::infinity();

// Returns `num_layers` equal layers that take one second on one device and
// divide perfectly. Every stage bears `borne` trailing stages.
InterOperatorProblem EqualLayers(int num_layers, int num_devices,
                                 std::vector<int> sizes, int borne) {
  InterOperatorProblem problem(num_layers, num_devices, sizes);
  for (int begin = 0; begin < num_layers; ++begin) {
    for (int end = begin + 1; end <= num_layers; ++end) {
      const int row = problem.AddRow();
      problem.SetRow(begin, end, row);
      for (int m = 0; m < static_cast<int>(sizes.size()); ++m) {
        problem.SetOptions(row, m,
                           {{.seconds = 1.0 * (end - begin) / sizes[m],
                             .max_trailing_stages = borne}});
      }
    }
  }
  return problem;
}

std::vector<std::pair<int, int>> CutsOf(const ChosenPipeline& pipeline) {
  std::vector<std::pair<int, int>> cuts;
  for (const ChosenStage& stage : pipeline.stages) {
    cuts.emplace_back(stage.begin, stage.end);
  }
  return cuts;
}

TEST(InterOperatorTest, BalancesLayersOverTheDevices) {
  const auto answer =
      SolveInterOperator(EqualLayers(4, 2, {1}, 9), {.num_microbatches = 8});

  // One device: 4 s and 4 + 7·4 s. Two: 2 s, latency 4 s, 4 + 7·2 s, which is
  // better in total and no worse in latency.
  ASSERT_THAT(answer.pipelines, SizeIs(2));
  EXPECT_EQ(answer.pipelines[0].slowest_s, 4);
  EXPECT_EQ(answer.pipelines[1].slowest_s, 2);
  EXPECT_EQ(answer.pipelines[1].latency_s, 4);
  EXPECT_THAT(CutsOf(answer.pipelines[1]),
              ElementsAre(std::pair(0, 2), std::pair(2, 4)));
  EXPECT_EQ(answer.pipelines[1].stages[1].first_device, 1);
  EXPECT_FALSE(answer.truncated);
  EXPECT_GT(answer.steps, 0);
}

TEST(InterOperatorTest, MoreStagesThatGainNothingAreLeftOut) {
  // On both devices at once: 2 s and 2 s latency.
  const auto answer =
      SolveInterOperator(EqualLayers(4, 2, {1, 2}, 9), {.num_microbatches = 8});

  ASSERT_THAT(answer.pipelines, SizeIs(1));
  EXPECT_EQ(answer.pipelines[0].stages[0].submesh, 1);
}

TEST(InterOperatorTest, EarlierStagesAreTheShorterOfEqualChoices) {
  const auto answer =
      SolveInterOperator(EqualLayers(5, 2, {1}, 9), {.num_microbatches = 8});

  EXPECT_THAT(CutsOf(answer.pipelines.back()),
              ElementsAre(std::pair(0, 2), std::pair(2, 5)));
}

TEST(InterOperatorTest, StagesMustBearWhatFollowsThem) {
  // Stage s from the end has s - 1 + 1 stages behind it: at most two fit.
  const auto answer = SolveInterOperator(
      EqualLayers(4, 4, {1}, 2), {.num_microbatches = 8, .trailing_stages = 1});

  EXPECT_THAT(answer.pipelines.back().stages, SizeIs(2));
  EXPECT_THAT(SolveInterOperator(EqualLayers(4, 4, {1}, 2),
                                 {.num_microbatches = 8, .trailing_stages = 3})
                  .pipelines,
              IsEmpty());
}

TEST(InterOperatorTest, TransfersCountForTheStageThatSends) {
  InterOperatorProblem problem = EqualLayers(4, 2, {1}, 9);
  problem.SetTransfers({0, 0, 0, 0}, [](int, int, int, int) { return 0.5; });

  const auto answer = SolveInterOperator(problem, {.num_microbatches = 8});

  // 2 + 0.5 and 2 seconds.
  EXPECT_EQ(answer.pipelines.back().slowest_s, 2.5);
  EXPECT_EQ(answer.pipelines.back().latency_s, 4.5);
}

TEST(InterOperatorTest, MayHaveToUseAllDevices) {
  // One stage on one device would have the same total.
  InterOperatorProblem problem = EqualLayers(1, 2, {1}, 9);
  problem.use_all_devices = true;

  EXPECT_THAT(SolveInterOperator(problem, {}).pipelines, IsEmpty());
}

TEST(InterOperatorTest, StopsWhenTold) {
  const auto answer = SolveInterOperator(EqualLayers(4, 2, {1}, 9),
                                         {.should_stop = [] { return true; }});

  EXPECT_TRUE(answer.truncated);
  EXPECT_THAT(answer.pipelines, IsEmpty());
}

// Returns random costs and memory, now and then with no option at all. More
// devices help less than in proportion, so that pipelines pay off.
InterOperatorProblem RandomProblem(std::mt19937& rng) {
  const auto pick = [&](int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(rng);
  };
  const int num_layers = pick(1, 7);
  const int num_devices = pick(1, 8);
  std::vector<int> sizes = {1};
  while (sizes.back() * 2 <= num_devices) sizes.push_back(sizes.back() * 2);
  InterOperatorProblem problem(num_layers, num_devices, sizes);
  problem.use_all_devices = pick(0, 3) == 0;
  if (pick(0, 1) == 0) {
    problem.RestrictSubmeshes(
        [](int device, int size) { return device % size == 0; });
  }
  for (int begin = 0; begin < num_layers; ++begin) {
    for (int end = begin + 1; end <= num_layers; ++end) {
      const int row = problem.AddRow();
      problem.SetRow(begin, end, row);
      for (int m = 0; m < static_cast<int>(sizes.size()); ++m) {
        std::vector<StageOption> options;
        for (int config = pick(0, 8) / 2; config > 0; --config) {
          const double seconds =
              (end - begin) * pick(60, 200) / std::sqrt(sizes[m]);
          options.push_back({.seconds = seconds,
                             .max_trailing_stages = pick(0, 6),
                             .config = config,
                             .pass_s = seconds});
        }
        problem.SetOptions(row, m, std::move(options));
      }
    }
  }
  const double transfer_s = 5 * pick(0, 3);
  problem.SetTransfers(
      std::vector<int>(num_layers, 0), [&](int, int device, int from, int to) {
        return transfer_s * (device % 2 + 1) / std::min(sizes[from], sizes[to]);
      });
  return problem;
}

struct Found {
  int stages = 0;
  double slowest_s = 0;
  double latency_s = 0;
};

// Returns every pipeline that fits, by trying all of them.
class AllPipelines {
 public:
  AllPipelines(const InterOperatorProblem& problem, int trailing_stages)
      : problem_(problem), trailing_stages_(trailing_stages) {
    Extend(problem.num_layers(), {});
  }
  const std::vector<Found>& found() const { return found_; }

 private:
  // Adds stages to `stages` from the back; the first begins at layer `end`.
  // Tries all device counts, and places the devices at the end.
  void Extend(int end, std::vector<std::pair<ChosenStage, double>> stages) {
    if (end == 0) {
      Place(stages);
      return;
    }
    const int behind = static_cast<int>(stages.size()) + trailing_stages_;
    for (int begin = 0; begin < end; ++begin) {
      for (int m = 0; m < problem_.num_submeshes(); ++m) {
        for (const StageOption& option :
             problem_.OptionsOf(problem_.RowOf(begin, end), m)) {
          if (option.max_trailing_stages < behind) continue;
          stages.push_back(
              {{.begin = begin, .end = end, .submesh = m}, option.seconds});
          Extend(begin, stages);
          stages.pop_back();
        }
      }
    }
  }

  void Place(const std::vector<std::pair<ChosenStage, double>>& from_back) {
    Found found = {.stages = static_cast<int>(from_back.size())};
    int device = 0;
    for (int i = found.stages - 1; i >= 0; --i) {
      const auto& [stage, seconds] = from_back[i];
      if (device >= problem_.num_devices()) return;
      const auto submeshes = problem_.SubmeshesAt(device);
      if (std::find(submeshes.begin(), submeshes.end(), stage.submesh) ==
          submeshes.end()) {
        return;
      }
      device += problem_.size_of(stage.submesh);
      double time_s = seconds;
      if (i > 0) {
        if (device >= problem_.num_devices()) return;
        time_s += problem_.TransferSeconds(stage.end, device, stage.submesh,
                                           from_back[i - 1].first.submesh);
      }
      found.slowest_s = std::max(found.slowest_s, time_s);
      found.latency_s += time_s;
    }
    if (problem_.use_all_devices && device < problem_.num_devices()) return;
    found_.push_back(found);
  }

  const InterOperatorProblem& problem_;
  const int trailing_stages_;
  std::vector<Found> found_;
};

// Returns (stages, total, latency) of the pipelines that none with as few
// stages beats.
std::vector<std::tuple<int, double, double>> Unbeaten(
    const std::vector<Found>& all, int num_microbatches) {
  std::vector<std::tuple<int, double, double>> sorted;
  for (const Found& found : all) {
    sorted.emplace_back(
        found.stages,
        found.latency_s + (num_microbatches - 1) * found.slowest_s,
        found.latency_s);
  }
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::tuple<int, double, double>> kept;
  constexpr double kRounding = 1 - 1e-12;
  for (const auto& entry : sorted) {
    const auto [stages, total, latency] = entry;
    const bool beaten =
        std::any_of(kept.begin(), kept.end(), [&](const auto& other) {
          return std::get<1>(other) * kRounding <= std::get<1>(entry) &&
                 std::get<2>(other) * kRounding <= std::get<2>(entry);
        });
    if (!beaten) kept.emplace_back(stages, total, latency);
  }
  return kept;
}

TEST(InterOperatorTest, FindsAllThatExhaustiveSearchFinds) {
  std::mt19937 rng(20220124);
  int some = 0;
  int none = 0;
  for (int trial = 0; trial < 300; ++trial) {
    SCOPED_TRACE(trial);
    const InterOperatorProblem problem = RandomProblem(rng);
    const int microbatches = 1 << (rng() % 7);
    const int trailing_stages = static_cast<int>(rng() % 4);
    const auto want =
        Unbeaten(AllPipelines(problem, trailing_stages).found(), microbatches);

    const auto answer = SolveInterOperator(
        problem,
        {.num_microbatches = microbatches, .trailing_stages = trailing_stages});

    std::vector<Found> found;
    for (const ChosenPipeline& pipeline : answer.pipelines) {
      found.push_back({static_cast<int>(pipeline.stages.size()),
                       pipeline.slowest_s, pipeline.latency_s});
    }
    EXPECT_THAT(Unbeaten(found, microbatches), SizeIs(found.size()));
    EXPECT_THAT(
        Unbeaten(found, microbatches),
        Pointwise(
            ::testing::Truly([](const auto& pair) {
              const auto& [got, wanted] = pair;
              return std::get<0>(got) == std::get<0>(wanted) &&
                     std::abs(std::get<1>(got) - std::get<1>(wanted)) < 1e-9 &&
                     std::abs(std::get<2>(got) - std::get<2>(wanted)) < 1e-9;
            }),
            want));
    (want.empty() ? none : some) += 1;
  }
  EXPECT_GT(some, 100);
  EXPECT_GT(none, 10);
}

// The dynamic program as the paper states it, under one bound on the stage
// time. Holds the least latency by number of stages, and the slowest stage of
// the pipeline that attains it.
struct Bounded {
  double latency_s = kNever;
  double slowest_s = 0;
};

std::vector<Bounded> WithinBound(const InterOperatorProblem& problem,
                                 double bound_s) {
  const int num_layers = problem.num_layers();
  const int num_devices = problem.num_devices();
  std::vector<std::vector<Bounded>> level(
      num_layers + 1, std::vector<Bounded>(num_devices + 1));
  level[num_layers][0] = {.latency_s = 0};
  std::vector<Bounded> whole;
  for (int stages = 1; stages <= num_layers; ++stages) {
    std::vector<std::vector<Bounded>> next(
        num_layers + 1, std::vector<Bounded>(num_devices + 1));
    for (int begin = 0; begin < num_layers; ++begin) {
      for (int end = begin + 1; end <= num_layers; ++end) {
        for (int m = 0; m < problem.num_submeshes(); ++m) {
          for (const StageOption& option :
               problem.OptionsOf(problem.RowOf(begin, end), m)) {
            if (option.seconds > bound_s ||
                option.max_trailing_stages < stages - 1) {
              continue;
            }
            for (int d = problem.size_of(m); d <= num_devices; ++d) {
              const Bounded& rest = level[end][d - problem.size_of(m)];
              const double latency_s = option.seconds + rest.latency_s;
              if (latency_s >= next[begin][d].latency_s) continue;
              next[begin][d] = {latency_s,
                                std::max(option.seconds, rest.slowest_s)};
            }
          }
        }
      }
    }
    level = std::move(next);
    whole.push_back(level[0][num_devices]);
  }
  return whole;
}

// The paper scores a pipeline by the bound under which it was found. Upstream
// takes the least latency over all numbers of stages and scores by its slowest
// stage. Over all bounds, both find the same total, and so do we.
TEST(InterOperatorTest, TotalIsThatOfThePaperAndOfUpstream) {
  std::mt19937 rng(7);
  int some = 0;
  for (int trial = 0; trial < 200; ++trial) {
    SCOPED_TRACE(trial);
    InterOperatorProblem problem = RandomProblem(rng);
    problem.use_all_devices = true;
    problem.RestrictSubmeshes([](int, int) { return true; });
    problem.SetTransfers(std::vector<int>(problem.num_layers(), 0),
                         [](int, int, int, int) { return 0.0; });
    const int microbatches = 1 << (rng() % 7);
    double paper_s = kNever;
    double upstream_s = kNever;
    for (int row = 0; row < problem.num_rows(); ++row) {
      for (int m = 0; m < problem.num_submeshes(); ++m) {
        for (const StageOption& bound : problem.OptionsOf(row, m)) {
          Bounded least;
          for (const Bounded& bounded : WithinBound(problem, bound.seconds)) {
            if (bounded.latency_s < least.latency_s) least = bounded;
          }
          if (least.latency_s == kNever) continue;
          paper_s = std::min(
              paper_s, least.latency_s + (microbatches - 1) * bound.seconds);
          upstream_s =
              std::min(upstream_s,
                       least.latency_s + (microbatches - 1) * least.slowest_s);
        }
      }
    }

    double total_s = kNever;
    for (const ChosenPipeline& pipeline :
         SolveInterOperator(problem, {.num_microbatches = microbatches})
             .pipelines) {
      total_s = std::min(total_s, pipeline.latency_s +
                                      (microbatches - 1) * pipeline.slowest_s);
    }

    if (paper_s == kNever) {
      EXPECT_EQ(total_s, kNever);
      continue;
    }
    ++some;
    EXPECT_THAT(total_s, DoubleNear(paper_s, 1e-9));
    EXPECT_THAT(total_s, DoubleNear(upstream_s, 1e-9));
  }
  EXPECT_GT(some, 50);
}

// Returns (stages, total, latency) of pipelines, rounded.
std::vector<std::tuple<int, double, double>> MeritsOf(
    const InterOperatorAnswer& answer, int num_microbatches, double limit_s) {
  std::vector<std::tuple<int, double, double>> merits;
  for (const ChosenPipeline& pipeline : answer.pipelines) {
    const double total_s =
        pipeline.latency_s + (num_microbatches - 1) * pipeline.slowest_s;
    if (total_s > limit_s) continue;
    merits.emplace_back(static_cast<int>(pipeline.stages.size()), total_s,
                        pipeline.latency_s);
  }
  return merits;
}

TEST(InterOperatorTest, FindsAllWithinTheLimit) {
  std::mt19937 rng(2022);
  for (int i = 0; i < 300; ++i) {
    const InterOperatorProblem problem = RandomProblem(rng);
    InterOperatorOptions options{.num_microbatches = 1 + i % 9};
    const auto all = SolveInterOperator(problem, options);
    if (all.pipelines.empty()) continue;
    const ChosenPipeline& some = all.pipelines[i % all.pipelines.size()];
    options.limit_s =
        some.latency_s + (options.num_microbatches - 1) * some.slowest_s;

    const auto within = SolveInterOperator(problem, options);

    EXPECT_EQ(MeritsOf(within, options.num_microbatches, kInfinity),
              MeritsOf(all, options.num_microbatches, options.limit_s))
        << "problem " << i;
    EXPECT_LE(within.steps, all.steps);
  }
}

}  // namespace
}  // namespace tangram::alpa
