"""Adam (1412.6980) and SGD, with the optimizer state whole or shared (ZeRO 1,
1910.02054): each replica keeps the state of its part, updates that part, and the
replicas gather the new weights."""

import torch

RATE, BETA1, BETA2, EPSILON = 1e-3, 0.9, 0.999, 1e-8


class Adam:

    def __init__(self, size, like):
        self.mean = torch.zeros(size, dtype=like.dtype, device=like.device)
        self.square = torch.zeros_like(self.mean)
        self.steps = 0

    def update(self, gradient):
        """Returns what to add to the weights."""
        self.steps += 1
        self.mean.mul_(BETA1).add_(gradient, alpha=1 - BETA1)
        self.square.mul_(BETA2).addcmul_(gradient, gradient, value=1 - BETA2)
        mean = self.mean / (1 - BETA1 ** self.steps)
        square = self.square / (1 - BETA2 ** self.steps)
        return -RATE * mean / (square.sqrt() + EPSILON)


class Sgd:

    def __init__(self, size, like):
        pass

    def update(self, gradient):
        return -RATE * gradient


RULES = {"ADAM": Adam, "SGD": Sgd}


class Optimizer:
    """Steps the parameters of one stage on one rank."""

    def __init__(self, rule, run, replicas_of):
        self.fabric = run.fabric
        self.rule = rule
        zero = run.team.parallelism.zero_stage
        self.buckets = {}
        for shard in run.shards.values():
            ranks = replicas_of(shard) if zero else (run.fabric.rank,)
            self.buckets.setdefault(ranks, []).append(shard)
        self.states = {}

    @torch.no_grad()
    def step(self):
        for ranks, shards in sorted(self.buckets.items()):
            gradient = torch.cat([s.gradient.reshape(-1) for s in shards])
            # Parts of equal size, so that they can be gathered.
            length = -(-gradient.numel() // len(ranks))
            begin = ranks.index(self.fabric.rank) * length
            mine = torch.zeros(length, dtype=gradient.dtype, device=gradient.device)
            part = gradient[begin:begin + length]
            mine[:part.numel()] = part
            if ranks not in self.states:
                self.states[ranks] = RULES[self.rule](length, mine)
            change = self.states[ranks].update(mine)
            change = torch.cat(self.fabric.all_gather(change, ranks))
            for shard in shards:
                size = shard.values.numel()
                part, change = change[:size], change[size:]
                shard.values.add_(part.view(shard.values.shape))
                shard.values.grad = None
