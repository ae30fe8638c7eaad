#include <gmock/gmock.h>

#include <string>

#include "tests/unit/frameworks/import_variants.h"

namespace tangram {
namespace {

using enum testing::Outcome;
using testing::ExpectOutcomes;
using testing::FlagScaleBase;
using testing::FlagScaleTiedBase;

TEST(ImportFlagScaleTest, ReadsChecksOrNotesEverySetting) {
  const std::string recompute =
      "model:\n  recompute_granularity: full\n  recompute_method: block\n"
      "  recompute_num_layers: 2\n";
  const std::string granularity =
      recompute + "  recompute_granularity_per_stage_micro_batch:\n";
  ExpectOutcomes(
      FlagScaleBase(),
      "b4/32 1f1b adam dropout flash: 0-4 tp2 cp1 dp2 ep1 zero0 @0.0 | "
      "4-10 tp1 cp1 dp4 ep1 zero0 @1.0",
      {
          // The first mesh is on the first type.
          {{{"[T4, V100]", "[V100, T4]"}},
           kReads,
           "0-4 tp2 cp1 dp2 ep1 zero0 @1.0 | 4-10 tp1 cp1 dp4 ep1 zero0 @0.0"},
          {{{"t4-0 slots=4 type=T4\nv100-0 slots=4 type=V100",
             "v100-0 slots=4 type=V100\nt4-0 slots=4 type=T4"}},
           kReads,
           "0-4 tp2 cp1 dp2 ep1 zero0 @0.0 | 4-10"},
          // Equal types: by rank.
          {{{"[T4, V100]", "[T4, T4]"}, {"type=V100", "type=T4"}},
           kReads,
           "0-4 tp2 cp1 dp2 ep1 zero0 @0.0 | 4-10"},
          {{{"[T4, V100]", "[T4, T4]"},
            {"t4-0 slots=4 type=T4\nv100-0 slots=4 type=V100",
             "v100-0 slots=4 type=T4\nt4-0 slots=4 type=T4"}},
           kReads,
           "0-4 tp2 cp1 dp2 ep1 zero0 @1.0 | 4-10"},
          {{{"[T4, V100]", "[T4]"}},
           kFails,
           "hetero_device_types: T4; expected 2 types, one a mesh"},
          {{{"[T4, V100]", "[T4, A100]"}},
           kFails,
           "hetero_device_types: T4 A100; expected types of the host file, "
           "V100"},
          {{{" type=V100", ""}}, kFails, "a type for every host or for none"},
          {{{" type=V100", ""}, {" type=T4", ""}},
           kReads,
           "0-4 tp2 cp1 dp2 ep1 zero0 @0.0"},
          {{{" type=V100", ""},
            {" type=T4", ""},
            {"device_type: T4", "device_type: A1"}},
           kFails,
           "hetero_current_device_type: A1; expected one of T4, V100"},
          {{{"enable_hetero: true", "enable_hetero: false"}},
           kFails,
           "enable_hetero: missing; expected true"},
          {{{"1, 4, 1]", "1, 4]"}},
           kFails,
           "hetero_process_meshes: 2 1 1 2 1 1 1 1 4; expected tp, cp, ep, dp"},
          {{{"[2, 1, 1, 2, 1, 1, 1, 1, 4, 1]",
             "[2, 1, 1, 2, 1, 1, 2, 1, 2, 1]"}},
           kFails,
           "hetero_process_meshes ## expected cp 1 in every mesh"},
          {{{"[2, 1, 1, 2, 1, 1, 1, 1, 4, 1]",
             "[2, 2, 1, 1, 1, 1, 2, 1, 2, 1]"}},
           kReads,
           "b2/32 1f1b adam dropout flash: 0-4 tp2 cp2 dp1 ep1 zero0 @0.0 | "
           "4-10 tp1 cp2 dp2"},
          {{{"pipeline_model_parallel_size: 2",
             "pipeline_model_parallel_size: 3"}},
           kFails,
           "pipeline_model_parallel_size: 3; expected 2, the sum of pp"},
          {{{"  pipeline_model_parallel_size: 2\n", ""}},
           kFails,
           "pipeline_model_parallel_size: missing; expected 2"},
          {{{"[3, 5]", "[3, 4]"}},
           kFails,
           "hetero_pipeline_layer_split: 3 4; expected numbers that add up to "
           "8, not 7"},
          {{{"[3, 5]", "[3, 3, 2]"}},
           kFails,
           "hetero_pipeline_layer_split: 3 3 2; expected 2 numbers"},
          {{{"[3, 5]", "[6, 2]"}}, kReads, "0-7 tp2"},
          {{{"    hetero_pipeline_layer_split: [3, 5]\n", ""}},
           kReads,
           "0-5 tp2"},
          {{{"slots=4 type=V100", "slots=2 type=V100"}},
           kFails,
           "6 GPUs; expected the 8"},
          // 3 x dp 2 = 6 samples do not fill dp 4.
          {{{"micro_batch_size: 2", "micro_batch_size: 3"}},
           kFails,
           "micro_batch_size: 3; expected"},
          {{{"micro_batch_size: 2", "micro_batch_size: 4"}}, kReads, "b8/32"},
          {{{"  global_batch_size: 32\n", ""}},
           kNotes,
           "b4/4 ## no global_batch_size"},
          {{{"global_batch_size: 32", "global_batch_size: 30"}},
           kFails,
           "model.global_batch_size: 30; expected a multiple of 4"},
          {{{"num_layers: 8", "num_layers: 12"}},
           kFails,
           "model.num_layers: 12; expected 8"},
          {{{"hidden_size: 2048", "hidden_size: 1024"}},
           kFails,
           "model.hidden_size: 1024; expected 2048"},
          {{{"num_attention_heads: 32", "num_attention_heads: 8"}},
           kFails,
           "model.num_attention_heads: 8; expected 32"},
          {{{"ffn_hidden_size: 8192", "ffn_hidden_size: 8000"}},
           kFails,
           "model.ffn_hidden_size: 8000; expected 8192"},
          {{{"vocab_size: 51200", "vocab_size: 100000"}},
           kFails,
           "model.vocab_size: 100000; expected 51200"},
          {{{"seq_length: 1024", "seq_length: 512"}},
           kFails,
           "model.seq_length: 512; expected 1024"},
          {{{"fp16: true", "bf16: true"}},
           kFails,
           "system.precision.bf16: given ## fp16 instead of bf16"},
          {{{"fp16: true", "fp16: false"}}, kFails, "fp16 instead of fp32"},
          {{{"model:\n", "model:\n  swiglu: true\n"}},
           kFails,
           "model.swiglu: given"},
          // false is as good as nothing.
          {{{"model:\n", "model:\n  swiglu: false\n  my_option: false\n"}},
           kReads,
           "0-4 tp2"},
          {{{"model:\n", "model:\n  my_option: true\n"}},
           kFails,
           "model.my_option: unknown option"},
          {{{"model:\n", "model:\n  seq_lenght: 1024\n"}},
           kFails,
           "model.seq_lenght: unknown option; did you mean seq-length?"},
          {{{"model:\n", "model:\n  sequence_parallel: true\n"}},
           kReads,
           "zero0 sp @0.0 | 4-10 tp1 cp1 dp4 ep1 zero0 @1.0"},
          {{{"model:\n", "model:\n  sequence_parallel: 1\n"}},
           kFails,
           "model.sequence_parallel: 1; expected no value"},
          {{{"model:\n", "model:\n  use_distributed_optimizer: true\n"}},
           kReads,
           "zero1 @0.0"},
          {{{"model:\n", "model:\n  use_megatron_fsdp: true\n"}},
           kFails,
           "model.use_megatron_fsdp: given; expected no such option"},
          {{{"model:\n", "model:\n  standalone_embedding_stage: true\n"}},
           kFails,
           "model.standalone_embedding_stage: given"},
          {{{"model:\n",
             "model:\n  num_layers_per_virtual_pipeline_stage: 1\n"}},
           kFails,
           "model.num_layers_per_virtual_pipeline_stage: 1"},
          {{{"model:\n", "model:\n  use_dualpipev: true\n"}},
           kFails,
           "model.use_dualpipev: given"},
          {{{"model:\n", "model:\n  rampup_batch_size: [8, 8, 1000]\n"}},
           kNotes,
           "model.rampup_batch_size: the batch grows from 8"},
          {{{"model:\n", "model:\n  lr: 0.1\n  overlap_param_gather: true\n"}},
           kNotes,
           "may change time or memory: model.overlap_param_gather"},
          // A reference to another file.
          {{{"model:\n",
             "model:\n  no_shared_fs: ${experiment.runner.no_shared_fs}\n"}},
           kNotes,
           "without effect on time and memory: data.data_path, "
           "model.no_shared_fs"},
          {{{"model:\n", "model:\n  sequence_parallel: ${parallel.sp}\n"}},
           kFails,
           "model.sequence_parallel: ${parallel.sp}; expected no value"},
          {{{"data:\n", "logs: {}\ndata:\n"}},
           kNotes,
           "FlagScale does not pass it on: logs"},
          {{{"model:\n", "model:\n  recompute_activations: true\n"}},
           kReads,
           "r 1x- 3xattention_core | 4-10"},
          {{{"model:\n", recompute}},
           kReads,
           "r 1x- 2xall 1x- | 4-10 tp1 cp1 dp4 ep1 zero0 @1.0 r 2xall 4x-"},
          // 32 / 4 microbatches.
          {{{"model:\n", granularity + "  - [1, 8, 1]\n  - [1, 8, 0]\n"}},
           kReads,
           "r 1x- 2xall 1x- | 4-10 tp1 cp1 dp4 ep1 zero0 @1.0"},
          {{{"model:\n", granularity + "  - [2, 3, 1, 5, 1]\n"}},
           kReads,
           "r 1x- 2xall 1x- | 4-10 tp1 cp1 dp4 ep1 zero0 @1.0 r 2xall"},
          {{{"model:\n", granularity + "  - [1, 4, 1, 4, 0]\n  - [1, 8, 0]\n"}},
           kFails,
           "expected one recomputation for all microbatches ## 2 layers of the "
           "first and 0 of microbatch 4"},
          {{{"model:\n", granularity + "  - [1, 7, 1]\n  - [1, 8, 0]\n"}},
           kFails,
           "expected the 8 microbatches of a replica, not 7"},
          {{{"model:\n", granularity + "  - [1, 8, 2]\n  - [1, 8, 0]\n"}},
           kFails,
           "expected values up to 1"},
          {{{"model:\n", granularity + "  - [1, 8, 1]\n"}},
           kFails,
           "expected 2 stages in all"},
          {{{"model:\n", granularity + "  - [1, 8]\n  - [1, 8, 0]\n"}},
           kFails,
           "expected lines of stages, then microbatches"},
          {{{"model:\n", granularity +
                             "  - [2, 8, 1]\n"
                             "  recompute_method_per_stage_micro_batch:\n"
                             "  - [1, 8, 0]\n  - [1, 8, 1]\n"
                             "  recompute_num_layers_per_stage_micro_batch:\n"
                             "  - [1, 8, 1]\n  - [1, 8, 4]\n"}},
           kReads,
           "r 1x- 3xall | 4-10 tp1 cp1 dp4 ep1 zero0 @1.0 r 4xall 2x-"},
          {{{"model:\n",
             "model:\n  recompute_granularity_per_stage_micro_batch:\n"
             "  - [2, 8, 1]\n"}},
           kFails,
           "expected recompute_granularity full"},
      });
}

TEST(ImportFlagScaleTest, ChecksTheEndsOfTiedEmbeddings) {
  ExpectOutcomes(
      FlagScaleTiedBase(),
      "b4/32 1f1b adam dropout flash: 0-4 tp2 cp1 dp2 ep1 zero0 @0.0 | "
      "4-10 tp2 cp1 dp2 ep1 zero0 @1.0",
      {
          {{{"2, 1, 1, 2, 1]", "1, 1, 1, 4, 1]"}},
           kFails,
           "hetero_process_meshes ## expected tp 2 in the last mesh"},
          {{{"2, 1, 1, 2, 1]", "2, 1, 1, 1, 1]"},
            {"slots=4 type=V100", "slots=2 type=V100"}},
           kReads,
           "4-10 tp2 cp1 dp1"},
          {{{"2, 1, 1, 2, 1]", "2, 1, 1, 1, 1]"},
            {"slots=4 type=V100", "slots=2 type=V100"},
            {"model:\n", "model:\n  use_distributed_optimizer: true\n"}},
           kFails,
           "use_partial_reduce_for_shared_embedding: missing; expected true"},
          {{{"2, 1, 1, 2, 1]", "2, 1, 1, 1, 1]"},
            {"slots=4 type=V100", "slots=2 type=V100"},
            {"model:\n",
             "model:\n  use_distributed_optimizer: true\n"
             "  use_partial_reduce_for_shared_embedding: true\n"}},
           kReads,
           "zero1 @0.0 | 4-10 tp2 cp1 dp1"},
          {{{"model:\n",
             "model:\n  untie_embeddings_and_output_weights: true\n"}},
           kFails,
           "model.untie_embeddings_and_output_weights: given"},
      });
}

}  // namespace
}  // namespace tangram
