#include <gmock/gmock.h>

#include "tests/unit/frameworks/import_variants.h"

namespace tangram {
namespace {

using enum testing::Outcome;
using testing::ExpectOutcomes;
using testing::MegatronBase;
using testing::MegatronMoeBase;

TEST(MegatronOptionsTest, ReadsRecomputation) {
  ExpectOutcomes(
      MegatronBase(),
      "b4/32 1f1b adam dropout flash: 0-5 tp2 cp1 dp2 ep1 zero0 @0.0 | "
      "5-10 tp2 cp1 dp2 ep1 zero0 @1.0",
      {
          {{{"", "--recompute-activations "}},
           kReads,
           "@0.0 r 1x- 4xattention_core | 5-10 tp2 cp1 dp2 ep1 zero0 @1.0 r "
           "4xattention_core 1x-"},
          {{{"", "--recompute-granularity selective "}},
           kReads,
           "r 1x- 4xattention_core |"},
          // The alias is applied last.
          {{{"", "--recompute-granularity full --recompute-activations "}},
           kReads,
           "r 1x- 4xattention_core |"},
          {{{"",
             "--recompute-granularity full --recompute-method block "
             "--recompute-num-layers 3 "}},
           kReads,
           "r 1x- 3xall 1x- | 5-10 tp2 cp1 dp2 ep1 zero0 @1.0 r 3xall 2x-"},
          {{{"",
             "--recompute-granularity full --recompute-method block "
             "--recompute-num-layers 9 "}},
           kReads,
           "r 1x- 4xall |"},
          {{{"",
             "--recompute-granularity full --recompute-method block "
             "--recompute-num-layers 2 "
             "--num-layers-per-virtual-pipeline-stage 4 "}},
           kReads,
           "r 1x- 2xall 2x- |"},
          // Each chunk has its own first layers.
          {{{"",
             "--recompute-granularity full --recompute-method block "
             "--recompute-num-layers 1 "
             "--num-layers-per-virtual-pipeline-stage 2 "}},
           kReads,
           "@0.0 r 1x- 1xall 1x- | 3-5 tp2 cp1 dp2 ep1 zero0 @1.0 r 1xall 1x- "
           "|"},
          {{{"",
             "--recompute-granularity full --recompute-method uniform "
             "--recompute-num-layers 1 "}},
           kReads,
           "r 1x- 4xall |"},
          {{{"",
             "--recompute-granularity full --recompute-method uniform "
             "--recompute-num-layers 2 "}},
           kNotes,
           "r 1x- 4xall | ## --recompute-num-layers 2 keeps fewer inputs"},
          {{{"", "--recompute-granularity full --recompute-num-layers 1 "}},
           kFails,
           "--recompute-method: missing; expected uniform or block"},
          {{{"", "--recompute-granularity full --recompute-method block "}},
           kFails,
           "--recompute-num-layers: missing"},
          {{{"", "--recompute-granularity half "}},
           kFails,
           "--recompute-granularity: half; expected one of full, selective"},
          {{{"",
             "--recompute-granularity full --recompute-method all "
             "--recompute-num-layers 1 "}},
           kFails,
           "--recompute-method: all; expected one of uniform, block"},
          {{{"",
             "--recompute-granularity selective --recompute-method uniform "}},
           kFails,
           "--recompute-method: uniform; expected no such option"},
          {{{"", "--recompute-activations --recompute-num-layers 2 "}},
           kFails,
           "--recompute-num-layers: 2; expected no such option"},
          {{{"", "--recompute-activations --recompute-modules mlp "}},
           kReads,
           "r 1x- 4xmlp_up+mlp_activation+mlp_down |"},
          {{{"", "--recompute-activations --recompute-modules layernorm "}},
           kReads,
           "r 1x- 4xattention_norm+mlp_norm! |"},
          {{{"", "--recompute-activations --recompute-modules core_attn mlp "}},
           kReads,
           "r 1x- 4xattention_core+mlp_up+mlp_activation+mlp_down |"},
          {{{"",
             "--recompute-activations --recompute-modules core_attn "
             "layernorm "}},
           kNotes,
           "4xattention_norm+attention_core+mlp_norm | ## plans keep the "
           "outputs"},
          // A dense layer has no experts to recompute.
          {{{"", "--recompute-activations --recompute-modules moe "}},
           kReads,
           "zero0 @0.0 | 5-10"},
          {{{"", "--recompute-activations --recompute-modules mla_up_proj "}},
           kFails,
           "--recompute-modules: mla_up_proj; expected no mla_up_proj without "
           "--multi-latent-attention"},
          {{{"", "--recompute-activations --recompute-modules moe_act "}},
           kFails,
           "expected no moe_act without --moe-grouped-gemm"},
          {{{"", "--recompute-activations --recompute-modules attention "}},
           kFails,
           "--recompute-modules: attention; expected some of core_attn"},
          {{{"", "--recompute-activations --recompute-modules mhc "}},
           kFails,
           "--recompute-modules: mhc; expected some of"},
          // Modules count with selective recomputation only.
          {{{"", "--recompute-modules mlp "}},
           kNotes,
           "--recompute-modules mlp"},
          {{{"", "--recompute-method block --recompute-num-layers 2 "}},
           kNotes,
           "--recompute-method block"},
          {{{"", "--distribute-saved-activations "}},
           kNotes,
           "--distribute-saved-activations"},
      });
}

TEST(MegatronOptionsTest, ReadsTheWidthOfExperts) {
  testing::ImportBase base = MegatronMoeBase();
  for (LayerSpec& layer : base.model.layers) {
    if (layer.is_moe()) layer.expert_latent_size = 1024;
  }
  EXPECT_THAT(testing::ImportBaseFiles(base).status(),
              testing::StatusIs(
                  absl::StatusCode::kInvalidArgument,
                  ::testing::HasSubstr("--moe-latent-size: missing; expected "
                                       "1024, as in the model")));
  testing::Apply({"", "--moe-latent-size 1024 "}, base);
  EXPECT_THAT(testing::ImportBaseFiles(base), testing::IsOk());
}

TEST(MegatronOptionsTest, ReadsExperts) {
  ExpectOutcomes(
      MegatronMoeBase(),
      "b4/32 1f1b adam flash: 0-3 tp1 cp1 dp4 ep4 zero0 @0.0 | "
      "3-6 tp1 cp1 dp4 ep4 zero0 @1.0",
      {
          {{{"--num-experts 8", "--num-experts 16"}},
           kFails,
           "--num-experts: 16; expected 8"},
          {{{"--num-experts 8\n", "\n"}},
           kFails,
           "--num-experts: missing; expected 8"},
          {{{"--moe-router-topk 2", "--moe-router-topk 1"}},
           kFails,
           "--moe-router-topk: 1; expected 2"},
          // 2 by default.
          {{{"--moe-router-topk 2", ""}}, kReads, "ep4"},
          {{{"", "--moe-ffn-hidden-size 7168 "}},
           kFails,
           "--moe-ffn-hidden-size: 7168; expected 14336"},
          {{{"", "--moe-shared-expert-intermediate-size 1024 "}},
           kFails,
           "--moe-shared-expert-intermediate-size: 1024; expected 0"},
          {{{"", "--moe-latent-size 1024 "}},
           kFails,
           "--moe-latent-size: 1024; expected 0"},
          {{{"", "--moe-pad-expert-input-to-capacity "}},
           kFails,
           "--moe-pad-expert-input-to-capacity: "},
          {{{"", "--moe-layer-freq 1 "}}, kReads, "ep4"},
          {{{"", "--moe-layer-freq 2 "}}, kFails, "--moe-layer-freq: 2"},
          {{{"", "--moe-layer-freq ([1]*4) "}}, kReads, "ep4"},
          {{{"", "--moe-layer-freq ([1]+[1,1]*1+[1]) "}}, kReads, "ep4"},
          {{{"", "--moe-layer-freq ([0]+[1]*3) "}},
           kFails,
           "--moe-layer-freq: ([0]+[1]*3)"},
          {{{"", "--moe-layer-freq ([1]*5) "}}, kFails, "--moe-layer-freq"},
          {{{"--num-query-groups 8", "--num-query-groups 4"}},
           kFails,
           "--num-query-groups: 4; expected 8"},
          {{{"--swiglu", ""}}, kFails, "--swiglu: missing; expected this flag"},
          {{{"--position-embedding-type rope",
             "--use-rotary-position-embeddings"}},
           kReads,
           "ep4"},
          // Positions are not learned: as many as there are tokens suffice.
          {{{"--max-position-embeddings 4096",
             "--max-position-embeddings 1024"}},
           kReads,
           "ep4"},
          {{{"--max-position-embeddings 4096",
             "--max-position-embeddings 512"}},
           kFails,
           "--max-position-embeddings: 512; expected at least 1024"},
          {{{"--expert-model-parallel-size 4",
             "--expert-model-parallel-size 2"}},
           kReads,
           "dp4 ep2"},
          {{{"--expert-model-parallel-size 4",
             "--expert-model-parallel-size 8"}},
           kFails,
           "ep_degree"},
          {{{"",
             "--tensor-model-parallel-size 2 --expert-tensor-parallel-size 1 "
             "--expert-model-parallel-size 2 "}},
           kFails,
           "--expert-tensor-parallel-size: 1; expected 2"},
          {{{"--moe-token-dispatcher-type alltoall",
             "--moe-token-dispatcher-type flex"}},
           kNotes,
           "--moe-token-dispatcher-type flex is read as alltoall"},
          {{{"--moe-token-dispatcher-type alltoall", ""}},
           kNotes,
           "--moe-token-dispatcher-type allgather is read as alltoall"},
          {{{"", "--recompute-activations --recompute-modules moe_act "}},
           kReads,
           "r 1x- 2xexpert_activation! |"},
          {{{"", "--recompute-activations --recompute-modules moe "}},
           kReads,
           "r 1x- 2xrouter+expert_dispatch+expert_up+expert_activation+"
           "expert_down+expert_combine |"},
          // Dense layers only.
          {{{"", "--recompute-activations --recompute-modules mlp "}},
           kReads,
           "zero0 @0.0 | 3-6"},
          // Beside the default module, which is core_attn.
          {{{"", "--moe-layer-recompute "}},
           kReads,
           "r 1x- 2xattention_core+router+expert_dispatch+expert_up+"
           "expert_activation+expert_down+expert_combine |"},
          {{{"", "--moe-router-load-balancing-type sinkhorn "}},
           kNotes,
           "without effect on time and memory: "
           "--moe-router-load-balancing-type"},
          {{{"", "--moe-expert-capacity-factor 1.5 "}},
           kNotes,
           "--moe-expert-capacity-factor 1.5"},
      });
}

}  // namespace
}  // namespace tangram
