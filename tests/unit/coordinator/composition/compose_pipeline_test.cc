#include "coordinator/composition/compose_pipeline.h"

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/coordinator/composition/compose_instance.h"

namespace tangram {
namespace {

using testing::FillAtRandom;
using testing::Instance;
using ::testing::IsEmpty;
using testing::OneStage;
using ::testing::SizeIs;

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
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
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

}  // namespace
}  // namespace tangram
