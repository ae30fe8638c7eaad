#ifndef TANGRAM_TESTS_CONFORMANCE_PARALLELIZER_CONFORMANCE_H_
#define TANGRAM_TESTS_CONFORMANCE_PARALLELIZER_CONFORMANCE_H_

#include <algorithm>
#include <optional>
#include <thread>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/parallelizer/check_answers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/conformance/parallelizer_conformance_fixture.h"
#include "tests/testing/builders.h"
#include "tests/testing/status_matchers.h"

// The promises of every Parallelizer, whether it is a native adapter, a wrapper
// or a stub of a remote one. Subjects differ only in features().
//
// Include it in one source file of a test binary and instantiate:
//
//   INSTANTIATE_TEST_SUITE_P(
//       Remote, ParallelizerConformanceTest,
//       ::testing::Values(ConformanceSubject{
//           .name = "aceso", .create = [] { return ...; }}),
//       ConformanceName);
namespace tangram::testing {

// A binary may include the suite and instantiate nothing yet.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ParallelizerConformanceTest);

TEST_P(ParallelizerConformanceTest, HasNameAndVersion) {
  EXPECT_FALSE(parallelizer().name().empty());
  EXPECT_FALSE(parallelizer().version().empty());
}

TEST_P(ParallelizerConformanceTest, AtomsCoverTheModel) {
  const ModelSpec model = TestModel(6);

  ASSERT_OK_AND_ASSIGN(const std::vector<ModelSlice> atoms,
                       parallelizer().SliceModel(model));

  EXPECT_THAT(CheckAtoms(atoms, model), IsOk());
}

TEST_P(ParallelizerConformanceTest, EqualAtomsHaveEqualFingerprints) {
  ASSERT_OK_AND_ASSIGN(const std::vector<ModelSlice> atoms,
                       parallelizer().SliceModel(TestModel(6)));

  for (const ModelSlice& a : atoms) {
    for (const ModelSlice& b : atoms) {
      EXPECT_EQ(a.fingerprint == b.fingerprint, a.runs == b.runs);
    }
  }
}

TEST_P(ParallelizerConformanceTest, ConcatenateJoinsAtomsOneByOne) {
  const ModelSpec model = TestModel(6);
  ASSERT_OK_AND_ASSIGN(const std::vector<ModelSlice> atoms,
                       parallelizer().SliceModel(model));

  ModelSlice joined = atoms.front();
  for (size_t i = 1; i < atoms.size(); ++i) {
    ASSERT_OK_AND_ASSIGN(joined, parallelizer().Concatenate(joined, atoms[i]));
  }

  const int num_atoms = static_cast<int>(atoms.size());
  EXPECT_EQ(joined, MakeSlice({0, num_atoms}, model.layers));
}

TEST_P(ParallelizerConformanceTest, AnswersAreWellFormed) {
  bool some_plan = false;
  for (const Query& query : Queries()) {
    SCOPED_TRACE(query.name);
    const SlicePlanSet answer = Ask(query);

    EXPECT_THAT(
        CheckSlicePlanSet(answer, query.slice, query.island, query.options),
        IsOk());
    some_plan |= !answer.plans.empty();
    for (const SlicePlan& plan : answer.plans) {
      EXPECT_EQ(plan.made_by, parallelizer().name());
    }
  }
  EXPECT_TRUE(some_plan);
}

TEST_P(ParallelizerConformanceTest, NoPlanIsRedundant) {
  for (const Query& query : Queries()) {
    SCOPED_TRACE(query.name);
    const SlicePlanSet answer = Ask(query);
    const auto most_sync = [](const SlicePlan& plan) {
      double most = 0;
      for (const SliceStage& stage : plan.stages) {
        most = std::max(most, stage.sync_s);
      }
      return most;
    };
    // Few frameworks shard experts fully: such a plan is not one for others.
    const auto has_fsep = [](const SlicePlan& plan) {
      return absl::c_any_of(plan.stages, [](const SliceStage& stage) {
        return stage.plan.parallelism.fsep;
      });
    };

    for (const SlicePlan& a : answer.plans) {
      for (const SlicePlan& b : answer.plans) {
        if (&a == &b || (has_fsep(a) && !has_fsep(b))) continue;
        EXPECT_FALSE(a.slowest_stage_s() <= b.slowest_stage_s() &&
                     a.latency_s() <= b.latency_s() &&
                     a.stages.back().time_s <= b.stages.back().time_s &&
                     most_sync(a) <= most_sync(b) &&
                     a.num_stages() <= b.num_stages() &&
                     a.max_trailing_stages >= b.max_trailing_stages);
      }
    }
  }
}

TEST_P(ParallelizerConformanceTest, ProfileIsALowerBound) {
  for (const Query& query : Queries()) {
    SCOPED_TRACE(query.name);
    ASSERT_OK_AND_ASSIGN(
        const PerformanceProfile profile,
        parallelizer().Profile(query.slice, query.island,
                               ProfileOptionsOf(query.options)));
    EXPECT_GT(profile.min_gpu_seconds, 0);
    EXPECT_GT(profile.min_total_bytes, 0);

    for (const SlicePlan& plan : Ask(query).plans) {
      double gpu_seconds = 0;
      double latency_s = 0;
      double bytes = 0;
      for (int i = 0; i < plan.num_stages(); ++i) {
        const StagePlan& stage = plan.stages[i].plan;
        const int num_gpus = stage.parallelism.num_gpus();
        const double peak_bytes =
            MemoryOf(query, stage)
                .PeakBytes(
                    InFlight(query, plan, i, query.options.trailing_stages));
        gpu_seconds += num_gpus * plan.stages[i].time_s;
        latency_s += plan.stages[i].time_s;
        bytes += num_gpus *
                 (peak_bytes - query.island.device.efficiency.reserved_bytes);
      }
      EXPECT_LE(profile.min_gpu_seconds, gpu_seconds);
      EXPECT_LE(profile.min_latency_s, latency_s);
      EXPECT_LE(profile.min_total_bytes, bytes);
    }
  }
}

// The bound of a slice is then the sum of the bounds of its atoms.
TEST_P(ParallelizerConformanceTest, ProfileAddsUpOverAtoms) {
  const ModelSpec model = TestModel(4);
  const IslandSpec island = Island(2, 4, 16e9);
  const ProfileOptions options = ProfileOptionsOf(Options(8));
  ASSERT_OK_AND_ASSIGN(const std::vector<ModelSlice> atoms,
                       parallelizer().SliceModel(model));
  PerformanceProfile sum;
  for (const ModelSlice& atom : atoms) {
    ASSERT_OK_AND_ASSIGN(const PerformanceProfile profile,
                         parallelizer().Profile(atom, island, options));
    sum.min_gpu_seconds += profile.min_gpu_seconds;
    sum.min_latency_s += profile.min_latency_s;
    sum.min_total_bytes += profile.min_total_bytes;
  }

  ASSERT_OK_AND_ASSIGN(
      const PerformanceProfile whole,
      parallelizer().Profile(SliceOf(model, 0, 6), island, options));

  EXPECT_NEAR(whole.min_gpu_seconds, sum.min_gpu_seconds,
              1e-6 * sum.min_gpu_seconds);
  EXPECT_NEAR(whole.min_latency_s, sum.min_latency_s, 1e-6 * sum.min_latency_s);
  EXPECT_NEAR(whole.min_total_bytes, sum.min_total_bytes,
              1e-6 * sum.min_total_bytes);
}

TEST_P(ParallelizerConformanceTest, PlansFitInMemory) {
  constexpr double kRounding = 1 + 1e-9;
  for (const Query& query : Queries()) {
    SCOPED_TRACE(query.name);
    for (const SlicePlan& plan : Ask(query).plans) {
      for (int i = 0; i < plan.num_stages(); ++i) {
        const StageMemory memory = MemoryOf(query, plan.stages[i].plan);
        const int in_flight =
            InFlight(query, plan, i, plan.max_trailing_stages);
        EXPECT_LE(memory.PeakBytes(in_flight),
                  query.island.device.memory_bytes * kRounding);
        EXPECT_LE(memory.HostBytes(in_flight),
                  query.island.device.host.memory_bytes * kRounding);
      }
    }
  }
}

TEST_P(ParallelizerConformanceTest, PlansBearTheTrailingStagesAskedFor) {
  const ModelSlice slice = SliceOf(TestModel(8), 1, 9);
  const IslandSpec island = Island(1, 4, 4e9);
  bool some_plan = false;
  for (const int trailing_stages : {0, 1, 4, 9}) {
    SCOPED_TRACE(absl::StrCat("trailing ", trailing_stages));
    for (const SlicePlan& plan :
         Ask(slice, island, Options(2, trailing_stages)).plans) {
      some_plan = true;
      EXPECT_GE(plan.max_trailing_stages, trailing_stages);
    }
  }
  EXPECT_TRUE(some_plan);
}

// A parallelizer need not be asked again for what it says it covers.
TEST_P(ParallelizerConformanceTest, CoveredTrailingStagesBringNothingNew) {
  const ModelSlice slice = SliceOf(TestModel(8), 0, 10);
  const IslandSpec island = Island(1, 4, 3e9);
  const SlicePlanSet first = Ask(slice, island, Options(4));

  for (const int trailing_stages : {1, 3, 6}) {
    if (trailing_stages > first.covers_trailing_stages) continue;
    for (const SlicePlan& plan :
         Ask(slice, island, Options(4, trailing_stages)).plans) {
      EXPECT_THAT(first.plans, ::testing::Contains(plan));
    }
  }
}

// A limit on the time of plans leaves out only what it says.
TEST_P(ParallelizerConformanceTest, LimitKeepsTheFastestPlan) {
  for (Query& query : Queries()) {
    SCOPED_TRACE(query.name);
    const auto least_seconds = [&query](const SlicePlanSet& answer) {
      double least_s = kInfinity;
      for (const SlicePlan& plan : answer.plans) {
        least_s = std::min(least_s, ClosedFormOf(query, plan));
      }
      return least_s;
    };
    const double least_s = least_seconds(Ask(query));
    if (least_s == kInfinity) continue;
    for (const double share : {1.0, 1.1, 1.5}) {
      query.options.limit_s = least_s * share;
      EXPECT_LE(least_seconds(Ask(query)), least_s);
    }
    query.options.limit_s = least_s / 2;
    const SlicePlanSet none = Ask(query);
    EXPECT_GE(least_seconds(none), least_s);
    EXPECT_EQ(none.plans.empty(), none.infeasible.has_value());
  }
}

TEST_P(ParallelizerConformanceTest, SameQuestionHasTheSameAnswer) {
  for (const Query& query : Queries()) {
    SCOPED_TRACE(query.name);
    const SlicePlanSet first = Ask(query);
    EXPECT_EQ(Ask(query), first);

    std::optional<SlicePlanSet> from_threads[2];
    std::vector<std::thread> threads;
    for (auto& answer : from_threads) {
      threads.emplace_back([&] { answer = Ask(query); });
    }
    for (std::thread& thread : threads) thread.join();

    EXPECT_EQ(from_threads[0], first);
    EXPECT_EQ(from_threads[1], first);
  }
}

TEST_P(ParallelizerConformanceTest, MemoryChangesNoAnswer) {
  SearchMemory memory;
  for (const int time : {1, 2}) {
    for (Query query : Queries()) {
      SCOPED_TRACE(absl::StrCat(query.name, ", time ", time));
      const SlicePlanSet answer = Ask(query);
      query.options.memory = &memory;
      EXPECT_EQ(Ask(query), answer);

      ProfileOptions options = ProfileOptionsOf(query.options);
      const auto profile =
          parallelizer().Profile(query.slice, query.island, options);
      options.memory = &memory;
      EXPECT_THAT(parallelizer().Profile(query.slice, query.island, options),
                  IsOkAndHolds(*profile));
    }
  }
}

// The position of a slice in the model does not matter, so answers can be
// reused.
TEST_P(ParallelizerConformanceTest, PositionOfTheSliceDoesNotMatter) {
  const ModelSpec model = TestModel(8);
  const IslandSpec island = Island(1, 4, 8e9);

  EXPECT_EQ(Ask(SliceOf(model, 1, 5), island, Options(4)),
            Ask(SliceOf(model, 4, 8), island, Options(4)));
}

TEST_P(ParallelizerConformanceTest, SaysWhyNothingFits) {
  // 40 layers of 12 · 8,192² parameters, 16 bytes each: 515 GB.
  const ModelSpec model = TestModel(40, 8192);
  const IslandSpec island = Island(1, 2, 16e9);

  const SlicePlanSet answer = Ask(SliceOf(model, 0, 42), island, Options(4));

  EXPECT_TRUE(answer.plans.empty());
  ASSERT_TRUE(answer.infeasible.has_value());
  EXPECT_FALSE(answer.infeasible->reason.empty());
  EXPECT_GT(answer.infeasible->bytes_short, 0);
}

TEST_P(ParallelizerConformanceTest, MoeModelsAreAcceptedOrUnimplemented) {
  const ModelSpec model = TestMoeModel(4);
  const ModelSlice slice = SliceOf(model, 0, 6);
  const IslandSpec island = Island(2, 4, 16e9);

  const auto atoms = parallelizer().SliceModel(model);
  const auto profile =
      parallelizer().Profile(slice, island, ProfileOptionsOf(Options(8)));
  const auto plans = parallelizer().Parallelize(slice, island, Options(8));

  if (features().moe_models) {
    EXPECT_THAT(atoms, IsOk());
    EXPECT_THAT(profile, IsOk());
    ASSERT_THAT(plans, IsOk());
    EXPECT_FALSE(plans->plans.empty());
  } else {
    constexpr absl::StatusCode kCode = absl::StatusCode::kUnimplemented;
    EXPECT_EQ(atoms.status().code(), kCode);
    EXPECT_EQ(profile.status().code(), kCode);
    EXPECT_EQ(plans.status().code(), kCode);
  }
}

TEST_P(ParallelizerConformanceTest, StopsWhenTold) {
  const ModelSlice slice = SliceOf(TestModel(8), 0, 10);
  const IslandSpec island = Island(2, 4, 16e9);
  ParallelizeOptions options = Options(8);
  const SlicePlanSet complete = Ask(slice, island, options);
  options.should_stop = [] { return true; };

  const SlicePlanSet stopped = Ask(slice, island, options);

  EXPECT_TRUE(stopped.truncated || stopped == complete);
  EXPECT_LE(stopped.search_steps, complete.search_steps);
}

TEST_P(ParallelizerConformanceTest, BadArgumentsAreTheCallersFault) {
  if (!GetParam().validates_arguments) {
    GTEST_SKIP() << "not applicable: relies on a ValidatingParallelizer";
  }
  constexpr absl::StatusCode kBad = absl::StatusCode::kInvalidArgument;
  const std::vector<ModelSlice> atoms = SliceByLayer(TestModel(3));
  const IslandSpec island = Island(1, 2, 16e9);
  ModelSlice empty;
  IslandSpec no_nodes = island;
  no_nodes.num_nodes = 0;
  ParallelizeOptions odd = Options(5);  // Does not divide 32.
  ParallelizeOptions negative = Options(4, -1);

  const auto code = [&](const ModelSlice& slice, const IslandSpec& on,
                        const ParallelizeOptions& options) {
    return parallelizer().Parallelize(slice, on, options).status().code();
  };
  EXPECT_EQ(code(empty, island, Options(4)), kBad);
  EXPECT_EQ(code(atoms[1], no_nodes, Options(4)), kBad);
  EXPECT_EQ(code(atoms[1], island, odd), kBad);
  EXPECT_EQ(code(atoms[1], island, negative), kBad);
  EXPECT_EQ(parallelizer()
                .Profile(atoms[1], no_nodes, ProfileOptionsOf(Options(4)))
                .status()
                .code(),
            kBad);
  EXPECT_EQ(parallelizer().Concatenate(atoms[0], atoms[2]).status().code(),
            kBad);
  EXPECT_EQ(parallelizer().SliceModel(ModelSpec()).status().code(), kBad);
}

// Shrinks the memory of one GPU until no plan fits.
TEST_P(ParallelizerConformanceTest, RecomputesWhereMemoryIsTight) {
  const ModelSlice slice = SliceOf(TestModel(4), 0, 6);
  bool recomputed = false;
  bool infeasible = false;
  for (double memory_bytes = 16e9; memory_bytes > 1e9; memory_bytes *= 0.9) {
    const SlicePlanSet answer =
        Ask(slice, Island(1, 1, memory_bytes), Options(1, 8));
    infeasible |= answer.plans.empty();
    recomputed |= AnyStage(answer, [](const StagePlan& stage) {
      return absl::c_any_of(stage.recompute, [](const RecomputeRun& run) {
        return run.mask != kRecomputeNone;
      });
    });
  }
  EXPECT_TRUE(infeasible);
  EXPECT_EQ(recomputed, features().recompute);
}

// Does the same with hosts that have room, and without.
TEST_P(ParallelizerConformanceTest, OffloadsWhereMemoryIsTight) {
  const ModelSlice slice = SliceOf(TestModel(4), 0, 6);
  const auto offloads = [](const StagePlan& stage) {
    return !stage.offload.none();
  };
  bool offloaded = false;
  bool fits_only_offloaded = false;
  for (double memory_bytes = 16e9; memory_bytes > 1e9; memory_bytes *= 0.9) {
    const SlicePlanSet with_host =
        Ask(slice, IslandWithHosts(1, 1, memory_bytes), Options(1, 8));
    const SlicePlanSet without =
        Ask(slice, Island(1, 1, memory_bytes), Options(1, 8));
    offloaded |= AnyStage(with_host, offloads);
    fits_only_offloaded |= !with_host.plans.empty() && without.plans.empty();
    EXPECT_FALSE(AnyStage(without, offloads));
  }
  EXPECT_EQ(offloaded, features().offload);
  EXPECT_EQ(fits_only_offloaded, features().offload);
}

TEST_P(ParallelizerConformanceTest, ReplicatesWhereMemoryIsAmple) {
  const SlicePlanSet answer =
      Ask(SliceOf(TestModel(4), 1, 3), Island(1, 4, 64e9), Options(8));

  EXPECT_EQ(AnyStage(answer,
                     [](const StagePlan& stage) {
                       return stage.parallelism.dp_degree > 1;
                     }),
            features().data_parallel);
}

// Shrinks the memory of four GPUs until no plan fits.
TEST_P(ParallelizerConformanceTest, ShardsStateWhereMemoryIsTight) {
  bool sharded = false;
  for (double memory_bytes = 4e9; memory_bytes > 1e8; memory_bytes *= 0.8) {
    sharded |= AnyStage(Ask(SliceOf(TestModel(4), 1, 5),
                            Island(1, 4, memory_bytes), Options(8)),
                        [](const StagePlan& stage) {
                          return stage.parallelism.zero_stage > 0;
                        });
  }
  EXPECT_EQ(sharded, features().zero);
}

// One sample allows no replicas, and only pipelines are cheap between nodes.
TEST_P(ParallelizerConformanceTest, PipelinesWhereThereIsOneSample) {
  const SlicePlanSet answer =
      Ask(SliceOf(TestModel(4), 0, 6), Island(2, 1, 64e9), Options(1));

  EXPECT_EQ(absl::c_any_of(
                answer.plans,
                [](const SlicePlan& plan) { return plan.num_stages() > 1; }),
            features().pipeline_parallel);
}

// One layer and one sample of 131,072 tokens on four GPUs allow neither stages
// nor replicas. Keys and values are sent while attention computes.
TEST_P(ParallelizerConformanceTest, SplitsLongSequencesWhereThereIsOneSample) {
  ParallelizeOptions options = Options(1);
  options.training.sequence_length = 131072;

  const SlicePlanSet answer =
      Ask(SliceOf(TestModel(4), 1, 2), Island(1, 4, 64e9), options);

  EXPECT_FALSE(answer.plans.empty());
  EXPECT_EQ(AnyStage(answer,
                     [](const StagePlan& stage) {
                       return stage.parallelism.cp_degree > 1;
                     }),
            features().context_parallel);
}

// Shrinks the memory until the experts of a layer do not fit on one GPU.
TEST_P(ParallelizerConformanceTest, SplitsExpertsWhereMemoryIsTight) {
  if (!features().moe_models)
    GTEST_SKIP() << "not applicable: plans dense models only";
  const ModelSlice slice = SliceOf(TestMoeModel(4), 0, 6);
  bool split = false;
  for (double memory_bytes = 16e9; memory_bytes > 1e9; memory_bytes *= 0.8) {
    split |= AnyStage(
        Ask(slice, Island(1, 8, memory_bytes), Options(8)),
        [](const StagePlan& stage) { return stage.parallelism.ep_degree > 1; });
  }
  EXPECT_EQ(split, features().expert_parallel);
}

TEST_P(ParallelizerConformanceTest, PlansStayWithinItsFeatures) {
  for (const Query& query : Queries()) {
    SCOPED_TRACE(query.name);
    EXPECT_THAT(CheckFeatures(Ask(query), features(), query.island.limits),
                IsOk());
  }
}

// The answer is plans or a reason. Plans respect the limits, and bounds hold
// for them.
TEST_P(ParallelizerConformanceTest, KeepsToTheLimitsOfTheIsland) {
  const ModelSlice slice = SliceOf(TestModel(8), 0, 10);
  const ParallelizeOptions options = Options(8);
  IslandSpec island = Island(2, 4, 16e9);
  for (const StageLimits& limits :
       {StageLimits{.tp_degree = 2}, StageLimits{.dp_degree = 4},
        StageLimits{.tp_degree = 4, .dp_degree = 2},
        StageLimits{.gpus_per_stage = 4}, StageLimits{.max_stages = 2},
        StageLimits{
            .cp_degree = 1, .max_zero_stage = 0, .no_sequence_parallel = true},
        StageLimits{.zero_stage = 0}, StageLimits{.zero_stage = 1},
        StageLimits{.zero_degree = 2},
        StageLimits{.zero_stage = 3, .zero_degree = 2},
        StageLimits{.recompute = LayerRecompute::kNone},
        StageLimits{.recompute = LayerRecompute::kAttentionCore},
        StageLimits{.recompute = LayerRecompute::kWholeLayer}}) {
    if (limits.tp_degree > 1 && !parallelizer().features().tensor_parallel) {
      continue;
    }
    island.limits = limits;
    const SlicePlanSet answer = Ask(slice, island, options);
    // Programs may recompute all or nothing.
    const bool may_refuse =
        limits.recompute == LayerRecompute::kAttentionCore &&
        answer.infeasible.has_value() &&
        absl::StrContains(answer.infeasible->reason,
                          "no stage can have the degrees");
    EXPECT_TRUE(!answer.plans.empty() || may_refuse);
    EXPECT_FALSE(AnyStage(answer, [&](const StagePlan& stage) {
      return !WhyOutside(limits, stage, slice.runs).empty();
    }));
    for (const SlicePlan& plan : answer.plans) {
      EXPECT_LE(plan.num_stages(),
                limits.max_stages == 0 ? island.num_gpus() : limits.max_stages);
    }
  }
}

TEST_P(ParallelizerConformanceTest, LimitsThatNothingMeetsAreAReason) {
  IslandSpec island = Island(1, 4, 16e9);
  island.limits.tp_degree = 3;  // Divides neither the node nor the 16 heads.
  const SlicePlanSet answer =
      Ask(SliceOf(TestModel(8), 0, 10), island, Options(8));
  EXPECT_TRUE(answer.plans.empty());
  ASSERT_TRUE(answer.infeasible.has_value());
  EXPECT_THAT(answer.infeasible->reason,
              ::testing::HasSubstr("no stage can have the degrees"));
  ASSERT_OK_AND_ASSIGN(
      const PerformanceProfile profile,
      parallelizer().Profile(SliceOf(TestModel(8), 0, 10), island,
                             ProfileOptionsOf(Options(8))));
  EXPECT_GT(profile.min_gpu_seconds, 0);
}

}  // namespace tangram::testing

#endif  // TANGRAM_TESTS_CONFORMANCE_PARALLELIZER_CONFORMANCE_H_
