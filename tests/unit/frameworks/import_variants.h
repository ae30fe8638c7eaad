#ifndef TANGRAM_TESTS_UNIT_FRAMEWORKS_IMPORT_VARIANTS_H_
#define TANGRAM_TESTS_UNIT_FRAMEWORKS_IMPORT_VARIANTS_H_

#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "common/base/check.h"
#include "common/domain/recompute_masks.h"
#include "common/sim/describe.h"
#include "formats/config/model_file.h"
#include "frameworks/export_plan.h"
#include "frameworks/import_plan.h"
#include "tests/unit/frameworks/two_islands.h"

// Files of frameworks as people edit them. Expectations follow from the
// framework's own parser and checks, not from ours.
namespace tangram::testing {

// A configuration, and what a plan of it is imported for.
struct ImportBase {
  std::string format;
  ModelSpec model;
  TrainingOptions training;
  std::vector<FrameworkFile> files;
};

inline const Cluster& VariantCluster() {
  static const auto& cluster = *new Cluster(TestCluster(
      {{"t4", 1, 4, TestDevice("T4")}, {"v100", 1, 4, TestDevice("V100-16")}}));
  return cluster;
}

inline constexpr char kHosts[] =
    "t4-0 slots=4 type=T4\nv100-0 slots=4 type=V100\n";

// GPT-3 1.3B with 8 layers.
inline ModelSpec SmallGpt(bool tied) {
  ModelSpec model = *LoadModel("gpt3-1.3b", {.num_layers = 8});
  model.layers.front().tied_embeddings = tied;
  model.layers.back().tied_embeddings = tied;
  return model;
}

inline TrainingOptions VariantTraining() {
  TrainingOptions training = TestTraining(0);
  training.sequence_length = 1024;
  return training;
}

// tp 2 and dp 2 in two stages of 4 layers.
inline ImportBase MegatronBase() {
  return {"megatron",
          SmallGpt(/*tied=*/false),
          VariantTraining(),
          {{"run.args",
            "torchrun --nproc_per_node 4 pretrain_gpt.py \\\n"
            "--num-layers 8 --hidden-size 2048 --ffn-hidden-size 8192 \\\n"
            "--num-attention-heads 32 --kv-channels 64 --vocab-size 51200 \\\n"
            "--max-position-embeddings 2048 \\\n"
            "--untie-embeddings-and-output-weights \\\n"
            "--tensor-model-parallel-size 2 \\\n"
            "--pipeline-model-parallel-size 2 \\\n"
            "--seq-length 1024 --micro-batch-size 2 --global-batch-size 32 \\\n"
            "--fp16 --attention-dropout 0.1 --hidden-dropout 0.1 --lr 1e-4 "},
           {"hostfile", kHosts}}};
}

// Mixtral with 4 layers: dp 4 and ep 4 in two stages.
inline ImportBase MegatronMoeBase() {
  ImportBase base{
      "megatron",
      *LoadModel("mixtral-8x7b", {.num_layers = 4}),
      VariantTraining(),
      {{"run.args",
        "--num-layers 4 --hidden-size 4096 --ffn-hidden-size 14336\n"
        "--num-attention-heads 32 --group-query-attention\n"
        "--num-query-groups 8 --swiglu --disable-bias-linear\n"
        "--normalization RMSNorm --position-embedding-type rope\n"
        "--max-position-embeddings 4096 --vocab-size 32000\n"
        "--untie-embeddings-and-output-weights --num-experts 8\n"
        "--moe-router-topk 2 --moe-token-dispatcher-type alltoall\n"
        "--moe-grouped-gemm --expert-model-parallel-size 4\n"
        "--pipeline-model-parallel-size 2 --seq-length 1024\n"
        "--micro-batch-size 1 --global-batch-size 32 --fp16\n"
        "--attention-dropout 0 --hidden-dropout 0 "},
       {"hostfile", kHosts}}};
  base.training.dropout = false;
  return base;
}

// tp 2 and dp 2 on the T4 with 3 layers, dp 4 on the V100 with 5.
inline ImportBase FlagScaleBase() {
  return {"flagscale",
          SmallGpt(/*tied=*/false),
          VariantTraining(),
          {{"plan.yaml", R"(system:
  tensor_model_parallel_size: 2
  pipeline_model_parallel_size: 2
  hetero:
    enable_hetero: true
    hetero_process_meshes: [2, 1, 1, 2, 1, 1, 1, 1, 4, 1]
    hetero_pipeline_layer_split: [3, 5]
    hetero_device_types: [T4, V100]
    hetero_current_device_type: T4
  precision:
    fp16: true
model:
  num_layers: 8
  hidden_size: 2048
  ffn_hidden_size: 8192
  num_attention_heads: 32
  kv_channels: 64
  vocab_size: 51200
  max_position_embeddings: 2048
  untie_embeddings_and_output_weights: true
  attention_dropout: 0.1
  hidden_dropout: 0.1
  seq_length: 1024
  micro_batch_size: 2
  global_batch_size: 32
data:
  data_path: tokens
)"},
           {"hostfile", kHosts}}};
}

// The same with tied embeddings, and tp 2 and dp 2 on both.
inline ImportBase FlagScaleTiedBase() {
  ImportBase base = FlagScaleBase();
  base.model = SmallGpt(/*tied=*/true);
  std::string& text = base.files[0].content;
  text = absl::StrReplaceAll(
      text, {{"  untie_embeddings_and_output_weights: true\n", ""},
             {"1, 1, 1, 4, 1]", "2, 1, 1, 2, 1]"}});
  return base;
}

// An export of two stages of 4 layers with tp 2 and dp 2.
inline ImportBase ExportedBase(const std::string& format, ModelSpec model,
                               StageParallelism parallelism) {
  const int half = model.num_layers() / 2;
  PlannedTraining planned{.cluster = VariantCluster(),
                          .model = model,
                          .training = VariantTraining()};
  planned.training.flash_attention = format != "aceso";
  planned.training.global_batch_size = 32;
  planned.plan.pipeline_microbatch_size = 4;
  planned.plan.stages = {
      StageOn(0, half, parallelism, NodeGpus(0, 4)),
      StageOn(half, model.num_layers(), parallelism, NodeGpus(1, 4))};
  const auto exported = ExportPlan(format, planned);
  TANGRAM_CHECK(exported.ok());
  ImportBase base{format, std::move(model), planned.training, {}};
  base.training.global_batch_size = 0;
  for (FrameworkFile& file : FilesOf(*exported)) {
    if (!file.name.ends_with(".sh")) base.files.push_back(std::move(file));
  }
  return base;
}

inline absl::StatusOr<ImportedPlan> ImportBaseFiles(const ImportBase& base) {
  return ImportPlan(base.format, {.files = base.files,
                                  .cluster = VariantCluster(),
                                  .model = base.model,
                                  .training = base.training});
}

// "4xall" for layers, or the names of the recomputed operators.
inline std::string TextOfMask(const LayerSpec& layer, OpMask mask) {
  if (mask == kRecomputeNone) return "-";
  if (mask == WholeLayerMask(layer)) return "all";
  std::string text;
  const auto ops = OperatorsOf(layer);
  for (size_t i = 0; i < ops.size(); ++i) {
    if ((mask >> i & 1) == 0) continue;
    absl::StrAppend(&text, text.empty() ? "" : "+", OpName(ops[i]));
  }
  return text + ((mask & kDropOutputs) != 0 ? "!" : "");
}

inline std::string TextOfStage(const ModelSpec& model,
                               const PlacedStage& stage) {
  const StageParallelism& p = stage.plan.parallelism;
  std::string text = absl::StrCat(
      stage.plan.begin.layer, "-", stage.plan.end.layer, " tp", p.tp_degree,
      " cp", p.cp_degree, " dp", p.dp_degree, " ep", p.ep_degree, " zero",
      DescribeZero(p), p.sequence_parallel ? " sp" : "", " @",
      stage.gpus.front().node, ".", stage.gpus.front().index);
  int layer = stage.plan.begin.layer;
  std::string recompute;
  bool any = false;
  for (const RecomputeRun& run : stage.plan.recompute) {
    absl::StrAppend(&recompute, " ", run.num_layers, "x",
                    TextOfMask(model.layers[layer], run.mask));
    any |= run.mask != kRecomputeNone;
    layer += run.num_layers;
  }
  return any ? absl::StrCat(text, " r", recompute) : text;
}

// "b4/32 1f1b adam dropout flash: 0-5 tp2 cp1 dp2 ep1 zero0 @0.0 | ..."
inline std::string TextOfPlan(const ModelSpec& model,
                              const ImportedPlan& imported) {
  const TrainingOptions& t = imported.training;
  const PipelinePlan& plan = imported.plan;
  std::string text = absl::StrCat(
      "b", plan.pipeline_microbatch_size, "/", t.global_batch_size,
      plan.schedule == PipelineSchedule::kGpipe         ? " gpipe"
      : plan.schedule == PipelineSchedule::kInterleaved ? " interleaved"
                                                        : " 1f1b",
      t.optimizer == Optimizer::kAdam ? " adam" : " sgd",
      t.dropout ? " dropout" : "", t.flash_attention ? " flash" : "",
      t.fp32_gradients ? " fp32-gradients" : "",
      t.overlap_grad_reduce ? " overlap" : "",
      t.bf16_moments ? " moments16" : "", t.fused_loss ? " fused" : "", ":");
  for (const PlacedStage& stage : plan.stages) {
    absl::StrAppend(&text, &stage == &plan.stages.front() ? " " : " | ",
                    TextOfStage(model, stage));
  }
  return text;
}

enum class Outcome {
  kReads,  // The plan's text contains `expected`; no more notes than before.
  kNotes,  // The same plan as before, and `expected` in the notes. "plan ##
           // note" expects another plan.
  kFails,  // The error contains `expected`; " ## " separates several texts.
};

// Replaces `from`, which must occur, with `to` in all files; an empty `from`
// appends to the configuration.
struct Edit {
  std::string from;
  std::string to;
};

struct Variant {
  std::vector<Edit> edits;
  Outcome outcome;
  const char* expected;
};

inline void Apply(const Edit& edit, ImportBase& base) {
  if (edit.from.empty()) {
    base.files[0].content += edit.to;
    return;
  }
  bool found = false;
  for (FrameworkFile& file : base.files) {
    found |= absl::StrContains(file.content, edit.from);
    file.content = absl::StrReplaceAll(file.content, {{edit.from, edit.to}});
  }
  EXPECT_TRUE(found) << edit.from;
}

// Returns the notes without those that tell what was read.
inline std::vector<std::string> LossNotes(const ImportedPlan& imported) {
  std::vector<std::string> notes;
  for (const std::string& note : imported.notes) {
    if (!absl::StartsWith(note, "training as in the files")) {
      notes.push_back(note);
    }
  }
  return notes;
}

inline void ExpectOutcome(const Variant& variant, const ImportedPlan& before,
                          const ImportBase& base) {
  const absl::StatusOr<ImportedPlan> imported = ImportBaseFiles(base);
  const std::vector<std::string> expected =
      absl::StrSplit(variant.expected, " ## ");
  if (variant.outcome == Outcome::kFails) {
    for (const std::string& part : expected) {
      EXPECT_THAT(imported.status(),
                  StatusIs(absl::StatusCode::kInvalidArgument,
                           ::testing::HasSubstr(part)));
    }
    return;
  }
  ASSERT_TRUE(imported.ok()) << imported.status();
  const std::string plan = TextOfPlan(base.model, *imported);
  if (variant.outcome == Outcome::kReads) {
    EXPECT_THAT(plan, ::testing::HasSubstr(variant.expected));
    EXPECT_EQ(LossNotes(*imported), LossNotes(before));
    return;
  }
  EXPECT_THAT(imported->notes,
              ::testing::Contains(::testing::HasSubstr(expected.back())));
  if (expected.size() > 1) {
    EXPECT_THAT(plan, ::testing::HasSubstr(expected.front()));
  } else {
    EXPECT_EQ(plan, TextOfPlan(base.model, before));
  }
}

inline void ExpectOutcomes(const ImportBase& base, absl::string_view plan,
                           const std::vector<Variant>& variants) {
  const absl::StatusOr<ImportedPlan> before = ImportBaseFiles(base);
  ASSERT_TRUE(before.ok()) << before.status();
  EXPECT_EQ(TextOfPlan(base.model, *before), plan);
  for (const Variant& variant : variants) {
    std::string trace;
    for (const Edit& edit : variant.edits) {
      absl::StrAppend(&trace, "\"", edit.from, "\" -> \"", edit.to, "\" ");
    }
    SCOPED_TRACE(trace);
    ImportBase edited = base;
    for (const Edit& edit : variant.edits) Apply(edit, edited);
    ExpectOutcome(variant, *before, edited);
  }
}

}  // namespace tangram::testing

#endif  // TANGRAM_TESTS_UNIT_FRAMEWORKS_IMPORT_VARIANTS_H_
