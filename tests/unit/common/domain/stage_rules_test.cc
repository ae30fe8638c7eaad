#include "common/domain/stage_rules.h"

#include <initializer_list>
#include <random>
#include <vector>

#include "common/domain/model_slice.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/builders.h"
#include "tests/testing/status_matchers.h"

namespace tangram {
namespace {

using ::testing::HasSubstr;
using testing::IsOk;
using testing::StatusIs;

// Embedding, a dense layer, two layers with 8 experts, head.
ModelSlice MixedSlice() {
  ModelSpec model = testing::TestMoeModel(2);
  model.layers.insert(model.layers.begin() + 1,
                      testing::TestModel(1).layers[1]);
  return testing::WholeSlice(model);
}

StagePlan StageOf(int begin, int end, const StageParallelism& parallelism) {
  return {.begin = {begin, 0},
          .end = {end, 0},
          .parallelism = parallelism,
          .recompute = {{.num_layers = end - begin}}};
}

constexpr StageSite kSite = {
    .max_gpus = 8, .microbatch_size = 4, .sequence_length = 512};

absl::Status CheckDense(const StageParallelism& parallelism,
                        const StageSite& site) {
  const ModelSlice slice = testing::WholeSlice(testing::TestModel(2));
  return StageRules(slice.runs).CheckStage(StageOf(0, 2, parallelism), site);
}

// 516 tokens: two chunks for each of two ranks, not for each of four.
TEST(StageRulesTest, AContextRankHoldsAChunkFromEitherEndOfTheSequence) {
  StageSite site = kSite;
  site.sequence_length = 516;
  EXPECT_THAT(CheckDense({.cp_degree = 2}, site), IsOk());
  EXPECT_THAT(
      CheckDense({.cp_degree = 4}, site),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("parallelism.cp_degree: 4; expected twice it to "
                         "divide the sequence length, 516")));
}

TEST(StageRulesTest, ContextParallelismNeedsItsKernels) {
  StageSite site = kSite;
  site.no_context_parallel = "flash attention does not run on T4";
  EXPECT_THAT(CheckDense({.dp_degree = 2}, site), IsOk());
  EXPECT_THAT(
      CheckDense({.cp_degree = 2}, site),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("parallelism.cp_degree: 2; expected 1, as flash "
                         "attention does not run on T4")));
}

// 516 tokens, and 258 for each of two context-parallel ranks.
TEST(StageRulesTest, SequenceParallelRanksShareTheTokensEvenly) {
  StageSite site = kSite;
  site.sequence_length = 516;
  EXPECT_THAT(CheckDense({.tp_degree = 4, .sequence_parallel = true}, site),
              IsOk());
  EXPECT_THAT(
      CheckDense({.tp_degree = 4, .cp_degree = 2, .sequence_parallel = true},
                 site),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("parallelism.tp_degree: 4; expected a divisor of the "
                         "258 tokens of a rank, with sequence_parallel")));
  EXPECT_THAT(CheckDense({.tp_degree = 4, .cp_degree = 2}, site), IsOk());
}

// Runtimes have one expert degree for all stages.
TEST(StageRulesTest, AStageWithoutExpertsMayHaveTheExpertDegreeOfOthers) {
  const ModelSlice slice = MixedSlice();
  EXPECT_THAT(
      StageRules(slice.runs)
          .CheckStage(StageOf(0, 2, {.dp_degree = 2, .ep_degree = 2}), kSite),
      IsOk());
}

TEST(StageRulesTest, NoStageHasAnExpertDegreeIfNoLayerHasExperts) {
  const ModelSlice slice = testing::WholeSlice(testing::TestModel(2));
  EXPECT_THAT(
      StageRules(slice.runs)
          .CheckStage(StageOf(0, 2, {.dp_degree = 2, .ep_degree = 2}), kSite),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("parallelism.ep_degree: 2; expected 1, as no layer "
                         "has experts")));
}

TEST(StageRulesTest, ExpertsAreShardedOverMoreThanOneRank) {
  const ModelSlice slice = MixedSlice();
  EXPECT_THAT(
      StageRules(slice.runs)
          .CheckStage(StageOf(2, 4, {.dp_degree = 2, .fsep = true}), kSite),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("parallelism.fsep: true; expected false, as "
                         "ep_degree is 1")));
}

// ---- Random stages against the rules, layer by layer ----

template <typename T>
T Pick(std::mt19937& random, std::initializer_list<T> values) {
  return values.begin()[random() % values.size()];
}

ModelSlice RandomSlice(std::mt19937& random) {
  const ModelSpec dense = testing::TestModel(1);
  const ModelSpec moe = testing::TestMoeModel(1);
  std::vector<LayerSpec> layers;
  const int num_layers = 1 + static_cast<int>(random() % 5);
  for (int i = 0; i < num_layers; ++i) {
    LayerSpec layer = (random() % 2 == 0 ? dense : moe).layers[random() % 3];
    if (layer.num_heads > 0) layer.num_heads = Pick(random, {4, 6, 16});
    if (layer.num_kv_heads > 0) layer.num_kv_heads = Pick(random, {1, 2, 4});
    if (random() % 8 == 0) {
      layer.kv_lora_rank = 64;
      // Says nothing here.
      if (layer.num_kv_heads > 0) layer.num_kv_heads = Pick(random, {1, 7});
    }
    layers.push_back(layer);
  }
  return MakeSlice({0, num_layers}, layers);
}

// Mostly legal; each part is spoilt once in a while.
StagePlan RandomStage(const ModelSlice& slice, std::mt19937& random) {
  const int num_layers = slice.num_layers();
  const int begin = static_cast<int>(random() % num_layers);
  const int end = begin + 1 + static_cast<int>(random() % (num_layers - begin));
  const auto degree = [&] { return Pick(random, {1, 1, 1, 1, 2, 2, 3, 4}); };
  StagePlan stage = StageOf(begin, end,
                            {.tp_degree = degree(),
                             .cp_degree = degree(),
                             .dp_degree = degree(),
                             .ep_degree = degree(),
                             .fsep = random() % 8 == 0,
                             .sequence_parallel = random() % 4 == 0,
                             .tp_y_degree = Pick(random, {1, 1, 1, 2})});
  if (random() % 16 == 0) stage.parallelism.dp_degree = 0;
  if (random() % 16 == 0) stage.parallelism.zero_stage = 4;
  if (random() % 8 == 0) {
    stage.parallelism.zero_stage = Pick(random, {0, 1, 3});
    stage.parallelism.zero_degree = Pick(random, {1, 2, 2, 3});
  }
  if (random() % 2 == 0) {
    stage.recompute = {{.num_layers = 1, .mask = Pick<OpMask>(random, {0, 1})},
                       {.num_layers = end - begin - 1, .mask = 3}};
    if (end - begin == 1 && random() % 4 > 0) stage.recompute.pop_back();
  }
  if (random() % 8 == 0) {
    stage.offload.weights = Pick(random, {0.5, 1.0, 1.5, -0.5});
  }
  return stage;
}

bool SplitsLayer(const StageParallelism& p, const LayerSpec& layer) {
  const bool heads = layer.num_heads % p.tp_degree == 0 &&
                     (layer.num_kv_heads == 0 || layer.kv_lora_rank > 0 ||
                      layer.num_kv_heads % p.tp_degree == 0 ||
                      p.tp_degree % layer.num_kv_heads == 0);
  const bool two_d =
      p.tp_y_degree == 1 || (layer.num_experts == 0 && layer.kv_lora_rank == 0);
  return heads && two_d && layer.num_experts % p.ep_degree == 0;
}

bool IsLegalDegrees(const StageParallelism& p, const StageSite& site) {
  return p.tp_degree >= 1 && p.cp_degree >= 1 && p.dp_degree >= 1 &&
         p.ep_degree >= 1 && p.tp_y_degree >= 1 &&
         p.num_gpus() <= site.max_gpus && p.zero_stage <= 3 &&
         site.microbatch_size % p.dp_degree == 0 &&
         (p.cp_degree == 1 || (site.sequence_length % (2 * p.cp_degree) == 0 &&
                               site.no_context_parallel.empty())) &&
         (!p.sequence_parallel ||
          site.sequence_length / p.cp_degree % p.tp_degree == 0) &&
         p.cp_degree * p.dp_degree % p.ep_degree == 0 &&
         (p.zero_degree == 0 ||
          (p.zero_stage > 0 && p.zero_degree > 1 &&
           p.dp_degree % p.zero_degree == 0 &&
           p.cp_degree * p.zero_degree % p.ep_degree == 0)) &&
         p.tp_degree % p.tp_y_degree == 0 &&
         (p.tp_y_degree == 1 || !p.sequence_parallel) &&
         (!p.fsep || p.ep_degree > 1);
}

// The rules, spelt out for each layer.
bool IsLegal(const StagePlan& stage, const ModelSlice& slice,
             const StageSite& site) {
  const StageParallelism& p = stage.parallelism;
  if (!IsLegalDegrees(p, site)) return false;
  std::vector<OpMask> masks;
  for (const RecomputeRun& run : stage.recompute) {
    if (run.num_layers < 1) return false;
    masks.insert(masks.end(), run.num_layers, run.mask);
  }
  const std::vector<LayerSpec> layers = LayersOf(slice);
  if (static_cast<int>(masks.size()) != stage.end.layer - stage.begin.layer) {
    return false;
  }
  bool has_experts = false;
  for (const LayerSpec& layer : layers) has_experts |= layer.num_experts > 0;
  if (p.ep_degree > 1 && !has_experts) return false;
  for (int l = stage.begin.layer; l < stage.end.layer; ++l) {
    const OpMask mask = masks[l - stage.begin.layer];
    if (!SplitsLayer(p, layers[l]) ||
        mask >= OpMask{1} << OperatorsOf(layers[l]).size()) {
      return false;
    }
  }
  const double weights = stage.offload.weights;
  return weights == 0 ||
         (weights > 0 && weights <= 1 && site.unknown_host.empty());
}

TEST(StageRulesPropertyTest, AcceptsExactlyTheLegalStages) {
  int num_legal = 0;
  std::mt19937 random(1);
  for (int i = 0; i < 24'000; ++i) {
    const ModelSlice slice = RandomSlice(random);
    const StagePlan stage = RandomStage(slice, random);
    const StageSite site = {
        .max_gpus = Pick(random, {2, 4, 8}),
        .microbatch_size = Pick(random, {2, 4, 6}),
        .sequence_length = Pick(random, {510, 512}),
        .unknown_host = random() % 2 == 0 ? "" : "node a",
        .no_context_parallel = random() % 4 == 0 ? "no kernel" : ""};
    const absl::Status status = StageRules(slice.runs).CheckStage(stage, site);
    const bool is_legal = IsLegal(stage, slice, site);
    ASSERT_EQ(status.ok(), is_legal) << "case " << i << ": " << status;
    num_legal += is_legal ? 1 : 0;
  }
  EXPECT_GT(num_legal, 2'000);
  EXPECT_LT(num_legal, 18'000);
}

}  // namespace
}  // namespace tangram
