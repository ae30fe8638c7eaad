#include "frameworks/megatron_option_table.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "formats/config/nearest_name.h"

// Options of Megatron-LM of 2026-08 (megatron/training/arguments.py) and of the
// older one in FlagScale of 2025-11, with FlagScale's own. A name without a
// suffix is a flag; "name=" takes a value, "name+" one or more. "name=0" has a
// value that is as good as no option. "name-*" are all options that begin so.
namespace tangram {
namespace {

// Data, checkpoints, logs, learning rate, weights at the start, inference.
constexpr char kWithoutEffect[] = R"(
activation-func-clamp-value= adam-beta1= adam-beta2= adam-eps= adlr-autoresume
adlr-autoresume-interval= allow-ambiguous-pad-tokens app-tag-run-name=
app-tag-run-version= apply-layernorm-1p apply-query-key-layer-scaling
apply-sft-dataset-separated-loss-mask-if-existed apply-wd-to-qk-layernorm
async-* attention-softmax-in-fp32 auto-detect-ckpt-format auto-skip-spiky-loss
auto-tune bert-embedder-type= bert-load= bert-no-binary-head
biencoder-projection-dim= biencoder-shared-query-context-model block-data-path=
calc-ft-timeouts calculate-per-token-loss chat-template= check-for-large-grads
check-for-spiky-loss check-weight-hash-across-dp-replicas-interval= ckpt-*
classes-fraction= clip-grad= config-logger-dir= data-args-path= data-cache-path=
data-parallel-random-init data-path+ data-per-class-fraction=
dataloader-defer-npy-index-mmap dataloader-fast-cache-load dataloader-type=
decode-only-cuda-graphs decoupled-lr= decoupled-min-lr=
decrease-batch-size-if-needed dino-*
disable-ckpt-load-validate-sharding-integrity disable-dsa-*
disable-flight-recorder-* disable-gloo-process-groups
disable-log-loss-scale-to-tensorboard disable-mamba-* disable-manual-gc-eval
disable-msc disable-save-tokenizer-assets disable-straggler-on-startup
disable-strict-fsdp-dtensor-load
disable-tokenizer-sentencepiece-ignore-extra-whitespaces
disable-use-tokenizer-model-from-checkpoint-args dist-ckpt-*
distrib-optim-fully-reshardable-mem-efficient distributed-backend=
distributed-timeout-minutes= distributed-timeout-seconds-after-init=
dump-param-to-param-group-map= embedding-init-method-std= embedding-path=
enable-chunked-prefill enable-experimental enable-ft-package enable-msc
end-weight-decay= eod-mask-loss error-injection-rate= error-injection-type=
eval-global-batch-size= eval-interval= eval-iters= eval-micro-batch-size=
evidence-data-path= exit-duration-in-mins= exit-interval=
exit-on-missing-checkpoint exit-signal-handler
exit-signal-handler-for-dataloader exit-signal-handler-for-training exit-signal=
extra-eval-interval= extra-valid-data-path+ fault-injector-* fim-* finetune
finetune-dataset-type= flight-recorder-* ft-* full-validation glu-linear-offset=
gpu-sniff-test-interval= grpo-* head-lr-mult= hysteresis= ict-* img-h= img-w=
indexer-batch-size= indexer-log-interval= inference-* init-method-std=
init-method-xavier-uniform init-model-with-meta-device initial-loss-scale=
inprocess-* iter-per-epoch= iterations-to-skip+ kitchen-* langrl-* lazy-mpu-init
legacy-tokenizer lion-beta1= lion-beta2= load-main-params-from-ckpt
load-model-opt-format load= local-rank= log-* logging-level= logits-*
loss-scale-window= loss-scale= lr-decay-iters= lr-decay-samples=
lr-decay-stablelm2-* lr-decay-style= lr-warmup-fraction= lr-warmup-init=
lr-warmup-iters= lr-warmup-samples= lr-wsd-decay-iters= lr-wsd-decay-samples=
lr-wsd-decay-style= lr= manual-gc manual-gc-interval= mask-factor= mask-prob=
mask-type= max-tokens-to-oom= memory-snapshot-path= merge-file=
mid-level-dataset-surplus= min-loss-scale= min-lr= mock-data moe-aux-loss-coeff+
moe-input-jitter-eps= moe-per-layer-logging moe-router-bias-update-rate=
moe-router-dtype= moe-router-enable-expert-bias moe-router-force-load-balancing
moe-router-group-topk= moe-router-load-balancing-type+ moe-router-num-groups=
moe-router-pre-softmax moe-router-quantile-balancing-ema=
moe-router-score-function= moe-router-topk-scaling-factor= moe-routing-trace-*
moe-upcycling-granularity= moe-z-loss-coeff= mrope-section+ mscale-all-dim=
mscale= mtp-loss-coeff= mtp-loss-scaling-factor= multiple-validation-sets muon-*
mup-* no-barrier-with-level-1-timing no-check-for-nan-in-loss-and-grad
no-ckpt-fully-parallel-save no-ckpt-load-validate-sharding-integrity
no-create-attention-mask-in-dataloader no-data-sharding no-dsa-*
no-flight-recorder-* no-inference-* no-initialization no-load-optim no-load-rng
no-log-loss-scale-to-tensorboard no-manual-gc-eval no-mmap-bin-files
no-one-logger no-position-embedding no-rl-* no-rope-freq= no-save-optim
no-save-rng no-save-tokenizer-assets no-shared-fs no-strict-fsdp-dtensor-load
no-tokenizer-sentencepiece-ignore-extra-whitespaces
no-use-tokenizer-model-from-checkpoint-args no-weight-decay-cond-type= no-yarn-*
non-persistent-* norm-epsilon= norm-init-weight= null-tokenizer-eod-id=
null-tokenizer-pad-id= num-channels= num-classes= num-dataset-builder-threads=
num-speculative-tokens= num-workers= nvtx-ranges object-storage-cache-path=
one-logger-async one-logger-project= one-logger-run-name= onnx-safe= openai-gelu
otel-* output-bert-embeddings override-ckpt-iteration=
override-opt-param-scheduler override-opt_param-scheduler patch-dim=
per-dataset-sequences-path= per-split-data-args-path= persistent-save-interval=
pretrained-checkpoint= profile profile-ranks+ profile-step-end=
profile-step-start= pytorch-profiler-* qk-clip qk-clip-alpha= qk-clip-threshold=
query-in-block-prob= rampup-save-interval= record-memory-history record-shapes
refit-method= relative-attention-max-distance= relative-attention-num-buckets=
replication replication-factor= replication-jump= rerun-mode= reset-position-ids
result-rejected-tracker-filename= retriever-* retro-* rl-* rope-scaling-factor=
rope-type= rotary-base= rotary-interleaved rotary-percent=
rotary-scaling-factor= rotary-seq-len-interpolation-factor=
run-workload-inspector-server sample-rate= save-* save= seed=
sft-tokenizer-prompt-format= sgd-momentum= short-seq-prob= skip-iters-range+
skip-samples-range+ softmax-type= special-tokens-file= spiky-loss-threshold=
split= start-eval-at-iter= start-weight-decay= straggler-ctrlr-port=
straggler-minmax-count= swin-* te-rng-tracker tensorboard-* test-data-path+
test-mode tiktoken-* timing-log-level= timing-log-option= titles-* tokenizer-*
train-data-path+ train-iters= train-samples= trust-remote-code
use-checkpoint-opt-param-scheduler use-checkpoint-opt_param-scheduler
use-cpu-initialization use-dist-ckpt use-flash-attn use-gigatoken
use-legacy-static-engine use-mcore-models use-mup use-one-sent-docs
use-persistent-ckpt-worker use-pytorch-profiler use-rope-scaling
use-same-sampling-seed-across-dp-ranks valid-data-path+ validation-set-names+
verify-integrity vision-backbone-type= vision-pretraining-type= vocab-extra-ids=
vocab-file= wandb-* weight-decay-incr-style= weight-decay= yarn-*
)";

// Another model, or another placement and schedule than plans hold. Megatron-LM
// stops at some of them itself.
constexpr char kRefused[] = R"(
attention-output-gate batch-size= checkpoint-activations decoder-num-layers=
decoder-seq-length= dsa-* enable-mhc-connections encoder-num-layers=
encoder-seq-length= experimental-attention-variant=
expert-tensor-parallel-num-weight-shards= fake-process-group fp4-format=
freeze-all-layers gdp-* heterogeneous-layers-config-encoded-json=
heterogeneous-layers-config-path= hybrid-attention-ratio=
hybrid-context-parallel hybrid-layer-pattern= hybrid-mlp-ratio=
hybrid-override-pattern= is-hybrid-model linear-* lora-* mamba-* mhc-*
model-parallel-size= moe-router-force-biased=
moe-shared-expert-gate moe-use-upcycling mtp-num-layers=0
num-mtp-predictor=0 peft-type= perform-rl-step phase-transition-iterations= retro-add-retriever skip-train
spec+ step-batch-size-schedule= tensor-parallel-num-weight-shards=
use-checkpoint-args use-dualpipev use-legacy-models
use-mp-args-from-checkpoint-args use-tp-pp-dp-mapping vision-pretraining warmup=
yaml-cfg=
)";

// Time or memory.
constexpr char kWithEffect[] = R"(
account-for-embedding-in-pipeline-split account-for-loss-in-pipeline-split
accumulate-allreduce-grads-in-fp32 activation-offload-fraction= add-qkv-bias
apply-residual-connection-post-layernorm attention-backend= attention-dropout=
batch-invariant-backend= batch-invariant-mode bf16 cache-mla-latents
context-parallel-size= cp-comm-type+ cpu-offloading-num-layers=
cpu-offloading-retain-pinned-cpu-buffers create-all-gather-group
cross-entropy-fusion-impl= cross-entropy-loss-fusion cuda-graph-impl=
cuda-graph-modules+ cuda-graph-scope+ cuda-graph-warmup-steps=
data-parallel-sharding-strategy= dataloader-inter-document-masking
ddp-average-in-collective ddp-bucket-size= ddp-num-buckets=
ddp-pad-buckets-for-high-nccl-busbw
ddp-param-name-patterns-for-fp32-local-accumulation+
ddp-reduce-scatter-with-fp32-accumulation decoder-first-pipeline-num-layers=
decoder-last-pipeline-num-layers= defer-embedding-wgrad-compute
delay-offload-until-cuda-graph delay-wgrad-compute
delta-offload-bytes-across-pp-ranks= deterministic-mode
disable-align-grad-reduce disable-bf16-reduced-precision-matmul
disable-bias-linear disable-clone-scatter-output-in-embedding disable-fp8-wgrad
disable-jit-fuser disable-pad-vocab-size disable-symmetric-registration
disable-tp-comm-bulk-dgrad disable-tp-comm-bulk-wgrad disable-tp-comm-overlap-ag
disable-tp-comm-overlap-rs disable-tp-comm-split-ag disable-tp-comm-split-rs
distribute-saved-activations empty-unused-memory-level= enable-cuda-graph
enable-full-sharding-in-hsdp enable-gpt-oss enable-hetero
ep-overlap-early-attn-memory-release exp-avg-dtype= exp-avg-sq-dtype=
expert-model-parallel-size= expert-tensor-parallel-size-per-process-mesh+
expert-tensor-parallel-size= export-* external-cuda-graph ffn-hidden-size=
fine-grained-activation-offloading first-last-layers-bf16
flash-attention-version= flash-decode fp16 fp16-lm-cross-entropy
fp32-residual-connection fp4-param-gather fp4-quantizer-factory= fp4-recipe=
fp8-amax-compute-algo= fp8-amax-history-len= fp8-format= fp8-interval=
fp8-margin= fp8-output-proj fp8-param-gather fp8-quantizer-factory= fp8-recipe=
freeze-base-for-mtp fsdp-db-use-persist-buf-on-alloc-fail fsdp-double-buffer
fsdp-manual-registration fused-residual-rmsnorm global-batch-size=
grad-reduce-in-bf16 group-query-attention gtp-expert-remat-nccl-ub
gtp-remat-nccl-ub gtp-remat-opt-in-modules+
gtp-remat-reduce-scatter-with-fp32-accumulation hetero-current-device-type=
hetero-device-types+ hetero-pipeline-layer-split+ hetero-process-meshes+
hetero-use-cpu-communication hidden-dim-multiplier= hidden-dropout= hidden-size=
hierarchical-context-parallel-sizes+ high-priority-a2a-comm-stream
high-priority-stream-groups+ initialize-socket-comms keep-fp8-transpose-cache
kv-channels= kv-lora-rank= main-grads-dtype= main-params-dtype=
make-vocab-size-divisible-by= max-position-embeddings=
max-seqlen-per-dp-cp-rank= megatron-fsdp-enable-fine-grained-param-gather
megatron-fsdp-grad-comm-dtype= megatron-fsdp-main-grads-dtype=
megatron-fsdp-main-params-dtype= megatron-fsdp-max-pool-double-buffer
megatron-fsdp-version= micro-batch-size=
microbatch-group-size-per-virtual-pipeline-stage= min-offloaded-tensor-size=
mla-down-proj-fusion mlp-chunks-for-prefill= mlp-chunks-for-training=
modelopt-enabled moe-apply-probs-on-input moe-combine-bwd-dtype=
moe-deepep-num-sms= moe-dispatch-fwd-dtype= moe-enable-deepep
moe-enable-routing-replay moe-expert-capacity-factor=
moe-expert-rank-capacity-factor= moe-extended-tp moe-fb-overlap
moe-ffn-hidden-size= moe-flex-dispatcher-backend= moe-flex-dispatcher-num-sms=
moe-grouped-gemm moe-hybridep-num-blocks-permute=
moe-hybridep-num-blocks-unpermute= moe-hybridep-num-sms-preprocessing=
moe-hybridep-num-sms= moe-hybridep-pad-uneven-dispatch-inputs moe-layer-freq=
moe-latent-size= moe-layer-recompute moe-mlp-glu-interleave-size=
moe-ncclep-zero-copy
moe-pad-expert-input-to-capacity moe-pad-experts-for-cuda-graph-inference
moe-paged-stash moe-paged-stash-buffer-size-factor-cpu=
moe-paged-stash-buffer-size-factor-cuda= moe-paged-stash-page-size=
moe-permute-fusion moe-permute-fusion-into-hybridep moe-router-fusion
moe-router-padding-for-fp8 moe-router-padding-for-quantization moe-router-topk=
moe-shared-expert-glu-interleave-size= moe-shared-expert-intermediate-size=
moe-shared-expert-overlap moe-single-grouped-bias moe-single-grouped-weight
moe-token-dispatcher-type= moe-token-drop-policy= moe-use-grouped-tensor
moe-use-legacy-grouped-gemm mtp-detach-heads mtp-hsm
mtp-hybrid-override-pattern= mtp-standalone mtp-use-repeated-layer
multi-latent-attention multiple-of= nccl-all-reduce-for-prefill
nccl-communicator-config-path= no-align-grad-reduce no-align-param-gather
no-async-tensor-model-parallel-allreduce no-bias-dropout-fusion
no-bias-gelu-fusion no-bias-swiglu-fusion no-clone-scatter-output-in-embedding
no-fp8-wgrad no-gradient-accumulation-fusion no-gradient-reduce-div-fusion
no-masked-softmax-fusion no-overlap-p2p-communication no-pad-vocab-size
no-persist-layer-norm no-pin-cpu-grads no-pin-cpu-params no-rope-fusion
no-scatter-gather-tensors-in-pipeline no-tp-comm-bulk-dgrad
no-tp-comm-bulk-wgrad no-tp-comm-overlap-ag no-tp-comm-overlap-rs
no-tp-comm-split-ag no-tp-comm-split-rs no-use-layer-wise-param-layout
normalization= num-attention-heads= num-distributed-optimizer-instances=
num-experts= num-layers-at-end-in-bf16= num-layers-at-start-in-bf16= num-layers-per-virtual-pipeline-stage= num-layers=
num-query-groups= num-virtual-stages-per-pipeline-rank= offload-modules+
optimizer-cpu-offload optimizer-cuda-graph optimizer-offload-fraction=
optimizer= outer-dp-sharding-strategy= output-logit-dtype=
overlap-cpu-optimizer-d2h-h2d overlap-dispatch-backward-with-experts-wgrad
overlap-grad-reduce overlap-moe-expert-parallel-comm
overlap-p2p-communication-warmup-flush overlap-param-gather
overlap-param-gather-with-optimizer-step padded-vocab-size=
pipeline-model-parallel-comm-backend= pipeline-model-parallel-layout=
pipeline-model-parallel-size= position-embedding-type= q-lora-rank=
qad-train-target= qk-head-dim= qk-l2-norm qk-layernorm qk-layernorm-hidden-dim
qk-pos-emb-head-dim= quick-geglu rampup-batch-size+ recompute-activations
recompute-granularity-per-stage-micro-batch+ recompute-granularity=
recompute-method-per-stage-micro-batch+ recompute-method= recompute-modules+
recompute-num-layers-per-stage-micro-batch+ recompute-num-layers=
reset-attention-mask reuse-grad-buf-for-mxfp8-param-ag seq-length=
sequence-parallel sft sharp-enabled-group= squared-relu
standalone-embedding-stage suggested-communication-unit-size= swiglu
symmetric-ar-type= te-precision-config-file= tensor-model-parallel-size=
torch-fsdp2-no-reshard-after-forward tp-comm-bootstrap-backend= tp-comm-overlap
tp-comm-overlap-cfg= tp-comm-overlap-rs-dgrad train-sync-interval=
transformer-impl= untie-embeddings-and-output-weights use-distributed-optimizer
use-fused-weighted-squared-relu use-grouped-gemm-for-dense-mlp
use-grouped-gemm-for-shared-expert use-kitchen-attention use-megatron-fsdp
use-nccl-ub use-partial-reduce-for-shared-embedding
use-precision-aware-optimizer use-ring-exchange-p2p
use-rotary-position-embeddings use-sharp use-te-activation-func use-torch-fsdp2
use-torch-optimizer-for-cpu-offload use-transformer-engine-op-fuser v-head-dim=
vocab-size= wgrad-deferral-limit= window-attn-skip-freq= window-size=
)";

struct OptionTable {
  absl::flat_hash_map<absl::string_view, MegatronOptionKind> names;
  std::vector<std::pair<absl::string_view, MegatronOptionKind>> families;
  std::vector<absl::string_view> all;  // Without families.
};

void AddOptions(absl::string_view text, OptionEffect effect,
                OptionTable& table) {
  for (absl::string_view word :
       absl::StrSplit(text, absl::ByAnyChar(" \n"), absl::SkipEmpty())) {
    MegatronOptionKind kind{.effect = effect};
    if (absl::ConsumeSuffix(&word, "*")) {
      kind.values = OptionValues::kAny;
      table.families.emplace_back(word, kind);
      continue;
    }
    const size_t end = word.find('=');
    if (end != absl::string_view::npos) {
      kind.values = OptionValues::kOne;
      kind.neutral = word.substr(end + 1);
      word = word.substr(0, end);
    } else if (absl::ConsumeSuffix(&word, "+")) {
      kind.values = OptionValues::kSome;
    }
    table.names.emplace(word, kind);
    table.all.push_back(word);
  }
}

const OptionTable& Table() {
  static const OptionTable& table = *[] {
    auto* filled = new OptionTable();
    AddOptions(kWithoutEffect, OptionEffect::kNone, *filled);
    AddOptions(kRefused, OptionEffect::kRefused, *filled);
    AddOptions(kWithEffect, OptionEffect::kPlan, *filled);
    return filled;
  }();
  return table;
}

}  // namespace

std::optional<MegatronOptionKind> FindMegatronOption(absl::string_view name) {
  const OptionTable& table = Table();
  const auto found = table.names.find(name);
  if (found != table.names.end()) return found->second;
  for (const auto& [prefix, kind] : table.families) {
    if (absl::StartsWith(name, prefix)) return kind;
  }
  return std::nullopt;
}

absl::Span<const absl::string_view> MegatronOptionNames() {
  return Table().all;
}

absl::string_view NearestMegatronOption(absl::string_view name) {
  return NearestName(name, Table().all);
}

}  // namespace tangram
