#include "worker/adapters/galvatron/galvatron_depth.h"

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <random>
#include <tuple>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "common/cost/collectives.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"

namespace tangram::galvatron {
namespace {

using ::tangram::testing::TestIsland;
using ::tangram::testing::TestModel;
using ::tangram::testing::TestTraining;

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kRounding = 1 + 1e-9;

struct Timed {
  double seconds = 0;  // Includes transfers.
  double sync_s = 0;
};

// Finds the best plans by enumeration.
class Exhaustive {
 public:
  Exhaustive(const ModelSlice& slice, const IslandSpec& island,
             const ParallelizeOptions& options, const EqualStages& layout)
      : layers_(slice), island_(island), options_(options), layout_(layout) {
    const SplitLimits limits(layers_.kinds(), options.pipeline_microbatch_size,
                             options.training);
    for (StageParallelism p : ParallelismsOf(layout.gpus_per_stage, island,
                                             limits, kGalvatronDegrees)) {
      for (const int zero_stage : ZeroStagesOf(p)) {
        p.zero_stage = zero_stage;
        parallelisms_.push_back(p);
      }
    }
  }

  // Returns the least time of the slowest stage over all plans.
  double LeastSlowest() {
    return Best(
        kNever, [](const Timed& t) { return t.seconds; },
        [](double a, double b) { return std::max(a, b); });
  }
  double LeastSum(double bound_s, Goal goal) {
    return Best(
        bound_s,
        [goal](const Timed& t) {
          return t.seconds + (goal == Goal::kTimeAndSync ? t.sync_s : 0);
        },
        [](double a, double b) { return a + b; });
  }

 private:
  template <typename Value, typename Join>
  double Best(double bound_s, Value value, Join join) {
    double best = kNever;
    const std::function<void(int, int, double)> enumerate =
        [&](int stage, int begin, double joined) {
          if (stage == layout_.num_stages) {
            if (begin == layers_.size()) best = std::min(best, joined);
            return;
          }
          for (int end = begin + 1; end <= layers_.size(); ++end) {
            double least = kNever;
            for (const Timed& timed : OptionsOf(stage, begin, end)) {
              if (timed.seconds > bound_s * kRounding) continue;
              least = std::min(least, value(timed));
            }
            if (least < kNever) enumerate(stage + 1, end, join(joined, least));
          }
        };
    enumerate(0, 0, 0);
    return best;
  }

  // Returns every option of layers [begin, end) as that stage that fits in
  // memory. All transformer layers are equal, so the number of layers with each
  // mask suffices.
  const std::vector<Timed>& OptionsOf(int stage, int begin, int end) {
    const auto [known, inserted] = options_of_.try_emplace({stage, begin, end});
    if (!inserted) return known->second;
    const StageEnvironment environment = {
        .device = island_.device,
        .training = options_.training,
        .wiring = WiringOf(island_, layout_.gpus_per_stage),
        .pipeline_microbatch_size = options_.pipeline_microbatch_size};
    int num_transformers = 0;
    for (int i = begin; i < end; ++i) {
      num_transformers += layers_.at(i).kind == LayerKind::kTransformer;
    }
    for (const StageParallelism& parallelism : parallelisms_) {
      for (int core = 0; core <= num_transformers; ++core) {
        for (int whole = 0; core + whole <= num_transformers; ++whole) {
          Add(stage, begin, end, core, whole, parallelism, environment,
              known->second);
        }
      }
    }
    return known->second;
  }

  void Add(int stage, int begin, int end, int core, int whole,
           const StageParallelism& parallelism,
           const StageEnvironment& environment, std::vector<Timed>& options) {
    LayerCost sum;
    for (int i = begin; i < end; ++i) {
      const LayerSpec& layer = layers_.at(i);
      LayerRecompute recompute = LayerRecompute::kNone;
      if (layer.kind == LayerKind::kTransformer) {
        recompute = core-- > 0    ? LayerRecompute::kAttentionCore
                    : whole-- > 0 ? LayerRecompute::kWholeLayer
                                  : LayerRecompute::kNone;
      }
      const int num_ops = static_cast<int>(OperatorsOf(layer).size());
      AddLayers(EstimateLayer(layer, {0, num_ops, MaskOf(layer, recompute)},
                              parallelism, environment),
                1, sum);
    }
    const StageCost cost = StageCostOf(sum, parallelism, environment);
    const int behind = layout_.num_stages - 1 - stage;
    const int in_flight =
        InFlightMicrobatches(behind + options_.trailing_stages,
                             options_.training.global_batch_size /
                                 options_.pipeline_microbatch_size);
    if (cost.memory.PeakBytes(in_flight) > island_.device.memory_bytes) return;
    options.push_back({.seconds = cost.forward_s + cost.backward_s +
                                  TransferSeconds(stage, end),
                       .sync_s = cost.sync_s + cost.optimizer_s});
  }

  double TransferSeconds(int stage, int end) const {
    if (end == layers_.size()) return 0;
    const int size = layout_.gpus_per_stage;
    return 2 * tangram::TransferSeconds(
                   BoundaryBytes(layers_.at(end), 0,
                                 options_.pipeline_microbatch_size,
                                 options_.training),
                   PathWithin(island_, stage * size, size, (stage + 1) * size,
                              size));
  }

  const SliceLayers layers_;
  const IslandSpec& island_;
  const ParallelizeOptions& options_;
  const EqualStages layout_;
  std::vector<StageParallelism> parallelisms_;
  std::map<std::tuple<int, int, int>, std::vector<Timed>> options_of_;
};

struct Instance {
  ModelSlice slice;
  IslandSpec island;
  ParallelizeOptions options;
};

// At most eight layers on at most eight GPUs. Memory ranges from barely enough
// to ample.
Instance RandomInstance(std::mt19937& rng) {
  const auto pick = [&](std::vector<int> from) {
    return from[rng() % from.size()];
  };
  const ModelSpec model = TestModel(8, pick({1024, 2048}));
  const int begin = pick({0, 0, 1, 3});
  const int end = begin + pick({3, 4, 5, 6, 7});
  Instance instance = {
      .slice =
          MakeSlice({begin, end},
                    absl::MakeSpan(model.layers).subspan(begin, end - begin)),
      .island = TestIsland(pick({1, 1, 2}), pick({1, 2, 4})),
      .options = {.training = TestTraining(32),
                  .pipeline_microbatch_size = pick({1, 2, 4, 8}),
                  .trailing_stages = pick({0, 0, 1, 3})}};
  instance.island.device.memory_bytes =
      1e9 * std::exp2(std::uniform_real_distribution<double>(-2.5, 1.5)(rng));
  return instance;
}

double SumOf(const SlicePlan& plan, Goal goal) {
  double sum = 0;
  for (const SliceStage& stage : plan.stages) {
    sum += stage.time_s + (goal == Goal::kTimeAndSync ? stage.sync_s : 0);
  }
  return sum;
}

// Returns whether some stage recomputes some of its layers, but not all.
bool RecomputesSomeLayers(const SlicePlan& plan) {
  return absl::c_any_of(plan.stages, [](const SliceStage& stage) {
    return stage.plan.recompute.size() > 1;
  });
}

void ExpectBest(const std::vector<SlicePlan>& plans, int trailing_stages,
                Exhaustive& exhaustive) {
  const double slowest_s = exhaustive.LeastSlowest();
  for (const SlicePlan& plan : plans) {
    EXPECT_GE(plan.max_trailing_stages, trailing_stages);
  }
  for (const double margin : kSlowestMargins) {
    for (const Goal goal : {Goal::kTime, Goal::kTimeAndSync}) {
      SCOPED_TRACE(
          absl::StrCat("margin ", margin, ", goal ", static_cast<int>(goal)));
      double found = kNever;
      for (const SlicePlan& plan : plans) {
        if (plan.slowest_stage_s() > slowest_s * margin * kRounding) continue;
        found = std::min(found, SumOf(plan, goal));
      }
      const double least = exhaustive.LeastSum(slowest_s * margin, goal);
      EXPECT_NEAR(found, least, 1e-9 * least);
    }
  }
}

TEST(DepthTest, AgreesWithEnumeration) {
  int feasible = 0;
  int infeasible = 0;
  int mixed = 0;
  for (uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 rng(seed);
    const Instance instance = RandomInstance(rng);
    const SliceLayers layers(instance.slice);
    const SplitLimits limits(layers.kinds(),
                             instance.options.pipeline_microbatch_size,
                             instance.options.training);
    for (const EqualStages& layout :
         LayoutsOf(instance.island, layers.size(),
                   StageSizes(instance.island, limits, kGalvatronDegrees))) {
      SCOPED_TRACE(absl::StrCat(layout.num_stages, " stages"));
      Exhaustive exhaustive(instance.slice, instance.island, instance.options,
                            layout);
      StopPoll poll;
      StageTable table(layers, layout.gpus_per_stage, instance.island,
                       instance.options, poll);
      Depth depth(layers, layout, instance.island, instance.options, table,
                  poll);

      const std::vector<SlicePlan> plans =
          depth.Best(instance.options.trailing_stages);

      ASSERT_EQ(plans.empty(), exhaustive.LeastSlowest() == kNever);
      if (plans.empty()) {
        ++infeasible;
        EXPECT_GT(depth.LeastBytesOver(instance.options.trailing_stages), 0);
        continue;
      }
      ++feasible;
      ExpectBest(plans, instance.options.trailing_stages, exhaustive);
      mixed += absl::c_any_of(plans, RecomputesSomeLayers);
    }
  }
  EXPECT_GT(feasible, 100);
  EXPECT_GT(infeasible, 30);
  EXPECT_GT(mixed, 30);
}

// The memory suffices for one microbatch, but not for those that the first
// stages hold.
TEST(DepthTest, RecomputesMoreWhereMoreIsHeld) {
  const ModelSpec model = TestModel(8);
  const ModelSlice slice =
      MakeSlice({1, 9}, absl::MakeSpan(model.layers).subspan(1, 8));
  const SliceLayers layers(slice);
  IslandSpec island = TestIsland(1, 4);
  island.device.memory_bytes = 0.75e9;
  const ParallelizeOptions options = {.training = TestTraining(32),
                                      .pipeline_microbatch_size = 4};
  StopPoll poll(options.should_stop);
  StageTable table(layers, /*num_gpus=*/1, island, options, poll);
  Depth depth(layers, {.num_stages = 4, .gpus_per_stage = 1}, island, options,
              table, poll);

  const std::vector<SlicePlan> plans = depth.Best(0);

  ASSERT_FALSE(plans.empty());
  const auto recomputed_layers = [&](int stage) {
    int num_layers = 0;
    for (const RecomputeRun& run : plans[0].stages[stage].plan.recompute) {
      if (run.mask != kRecomputeNone) num_layers += run.num_layers;
    }
    return num_layers;
  };
  EXPECT_GT(recomputed_layers(0), recomputed_layers(3));
}

}  // namespace
}  // namespace tangram::galvatron
