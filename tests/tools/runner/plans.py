"""Plan files for tests: a model of any size, and stages as short tuples."""

GPT = {"linear_bias": True, "norm_bias": True}
LLAMA = {"gated_mlp": True, "num_kv_heads": 4, "max_positions": 0, "tied": False}
MIXTRAL = {**LLAMA, "ffn_hidden_size": 0, "num_experts": 8, "experts_per_token": 2,
           "expert_ffn_hidden_size": 32}
# Biases of experts, as GShard has and gpt-oss.
GSHARD = {**GPT, "ffn_hidden_size": 0, "num_experts": 4, "experts_per_token": 2,
          "expert_ffn_hidden_size": 32}
DEEPSEEK = {**MIXTRAL, "num_kv_heads": 8, "head_dim": 12, "q_lora_rank": 12,
            "kv_lora_rank": 16, "rope_head_dim": 4, "experts_per_token": 3,
            "shared_expert_ffn_hidden_size": 48}
# Experts of another width than the layer, with all biases and without any.
LATENT = {**GSHARD, "expert_latent_size": 24, "shared_expert_ffn_hidden_size": 48}
NEMOTRON = {**MIXTRAL, "gated_mlp": False, "expert_latent_size": 16,
            "shared_expert_ffn_hidden_size": 48}
NUM_OPERATORS = {"EMBEDDING": 1, "TRANSFORMER": 10, "HEAD": 2}


def model(transformer_layers=2, **options):
    """A model; `options` are fields of its transformer layers, and max_positions,
    tied, and `every_second`: fields that differ in every second layer."""
    every_second = options.pop("every_second", {})
    tied = options.pop("tied", True)
    positions = options.pop("max_positions", 64)
    hidden = 64
    layer = {"kind": "TRANSFORMER", "hidden_size": hidden, "num_heads": 8,
             "num_kv_heads": 8, "head_dim": 8, "value_head_dim": 8,
             "ffn_hidden_size": 128, **options}
    return {
        "name": "test",
        "layer_types": [
            {"kind": "EMBEDDING", "hidden_size": hidden, "vocab_size": 256,
             "max_position_embeddings": positions, "tied_embeddings": tied},
            layer,
            {"kind": "HEAD", "hidden_size": hidden, "vocab_size": 256,
             "tied_embeddings": tied, "norm_bias": layer.get("norm_bias", False)},
            {**layer, **every_second}],
        "layers": [{"layer_type": 0, "count": 1},
                   *({"layer_type": 3 if i % 2 else 1, "count": 1}
                     for i in range(transformer_layers)),
                   {"layer_type": 2, "count": 1}]}


def num_operators(of):
    """Of each layer of a model."""
    types = [13 if layer.get("num_experts") else NUM_OPERATORS[layer["kind"]]
             for layer in of["layer_types"]]
    return [types[run["layer_type"]] for run in of["layers"]]


def degrees(tp=1, dp=1, cp=1, ep=1, sp=False, zero=0, **more):
    return {"tp_degree": tp, "cp_degree": cp, "dp_degree": dp, "ep_degree": ep,
            "zero_stage": zero, "sequence_parallel": sp, **more}


def size(parallelism):
    return (parallelism["tp_degree"] * parallelism["cp_degree"]
            * parallelism["dp_degree"])


def stage(begin, end, gpus, parallelism=None, mask=0, **more):
    """A stage between two (layer, op) cuts; `gpus` is a (first, count) pair."""
    touched = end[0] - begin[0] + (end[1] > 0)
    plan = {"begin": {"layer": begin[0], "op": begin[1]},
            "end": {"layer": end[0], "op": end[1]},
            "recompute": [{"num_layers": 1, "mask": m} for m in
                          masks(begin[0], touched, mask)]}
    if parallelism:
        plan["parallelism"] = parallelism
    return {"plan": plan, "gpus": [{"node": "n", "first": gpus[0], "count": gpus[1]}],
            **more}


def masks(first, count, mask, last=None):
    """`mask` on transformer layers. Embedding (layer 0) and head keep all."""
    return [0 if first + i == 0 else mask & 3 if last == first + i else mask
            for i in range(count)]


def cluster(gpus_of_nodes):
    """A cluster of one GPU type, of nodes with so many GPUs each."""
    link = {"bandwidth_bytes_per_s": 1e11, "pair_bandwidth_bytes_per_s": 1e11,
            "latency_s": 1e-5}
    efficiency = {"gemm_max_fraction": 0.6, "gemm_half_flops": 1e9,
                  "attention_fraction": 0.6, "memory_fraction": 0.7,
                  "kernel_launch_s": 5e-6, "host_launch_s": 1e-5}
    device = {"type": "test-gpu", "peak_flops": {"fp32": 1e13, "fp16": 1e14},
              "memory_bytes": 4e10, "memory_bandwidth_bytes_per_s": 1e12,
              "supports_flash_attention": True, "efficiency": efficiency,
              "host": {"bandwidth_bytes_per_s": 1e10, "memory_bytes": 1e12}}
    return {"name": "test", "groups": ["test"], "devices": [device],
            "nodes": [{"group": 0, "device": 0, "num_gpus": count, "intra_node": link,
                       "names": [name]} for name, count in gpus_of_nodes.items()],
            "link_types": [link], "links": [{"link_types": [0]}]}


def gpus_of_nodes(stages):
    """How many GPUs nodes must have for these stages."""
    counts = {}
    for run in (run for one in stages for run in one["gpus"]):
        counts[run["node"]] = max(counts.get(run["node"], 1), run["first"] + run["count"])
    return counts


def plan(stages, global_batch=8, microbatch=2, sequence=16, of=None, **more):
    return {"format_version": "tangram.plan/v1", "model": of or model(**GPT),
            # Beside their nodes two others, for tests that move stages.
            "cluster": cluster({"k": 8, "m": 8, **gpus_of_nodes(stages)}),
            "training": {"global_batch_size": global_batch,
                         "sequence_length": sequence, "precision": "FP16",
                         "optimizer": "ADAM", "flash_attention": True},
            "plan": {"pipeline_microbatch_size": microbatch, "stages": stages, **more}}


def chain(cuts, parallelisms, mask=0, num_layers=4, **more):
    """Stages between cuts, each with its own GPUs."""
    ends = [(0, 0), *cuts, (num_layers, 0)]
    stages, first = [], 0
    for i, parallelism in enumerate(parallelisms):
        touched = ends[i + 1][0] - ends[i][0] + (ends[i + 1][1] > 0)
        one = stage(ends[i], ends[i + 1], (first, size(parallelism)), parallelism)
        one["plan"]["recompute"] = [
            {"num_layers": 1, "mask": m}
            for m in masks(ends[i][0], touched, mask, num_layers - 1)]
        stages.append(one)
        first += size(parallelism)
    return plan(stages, **more)
