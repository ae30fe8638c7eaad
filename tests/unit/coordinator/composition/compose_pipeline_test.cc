#include "coordinator/composition/compose_pipeline.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "common/base/infinity.h"
#include "common/domain/slice_plan.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tangram {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

Candidate OneStage(double seconds, int max_trailing_stages = 100) {
  return {.slowest_s = seconds,
          .latency_s = seconds,
          .last_stage_s = seconds,
          .backward_s = seconds * 2 / 3,
          .num_stages = 1,
          .max_trailing_stages = max_trailing_stages,
          .first_stage_gpus = 1,
          .last_stage_gpus = 1};
}

// Holds a problem and the pairs that it points to.
struct Instance {
  ComposeProblem problem;
  std::vector<PairCandidates> pairs;

  Instance(int num_atoms, int num_islands, int num_microbatches) {
    problem.num_atoms = num_atoms;
    problem.num_islands = num_islands;
    problem.num_microbatches = num_microbatches;
    problem.transfer_s = [](int, int, int, int, int) { return 0.0; };
    problem.atom_work.assign(num_atoms, 1.0);
    pairs.reserve(1000);  // problem.pairs points into it.
  }

  void Add(AtomRange atoms, int island, std::vector<Candidate> candidates,
           int covers = kUnlimitedTrailingStages) {
    pairs.push_back({std::move(candidates), covers});
    problem.pairs.push_back({atoms, island, &pairs.back()});
  }

  // Adds a pair on each of some islands, with the same candidates.
  void AddAlike(AtomRange atoms, const std::vector<int>& islands,
                std::vector<Candidate> candidates) {
    pairs.push_back({std::move(candidates), kUnlimitedTrailingStages});
    for (const int island : islands) {
      problem.pairs.push_back({atoms, island, &pairs.back()});
    }
  }
};

// Two islands and four atoms. Slices {0, 2} and {2, 4} balance; {0, 3} and
// {3, 4} do not.
Instance FourAtomsTwoIslands() {
  Instance instance(4, 2, /*num_microbatches=*/4);
  instance.Add({0, 3}, 0, {OneStage(1.5)});
  instance.Add({0, 2}, 0, {OneStage(1.0)});
  instance.Add({3, 4}, 1, {OneStage(0.4)});
  instance.Add({2, 4}, 1, {OneStage(1.1)});
  return instance;
}

TEST(ComposePipelinesTest, BalancesTheSlowestStage) {
  const Instance instance = FourAtomsTwoIslands();
  const auto compositions = ComposePipelines(instance.problem).value();
  ASSERT_THAT(compositions, SizeIs(1));
  // 1.0 + 1.1 + 3·1.1 = 5.4 < 1.5 + 0.4 + 3·1.5 = 6.4
  EXPECT_DOUBLE_EQ(compositions[0].closed_form_s, 5.4);
  ASSERT_THAT(compositions[0].slices, SizeIs(2));
  EXPECT_EQ(compositions[0].slices[0].pair, 1);
  EXPECT_EQ(compositions[0].slices[0].trailing_stages, 1);
  EXPECT_EQ(compositions[0].slices[1].pair, 3);
}

TEST(ComposePipelinesTest, SlackBringsTheRunnerUpToo) {
  Instance instance = FourAtomsTwoIslands();
  instance.problem.slack = 0.2;  // 6.4 ≤ 1.2 · 5.4
  EXPECT_THAT(ComposePipelines(instance.problem).value(), SizeIs(2));
}

TEST(ComposePipelinesTest, LeavesASlowIslandOut) {
  Instance instance = FourAtomsTwoIslands();
  instance.Add({0, 4}, 0, {OneStage(1.2)});
  const auto compositions = ComposePipelines(instance.problem).value();
  ASSERT_THAT(compositions, SizeIs(1));
  EXPECT_DOUBLE_EQ(compositions[0].closed_form_s, 4.8);  // 1.2 + 3·1.2
  EXPECT_THAT(compositions[0].slices, SizeIs(1));
}

TEST(ComposePipelinesTest, KeepsRequiredIslandsIn) {
  Instance instance = FourAtomsTwoIslands();
  instance.Add({0, 4}, 0, {OneStage(1.2)});
  instance.problem.required_islands = 0b10;
  const auto compositions = ComposePipelines(instance.problem).value();
  ASSERT_THAT(compositions, SizeIs(1));
  EXPECT_DOUBLE_EQ(compositions[0].closed_form_s, 5.4);
}

TEST(ComposePipelinesTest, TheStageBeforeTheBoundaryPaysForTheTransfer) {
  Instance instance = FourAtomsTwoIslands();
  instance.problem.transfer_s = [](int atom, int from, int, int to, int) {
    EXPECT_EQ(from, 0);
    EXPECT_EQ(to, 1);
    return atom == 2 ? 0.5 : 0.0;
  };
  const auto compositions = ComposePipelines(instance.problem).value();
  ASSERT_THAT(compositions, SizeIs(1));
  // 1.0 + 0.5 + 1.1 + 3·1.5 = 7.1 > 6.4, so the cut moves to the boundary whose
  // transfer costs nothing.
  EXPECT_DOUBLE_EQ(compositions[0].closed_form_s, 6.4);
}

TEST(ComposePipelinesTest, SynchronisationHidesBehindCoolDown) {
  Instance instance(2, 2, /*num_microbatches=*/1);
  Candidate head = OneStage(3);  // 2 s of the 3 s are the backward pass.
  Candidate tail = OneStage(1);
  tail.exposed_sync_s = 2.5;
  instance.Add({0, 1}, 0, {head});
  instance.Add({1, 2}, 1, {tail});
  const auto compositions = ComposePipelines(instance.problem).value();
  ASSERT_THAT(compositions, SizeIs(1));
  EXPECT_DOUBLE_EQ(compositions[0].closed_form_s, 4.5);  // 3 + 1 + (2.5 − 2)
}

TEST(ComposePipelinesTest, CoveredPairsThatDoNotFitAreDropped) {
  Instance instance(2, 2, 2);
  instance.Add({0, 1}, 0, {OneStage(1, /*max_trailing_stages=*/0)});
  instance.Add({1, 2}, 1, {OneStage(1)});
  EXPECT_THAT(ComposePipelines(instance.problem).value(), IsEmpty());
}

TEST(ComposePipelinesTest, UncoveredPairsStandInOptimistically) {
  Instance instance(2, 2, 2);
  instance.Add({0, 1}, 0, {OneStage(1, /*max_trailing_stages=*/0)},
               /*covers=*/0);
  instance.Add({1, 2}, 1, {OneStage(1)});
  const auto compositions = ComposePipelines(instance.problem).value();
  ASSERT_THAT(compositions, SizeIs(1));
  EXPECT_TRUE(compositions[0].optimistic);
  EXPECT_TRUE(compositions[0].slices[0].optimistic);
  EXPECT_EQ(compositions[0].slices[0].trailing_stages, 1);
  EXPECT_FALSE(compositions[0].slices[1].optimistic);
}

TEST(ComposePipelinesTest, WithoutSlicesForEveryAtomThereIsNone) {
  Instance instance(3, 2, 2);
  EXPECT_THAT(ComposePipelines(instance.problem).value(), IsEmpty());
  instance.Add({0, 2}, 0, {OneStage(1)});
  EXPECT_THAT(ComposePipelines(instance.problem).value(), IsEmpty());
}

// Ten single-island pipelines, each slower than the one before in every
// respect.
TEST(ComposePipelinesTest, KeepingMoreFindsTheNextBest) {
  Instance instance(2, 2, 2);
  std::vector<Candidate> candidates;
  for (int i = 0; i < 10; ++i) candidates.push_back(OneStage(1 + i));
  instance.Add({0, 1}, 0, candidates);
  instance.Add({1, 2}, 1, {OneStage(1)});
  instance.problem.slack = 100;
  EXPECT_THAT(ComposePipelines(instance.problem).value(), SizeIs(1));
  instance.problem.keep = 4;
  const auto compositions = ComposePipelines(instance.problem).value();
  ASSERT_THAT(compositions, SizeIs(4));
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(compositions[i].slices[0].candidate, i);
  }
  instance.problem.max_compositions = 2;
  EXPECT_THAT(ComposePipelines(instance.problem).value(), SizeIs(2));
}

TEST(ComposePipelinesTest, AtomsWithoutWorkStillCompose) {
  Instance instance = FourAtomsTwoIslands();
  for (const double first : {0.0, 5.0}) {
    instance.problem.atom_work = {first, 0, 0, 0};
    const auto compositions = ComposePipelines(instance.problem).value();
    ASSERT_THAT(compositions, SizeIs(1));
    EXPECT_DOUBLE_EQ(compositions[0].closed_form_s, 5.4);
  }
}

// Counts polls, because a pass polls at least once for each of its states.
TEST(ComposePipelinesTest, AtomsOfNextToNoTimeTakeFewPasses) {
  for (const double tiny_s : {0.0, 1e-300}) {
    Instance instance = FourAtomsTwoIslands();
    instance.Add({2, 3}, 0, {OneStage(tiny_s)});
    int polls = 0;
    instance.problem.should_stop = [&] { return ++polls > 1000; };
    const auto compositions = ComposePipelines(instance.problem);
    ASSERT_TRUE(compositions.ok());
    ASSERT_THAT(*compositions, SizeIs(1));
    EXPECT_DOUBLE_EQ((*compositions)[0].closed_form_s, 5.4);
  }
}

TEST(ComposePipelinesTest, PipelinesOfNoTimeCompose) {
  Instance instance(2, 2, 2);
  int polls = 0;
  instance.problem.should_stop = [&] { return ++polls > 1000; };
  instance.Add({0, 1}, 0, {OneStage(0)});
  ASSERT_TRUE(ComposePipelines(instance.problem).ok());
  EXPECT_THAT(*ComposePipelines(instance.problem), IsEmpty());
  instance.Add({1, 2}, 1, {OneStage(0)});
  ASSERT_TRUE(ComposePipelines(instance.problem).ok());
  EXPECT_THAT(*ComposePipelines(instance.problem), SizeIs(1));
}

TEST(ComposePipelinesTest, StopsWhenAsked) {
  Instance instance = FourAtomsTwoIslands();
  instance.problem.should_stop = [] { return true; };
  EXPECT_EQ(ComposePipelines(instance.problem).status().code(),
            absl::StatusCode::kCancelled);
}

TEST(ComposePipelinesTest, DropsPipelinesSlowerThanTheIncumbent) {
  Instance instance = FourAtomsTwoIslands();
  instance.problem.incumbent_s = 5.3;
  EXPECT_THAT(ComposePipelines(instance.problem).value(), IsEmpty());
  instance.problem.incumbent_s = 5.4;
  EXPECT_THAT(ComposePipelines(instance.problem).value(), SizeIs(1));
}

// Tries every sequence of slices from the back, by the definition of J and
// without the algorithm under test.
struct BruteForce {
  const ComposeProblem& problem;
  double best_s = kInfinity;

  struct State {
    int atom;
    uint32_t islands = 0;
    double latency_s = 0, slowest_s = 0, exposed_s = 0;
    int num_stages = 0, num_gpus = 0;
    int front_island = -1, front_gpus = 0;
  };

  void Extend(const State& tail) {
    if (tail.num_stages > problem.max_stages) return;
    if (tail.atom == 0) {
      if (problem.accepts_gpus && !problem.accepts_gpus(tail.num_gpus)) return;
      if (tail.num_stages < problem.min_stages) return;
      if (problem.divided_by_stages % tail.num_stages != 0) return;
      best_s =
          std::min(best_s, tail.latency_s + tail.exposed_s +
                               (problem.num_microbatches - 1) * tail.slowest_s);
      return;
    }
    for (const PlacedPair& placed : problem.pairs) {
      const uint32_t bit = uint32_t{1} << placed.island;
      if (placed.atoms.end != tail.atom || (tail.islands & bit)) continue;
      for (const Candidate& head : placed.pair->candidates) {
        if (head.max_trailing_stages < tail.num_stages) continue;
        const double transfer_s =
            tail.front_island < 0
                ? 0
                : problem.transfer_s(tail.atom, placed.island,
                                     head.last_stage_gpus, tail.front_island,
                                     tail.front_gpus);
        Extend({.atom = placed.atoms.begin,
                .islands = tail.islands | bit,
                .latency_s = tail.latency_s + head.latency_s + transfer_s,
                .slowest_s = std::max({tail.slowest_s, head.slowest_s,
                                       head.last_stage_s + transfer_s}),
                .exposed_s = std::max(head.exposed_sync_s,
                                      tail.exposed_s - head.backward_s),
                .num_stages = tail.num_stages + head.num_stages,
                .num_gpus = tail.num_gpus + head.num_gpus,
                .front_island = placed.island,
                .front_gpus = head.first_stage_gpus});
      }
    }
  }
};

Candidate RandomCandidate(std::mt19937& rng, int atoms) {
  std::uniform_real_distribution<double> unit(0.5, 1.5);
  Candidate candidate{.num_stages = 1 + static_cast<int>(rng() % 3)};
  candidate.num_gpus = candidate.num_stages << (atoms % 2);
  const double sync_s = 3.0 * static_cast<int>(rng() % 3);
  double before_s = 0;
  for (int s = 0; s < candidate.num_stages; ++s) {
    const double stage_s = atoms * unit(rng) / candidate.num_stages;
    candidate.latency_s += stage_s;
    candidate.slowest_s = std::max(candidate.slowest_s, stage_s);
    candidate.last_stage_s = stage_s;
    candidate.exposed_sync_s =
        std::max(candidate.exposed_sync_s, sync_s * unit(rng) - before_s);
    before_s += stage_s * 2 / 3;
  }
  candidate.backward_s = before_s;
  const auto trailing = static_cast<int>(rng() % 8);
  candidate.max_trailing_stages =
      trailing < 6 ? trailing : kUnlimitedTrailingStages;
  candidate.first_stage_gpus = 1 << (rng() % 3);
  candidate.last_stage_gpus = 1 << (rng() % 3);
  return candidate;
}

// Compares random instances with brute force, with at most `max_stages` stages
// and an accepted number of GPUs, and with several stages that divide a number,
// if it is given. Returns how many of them have a pipeline.
int CompareWithBruteForce(int num_seeds, int max_stages,
                          const std::function<bool(int)>& accepts_gpus = {},
                          int divided_by_stages = 0) {
  int feasible = 0;
  for (int seed = 0; seed < num_seeds; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
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

TEST(ComposePipelinesTest, AgreesWithBruteForce) {
  constexpr int kSeeds = 300;
  const int feasible =
      CompareWithBruteForce(kSeeds, std::numeric_limits<int>::max());
  EXPECT_GT(feasible, kSeeds / 2);  // Instances with and without a pipeline.
  EXPECT_LT(feasible, kSeeds);
}

TEST(ComposePipelinesTest, AgreesWithBruteForceWhereGpusCount) {
  constexpr int kSeeds = 200;
  const int feasible =
      CompareWithBruteForce(kSeeds, std::numeric_limits<int>::max(),
                            [](int gpus) { return gpus % 4 == 0; });
  EXPECT_GT(feasible, kSeeds / 8);
  EXPECT_LT(feasible, kSeeds);
}

TEST(ComposePipelinesTest, AgreesWithBruteForceWhereStagesDivideANumber) {
  constexpr int kSeeds = 200;
  const int feasible = CompareWithBruteForce(
      kSeeds, std::numeric_limits<int>::max(), {}, /*divided_by_stages=*/4);
  EXPECT_GT(feasible, kSeeds / 8);
  EXPECT_LT(feasible, kSeeds);
}

TEST(ComposePipelinesTest, AgreesWithBruteForceUnderACapOnTheStages) {
  constexpr int kSeeds = 200;
  int before = 0;
  for (const int max_stages : {1, 2, 3}) {
    SCOPED_TRACE(testing::Message() << "at most " << max_stages);
    const int feasible = CompareWithBruteForce(kSeeds, max_stages);
    EXPECT_GT(feasible, before);  // A lower cap leaves fewer pipelines.
    EXPECT_LT(feasible, kSeeds);
    before = feasible;
  }
}

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

TEST(ComposePipelinesTest, StatesGrowLinearlyWithAlikeIslands) {
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

TEST(ComposePipelinesTest, LeavesOutOnlyCopiesOnAlikeIslands) {
  int feasible = 0;
  for (uint32_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
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

// Adds all pairs to an instance, with `per_pair` random candidates each.
void FillAtRandom(Instance& instance, int per_pair, std::mt19937& rng) {
  const int num_atoms = instance.problem.num_atoms;
  for (int i = 0; i < instance.problem.num_islands; ++i) {
    for (int begin = 0; begin < num_atoms; ++begin) {
      for (int end = begin + 1; end <= num_atoms; ++end) {
        std::vector<Candidate> candidates;
        for (int c = 0; c < per_pair; ++c) {
          candidates.push_back(RandomCandidate(rng, end - begin));
        }
        instance.Add({begin, end}, i, candidates);
      }
    }
  }
}

void ExpectEqual(const std::vector<Composition>& actual,
                 const std::vector<Composition>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    EXPECT_EQ(actual[i].closed_form_s, expected[i].closed_form_s);
    EXPECT_EQ(actual[i].optimistic, expected[i].optimistic);
    ASSERT_EQ(actual[i].slices.size(), expected[i].slices.size());
    for (size_t s = 0; s < actual[i].slices.size(); ++s) {
      const ComposedSlice& a = actual[i].slices[s];
      const ComposedSlice& b = expected[i].slices[s];
      EXPECT_EQ(a.pair, b.pair);
      EXPECT_EQ(a.candidate, b.candidate);
      EXPECT_EQ(a.trailing_stages, b.trailing_stages);
      EXPECT_EQ(a.optimistic, b.optimistic);
    }
  }
}

// Rounds the times of a candidate to whole seconds, for ties.
void RoundTimes(Candidate& candidate) {
  for (double* seconds :
       {&candidate.slowest_s, &candidate.latency_s, &candidate.last_stage_s,
        &candidate.backward_s, &candidate.exposed_sync_s}) {
    *seconds = std::ceil(*seconds);
  }
}

// All compositions, in the same order, whatever the slack, the plans that stand
// in, the required islands and the incumbent.
TEST(ComposePipelinesTest, PreparingChangesNoComposition) {
  int64_t num_compositions = 0;
  for (uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 rng(seed);
    Instance instance(2 + static_cast<int>(rng() % 7),
                      2 + static_cast<int>(rng() % 3), 1 << (rng() % 6));
    FillAtRandom(instance, 1 + static_cast<int>(rng() % 3), rng);
    for (PairCandidates& pair : instance.pairs) {
      pair.covers_trailing_stages = static_cast<int>(rng() % 8);
      if (seed % 2 == 0) continue;
      for (Candidate& candidate : pair.candidates) RoundTimes(candidate);
    }
    ComposeProblem& problem = instance.problem;
    problem.slack = seed % 5 * 0.1;
    problem.keep = seed % 3 == 0 ? 4 : 1;
    problem.required_islands = seed % 4 == 0 ? 0b10 : 0;
    const auto plain = ComposePipelines(problem).value();
    problem.easy_work = 0;
    ExpectEqual(ComposePipelines(problem).value(), plain);
    num_compositions += static_cast<int64_t>(plain.size());
    if (plain.empty()) continue;
    problem.incumbent_s = plain.front().closed_form_s;
    ExpectEqual(ComposePipelines(problem).value(), plain);
  }
  EXPECT_GT(num_compositions, 1000);
}

TEST(ComposePipelinesTest, StopsWhileItPrepares) {
  std::mt19937 rng(1);
  Instance instance(12, 4, 8);
  FillAtRandom(instance, 2, rng);
  instance.problem.easy_work = 0;
  int polls = 0;
  instance.problem.should_stop = [&] { return ++polls > 20; };
  EXPECT_EQ(ComposePipelines(instance.problem).status().code(),
            absl::StatusCode::kCancelled);
  EXPECT_LE(polls, 22);
}

TEST(ComposePipelinesTest, ABeamFindsAPipelineThatIsNoBetterThanTheBest) {
  int narrowed = 0;
  for (uint32_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
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

TEST(ComposePipelinesTest, BetweenTwoPollsIsABoundedAmountOfWork) {
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
