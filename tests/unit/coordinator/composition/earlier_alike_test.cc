// Alike islands: searches leave out only copies, and take fewer states.
#include "coordinator/composition/earlier_alike.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "coordinator/composition/compose_pipeline.h"
#include "gtest/gtest.h"
#include "tests/unit/coordinator/composition/compose_instance.h"

namespace tangram {
namespace {

using testing::BruteForce;
using testing::Instance;
using testing::OneStage;
using testing::RandomCandidate;

// Returns how many states the search of a model of 12 atoms on alike islands
// goes through. A pass polls once for each.
int PollsOnAlikeIslands(int num_islands, bool says_so) {
  constexpr int kNumAtoms = 12;
  Instance instance(kNumAtoms, num_islands, /*num_microbatches=*/8);
  std::vector<int> islands;
  for (int island = 0; island < num_islands; ++island) {
    islands.push_back(island);
    if (says_so) instance.problem.first_alike.push_back(0);
  }
  for (int begin = 0; begin < kNumAtoms; ++begin) {
    for (int end = begin + 1; end <= kNumAtoms; ++end) {
      Candidate candidate = OneStage(end - begin + 0.5);
      candidate.max_trailing_stages = 12 - (end - begin);
      instance.AddAlike({begin, end}, islands, {candidate});
    }
  }
  int polls = 0;
  instance.problem.should_stop = [&] { return ++polls > 10'000; };
  const auto compositions = ComposePipelines(instance.problem);
  if (!compositions.ok()) return polls;
  // The last atoms are on the first island, those before them on the next.
  const Composition& best = compositions->front();
  EXPECT_GT(best.slices.size(), 3);
  for (size_t i = 0; says_so && i < best.slices.size(); ++i) {
    EXPECT_EQ(instance.problem.pairs[best.slices[i].pair].island,
              best.slices.size() - 1 - i);
  }
  return polls;
}

TEST(EarlierAlikeTest, StatesGrowLinearlyWithAlikeIslands) {
  const int with_seven = PollsOnAlikeIslands(7, /*says_so=*/true);
  EXPECT_LT(with_seven, 1000);
  EXPECT_LE(PollsOnAlikeIslands(14, /*says_so=*/true), 2 * with_seven);
  EXPECT_GT(PollsOnAlikeIslands(14, /*says_so=*/false), 10'000);
}

// Islands by the transfers to and from them. Islands 0, 1 and 3 are alike. To
// and from 2 and 4 transfers are others, and 5 has other plans.
constexpr int kFirstAlike[] = {0, 0, 2, 0, 4, 0};

// Fills an instance of up to six islands. The pairs of all but the last of six
// are the same.
void FillAlike(Instance& instance, std::mt19937& rng) {
  ComposeProblem& problem = instance.problem;
  problem.first_alike.assign(kFirstAlike, kFirstAlike + problem.num_islands);
  problem.transfer_s = [](int atom, int from, int from_gpus, int to,
                          int to_gpus) {
    return 0.05 * (1 + atom % 3) * (1 + kFirstAlike[from] + kFirstAlike[to]) /
           std::min(from_gpus, to_gpus);
  };
  std::vector<int> alike;
  for (int i = 0; i < std::min(problem.num_islands, 5); ++i) alike.push_back(i);
  for (int begin = 0; begin < problem.num_atoms; ++begin) {
    for (int end = begin + 1; end <= problem.num_atoms; ++end) {
      for (const std::vector<int>& islands : {alike, std::vector<int>{5}}) {
        std::vector<Candidate> candidates;
        for (int c = static_cast<int>(rng() % 3); c > 0; --c) {
          candidates.push_back(RandomCandidate(rng, end - begin));
        }
        if (islands.front() >= problem.num_islands) continue;
        instance.AddAlike({begin, end}, islands, candidates);
      }
    }
  }
}

TEST(EarlierAlikeTest, LeavesOutOnlyCopiesOnAlikeIslands) {
  int feasible = 0;
  for (uint32_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937 rng(seed);
    Instance instance(2 + static_cast<int>(rng() % 4),
                      2 + static_cast<int>(rng() % 5), 1 << (rng() % 5));
    FillAlike(instance, rng);
    ComposeProblem& problem = instance.problem;
    if (seed % 3 == 1) {
      problem.accepts_gpus = [](int gpus) { return gpus % 2 == 0; };
    }
    if (seed % 3 == 2) problem.required_islands = 0b10;
    if (seed % 4 == 0) problem.max_stages = 4;
    const auto found = ComposePipelines(problem).value();
    problem.easy_work = 0;
    const auto prepared = ComposePipelines(problem).value();
    problem.first_alike.clear();
    const auto all = ComposePipelines(problem).value();
    ASSERT_EQ(found.empty(), all.empty());
    ASSERT_EQ(prepared.empty(), all.empty());
    if (found.empty()) continue;
    ++feasible;
    EXPECT_NEAR(found[0].closed_form_s, all[0].closed_form_s, 1e-9);
    EXPECT_NEAR(prepared[0].closed_form_s, all[0].closed_form_s, 1e-9);
    if (seed % 3 == 2) continue;
    BruteForce oracle{problem};
    oracle.Extend({.atom = problem.num_atoms});
    EXPECT_NEAR(found[0].closed_form_s, oracle.best_s, 1e-9);
    uint32_t islands = 0;
    for (const ComposedSlice& slice : found[0].slices) {
      islands |= uint32_t{1} << problem.pairs[slice.pair].island;
    }
    // The first of islands 0, 1 and 3 are in use.
    EXPECT_GE(islands & 1, islands >> 1 & 1);
    EXPECT_GE(islands >> 1 & 1, islands >> 3 & 1);
  }
  EXPECT_GT(feasible, 150);
}

}  // namespace
}  // namespace tangram
