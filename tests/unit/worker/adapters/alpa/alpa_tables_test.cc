#include "worker/adapters/alpa/alpa_tables.h"

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "common/cost/collectives.h"
#include "common/parallelizer/trailing_stages.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "worker/adapters/alpa/alpa_inter_operator.h"
#include "worker/adapters/alpa/alpa_intra_operator.h"

namespace tangram::alpa {
namespace {

using ::testing::ElementsAre;
using testing::WholeSlice;

std::vector<int> SizesOf(const StageTables& tables) {
  std::vector<int> sizes;
  for (int m = 0; m < tables.num_submeshes(); ++m) {
    sizes.push_back(tables.gpus_of(m));
  }
  return sizes;
}

TEST(AlpaTablesTest, SubmeshesArePartsOfANodeOrWholeNodes) {
  const ModelSlice slice = WholeSlice(testing::TestModel(2));
  const ParallelizeOptions options = {.training = testing::TestTraining(240),
                                      .pipeline_microbatch_size = 240};

  // One, two or all of three nodes; 3 · 4 is no power of two either.
  EXPECT_THAT(SizesOf(StageTables(slice, testing::TestIsland(3, 4), options)),
              ElementsAre(1, 2, 4, 8, 12));
  EXPECT_THAT(SizesOf(StageTables(slice, testing::TestIsland(5, 4), options)),
              ElementsAre(1, 2, 4, 8, 16, 20));
}

TEST(AlpaTablesTest, DealsLargeIslandsInLargerUnits) {
  const ModelSlice slice = WholeSlice(testing::TestModel(62));
  const ParallelizeOptions options = {.training = testing::TestTraining(256),
                                      .pipeline_microbatch_size = 256};

  // 64 layers: at most 1024 / 64 = 16 units; 64 GPUs in fours.
  const StageTables tables(slice, testing::TestIsland(8, 8), options);

  EXPECT_EQ(tables.gpus_per_unit(), 4);
  EXPECT_THAT(SizesOf(tables), ElementsAre(4, 8, 16, 32, 64));
  EXPECT_EQ(tables.Problem().num_devices(), 16);
}

TEST(AlpaTablesTest, EqualLayersShareTheirOptions) {
  const ModelSlice slice = WholeSlice(testing::TestModel(4));
  const ParallelizeOptions options = {.training = testing::TestTraining()};
  const StageTables tables(slice, testing::TestIsland(1, 2), options);

  const InterOperatorProblem problem = tables.Problem();

  // 1 to 4 layers alone, 0 to 4 with the embedding or with the head, and all
  // layers.
  EXPECT_EQ(problem.num_rows(), 4 + 5 + 5 + 1);
  EXPECT_EQ(problem.RowOf(1, 3), problem.RowOf(3, 5));
}

TEST(AlpaTablesTest, TransfersGoBothWays) {
  const ModelSlice slice = WholeSlice(testing::TestModel(2));
  const ParallelizeOptions options = {.training = testing::TestTraining(),
                                      .pipeline_microbatch_size = 2};
  const StageTables tables(slice, testing::TestIsland(2, 1), options);

  // 2 samples of 512 tokens of 1024 fp16 elements, in both directions, at 10
  // GB/s.
  EXPECT_NEAR(tables.TransferSeconds(1, 0, 1, 1), 2 * 2 * 512 * 1024 * 2 / 10e9,
              1e-12);
}

// Tries every pipeline of a query.
class Exhaustive {
 public:
  Exhaustive(const ModelSlice& slice, const IslandSpec& island,
             const ParallelizeOptions& options)
      : slice_(slice),
        island_(island),
        options_(options),
        layers_(LayersOf(slice)),
        num_microbatches_(options.training.global_batch_size /
                          options.pipeline_microbatch_size),
        limits_(layers_, options.pipeline_microbatch_size, options.training) {
    Extend(0, 0);
  }
  double least_total_s() const { return least_total_s_; }

 private:
  struct Stage {
    int begin = 0;
    int first_gpu = 0;
    int num_gpus = 0;
    double seconds = 0;
    StageMemory memory;
  };

  void Extend(int begin, int gpu) {
    const int num_layers = static_cast<int>(layers_.size());
    if (begin == num_layers) {
      Score();
      return;
    }
    for (const int size : StageSizes(island_, limits_, {.ep = true})) {
      const int in_node = gpu % island_.gpus_per_node;
      if (gpu + size > island_.num_gpus() ||
          (in_node > 0 && in_node + size > island_.gpus_per_node)) {
        continue;
      }
      const StageEnvironment environment = {
          .device = island_.device,
          .training = options_.training,
          .wiring = WiringOf(island_, size),
          .pipeline_microbatch_size = options_.pipeline_microbatch_size};
      for (const StageParallelism& parallelism :
           SolveIntraOperator(layers_, size, island_, limits_, environment)) {
        for (int end = begin + 1; end <= num_layers; ++end) {
          const StageCost cost = EstimateStage(slice_.runs,
                                               {.begin = {begin, 0},
                                                .end = {end, 0},
                                                .parallelism = parallelism},
                                               environment);
          stages_.push_back(
              {begin, gpu, size,
               cost.forward_s + cost.backward_s +
                   (cost.sync_s + cost.optimizer_s) / num_microbatches_,
               cost.memory});
          Extend(end, gpu + size);
          stages_.pop_back();
        }
      }
    }
  }

  void Score() {
    double slowest_s = 0;
    double latency_s = 0;
    const int num_stages = static_cast<int>(stages_.size());
    for (int i = 0; i < num_stages; ++i) {
      const Stage& stage = stages_[i];
      if (TrailingStagesBorne(stage.memory, island_.device.memory_bytes,
                              num_stages - 1 - i,
                              num_microbatches_) < options_.trailing_stages) {
        return;
      }
      double seconds = stage.seconds;
      if (i + 1 < num_stages) {
        const Stage& next = stages_[i + 1];
        seconds += 2 * TransferSeconds(
                           BoundaryBytes(layers_[next.begin], 0,
                                         options_.pipeline_microbatch_size,
                                         options_.training),
                           PathWithin(island_, stage.first_gpu, stage.num_gpus,
                                      next.first_gpu, next.num_gpus));
      }
      slowest_s = std::max(slowest_s, seconds);
      latency_s += seconds;
    }
    least_total_s_ = std::min(least_total_s_,
                              latency_s + (num_microbatches_ - 1) * slowest_s);
  }

  const ModelSlice& slice_;
  const IslandSpec& island_;
  const ParallelizeOptions& options_;
  const std::vector<LayerSpec> layers_;
  const int num_microbatches_;
  const SplitLimits limits_;
  std::vector<Stage> stages_;
  double least_total_s_ = std::numeric_limits<double>::infinity();
};

TEST(AlpaTablesTest, ProblemHoldsTheBestOfTheWholeSpace) {
  std::mt19937 rng(3);
  const auto pick = [&](std::vector<int> from) {
    return from[rng() % from.size()];
  };
  int some = 0;
  int none = 0;
  for (int trial = 0; trial < 60; ++trial) {
    SCOPED_TRACE(trial);
    const int num_layers = pick({1, 2, 3});
    const ModelSpec model = trial % 3 == 0
                                ? testing::TestMoeModel(num_layers)
                                : testing::TestModel(num_layers, 2048);
    const ModelSlice slice = WholeSlice(model);
    IslandSpec island = testing::TestIsland(pick({1, 2}), pick({1, 2, 4}));
    island.device.efficiency = DeviceEfficiency();
    island.device.memory_bytes = pick({2, 3, 4, 6, 16}) * 1e9;
    const ParallelizeOptions options = {
        .training = testing::TestTraining(32),
        .pipeline_microbatch_size = pick({1, 2, 4, 8}),
        .trailing_stages = pick({0, 1, 3})};
    const double want = Exhaustive(slice, island, options).least_total_s();

    const StageTables tables(slice, island, options);
    double found = std::numeric_limits<double>::infinity();
    for (const ChosenPipeline& pipeline :
         SolveInterOperator(tables.Problem(),
                            {.num_microbatches = tables.num_microbatches(),
                            .trailing_stages = options.trailing_stages})
             .pipelines) {
      found =
          std::min(found, pipeline.latency_s + (tables.num_microbatches() - 1) *
                                                   pipeline.slowest_s);
    }

    if (want == std::numeric_limits<double>::infinity()) {
      EXPECT_EQ(found, want);
      ++none;
    } else {
      EXPECT_NEAR(found, want, 1e-9 * want);
      ++some;
    }
  }
  EXPECT_GT(some, 20);
  EXPECT_GT(none, 2);
}

TEST(AlpaTablesTest, TheProblemOfManyLayersPollsOnItsWay) {
  const ModelSlice slice = WholeSlice(testing::TestModel(510));
  const ParallelizeOptions options = {.training = testing::TestTraining()};
  const StageTables tables(slice, testing::TestIsland(1, 2), options);
  int polls = 0;
  StopPoll poll([&] { return ++polls == 3; });
  tables.Problem(poll);
  EXPECT_EQ(polls, 3);
}

}  // namespace
}  // namespace tangram::alpa
