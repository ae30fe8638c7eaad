"""Shrinks the sizes of a plan and keeps its structure.

Layers, operators, cuts, degrees, recomputation, schedule and shares stay. Hidden
size, heads, experts, vocabulary, sequence and batch become small numbers that
all degrees still divide.
"""

import dataclasses
from math import gcd

HEAD_DIM = 4
LEAST_HIDDEN = 16
LEAST_FFN = 24
LEAST_VOCABULARY = 32
LEAST_SEQUENCE = 8


def tiny(plan):
    """Returns the plan with small sizes."""
    teams = [team for pipeline in plan.pipelines for stage in pipeline.stages
             for team in stage.teams]
    degrees = [team.parallelism for team in teams]
    tps = sorted({p.tp_degree for p in degrees})
    tp = lcm(tps)
    ep = lcm({p.ep_degree for p in degrees})
    # A sequence is split over cp, then under sequence parallelism over tp.
    sequence = at_least(LEAST_SEQUENCE, lcm({p.cp_degree * p.tp_degree
                                             for p in degrees}))
    layers = tuple(_tiny_layer(layer, tps, tp, ep, sequence, plan.sequence_length)
                   for layer in plan.layers)
    pipelines = [_fewer_microbatches(pipeline) for pipeline in plan.pipelines]
    batch = 0
    for i, pipeline in enumerate(pipelines):
        pipelines[i] = dataclasses.replace(pipeline, first_sample=batch)
        batch += pipeline.microbatch_size * pipeline.num_microbatches
    return dataclasses.replace(plan, layers=layers, sequence_length=sequence,
                               global_batch_size=batch, pipelines=tuple(pipelines))


def lcm(values):
    result = 1
    for value in values:
        result = result * value // gcd(result, value)
    return result


def at_least(least, multiple):
    """The smallest multiple of `multiple` that is at least `least`."""
    return -(-least // multiple) * multiple


def tiny_heads(heads, kv_heads, tps):
    """Fewer heads with the same sharing by every tensor-parallel degree.

    A degree that divides the key and value heads still divides them, one that
    is a multiple of them still is, and as before several query heads share one
    of them, or none do.
    """
    kv = next(n for n in range(1, kv_heads + 1) if kv_heads % n == 0 and all(
        n % tp == 0 if kv_heads % tp == 0 else tp % n == 0 and tp > n for tp in tps))
    group = next(n for n in range(1, heads // kv + 1)
                 if (n > 1 or heads == kv_heads)
                 and all(kv * n % tp == 0 for tp in tps))
    return kv * group, kv


def _tiny_layer(layer, tps, tp, ep, sequence, old_sequence):
    hidden = at_least(LEAST_HIDDEN, lcm({tp, ep}))
    changes = {"hidden_size": hidden}
    if layer.vocab_size:
        changes["vocab_size"] = at_least(LEAST_VOCABULARY, tp)
    if layer.max_position_embeddings:
        changes["max_position_embeddings"] = sequence
    if layer.is_transformer:
        heads, kv_heads = tiny_heads(layer.num_heads, layer.cached_heads, tps)
        window = layer.sliding_window
        changes.update(
            num_heads=heads, num_kv_heads=kv_heads, head_dim=HEAD_DIM,
            value_head_dim=HEAD_DIM,
            sliding_window=max(1, sequence // 2) if 0 < window < old_sequence else 0,
            ffn_hidden_size=layer.ffn_hidden_size and at_least(LEAST_FFN, tp))
        if layer.kv_lora_rank:
            # Part of a head without and part with rotary embedding, and values
            # of another width than keys.
            changes.update(head_dim=6, rope_head_dim=2, value_head_dim=HEAD_DIM,
                           q_lora_rank=layer.q_lora_rank and 6, kv_lora_rank=8)
    if layer.num_experts:
        experts = at_least(min(layer.num_experts, 4), ep)
        changes.update(
            num_experts=experts,
            experts_per_token=min(layer.experts_per_token, max(1, experts // 2)),
            expert_ffn_hidden_size=at_least(LEAST_FFN // 2, tp),
            shared_expert_ffn_hidden_size=(layer.shared_expert_ffn_hidden_size
                                           and at_least(LEAST_FFN // 2, tp)),
            expert_latent_size=layer.expert_latent_size and at_least(LEAST_HIDDEN // 2, ep))
    return dataclasses.replace(layer, **changes)


def _fewer_microbatches(pipeline):
    """Enough microbatches that every device reaches its steady state twice.

    Shares of a mixed stage are kept, and with routed microbatches their number.
    """
    mixed = any(len(stage.teams) > 1 for stage in pipeline.stages)
    routed = any(team.microbatches is not None
                 for stage in pipeline.stages for team in stage.teams)
    size = pipeline.microbatch_size
    if not mixed:
        size = lcm({stage.teams[0].parallelism.dp_degree for stage in pipeline.stages})
    count = pipeline.num_microbatches
    if not routed:
        ahead = max(pipeline.warm_up or (pipeline.num_devices,))
        count = min(count, at_least(ahead + 2, pipeline.num_devices)
                    if pipeline.schedule == "interleaved" else ahead + 2)
    stages = pipeline.stages
    if size != pipeline.microbatch_size:
        stages = tuple(
            dataclasses.replace(stage, teams=tuple(
                dataclasses.replace(team, num_samples=size) for team in stage.teams))
            for stage in stages)
    return dataclasses.replace(pipeline, microbatch_size=size,
                               num_microbatches=count, stages=stages)
