#include "coordinator/composition/joint_bounds.h"

#include <algorithm>
#include <random>
#include <vector>

#include "common/base/infinity.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

// A problem without transfers, and its pairs.
struct BoundedInstance {
  ComposeProblem problem;
  std::vector<PairCandidates> pairs;
  std::vector<std::vector<int>> ending_at;
};

Candidate RandomTimes(std::mt19937& rng, int atoms) {
  std::uniform_real_distribution<double> unit(0.5, 1.5);
  Candidate candidate{.num_stages = 1 + static_cast<int>(rng() % 3)};
  for (int s = 0; s < candidate.num_stages; ++s) {
    const double stage_s = atoms * unit(rng) / candidate.num_stages;
    candidate.latency_s += stage_s;
    candidate.slowest_s = std::max(candidate.slowest_s, stage_s);
  }
  return candidate;
}

// Islands 1 and 2 are alike.
BoundedInstance RandomBounded(uint32_t seed) {
  std::mt19937 rng(seed);
  BoundedInstance instance;
  ComposeProblem& problem = instance.problem;
  problem.num_atoms = 1 + static_cast<int>(rng() % 5);
  problem.num_islands = 4;
  problem.num_microbatches = 1 << (rng() % 5);
  problem.required_islands = rng() % 3 == 0 ? 0b1000 : 0;
  instance.pairs.reserve(1000);  // problem.pairs points into it.
  instance.ending_at.resize(problem.num_atoms + 1);
  for (int begin = 0; begin < problem.num_atoms; ++begin) {
    for (int end = begin + 1; end <= problem.num_atoms; ++end) {
      for (int island = 0; island < problem.num_islands; ++island) {
        if (island != 2) {
          PairCandidates& pair = instance.pairs.emplace_back();
          for (int c = static_cast<int>(rng() % 4); c > 0; --c) {
            pair.candidates.push_back(RandomTimes(rng, end - begin));
          }
        }
        instance.ending_at[end].push_back(
            static_cast<int>(problem.pairs.size()));
        problem.pairs.push_back({{begin, end}, island, &instance.pairs.back()});
      }
    }
  }
  return instance;
}

// The least L + (B − 1) T of all pipelines that end with a tail of (L, T) and
// have atoms [0, num_prefix) on islands of `usable`. Tries all of them.
double LeastByForce(const ComposeProblem& problem, int num_prefix,
                    uint32_t usable, double latency_s, double slowest_s) {
  if (num_prefix == 0) {
    return (usable & problem.required_islands) != 0
               ? kInfinity
               : latency_s + (problem.num_microbatches - 1) * slowest_s;
  }
  double least_s = kInfinity;
  for (const PlacedPair& placed : problem.pairs) {
    const uint32_t bit = uint32_t{1} << placed.island;
    if (placed.atoms.end != num_prefix || (usable & bit) == 0) continue;
    for (const Candidate& candidate : placed.pair->candidates) {
      least_s = std::min(
          least_s, LeastByForce(problem, placed.atoms.begin, usable & ~bit,
                                latency_s + candidate.latency_s,
                                std::max(slowest_s, candidate.slowest_s)));
    }
  }
  return least_s;
}

TEST(JointBoundsTest, AreBelowAllPipelinesAndCloseToTheBest) {
  double least_share = 1;
  double sum_of_shares = 0;
  int num_shares = 0;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    const BoundedInstance instance = RandomBounded(seed);
    const ComposeProblem& problem = instance.problem;
    const uint32_t all = 0b1111;
    const double best_s = LeastByForce(problem, problem.num_atoms, all, 0, 0);
    const JointBounds bounds(problem, IslandKinds(problem), instance.ending_at,
                             seed % 2 == 0 ? kInfinity : 1.1 * best_s);
    for (int prefix = 0; prefix <= problem.num_atoms; ++prefix) {
      for (uint32_t usable = 0; usable <= all; ++usable) {
        for (const double slowest_s : {0.0, 0.5, 2.0}) {
          const double exact_s =
              LeastByForce(problem, prefix, usable, 1.0, slowest_s);
          const double bound_s =
              bounds.LeastSeconds(prefix, usable, 1.0, slowest_s);
          EXPECT_LE(bound_s, exact_s * (1 + 1e-9));
          if (exact_s == kInfinity) {
            EXPECT_EQ(bound_s, kInfinity);
            continue;
          }
          least_share = std::min(least_share, bound_s / exact_s);
          sum_of_shares += bound_s / exact_s;
          ++num_shares;
        }
      }
    }
  }
  EXPECT_GT(num_shares, 1000);
  EXPECT_GT(least_share, 0.5);
  EXPECT_GT(sum_of_shares / num_shares, 0.97);
}

TEST(JointBoundsTest, AStopEndsThem) {
  BoundedInstance instance = RandomBounded(1);
  instance.problem.should_stop = [] { return true; };
  const JointBounds bounds(instance.problem, IslandKinds(instance.problem),
                           instance.ending_at, kInfinity);
  EXPECT_TRUE(bounds.stopped());
}

TEST(JointBoundsTest, TooManySetsAreNotSmall) {
  const BoundedInstance instance = RandomBounded(1);
  ComposeProblem problem = instance.problem;
  EXPECT_TRUE(JointBounds::IsSmall(problem, IslandKinds(problem)));
  problem.num_atoms = 10'000'000;
  EXPECT_FALSE(JointBounds::IsSmall(problem, IslandKinds(problem)));
}

TEST(IslandKindsTest, AlikeIslandsAreOfOneKind) {
  BoundedInstance instance = RandomBounded(1);
  instance.problem.required_islands = 0;
  const IslandKinds kinds(instance.problem);
  EXPECT_EQ(kinds.num_kinds(), 3);
  EXPECT_EQ(kinds.KindOf(1), kinds.KindOf(2));
  EXPECT_EQ(kinds.FirstOf(kinds.KindOf(2)), 1);
  EXPECT_EQ(kinds.num_sets(), 2 * 3 * 2);
  EXPECT_EQ(kinds.SetOf(0b0010), kinds.SetOf(0b0100));
  EXPECT_NE(kinds.SetOf(0b0110), kinds.SetOf(0b0100));
  const int alike = kinds.KindOf(1);
  EXPECT_EQ(kinds.SetOf(0b0110), 2 * kinds.StrideOf(alike));
  EXPECT_EQ(kinds.SpanOf(alike), 3 * kinds.StrideOf(alike));
  EXPECT_EQ(kinds.SetOf(0b1111), kinds.num_sets() - 1);
  // So it is with more islands.
  instance.problem.num_islands = 11;
  const IslandKinds more(instance.problem);
  EXPECT_EQ(more.num_sets(), 2 * 3 * 2 * 8);
  EXPECT_EQ(more.SetOf(0b10000001000),
            more.SetOf(0b1000) + more.SetOf(0b10000000000));
  EXPECT_EQ(more.SetOf(0b01000000000), more.SetOf(0b10000000000));
  EXPECT_EQ(more.SetOf(0b11111111111), more.num_sets() - 1);
  instance.problem.num_islands = 4;
  // A requirement sets an island apart.
  instance.problem.required_islands = 0b0010;
  EXPECT_EQ(IslandKinds(instance.problem).num_kinds(), 4);
}

}  // namespace
}  // namespace tangram
