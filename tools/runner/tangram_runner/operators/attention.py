"""Causal self-attention with tensor parallelism over heads.

Grouped queries share key and value heads. If the tensor-parallel degree exceeds
the number of key and value heads, adjacent ranks hold the same head.
"""

import torch
from torch.nn import functional

from .. import sharing
from ..boxes import shard
from . import latent_attention
from .base import (ALWAYS, Live, Operator, Parameter, IF_STREAM_IS_SPLIT,
                   bias, matrix, none_of)
from .residual import normalize, stream


def head_range(heads, context):
    return shard(heads, context.parallelism.tp_degree, context.feature_part)


def key_sharers(layer, team, place):
    """The tp ranks that hold the same key and value heads as the one at `place`."""
    p = team.parallelism

    def held(at):
        return at.cp, at.dp, shard(layer.cached_heads, p.tp_degree, p.feature_part(at))
    return tuple(rank for rank, at in team.places().items() if held(at) == held(place))


def sharers(context):
    return key_sharers(context.layer, context.team, context.place)


def qkv_live(layer):
    return (Live("q", (layer.num_heads, layer.head_dim), 0),
            Live("k", (layer.cached_heads, layer.head_dim), 0),
            Live("v", (layer.cached_heads, layer.value_head_dim), 0))


def qkv_parameters(layer):
    if layer.kv_lora_rank:
        return latent_attention.parameters(layer)
    result = []
    for live, partial in zip(qkv_live(layer), (0, ALWAYS, ALWAYS)):
        shape = live.features + (layer.hidden_size,)
        result.append(matrix(f"{live.name}.weight", shape, layer.hidden_size, 0,
                             partial, hidden=2))
        if layer.linear_bias or layer.qkv_bias:
            result.append(bias(f"{live.name}.bias", live.features, 0, partial))
    if layer.qk_norm:
        # One for all heads, of which each rank sees its own.
        result += [Parameter(f"{name}_norm", (layer.head_dim,), None, ALWAYS, 0.1, 1.0)
                   for name in "qk"]
    return tuple(result)


def rotate(tensor, context):
    """Rotary embedding (2104.09864) of (sample, token, head, element)."""
    begin, end = context.token_range
    half = tensor.shape[-1] // 2
    rates = 10000.0 ** (-torch.arange(half, dtype=tensor.dtype,
                                      device=tensor.device) / half)
    angles = torch.arange(begin, end, dtype=tensor.dtype,
                          device=tensor.device)[:, None, None] * rates
    cos, sin = angles.cos(), angles.sin()
    first, second = tensor[..., :half], tensor[..., half:2 * half]
    return torch.cat([first * cos - second * sin, second * cos + first * sin,
                      tensor[..., 2 * half:]], -1)


def share_keys(tensor, context):
    """Ranks with the same head each get its whole gradient (attention_core), so
    each counts for its part here. Weights and inputs add the parts up again."""
    return sharing.scale_gradient(tensor, 1 / len(sharers(context)))


def _qkv(context, parameters, live):
    if context.layer.kv_lora_rank:
        return latent_attention.forward(context, parameters, live["a"], rotate)
    a = context.enter_first(live["a"])
    result = {}
    for each in qkv_live(context.layer):
        name = each.name
        out = context.product("bsh,ndh->bsnd", a, parameters[f"{name}.weight"])
        out = context.leave_first(out, 2, each.features[0])
        if f"{name}.bias" in parameters:
            out = out + parameters[f"{name}.bias"]
        if name != "v" and context.layer.qk_norm:
            out = normalize(out, parameters[f"{name}_norm"])
        if name != "v" and context.layer.rotary:
            out = rotate(out, context)
        result[name] = out if name == "q" else share_keys(out, context)
    return result


def visible(context, device):
    """Which keys (second index) each query of this rank sees."""
    begin, end = context.token_range
    query = torch.arange(begin, end, device=device)[:, None]
    key = torch.arange(context.sequence_length, device=device)[None, :]
    seen = key <= query
    if context.layer.sliding_window:
        seen = seen & (key > query - context.layer.sliding_window)
    return seen


def _core(context, parameters, live):
    layer = context.layer
    k, v = live["k"], live["v"]
    for_queries = []
    first, last = head_range(layer.num_heads, context)
    key_first, _ = head_range(layer.cached_heads, context)
    group = layer.num_heads // layer.cached_heads
    heads = torch.arange(first, last, device=k.device) // group - key_first
    for tensor in (k, v):
        tensor = sharing.copy_to(tensor, context.fabric, sharers(context))
        # Context parallelism: every rank sees the keys and values of the whole
        # sequence. A ring (2310.01889) computes the same piece by piece.
        tensor = sharing.gather_from(tensor, context.fabric, context.cp_ranks, 1)
        for_queries.append(tensor.index_select(2, heads))
    k, v = for_queries
    scores = torch.einsum("bqnd,bknd->bnqk", live["q"], k) * layer.head_dim ** -0.5
    scores = scores.masked_fill(~visible(context, k.device), float("-inf"))
    weights = functional.softmax(scores, -1)
    return {"c": torch.einsum("bnqk,bknd->bqnd", weights, v)}


def output_parameters(layer):
    inputs = (layer.num_heads, layer.value_head_dim)
    weight = matrix("weight", (layer.hidden_size,) + inputs, inputs[0] * inputs[1],
                    split=1, hidden=0)
    if not layer.linear_bias:
        return (weight,)
    return weight, bias("bias", (layer.hidden_size,), None, IF_STREAM_IS_SPLIT,
                        hidden=0)


def _output(context, parameters, live):
    c = context.enter_second(live["c"], 2)
    y = context.leave_second(context.product("bsnd,hnd->bsh", c, parameters["weight"]))
    # After the sum, so that the bias is added once.
    return {"y": y + parameters["bias"] if "bias" in parameters else y}


OPERATORS = (
    Operator("qkv_projection", ("a",), qkv_live, qkv_parameters, _qkv),
    Operator("attention_core", ("q", "k", "v"),
             lambda layer: (Live("c", (layer.num_heads, layer.value_head_dim), 0),),
             none_of, _core),
    Operator("output_projection", ("c",), stream("y"), output_parameters, _output),
)
