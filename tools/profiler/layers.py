"""Layers of a transformer, as Megatron-LM cuts them over tensor-parallel ranks.

Every operator runs through `Layer.run`, so that a recorder can keep it with its
inputs and time it alone. Collectives are outside the operators. There is no
dropout, and a router balances its experts perfectly, so that no measurement
depends on random weights.
"""

import dataclasses
import inspect

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn


class TensorParallel:
    """The ranks that share a layer; one rank needs no process group."""

    def __init__(self, degree=1, rank=0, group=None):
        self.degree = degree
        self.rank = rank
        self.group = group

    def copy_in(self, x):
        return _CopyToRanks.apply(x, self.group) if self.degree > 1 else x

    def sum_out(self, x):
        return _SumOverRanks.apply(x, self.group) if self.degree > 1 else x

    def maximum(self, x):
        if self.degree > 1:
            dist.all_reduce(x, op=dist.ReduceOp.MAX, group=self.group)
        return x


class _CopyToRanks(torch.autograd.Function):
    """Gives all ranks the same input; its gradient is the sum of theirs."""

    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        gradient = gradient.contiguous()
        dist.all_reduce(gradient, group=ctx.group)
        return gradient, None


class _SumOverRanks(torch.autograd.Function):
    """Sums the tensors of the ranks; each rank gets the gradient of the sum."""

    @staticmethod
    def forward(ctx, x, group):
        x = x.contiguous().clone()
        dist.all_reduce(x, group=group)
        return x

    @staticmethod
    def backward(ctx, gradient):
        return gradient, None


class RmsNorm(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x):
        if hasattr(F, "rms_norm"):
            return F.rms_norm(x, (x.shape[-1],), self.weight, 1e-5)
        wide = x.float()
        scale = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5)
        return (wide * scale).to(x.dtype) * self.weight


def make_norm(model, size):
    return nn.LayerNorm(size) if model.norm_bias else RmsNorm(size)


def rotate(x, positions):
    """Rotary embedding of [batch, heads, tokens, dim] (2104.09864)."""
    half = x.shape[-1] // 2
    rates = 10000.0 ** (-torch.arange(half, device=x.device) / half)
    angles = positions[:, None] * rates
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    a, b = x[..., :half], x[..., half:2 * half]
    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)


class AttentionCore(nn.Module):
    """Causal attention of a fused [query, key, value] projection."""

    def __init__(self, model, tp, flash):
        super().__init__()
        self.heads = model.heads // tp.degree
        self.kv_heads = max(1, model.kv_heads // tp.degree)
        self.dim = model.head_dim
        self.rotary = model.max_positions == 0
        self.flash = flash
        self.query_norm = RmsNorm(self.dim) if model.qk_norm else None
        self.key_norm = RmsNorm(self.dim) if model.qk_norm else None

    def forward(self, qkv):
        batch, tokens = qkv.shape[:2]
        heads = qkv.view(batch, tokens, -1, self.dim).transpose(1, 2)
        q, k, v = heads.split([self.heads, self.kv_heads, self.kv_heads], 1)
        if self.query_norm is not None:
            q, k = self.query_norm(q), self.key_norm(k)
        if self.rotary:
            positions = torch.arange(tokens, device=qkv.device)
            q, k = rotate(q, positions), rotate(k, positions)
        context = self.fused(q, k, v) if self.flash else self.plain(q, k, v)
        return context.transpose(1, 2).reshape(batch, tokens, -1)

    def fused(self, q, k, v):
        attention = F.scaled_dot_product_attention
        if self.heads == self.kv_heads:
            return attention(q, k, v, is_causal=True)
        if "enable_gqa" in (inspect.getdoc(attention) or ""):
            return attention(q, k, v, is_causal=True, enable_gqa=True)
        return attention(q, self.spread(k), self.spread(v), is_causal=True)

    def plain(self, q, k, v):
        scores = q @ self.spread(k).transpose(-1, -2) * self.dim ** -0.5
        tokens = scores.shape[-1]
        mask = torch.ones(tokens, tokens, dtype=torch.bool,
                          device=scores.device).triu(1)
        weights = scores.float().masked_fill(mask, float("-inf")).softmax(-1)
        return weights.to(v.dtype) @ self.spread(v)

    def spread(self, x):
        return x.repeat_interleave(self.heads // self.kv_heads, dim=1)


class Layer(nn.Module):
    """Calls its operators through `run`, which a recorder may replace."""

    def __init__(self, tp):
        super().__init__()
        self.tp = tp
        self.run = _call


def _call(_op, function, *inputs):
    return function(*inputs)


class Embedding(Layer):
    kind = "embedding"

    def __init__(self, model, tp):
        super().__init__(tp)
        self.rows = model.vocab_size // tp.degree
        self.words = nn.Embedding(self.rows, model.hidden_size)
        self.positions = (
            nn.Embedding(model.max_positions, model.hidden_size)
            if model.max_positions else None)
        for table in self.children():
            nn.init.normal_(table.weight, std=0.02)

    def forward(self, tokens):
        x = self.tp.sum_out(self.run("embedding", self.look_up, tokens))
        if self.positions is None:
            return x
        return x + self.positions.weight[:tokens.shape[1]]

    def look_up(self, tokens):
        if self.tp.degree == 1:
            return self.words(tokens)
        local = tokens - self.tp.rank * self.rows
        mine = (local >= 0) & (local < self.rows)
        return self.words(local * mine) * mine.unsqueeze(-1)


class Head(Layer):
    """Final norm, projection to the vocabulary, and the loss."""
    kind = "head"

    def __init__(self, model, tp):
        super().__init__(tp)
        self.rows = model.vocab_size // tp.degree
        self.final_norm = make_norm(model, model.hidden_size)
        self.projection = nn.Linear(model.hidden_size, self.rows, bias=False)

    def forward(self, x, targets=None):
        if targets is None:
            targets = torch.zeros(x.shape[:2], dtype=torch.long,
                                  device=x.device)
        x = self.tp.copy_in(self.run("final_norm", self.final_norm, x))
        if self.tp.degree == 1:
            return self.run("head", self.loss, x, targets)
        return self.split_loss(self.projection(x), targets)

    def loss(self, x, targets):
        logits = self.projection(x)
        return F.cross_entropy(logits.float().flatten(0, 1), targets.flatten())

    def split_loss(self, logits, targets):
        """Cross entropy of logits whose vocabulary is split over ranks."""
        logits = logits.float()
        top = self.tp.maximum(logits.detach().amax(-1))
        total = self.tp.sum_out((logits - top.unsqueeze(-1)).exp().sum(-1))
        local = targets - self.tp.rank * self.rows
        mine = (local >= 0) & (local < self.rows)
        picked = logits.gather(-1, (local * mine).unsqueeze(-1)).squeeze(-1)
        target = self.tp.sum_out(picked * mine)
        return (total.log() + top - target).mean()


class Transformer(Layer):
    """Attention, followed by an MLP or a mixture of experts."""
    kind = "transformer"

    def __init__(self, model, tp, flash, experts=None):
        super().__init__(tp)
        hidden, all_bias = model.hidden_size, model.bias == "all"
        query = model.heads * model.head_dim // tp.degree
        key = max(1, model.kv_heads // tp.degree) * model.head_dim
        self.attention_norm = make_norm(model, hidden)
        self.qkv = nn.Linear(hidden, query + 2 * key,
                             bias=model.bias != "none")
        self.core = AttentionCore(model, tp, flash)
        self.out = nn.Linear(query, hidden, bias=all_bias)
        self.mlp_norm = make_norm(model, hidden)
        self.mlp = (MixtureOfExperts(model, experts) if experts
                    else Mlp(model, tp))

    def forward(self, x):
        run, tp = self.run, self.tp
        h = tp.copy_in(run("attention_norm", self.attention_norm, x))
        h = run("qkv_projection", self.qkv, h)
        h = run("attention_core", self.core, h)
        h = tp.sum_out(run("output_projection", self.out, h))
        x = run("attention_residual", torch.add, x, h)
        h = tp.copy_in(run("mlp_norm", self.mlp_norm, x))
        h = tp.sum_out(self.mlp(h, run))
        return run("mlp_residual", torch.add, x, h)


def activate(x, gated):
    if not gated:
        return F.gelu(x, approximate="tanh")
    gate, value = x.chunk(2, dim=-1)
    return F.silu(gate) * value


class Mlp(nn.Module):
    def __init__(self, model, tp):
        super().__init__()
        width = model.ffn_hidden_size // tp.degree
        bias = model.bias == "all"
        self.gated = model.gated_mlp
        self.up = nn.Linear(model.hidden_size, width * (1 + self.gated),
                            bias=bias)
        self.down = nn.Linear(width, model.hidden_size, bias=bias)

    def forward(self, x, run=_call):
        x = run("mlp_up", self.up, x)
        x = run("mlp_activation", lambda y: activate(y, self.gated), x)
        return run("mlp_down", self.down, x)


class Experts(nn.Module):
    """One linear map for each expert; all experts have equally many tokens."""

    def __init__(self, count, inputs, outputs, bias):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(count, inputs, outputs))
        self.bias = (nn.Parameter(torch.zeros(count, 1, outputs)) if bias
                     else None)
        nn.init.normal_(self.weight, std=0.02)

    def forward(self, x):
        if self.bias is None:
            return torch.bmm(x, self.weight)
        return torch.baddbmm(self.bias, x, self.weight)


class MixtureOfExperts(nn.Module):
    """All experts on this GPU; each gets equally many tokens."""

    def __init__(self, model, experts):
        super().__init__()
        count, hidden = experts.count, model.hidden_size
        width = experts.ffn_hidden_size
        self.count, self.per_token = count, experts.per_token
        self.gated = model.gated_mlp
        self.router = nn.Linear(hidden, count, bias=False)
        bias = model.bias == "all"
        self.up = Experts(count, hidden, width * (1 + self.gated), bias)
        self.down = Experts(count, width, hidden, bias)
        self.shared = None
        if experts.shared_ffn_hidden_size:
            width = experts.shared_ffn_hidden_size
            self.shared = Mlp(
                dataclasses.replace(model, ffn_hidden_size=width),
                TensorParallel())

    def forward(self, x, run=_call):
        shape = x.shape
        x = x.flatten(0, 1)
        shares = run("router", self.route, x)
        h = run("expert_dispatch", self.dispatch, x)
        h = run("expert_up", self.up, h)
        h = run("expert_activation", lambda y: activate(y, self.gated), h)
        h = run("expert_down", self.down, h)
        h = run("expert_combine", self.combine, h, shares)
        if self.shared is not None:
            h = h + self.shared(x)
        return h.view(shape)

    def route(self, x):
        scores = self.router(x).float().softmax(-1)
        return scores.topk(self.per_token, dim=-1).values.to(x.dtype)

    def order(self, tokens, device):
        """Copy j of token t goes to expert (t · per_token + j) mod count."""
        copies = tokens * self.per_token
        if copies % self.count:
            raise ValueError(f"{tokens} tokens x {self.per_token} copies; "
                             f"expected a multiple of {self.count} experts")
        return torch.arange(copies, device=device).view(-1, self.count).t()

    def dispatch(self, x):
        order = self.order(x.shape[0], x.device)
        return x[order.flatten() // self.per_token].view(
            self.count, -1, x.shape[-1])

    def combine(self, y, shares):
        order = self.order(shares.shape[0], y.device)
        weighted = y.flatten(0, 1) * shares.flatten()[
            order.flatten()].unsqueeze(-1)
        out = torch.zeros(shares.shape[0], y.shape[-1], dtype=y.dtype,
                          device=y.device)
        return out.index_add(0, order.flatten() // self.per_token, weighted)


class Recorder:
    """Runs operators and keeps the first call of each with its inputs."""

    def __init__(self):
        self.calls = {}

    def __call__(self, op, function, *inputs):
        self.calls.setdefault(
            op, (function, [x.detach() for x in inputs]))
        return function(*inputs)
