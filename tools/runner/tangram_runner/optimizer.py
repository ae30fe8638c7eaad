"""Adam (1412.6980) and SGD, with the optimizer state whole or shared (ZeRO,
1910.02054): each replica keeps the state of its part, updates that part, and the
replicas gather the new weights.

With 16-bit weights, the state has a copy of them in float32, which is what steps
(mixed precision, 1710.03740).
"""

import torch

from .boxes import shape, within
from .memory import OPTIMIZER, Held

RATE, BETA1, BETA2, EPSILON = 1e-3, 0.9, 0.999, 1e-8


class Adam:
    moments = ("mean", "square")

    def __init__(self):
        self.steps = 0

    def update(self, gradient, mean, square):
        """Changes the moments. Returns what to add to the weights."""
        self.steps += 1
        mean.mul_(BETA1).add_(gradient, alpha=1 - BETA1)
        square.mul_(BETA2).addcmul_(gradient, gradient, value=1 - BETA2)
        mean = mean / (1 - BETA1 ** self.steps)
        square = square / (1 - BETA2 ** self.steps)
        return -RATE * mean / (square.sqrt() + EPSILON)


class Sgd:
    moments = ()

    def update(self, gradient):
        return -RATE * gradient


RULES = {"ADAM": Adam, "SGD": Sgd}


class _State:
    """Of one parameter: the part that this rank steps."""

    def __init__(self, rule, shard, values):
        settings = shard.settings
        self.rule = RULES[rule]()
        self.settings = settings

        def hold(tensor):
            return Held(tensor, OPTIMIZER, shard.offload.optimizer, shard.memory)

        self.moments = [hold(torch.zeros_like(values, dtype=settings.moment_dtype))
                        for _ in self.rule.moments]
        self.master = None
        if settings.has_masters:
            self.master = hold(values.to(settings.master_dtype))

    def step(self, values, gradient):
        """Returns the new values."""
        wide = self.settings.master_dtype
        # Copies, because the state of what is not offloaded is no copy.
        moments = [held.get().to(wide, copy=True) for held in self.moments]
        change = self.rule.update(gradient.to(wide), *moments)
        for held, moment in zip(self.moments, moments):
            held.put(moment.to(self.settings.moment_dtype))
        values = (self.master.get() if self.master else values) + change
        if self.master:
            self.master.put(values)
        return values


class Optimizer:
    """Steps the parameters of one stage on one rank."""

    def __init__(self, rule, run, exchange):
        self.rule, self.run, self.exchange = rule, run, exchange
        self.states = {}

    @torch.no_grad()
    def step(self, scale=1.0):
        """`scale` is that of the loss, and so of its gradients."""
        parts = {}  # From replicas to the (shard, new values of its part) that they share.
        for shard in self.run.shards.values():
            part = self._step(shard, scale)
            if part is not None:
                parts.setdefault(shard.region_split.ranks, []).append((shard, part))
        for ranks, shared in sorted(parts.items()):
            self._gather(ranks, shared)

    def _gather(self, ranks, shared):
        """One all-gather for all parameters with the same replicas."""
        flat = torch.cat([part for _, part in shared])
        rows = torch.stack(self.run.fabric.all_gather(flat, ranks))
        begin = 0
        for shard, part in shared:
            columns = rows[:, begin:begin + len(part)]
            begin += len(part)
            shard.set_box(columns.reshape(-1)[:shard.region_split.size]
                          .view(shape(shard.region)))

    def _step(self, shard, scale):
        """Returns the new values of a part if replicas have yet to share them."""
        split = shard.region_split
        # Without ZeRO, replicas all step the whole.
        shares = shard.zero > 0
        others_wait = self.exchange.shares_state(shard.name)
        own_values = shard.zero == 3 and not others_wait
        if own_values:
            values = shard.values.get()
        else:
            values = shard.region_values()
            values = split.part(values) if shares else values
        gradient = shard.flat_sums()
        if shard.zero == 1:
            gradient = split.part(gradient)
        if shard.name not in self.states:
            self.states[shard.name] = _State(self.rule, shard, values)
        wide = gradient.to(shard.settings.master_dtype) / scale
        values = self.states[shard.name].step(values, wide)
        values = values.to(shard.settings.dtype)
        shard.clear()
        if own_values:
            shard.set_part(values)
            return None
        if shares and len(split.ranks) > 1 and not others_wait:
            return values
        if shares:
            values = split.whole(values)
        values = values.view(shape(shard.region))
        if others_wait:
            self.exchange.keep_new(self.run, shard, values)
        else:
            shard.set_box(values)
        return None
