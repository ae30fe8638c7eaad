// Compares passes with brute force, and bounds their work between two polls.
#include "coordinator/composition/compose_pass.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "common/base/infinity.h"
#include "gtest/gtest.h"
#include "tests/unit/coordinator/composition/compose_instance.h"

namespace tangram {
namespace {

using testing::BruteForce;
using testing::FillAtRandom;
using testing::Instance;
using testing::RandomCandidate;

// Compares random instances with brute force, with at most `max_stages` stages
// and an accepted number of GPUs, and with several stages that divide a number,
// if it is given. Returns how many of them have a pipeline.
int CompareWithBruteForce(int num_seeds, int max_stages,
                          const std::function<bool(int)>& accepts_gpus = {},
                          int divided_by_stages = 0) {
  int feasible = 0;
  for (int seed = 0; seed < num_seeds; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937 rng(static_cast<uint32_t>(seed));
    const int num_atoms = 1 + static_cast<int>(rng() % 6);
    const int num_islands = 1 + static_cast<int>(rng() % 3);
    Instance instance(num_atoms, num_islands, 1 << (rng() % 5));
    for (double& work : instance.problem.atom_work)
      work = 1.0 + static_cast<int>(rng() % 3);
    instance.problem.transfer_s = [](int atom, int from, int from_gpus, int to,
                                     int to_gpus) {
      return 0.05 * (1 + atom % 3) * (1 + from + 2 * to) /
             std::min(from_gpus, to_gpus);
    };
    for (int i = 0; i < num_islands; ++i) {
      for (int begin = 0; begin < num_atoms; ++begin) {
        for (int end = begin + 1; end <= num_atoms; ++end) {
          std::vector<Candidate> candidates;
          for (int c = static_cast<int>(rng() % 4); c > 0; --c) {
            candidates.push_back(RandomCandidate(rng, end - begin));
          }
          instance.Add({begin, end}, i, candidates);
        }
      }
    }
    instance.problem.max_stages = max_stages;
    instance.problem.accepts_gpus = accepts_gpus;
    if (divided_by_stages > 0) {
      instance.problem.min_stages = 2;
      instance.problem.divided_by_stages = divided_by_stages;
    }
    BruteForce oracle{instance.problem};
    oracle.Extend({.atom = num_atoms});

    const auto compositions = ComposePipelines(instance.problem).value();
    EXPECT_EQ(compositions.empty(), oracle.best_s == kInfinity);
    if (compositions.empty()) continue;
    ++feasible;
    EXPECT_NEAR(compositions[0].closed_form_s, oracle.best_s, 1e-9);
    instance.problem.easy_work = 0;
    const auto prepared = ComposePipelines(instance.problem).value();
    EXPECT_FALSE(prepared.empty());
    if (prepared.empty()) continue;
    EXPECT_EQ(prepared[0].closed_form_s, compositions[0].closed_form_s);
  }
  return feasible;
}

TEST(ComposePassTest, AgreesWithBruteForce) {
  constexpr int kSeeds = 300;
  const int feasible =
      CompareWithBruteForce(kSeeds, std::numeric_limits<int>::max());
  EXPECT_GT(feasible, kSeeds / 2);  // Instances with and without a pipeline.
  EXPECT_LT(feasible, kSeeds);
}

TEST(ComposePassTest, AgreesWithBruteForceWhereGpusCount) {
  constexpr int kSeeds = 200;
  const int feasible =
      CompareWithBruteForce(kSeeds, std::numeric_limits<int>::max(),
                            [](int gpus) { return gpus % 4 == 0; });
  EXPECT_GT(feasible, kSeeds / 8);
  EXPECT_LT(feasible, kSeeds);
}

TEST(ComposePassTest, AgreesWithBruteForceWhereStagesDivideANumber) {
  constexpr int kSeeds = 200;
  const int feasible = CompareWithBruteForce(
      kSeeds, std::numeric_limits<int>::max(), {}, /*divided_by_stages=*/4);
  EXPECT_GT(feasible, kSeeds / 8);
  EXPECT_LT(feasible, kSeeds);
}

TEST(ComposePassTest, AgreesWithBruteForceUnderACapOnTheStages) {
  constexpr int kSeeds = 200;
  int before = 0;
  for (const int max_stages : {1, 2, 3}) {
    SCOPED_TRACE(::testing::Message() << "at most " << max_stages);
    const int feasible = CompareWithBruteForce(kSeeds, max_stages);
    EXPECT_GT(feasible, before);  // A lower cap leaves fewer pipelines.
    EXPECT_LT(feasible, kSeeds);
    before = feasible;
  }
}

TEST(ComposePassTest, ABeamFindsAPipelineThatIsNoBetterThanTheBest) {
  int narrowed = 0;
  for (uint32_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937 rng(seed);
    Instance instance(8, 4, 8);
    FillAtRandom(instance, 3, rng);
    ComposeEffort effort;
    const auto exact = ComposePipelines(instance.problem, &effort).value();
    EXPECT_TRUE(effort.is_exact);
    EXPECT_EQ(effort.beam_width, kUnlimitedBeam);
    ASSERT_FALSE(exact.empty());

    instance.problem.max_tails = 30;
    const auto beam = ComposePipelines(instance.problem, &effort).value();
    if (effort.is_exact) continue;
    ++narrowed;
    EXPECT_LT(effort.beam_width, kUnlimitedBeam);
    ASSERT_FALSE(beam.empty());
    EXPECT_GE(beam[0].closed_form_s, exact[0].closed_form_s);
    const auto again = ComposePipelines(instance.problem).value();
    EXPECT_EQ(again[0].closed_form_s, beam[0].closed_form_s);
  }
  EXPECT_GT(narrowed, 10);
}

TEST(ComposePassTest, BetweenTwoPollsIsABoundedAmountOfWork) {
  std::mt19937 rng(1);
  Instance instance(20, 4, 8);
  FillAtRandom(instance, 4, rng);
  // The problem is asked for a transfer each time a candidate meets a set of
  // tails, so the calls count work.
  int64_t since_poll = 0;
  int64_t longest = 0;
  instance.problem.transfer_s = [&](int, int, int, int, int) {
    longest = std::max(longest, ++since_poll);
    return 0.0;
  };
  instance.problem.should_stop = [&] {
    since_poll = 0;
    return false;
  };
  ASSERT_FALSE(ComposePipelines(instance.problem).value().empty());
  EXPECT_GT(longest, 0);
  EXPECT_LT(longest, 20'000);
}

}  // namespace
}  // namespace tangram
