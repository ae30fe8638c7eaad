"""Embedding, and the head with its loss. Tensor parallelism splits the
vocabulary (Megatron-LM, 1909.08053 section 3).

A tied head uses the embedding's parameter by its name. A stage that holds the
head but not the embedding keeps a copy, and both add up their gradients.
"""

import torch
from torch.nn import functional

from .. import sharing
from ..boxes import shard
from .base import Operator, IF_STREAM_IS_SPLIT, bias, matrix
from .residual import stream


def _rows(context):
    return shard(context.layer.vocab_size, context.parallelism.tp_degree,
                 context.feature_part)


def _own(ids, context):
    """Indices into this rank's rows, and whether each id is among them."""
    first, last = _rows(context)
    mine = (ids >= first) & (ids < last)
    return (ids - first).masked_fill(~mine, 0), mine


def embedding_parameters(layer):
    result = [matrix("tokens", (layer.vocab_size, layer.hidden_size),
                     layer.hidden_size, split=0)]
    if layer.max_position_embeddings:
        result.append(bias("positions", (layer.max_position_embeddings,
                                         layer.hidden_size), None,
                           IF_STREAM_IS_SPLIT, hidden=1))
    return tuple(result)


def _embedding(context, parameters, live):
    rows, mine = _own(live["tokens"], context)
    x = functional.embedding(rows, parameters["tokens"]) * mine[..., None]
    x = context.leave_tp(x)
    if "positions" in parameters:
        begin, end = context.token_range
        first, last = context.stream_part(end - begin)
        x = x + parameters["positions"][begin + first:begin + last]
    return {"x": x}


def head_parameters(layer):
    shape = (layer.vocab_size, layer.hidden_size)
    return (matrix("weight", shape, layer.hidden_size, split=0),)


def _head(context, parameters, live):
    """Cross entropy, summed over this rank's tokens. All tp ranks return it."""
    fabric, ranks = context.fabric, context.tp_ranks
    logits = context.product("bsh,vh->bsv", context.enter_tp(live["f"]), parameters["weight"])
    # Any constant cancels; the greatest logit avoids overflow.
    greatest = fabric.all_reduce_max(logits.detach().amax(-1), ranks)
    logits = logits - greatest[..., None]
    total = sharing.sum_over(logits.exp().sum(-1), fabric, ranks)
    rows, mine = _own(live["targets"], context)
    target = logits.gather(-1, rows[..., None])[..., 0] * mine
    target = sharing.sum_over(target, fabric, ranks)
    return {"loss": (total.log() - target).sum() / context.num_tokens}


OPERATORS = (
    Operator("embedding", (), stream("x"), embedding_parameters, _embedding),
    Operator("head", ("f",), lambda layer: (), head_parameters, _head),
)
