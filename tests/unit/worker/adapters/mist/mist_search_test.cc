#include "worker/adapters/mist/mist_search.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/cost/collectives.h"
#include "common/domain/closed_form.h"
#include "common/parallelizer/check_answers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/status_matchers.h"
#include "worker/adapters/mist/inter_stage.h"
#include "worker/adapters/mist/stage_policies.h"
#include "worker/adapters/search/split_layers.h"
#include "worker/adapters/search/stage_space.h"

namespace tangram::mist {
namespace {

using ::testing::Each;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::TestIsland;
using testing::TestModel;
using testing::TestTraining;

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr int kGlobalBatch = 32;

ModelSlice SliceOf(const ModelSpec& model, int begin, int end) {
  return MakeSlice({begin, end},
                   absl::MakeSpan(model.layers).subspan(begin, end - begin));
}

struct Query {
  ModelSlice slice;
  IslandSpec island;
  ParallelizeOptions options;

  int num_microbatches() const {
    return options.training.global_batch_size /
           options.pipeline_microbatch_size;
  }
  SlicePlanSet Answer() const { return SearchMist(slice, island, options); }
};

Query MakeQuery(int num_layers, int num_gpus, double memory_bytes,
                int microbatch, int trailing_stages = 0) {
  Query query = {.slice = SliceOf(TestModel(num_layers), 1, num_layers + 1),
                 .island = TestIsland(1, num_gpus),
                 .options = {.training = TestTraining(kGlobalBatch),
                             .pipeline_microbatch_size = microbatch,
                             .trailing_stages = trailing_stages}};
  query.island.device.memory_bytes = memory_bytes;
  return query;
}

// (B − 1)·max T + Σ T + max(0, max_i (D_i − Σ_{j<i} T_j)).
double IterationSeconds(const SlicePlan& plan, int num_microbatches) {
  double sum_s = 0;
  double exposed_s = 0;
  for (const SliceStage& stage : plan.stages) {
    exposed_s = std::max(exposed_s, stage.sync_s - sum_s);
    sum_s += stage.time_s;
  }
  return (num_microbatches - 1) * plan.slowest_stage_s() + sum_s + exposed_s;
}

double BestOf(const SlicePlanSet& answer, int num_microbatches) {
  double best_s = kNever;
  for (const SlicePlan& plan : answer.plans) {
    best_s = std::min(best_s, IterationSeconds(plan, num_microbatches));
  }
  return best_s;
}

bool AnyStage(const SlicePlanSet& answer,
              const std::function<bool(const StagePlan&)>& holds) {
  for (const SlicePlan& plan : answer.plans) {
    for (const SliceStage& stage : plan.stages) {
      if (holds(stage.plan)) return true;
    }
  }
  return false;
}

int WholeLayersRecomputed(const StagePlan& stage) {
  int layers = 0;
  for (const RecomputeRun& run : stage.recompute) {
    if (run.mask == (OpMask{1} << 10) - 1) layers += run.num_layers;
  }
  return layers;
}

TEST(MistSearchTest, AmpleMemoryNeedsNoSaving) {
  const SlicePlanSet answer = MakeQuery(8, 4, 64e9, 8).Answer();

  ASSERT_THAT(answer.plans, Not(IsEmpty()));
  EXPECT_FALSE(AnyStage(answer, [](const StagePlan& stage) {
    return !stage.offload.none() ||
           stage.recompute !=
               std::vector<RecomputeRun>{
                   {stage.end.layer - stage.begin.layer, kRecomputeNone}};
  }));
}

TEST(MistSearchTest, StagesRecomputeAsManyLayersAsTheyMust) {
  // The first of two stages holds twice the activations.
  bool differ = false;
  for (double memory_bytes = 4e9; memory_bytes > 1e9; memory_bytes *= 0.95) {
    const SlicePlanSet answer = MakeQuery(8, 2, memory_bytes, 1).Answer();
    for (const SlicePlan& plan : answer.plans) {
      if (plan.num_stages() != 2) continue;
      const int first = WholeLayersRecomputed(plan.stages[0].plan);
      const int second = WholeLayersRecomputed(plan.stages[1].plan);
      differ |= first > second && second > 0;
    }
  }
  EXPECT_TRUE(differ);
}

TEST(MistSearchTest, HostsTakeWhatDoesNotFit) {
  // 8 layers of 12 · 1,024² parameters, 16 bytes each: 1.6 GB.
  Query query = MakeQuery(8, 1, 1.2e9, 1);
  EXPECT_THAT(query.Answer().plans, IsEmpty());

  query.island.device.host = {.bandwidth_bytes_per_s = 20e9,
                              .memory_bytes = 8e9};
  const SlicePlanSet answer = query.Answer();

  EXPECT_THAT(answer.plans, Not(IsEmpty()));
  EXPECT_TRUE(AnyStage(answer, [](const StagePlan& stage) {
    return stage.offload.optimizer > 0;
  }));
}

TEST(MistSearchTest, HostsTakeNoMoreThanTheyHold) {
  Query query = MakeQuery(8, 1, 1.2e9, 1);
  query.island.device.host = {.bandwidth_bytes_per_s = 20e9,
                              .memory_bytes = 0.1e9};

  const SlicePlanSet answer = query.Answer();

  EXPECT_THAT(answer.plans, IsEmpty());
  ASSERT_TRUE(answer.infeasible.has_value());
  EXPECT_GT(answer.infeasible->bytes_short, 0);
}

TEST(MistSearchTest, AnswersBearMoreTrailingStagesThanAsked) {
  const SlicePlanSet answer = MakeQuery(8, 2, 2.5e9, 2).Answer();

  ASSERT_THAT(answer.plans, Not(IsEmpty()));
  int least = kUnlimitedTrailingStages;
  int most = 0;
  for (const SlicePlan& plan : answer.plans) {
    least = std::min(least, plan.max_trailing_stages);
    most = std::max(most, plan.max_trailing_stages);
  }
  EXPECT_LT(least, most);
  EXPECT_THAT(answer.plans, Each(Field(&SlicePlan::made_by, "mist")));
}

// Three samples have no two replicas.
TEST(MistSearchTest, LimitsMayLeaveNoStage) {
  Query query = MakeQuery(8, 4, 16e9, 3);
  query.options.training.global_batch_size = 48;
  query.island.limits.dp_degree = 2;
  const SlicePlanSet answer = query.Answer();
  EXPECT_THAT(answer.plans, IsEmpty());
  EXPECT_THAT(
      CheckSlicePlanSet(answer, query.slice, query.island, query.options),
      testing::IsOk());
}

TEST(MistSearchTest, StoppedSearchesSaySo) {
  Query query = MakeQuery(8, 4, 16e9, 8);
  query.options.should_stop = [] { return true; };

  const SlicePlanSet answer = query.Answer();

  EXPECT_TRUE(answer.truncated);
  EXPECT_THAT(answer.plans, IsEmpty());
  EXPECT_EQ(answer.infeasible->reason, "stopped before any plan");
}

// Bounds sum layers, plans sum stages, and the two round differently.
TEST(MistSearchTest, LimitKeepsAPlanThatJustMeetsIt) {
  for (int num_layers = 2; num_layers <= 40; ++num_layers) {
    Query query = MakeQuery(num_layers, /*num_gpus=*/1, 640e9, 8);
    const SlicePlanSet free = query.Answer();
    ASSERT_FALSE(free.plans.empty());
    double fastest_s = kNever;
    for (const SlicePlan& plan : free.plans) {
      fastest_s = std::min(
          fastest_s, ClosedFormSeconds(plan.latency_s(), plan.slowest_stage_s(),
                                       query.num_microbatches()));
    }
    query.options.limit_s = fastest_s;
    EXPECT_FALSE(query.Answer().plans.empty()) << num_layers << " layers";
  }
}

// Tries all cuts near the balanced ones with all choices of stages. The cost
// model is asked as the evaluator asks it.
class Exhaustive {
 public:
  explicit Exhaustive(const Query& query)
      : query_(query),
        layers_(query.slice),
        limits_(layers_.kinds(), query.options.pipeline_microbatch_size,
                query.options.training) {}

  double Best() {
    double best_s = kNever;
    for (const EqualStages& layout :
         LayoutsOf(query_.island, layers_.size(),
                   StageSizes(query_.island, limits_, {}))) {
      layout_ = layout;
      policies_ = std::make_unique<StagePolicies>(layers_, query_.island,
                                                  query_.options, limits_,
                                                  layout.gpus_per_stage);
      cuts_ = SplitLayers(policies_->degrees()[0]->LayerSeconds(),
                          layout.num_stages);
      known_.clear();
      best_s = std::min(best_s, Extend(0, 0, 0, 0, 0));
    }
    return best_s;
  }

 private:
  double Extend(int stage, int begin, double sum_s, double slowest_s,
                double exposed_s) {
    if (stage == layout_.num_stages) {
      return (query_.num_microbatches() - 1) * slowest_s + sum_s + exposed_s;
    }
    if (begin == layers_.size()) return kNever;
    double best_s = kNever;
    const bool is_last = stage + 1 == layout_.num_stages;
    for (int end = is_last ? layers_.size() : begin + 1; end <= layers_.size();
         ++end) {
      if (std::abs(end - cuts_[stage]) > 2) continue;
      for (const StagePolicy& policy : PoliciesOf(stage, begin, end)) {
        best_s = std::min(best_s,
                          Extend(stage + 1, end, sum_s + policy.steady_s,
                                 std::max(slowest_s, policy.steady_s),
                                 std::max(exposed_s, policy.extra_s - sum_s)));
      }
    }
    return best_s;
  }

  const std::vector<StagePolicy>& PoliciesOf(int stage, int begin, int end) {
    const auto [found, is_new] = known_.try_emplace({stage, begin, end});
    if (is_new) found->second = Enumerate(stage, begin, end);
    return found->second;
  }

  std::vector<StagePolicy> Enumerate(int stage, int begin, int end) const {
    std::vector<StagePolicy> front;
    for (const auto& degrees : policies_->degrees()) {
      for (const HostOffload& offload : policies_->offloads()) {
        for (int steps = 0; steps <= degrees->StepsOf(begin, end).num_steps();
             ++steps) {
          AddPolicy(
              {.begin = {begin, 0},
               .end = {end, 0},
               .parallelism = degrees->parallelism(),
               .recompute = degrees->PlanOf(begin, end, 0, steps).recompute,
               .offload = offload},
              stage, front);
        }
      }
    }
    return front;
  }

  void AddPolicy(const StagePlan& plan, int stage,
                 std::vector<StagePolicy>& front) const {
    const StageCost cost = EstimateStage(
        query_.slice.runs, plan,
        {.device = query_.island.device,
         .training = query_.options.training,
         .wiring = WiringOf(query_.island, layout_.gpus_per_stage),
         .pipeline_microbatch_size = query_.options.pipeline_microbatch_size});
    const int in_flight = InFlightMicrobatches(
        layout_.num_stages - 1 - stage + query_.options.trailing_stages,
        query_.num_microbatches());
    const DeviceSpec& device = query_.island.device;
    if (cost.memory.PeakBytes(in_flight) > device.memory_bytes ||
        cost.memory.HostBytes(in_flight) > device.host.memory_bytes) {
      return;
    }
    const StagePolicy policy = {
        .steady_s = cost.forward_s + cost.backward_s +
                    TransferAfter(stage, plan.end.layer),
        .extra_s = cost.sync_s + cost.optimizer_s};
    for (const StagePolicy& kept : front) {
      if (kept.steady_s <= policy.steady_s && kept.extra_s <= policy.extra_s) {
        return;
      }
    }
    front.push_back(policy);
  }

  double TransferAfter(int stage, int next_layer) const {
    if (next_layer == layers_.size()) return 0;
    const int size = layout_.gpus_per_stage;
    return 2 * TransferSeconds(
                   BoundaryBytes(layers_.at(next_layer), 0,
                                 query_.options.pipeline_microbatch_size,
                                 query_.options.training),
                   PathWithin(query_.island, stage * size, size,
                              (stage + 1) * size, size));
  }

  const Query& query_;
  const SliceLayers layers_;
  const SplitLimits limits_;
  EqualStages layout_;
  std::unique_ptr<StagePolicies> policies_;  // Source of the choices.
  std::vector<int> cuts_;
  std::map<std::tuple<int, int, int>, std::vector<StagePolicy>> known_;
};

Query RandomQuery(std::mt19937& random) {
  const auto draw = [&](int most) {
    return std::uniform_int_distribution<int>(0, most)(random);
  };
  const int num_layers = 1 + draw(5);
  const ModelSpec model = TestModel(num_layers);
  const int begin = draw(1);
  Query query = {.slice = SliceOf(model, begin, num_layers + 1 + draw(1)),
                 .island = TestIsland(1 + draw(1), 1 << draw(2)),
                 .options = {.training = TestTraining(kGlobalBatch),
                             .pipeline_microbatch_size = 1 << draw(3),
                             .trailing_stages = draw(3)}};
  DeviceSpec& device = query.island.device;
  device.efficiency = DeviceEfficiency();
  device.supports_flash_attention = draw(1) == 0;
  device.memory_bytes = 1.4e9 * std::pow(1.2, draw(7));
  if (draw(3) == 0) {
    device.host = {.bandwidth_bytes_per_s = 5e9 * (1 + draw(3)),
                   .memory_bytes = 1e9 * (1 + draw(7))};
  }
  return query;
}

// Not always exact: the composition's criteria do not tell at which stage
// gradients take long, and see TunePolicies.
TEST(MistSearchTest, FindsTheBestOfItsSpace) {
  constexpr int kSeeds = 200;
  int feasible = 0;
  int equal = 0;
  int near = 0;  // Within 2 %.
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(seed);
    const Query query = RandomQuery(random);
    const double best_s = Exhaustive(query).Best();
    const double found_s = BestOf(query.Answer(), query.num_microbatches());
    EXPECT_EQ(found_s == kNever, best_s == kNever);
    if (best_s == kNever) continue;
    ++feasible;
    equal += std::abs(found_s - best_s) <= 1e-9 * best_s ? 1 : 0;
    near += found_s <= 1.02 * best_s ? 1 : 0;
    EXPECT_GE(found_s, best_s * (1 - 1e-9));
  }
  EXPECT_GE(equal, 0.95 * feasible);
  EXPECT_GE(near, 0.99 * feasible);
  EXPECT_GT(feasible, kSeeds / 2);
  EXPECT_LT(feasible, kSeeds);
}

}  // namespace
}  // namespace tangram::mist
