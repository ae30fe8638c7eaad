#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "frameworks/megatron_option_table.h"
#include "tests/unit/frameworks/import_variants.h"

namespace tangram {
namespace {

using enum testing::Outcome;
using testing::ExpectOutcomes;
using ::testing::HasSubstr;
using testing::ImportBase;
using testing::ImportBaseFiles;
using testing::MegatronBase;
using testing::StatusIs;
using testing::TextOfPlan;
using ::testing::UnorderedElementsAre;

constexpr char kPp2[] = "--pipeline-model-parallel-size 2";

TEST(ImportMegatronTest, RefusesAnotherModelOrPrecision) {
  ExpectOutcomes(
      MegatronBase(),
      "b4/32 1f1b adam dropout flash: 0-5 tp2 cp1 dp2 ep1 zero0 @0.0 | "
      "5-10 tp2 cp1 dp2 ep1 zero0 @1.0",
      {
          {{{"--num-layers 8", "--num-layers 6"}},
           kFails,
           "--num-layers: 6; expected 8"},
          {{{"--num-layers 8 ", ""}}, kFails, "--num-layers: missing"},
          {{{"--hidden-size 2048", "--hidden-size 4096"}},
           kFails,
           "--hidden-size: 4096; expected 2048"},
          {{{"--ffn-hidden-size 8192", "--ffn-hidden-size 5504"}},
           kFails,
           "--ffn-hidden-size: 5504; expected 8192"},
          // The default is 4 x 2048.
          {{{"--ffn-hidden-size 8192 ", ""}}, kReads, "tp2 cp1 dp2"},
          {{{"--num-attention-heads 32", "--num-attention-heads 16"}},
           kFails,
           "--num-attention-heads: 16; expected 32"},
          {{{"--kv-channels 64", "--kv-channels 128"}},
           kFails,
           "--kv-channels: 128; expected 64"},
          // 2048 / 32.
          {{{"--kv-channels 64 ", ""}}, kReads, "tp2 cp1 dp2"},
          {{{"", "--group-query-attention --num-query-groups 8 "}},
           kFails,
           "--num-query-groups: 8; expected 32"},
          // One group by default.
          {{{"", "--group-query-attention "}},
           kFails,
           "--num-query-groups: missing; expected 32"},
          {{{"", "--group-query-attention --num-query-groups 32 "}},
           kReads,
           "tp2 cp1 dp2"},
          {{{"--vocab-size 51200", "--vocab-size 32000"}},
           kFails,
           "--vocab-size: 32000; expected 51200"},
          // Padded to a multiple of 128 x tp 2: 51,200 too.
          {{{"--vocab-size 51200", "--vocab-size 51100"}},
           kReads,
           "tp2 cp1 dp2"},
          {{{"--vocab-size 51200", "--vocab-size 51100 --no-pad-vocab-size"}},
           kFails,
           "--vocab-size: 51100; expected 51200"},
          {{{"--vocab-size 51200 ", ""}}, kNotes, "no --vocab-size"},
          {{{"--max-position-embeddings 2048",
             "--max-position-embeddings 4096"}},
           kFails,
           "--max-position-embeddings: 4096; expected 2048"},
          {{{"", "--swiglu "}},
           kFails,
           "--swiglu: given; expected no such flag"},
          {{{"", "--disable-bias-linear "}},
           kFails,
           "--disable-bias-linear: given"},
          {{{"", "--add-qkv-bias "}}, kReads, "tp2 cp1 dp2"},
          {{{"", "--qk-layernorm "}}, kFails, "--qk-layernorm: given"},
          {{{"", "--normalization RMSNorm "}},
           kFails,
           "--normalization: RMSNorm; expected LayerNorm"},
          {{{"", "--position-embedding-type rope "}},
           kFails,
           "--position-embedding-type: rope; expected learned_absolute"},
          {{{"--untie-embeddings-and-output-weights", ""}},
           kFails,
           "--untie-embeddings-and-output-weights: missing"},
          {{{"", "--num-experts 8 "}}, kFails, "--num-experts: 8; expected 0"},
          {{{"", "--multi-latent-attention "}},
           kFails,
           "--multi-latent-attention: given"},
          {{{"", "--window-size 128,0 "}},
           kFails,
           "--window-size: 128,0; expected no such option"},
          {{{"--fp16", "--bf16"}},
           kFails,
           "--bf16: given ## fp16 instead of bf16"},
          {{{"--fp16 ", ""}},
           kFails,
           "--bf16: missing ## fp16 instead of fp32"},
          {{{"--fp16", "--fp16 --bf16"}}, kFails, "--fp16: given"},
          {{{"--fp16", "--bf16 --fp8-format hybrid"}},
           kFails,
           "--fp8-format: hybrid ## fp16 instead of fp8"},
          {{{"", "--fp4-format e2m1 "}}, kFails, "--fp4-format: e2m1"},
          {{{"--seq-length 1024", "--seq-length 2048"}},
           kFails,
           "--seq-length: 2048; expected 1024"},
          {{{"--seq-length 1024 ", ""}}, kFails, "--seq-length: missing"},
          {{{"", "--mtp-num-layers 1 "}}, kFails, "--mtp-num-layers: 1"},
          {{{"", "--mtp-num-layers 0 "}}, kReads, "tp2 cp1 dp2"},
          {{{"", "--hybrid-layer-pattern M*M* "}},
           kFails,
           "--hybrid-layer-pattern: M*M*"},
          {{{"", "--optimizer muon "}}, kFails, "--optimizer: muon; expected"},
      });
}

TEST(ImportMegatronTest, ReadsWordsAsTheShellAndMegatronDo) {
  ExpectOutcomes(
      MegatronBase(),
      "b4/32 1f1b adam dropout flash: 0-5 tp2 cp1 dp2 ep1 zero0 @0.0 | "
      "5-10 tp2 cp1 dp2 ep1 zero0 @1.0",
      {
          {{{"--seq-length 1024", "--seq-lenght 1024"}},
           kFails,
           "--seq-lenght: unknown option; did you mean seq-length?"},
          {{{"--seq-length 1024", "--seq_length 1024"}},
           kFails,
           "--seq_length: unknown option"},
          {{{"", "--hetero-mode "}}, kFails, "--hetero-mode: unknown option"},
          {{{"--seq-length 1024", "--seq-length=1024"}}, kReads, "tp2 cp1 dp2"},
          {{{"--seq-length 1024", "--seq-length '1024'"}},
           kReads,
           "tp2 cp1 dp2"},
          {{{"--seq-length 1024", "--seq-length"}},
           kFails,
           "--seq-length: no value; expected one value"},
          {{{"--seq-length 1024", "--seq-length 1024 2048"}},
           kFails,
           "--seq-length: 1024 2048; expected one value"},
          {{{"--fp16", "--fp16 true"}},
           kFails,
           "--fp16: true; expected no value"},
          // The last of two counts.
          {{{"", "--micro-batch-size 4 "}}, kReads, "b8/32"},
          {{{"", "${MORE_ARGS[@]} "}}, kFails, "--lr: 1e-4 ${MORE_ARGS[@]}"},
          {{{"pretrain_gpt.py", "pretrain_gpt.py ${MODEL_ARGS[@]}"}},
           kFails,
           "${MODEL_ARGS[@]}; expected an option of Megatron-LM"},
          {{{"torchrun", "# A comment: --num-layers 5\nOMP=1 torchrun"}},
           kReads,
           "tp2 cp1 dp2"},
          {{{"", "--save 'out"}}, kFails, "a quotation does not end"},
          {{{"", "--train-iters 100 --log-interval 5 "}},
           kNotes,
           "without effect on time and memory: --log-interval, --lr, "
           "--train-iters"},
          {{{"", "--tp-comm-overlap "}},
           kNotes,
           "may change time or memory: --tp-comm-overlap"},
          {{{"", "--overlap-param-gather --cuda-graph-impl local "}},
           kNotes,
           "memory: --cuda-graph-impl local, --overlap-param-gather"},
          {{{"", "--batch-size 4 "}}, kFails, "--batch-size: 4"},
          {{{"", "--checkpoint-activations "}},
           kFails,
           "--checkpoint-activations: given"},
          {{{"", "--use-checkpoint-args "}},
           kFails,
           "--use-checkpoint-args: given"},
          {{{"", "--yaml-cfg a.yaml "}}, kFails, "--yaml-cfg: a.yaml"},
          {{{"", "--use-tp-pp-dp-mapping "}},
           kFails,
           "--use-tp-pp-dp-mapping: given"},
          {{{"", "--num-distributed-optimizer-instances 2 "}},
           kFails,
           "--num-distributed-optimizer-instances: 2; expected 1 without"},
          {{{"--tensor-model-parallel-size 2",
             "--tensor-model-parallel-size 1 --use-distributed-optimizer "
             "--num-distributed-optimizer-instances 2 "}},
           kReads,
           "tp1 cp1 dp4 ep1 zero1 over 2"},
          {{{"",
             "--use-distributed-optimizer "
             "--num-distributed-optimizer-instances 2 "}},
           kFails,
           "--num-distributed-optimizer-instances: 2; expected a divisor of "
           "the data-parallel degree, 2, below it"},
          {{{"", "--num-distributed-optimizer-instances 1 "}},
           kReads,
           "tp2 cp1 dp2"},
          {{{"", "--step-batch-size-schedule 0:8 "}},
           kFails,
           "--step-batch-size-schedule: 0:8"},
      });
}

TEST(ImportMegatronTest, SplitsLayersAsMegatronDoes) {
  const std::string layout =
      absl::StrCat(kPp2, " --pipeline-model-parallel-layout ");
  ExpectOutcomes(
      MegatronBase(),
      "b4/32 1f1b adam dropout flash: 0-5 tp2 cp1 dp2 ep1 zero0 @0.0 | "
      "5-10 tp2 cp1 dp2 ep1 zero0 @1.0",
      {
          {{{kPp2, layout + "Et*3|t*5L"}}, kReads, "0-4 tp2"},
          {{{kPp2, layout + "Ettt|tttttL"}}, kReads, "0-4 tp2"},
          {{{kPp2, layout + "\"E,ttt|t*5,L\""}}, kReads, "0-4 tp2"},
          // Commas are removed before numbers are read.
          {{{kPp2, layout + "Et|t*0,7L"}}, kReads, "0-2 tp2"},
          // Et|t|t|tt|tttL.
          {{{kPp2, layout + "'E(t|)*3tt|tttL'"}},
           kFails,
           "expected a multiple of 2 stages, not 5"},
          {{{kPp2, layout + "'E(tt|)*3ttL'"}},
           kReads,
           "0-3 tp2 cp1 dp2 ep1 zero0 @0.0 | 3-5 tp2 cp1 dp2 ep1 zero0 @1.0 | "
           "5-7 tp2 cp1 dp2 ep1 zero0 @0.0 | 7-10"},
          {{{kPp2, layout + "'E(t*2|)*3t*2L'"}},
           kReads,
           "interleaved adam dropout flash: 0-3"},
          {{{kPp2, layout + "'Ett(t|t)*2ttL'"}}, kFails, "a multiple of 2"},
          // Repetitions do not nest: an opening parenthesis is left over.
          {{{kPp2, layout + "'E((t|)*2)*2tttt|L'"}},
           kFails,
           "--pipeline-model-parallel-layout: E((t|)*2)*2tttt|L"},
          {{{kPp2, layout + "'E(tttt)|ttttL'"}},
           kFails,
           "expected stages of E, t and L"},
          {{{kPp2, layout + "Et*4|x*4L"}}, kFails, "expected stages of E, t"},
          {{{kPp2, layout + "'Et*4 | t*4L'"}}, kFails, "expected stages of E"},
          {{{kPp2, layout + "Et*4|t*3L"}}, kFails, "expected 8 layers in all"},
          {{{kPp2, layout + "Et*4|tttt"}}, kFails, "one L, last"},
          {{{kPp2, layout + "t*4|Et*4L"}}, kFails, "one E, which is first"},
          {{{kPp2, layout + "E*2t*4|t*4L"}}, kFails, "one E, which is first"},
          {{{kPp2, layout + "Et*4|t*4mL"}}, kFails, "multi-token prediction"},
          {{{kPp2, layout + "Et*8||L|"}},
           kFails,
           "at least one layer in stage"},
          {{{kPp2, layout + "E|t*8L"}}, kReads, "0-1 tp2"},
          {{{kPp2, layout + "Et*1000000000|t*4L"}}, kFails, "at most 1048576"},
          {{{kPp2,
             layout + "Et*3|t*5L --num-virtual-stages-per-pipeline-rank 2"}},
           kFails,
           "expected one of layout"},
          // 4 layers a stage in chunks of 2.
          {{{"", "--num-layers-per-virtual-pipeline-stage 2 "}},
           kReads,
           "interleaved adam dropout flash: 0-3 tp2 cp1 dp2 ep1 zero0 @0.0 | "
           "3-5 tp2 cp1 dp2 ep1 zero0 @1.0 | 5-7"},
          {{{"", "--num-layers-per-virtual-pipeline-stage 4 "}},
           kReads,
           "1f1b adam dropout flash: 0-5"},
          {{{"", "--num-layers-per-virtual-pipeline-stage 3 "}},
           kFails,
           "--num-layers-per-virtual-pipeline-stage: 3; expected a divisor"},
          {{{"", "--num-virtual-stages-per-pipeline-rank 4 "}},
           kReads,
           "interleaved adam dropout flash: 0-2"},
          {{{"", "--num-virtual-stages-per-pipeline-rank 3 "}},
           kFails,
           "--num-virtual-stages-per-pipeline-rank: 3; expected a divisor"},
          {{{"",
             "--num-virtual-stages-per-pipeline-rank 2 "
             "--no-overlap-p2p-communication "}},
           kFails,
           "--pipeline-model-parallel-size: 2; expected at least 3"},
          {{{"", "--decoder-first-pipeline-num-layers 3 "}}, kReads, "0-4 tp2"},
          {{{"", "--decoder-last-pipeline-num-layers 3 "}}, kReads, "0-6 tp2"},
          {{{"",
             "--decoder-first-pipeline-num-layers 3 "
             "--decoder-last-pipeline-num-layers 4 "}},
           kFails,
           "expected a divisor of 1 layers"},
          {{{"", "--decoder-first-pipeline-num-layers 9 "}},
           kFails,
           "--decoder-first-pipeline-num-layers: 9; expected at most 8"},
          // 8 layers, embedding and loss: 5 a stage.
          {{{"",
             "--account-for-embedding-in-pipeline-split "
             "--account-for-loss-in-pipeline-split "}},
           kReads,
           "0-5 tp2"},
          // 9 are not even.
          {{{"", "--account-for-embedding-in-pipeline-split "}},
           kFails,
           "--pipeline-model-parallel-size: 2; expected a divisor of 9"},
          {{{kPp2, "--pipeline-model-parallel-size 3"}},
           kFails,
           "8 GPUs; expected a multiple of tp x cp x pp, 6"},
          {{{kPp2, "--pipeline-model-parallel-size 4"}},
           kReads,
           "b2/32 1f1b adam dropout flash: 0-3 tp2 cp1 dp1"},
          {{{"--pipeline-model-parallel-size 2 \\\n", ""}},
           kReads,
           "b8/32 1f1b adam dropout flash: 0-10 tp2 cp1 dp4"},
      });
}

TEST(ImportMegatronTest, ReadsDegreesBatchAndTraining) {
  ExpectOutcomes(
      MegatronBase(),
      "b4/32 1f1b adam dropout flash: 0-5 tp2 cp1 dp2 ep1 zero0 @0.0 | "
      "5-10 tp2 cp1 dp2 ep1 zero0 @1.0",
      {
          {{{"", "--sequence-parallel "}}, kReads, "zero0 sp @0.0"},
          // Megatron-LM switches it off with tp 1.
          {{{"--tensor-model-parallel-size 2",
             "--tensor-model-parallel-size 1 --sequence-parallel"}},
           kReads,
           "b8/32 1f1b adam dropout flash: 0-5 tp1 cp1 dp4 ep1 zero0 @0.0"},
          {{{"", "--context-parallel-size 2 "}},
           kReads,
           "b2/32 1f1b adam dropout flash: 0-5 tp2 cp2 dp1"},
          {{{"--tensor-model-parallel-size 2",
             "--tensor-model-parallel-size 0"}},
           kFails,
           "--tensor-model-parallel-size: 0; expected a positive integer"},
          {{{"", "--use-distributed-optimizer "}}, kReads, "zero1 @0.0"},
          {{{"",
             "--use-megatron-fsdp --ckpt-format fsdp_dtensor "
             "--data-parallel-sharding-strategy optim_grads_params "}},
           kReads,
           "zero3 @0.0"},
          {{{"",
             "--use-megatron-fsdp --ckpt-format fsdp_dtensor "
             "--data-parallel-sharding-strategy optim_grads "}},
           kReads,
           "zero2 @0.0"},
          {{{"",
             "--use-megatron-fsdp --ckpt-format fsdp_dtensor "
             "--data-parallel-sharding-strategy optim "}},
           kReads,
           "zero1 @0.0"},
          {{{"",
             "--use-megatron-fsdp --ckpt-format fsdp_dtensor "
             "--data-parallel-sharding-strategy no_shard "}},
           kReads,
           "zero0 @0.0"},
          // The default strategy shards everything.
          {{{"", "--use-megatron-fsdp --ckpt-format fsdp_dtensor "}},
           kReads,
           "zero3 @0.0"},
          {{{"", "--use-megatron-fsdp "}},
           kFails,
           "--ckpt-format: missing; expected fsdp_dtensor"},
          {{{"",
             "--use-megatron-fsdp --ckpt-format fsdp_dtensor "
             "--data-parallel-sharding-strategy all "}},
           kFails,
           "--data-parallel-sharding-strategy: all; expected one of no_shard"},
          // Without FSDP nothing reads the strategy.
          {{{"", "--data-parallel-sharding-strategy optim "}},
           kNotes,
           "--data-parallel-sharding-strategy optim"},
          {{{"", "--use-torch-fsdp2 "}},
           kFails,
           "--pipeline-model-parallel-size: 2; expected 1"},
          {{{"", "--use-torch-fsdp2 "}, {kPp2, ""}},
           kFails,
           "--fp16: given; expected no such flag"},
          {{{"--global-batch-size 32", "--global-batch-size 64"}},
           kReads,
           "b4/64"},
          {{{"--global-batch-size 32", "--global-batch-size 30"}},
           kFails,
           "--global-batch-size: 30; expected a multiple of 4"},
          // Megatron-LM takes one microbatch of every replica.
          {{{"--global-batch-size 32", ""}},
           kNotes,
           "b4/4 ## no --global-batch-size: one microbatch of all replicas, 4"},
          {{{"--micro-batch-size 2 ", ""}},
           kFails,
           "--micro-batch-size: missing"},
          {{{"--micro-batch-size 2", "--micro-batch-size 4"}}, kReads, "b8/32"},
          {{{"", "--rampup-batch-size 8 8 3000 "}},
           kNotes,
           "the batch grows from 8 by 8 for 3000 samples; the plan is for 32"},
          {{{"", "--rampup-batch-size 8 8 "}},
           kFails,
           "--rampup-batch-size: 8 8; expected first batch"},
          {{{"", "--rampup-batch-size 8 7 3000 "}},
           kFails,
           "--rampup-batch-size: 8 7 3000; expected steps"},
          {{{"--hidden-dropout 0.1", "--hidden-dropout 0"},
            {"--attention-dropout 0.1", "--attention-dropout 0"}},
           kReads,
           "adam flash:"},
          {{{"--hidden-dropout 0.1", "--hidden-dropout 0"}},
           kNotes,
           "adam dropout flash ## dropout in both places or in none"},
          // 0.1 by default.
          {{{"--attention-dropout 0.1 --hidden-dropout 0.1", ""}},
           kReads,
           "adam dropout flash:"},
          {{{"", "--attention-backend unfused "}}, kReads, "adam dropout:"},
          {{{"", "--attention-backend flash "}}, kReads, "dropout flash:"},
          {{{"", "--attention-backend fast "}},
           kFails,
           "--attention-backend: fast; expected one of"},
          {{{"", "--optimizer sgd "}}, kReads, "1f1b sgd dropout"},
          {{{"", "--accumulate-allreduce-grads-in-fp32 "}},
           kReads,
           "flash fp32-gradients:"},
          {{{"", "--overlap-grad-reduce "}}, kReads, "flash overlap:"},
          {{{"", "--cross-entropy-loss-fusion "}}, kReads, "flash fused:"},
          {{{"",
             "--use-precision-aware-optimizer --exp-avg-dtype bf16 "
             "--exp-avg-sq-dtype bf16 "}},
           kReads,
           "flash moments16:"},
          {{{"", "--use-precision-aware-optimizer --exp-avg-dtype bf16 "}},
           kNotes,
           "one of Adam's moments has 16 bits"},
          // Without the optimizer nothing reads the type.
          {{{"", "--exp-avg-dtype bf16 "}}, kNotes, "--exp-avg-dtype bf16"},
          {{{"v100-0 slots=4 type=V100\n", ""}},
           kReads,
           "b2/32 1f1b adam dropout flash: 0-5 tp2 cp1 dp1 ep1 zero0 @0.0 | "
           "5-10 tp2 cp1 dp1 ep1 zero0 @0.2"},
          {{{"v100-0 slots", "v100-9 slots"}}, kFails, "host v100-9"},
      });
}

// Adds each known option to a file: it changes the plan, is refused or is
// noted. The few others say what the file says already, or what is the default.
TEST(ImportMegatronTest, DropsNoKnownOptionWithoutAWord) {
  const ImportBase base = MegatronBase();
  ASSERT_OK_AND_ASSIGN(const ImportedPlan before, ImportBaseFiles(base));
  std::vector<std::string> silent;
  for (const absl::string_view name : MegatronOptionNames()) {
    const MegatronOptionKind kind = *FindMegatronOption(name);
    ImportBase edited = base;
    absl::StrAppend(&edited.files[0].content, "--", name,
                    kind.values == OptionValues::kNone ? " " : " 1 ");
    const auto imported = ImportBaseFiles(edited);
    if (!imported.ok()) {
      EXPECT_THAT(imported.status(),
                  StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--")))
          << name;
      continue;
    }
    const bool noted =
        absl::c_any_of(imported->notes, [&](const std::string& note) {
          return absl::StrContains(note, absl::StrCat("--", name));
        });
    if (noted ||
        TextOfPlan(base.model, *imported) != TextOfPlan(base.model, before)) {
      continue;
    }
    silent.emplace_back(name);
  }
  EXPECT_THAT(
      silent,
      UnorderedElementsAre(
          // In the file already.
          "fp16", "untie-embeddings-and-output-weights", "attention-dropout",
          "hidden-dropout",
          // As by default with biases, or with 1.
          "add-qkv-bias", "context-parallel-size", "expert-model-parallel-size",
          "num-distributed-optimizer-instances",
          "num-virtual-stages-per-pipeline-rank",
          // For other models, precisions, optimizers and schedules.
          "grad-reduce-in-bf16", "no-overlap-p2p-communication",
          "moe-grouped-gemm", "moe-token-dispatcher-type",
          "use-precision-aware-optimizer",
          // Sizes of the vocabulary are compared with padding.
          "make-vocab-size-divisible-by", "no-pad-vocab-size",
          "disable-pad-vocab-size"));
}

}  // namespace
}  // namespace tangram
