"""Queries, keys and values of multi-head latent attention (DeepSeek-V2,
2405.04434): hidden to small latent vectors, and from these to heads.

Every tensor-parallel rank holds the projections to the latents in full and those
to its heads. The rotary part of the keys is one for all heads.
"""

import functools

import torch

from .base import Parameter, IF_STREAM_IS_SPLIT, matrix
from .residual import normalize


def parameters(layer):
    h, heads, rope = layer.hidden_size, layer.num_heads, layer.rope_head_dim
    result = []
    if layer.q_lora_rank:
        result += _down("q", h, layer.q_lora_rank, layer.q_lora_rank)
    inputs = layer.q_lora_rank or h
    result.append(matrix("q.weight", (heads, layer.head_dim, inputs), inputs, 0))
    result += _down("kv", h, layer.kv_lora_rank + rope, layer.kv_lora_rank)
    for name, size in ("k", layer.head_dim - rope), ("v", layer.value_head_dim):
        result.append(matrix(f"{name}.weight", (heads, size, layer.kv_lora_rank),
                             layer.kv_lora_rank, 0))
    return tuple(result)


def _down(name, hidden, outputs, rank):
    return [matrix(f"{name}_down.weight", (outputs, hidden), hidden, None,
                   IF_STREAM_IS_SPLIT),
            Parameter(f"{name}_norm", (rank,), None, IF_STREAM_IS_SPLIT, 0.1, 1.0)]


def forward(context, weights, a, rotate):
    """Returns q, k and v of this rank's heads."""
    layer, rank = context.layer, context.layer.kv_lora_rank
    nope = layer.head_dim - layer.rope_head_dim
    heads = functools.partial(context.product, "bsh,ndh->bsnd")
    latent = a
    if layer.q_lora_rank:
        latent = normalize(context.product("bsh,rh->bsr", a, weights["q_down.weight"]),
                           weights["q_norm"])
    q = heads(context.enter_tp(latent), weights["q.weight"])
    q = torch.cat([q[..., :nope], rotate(q[..., nope:], context)], -1)
    down = context.product("bsh,rh->bsr", a, weights["kv_down.weight"])
    latent = normalize(down[..., :rank], weights["kv_norm"])
    shared = context.enter_tp(torch.cat([latent, down[..., rank:]], -1))
    latent, rotary = shared[..., :rank], shared[..., None, rank:]
    k = heads(latent, weights["k.weight"])
    rotary = rotate(rotary, context).expand(*k.shape[:-1], layer.rope_head_dim)
    return {"q": q, "k": torch.cat([k, rotary], -1),
            "v": heads(latent, weights["v.weight"])}
