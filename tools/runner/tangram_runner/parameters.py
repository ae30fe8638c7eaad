"""This rank's part of a parameter: where its values and gradients are.

Ranks that hold the same box of a parameter are its replicas. ZeRO (1910.02054)
splits what they keep, flattened, into equal parts, one for each, or for each of a
group of them where there is a zero_degree:
  1  the optimizer state (optimizer.py),
  2  also the sum of gradients: each backward pass adds its gradient over the
     replicas, and each keeps its part of the sum,
  3  also the values: they are gathered for each use and freed after it.
"""

import torch

from .boxes import shape, within
from .memory import GRADIENTS, WEIGHTS, Held


class Split:
    """Equal parts of `size` elements, one for each of `ranks`; the last is padded."""

    def __init__(self, size, ranks, fabric):
        self.size, self.ranks, self.fabric = size, ranks, fabric
        self.length = -(-size // len(ranks))
        self.begin = ranks.index(fabric.rank) * self.length

    @property
    def end(self):
        return max(self.begin, min(self.begin + self.length, self.size))

    def padded(self, flat):
        missing = self.length * len(self.ranks) - self.size
        return torch.cat([flat, flat.new_zeros(missing)]) if missing else flat

    def part(self, flat):
        """This rank's part of what all replicas have."""
        if len(self.ranks) == 1:
            return flat
        return self.padded(flat)[self.begin:self.begin + self.length].clone()

    def unpadded(self, part):
        """(range of the elements, they themselves) of this rank's part."""
        return (self.begin, self.end), part[:self.end - self.begin]

    def sum_part(self, flat):
        """This rank's part of the sum of the replicas' tensors."""
        if len(self.ranks) == 1:
            return flat
        return self.fabric.reduce_scatter(self.padded(flat), self.ranks)

    def whole(self, part):
        if len(self.ranks) == 1 or self.length == 0:
            return part
        return torch.cat(self.fabric.all_gather(part, self.ranks))[:self.size]


class Shard:
    """The part `box` of a parameter, under its name in the model.

    This rank sums gradients and steps the optimizer for its `region` alone, which
    is smaller than the box if pipelines share them.
    """

    def __init__(self, name, parameter, box, region, values, replicas, run):
        stage = run.stage
        self.name, self.parameter, self.box, self.region = name, parameter, box, region
        self.fabric, self.memory = run.fabric, run.memory
        self.settings, self.offload = run.settings, stage.offload
        self.zero = run.team.parallelism.zero_stage
        self.replicas = replicas
        self.shape = tuple(values.shape)
        self.split = Split(values.numel(), replicas.group, run.fabric)
        self.region_split = Split(_volume(region), replicas.group, run.fabric)
        flat = values.reshape(-1)
        self.values = Held(self.split.part(flat) if self.zero == 3 else flat, WEIGHTS,
                           self.offload.weights, self.memory)
        # The box until sums are complete, then the region; a part with ZeRO 2.
        self.sums = None
        self.has_region_sums = False
        # Autograd sees the parameter as a function of this leaf.
        self.anchor = torch.zeros((), device=values.device, requires_grad=True)

    # Values.
    @property
    def is_at_hand(self):
        return self.zero < 3 and self.values.is_on_device

    def whole(self):
        """The values of the box, for use: copied and gathered if they are not here."""
        flat = self.values.get()
        if self.zero == 3:
            flat = self.split.whole(flat)
        return flat.view(self.shape).to(self.settings.compute_dtype)

    def use(self):
        """Likewise, for autograd. The gradient adds to the sums."""
        return _Use.apply(self.anchor, self)

    def region_values(self):
        return self.whole()[within(self.region, self.box)].reshape(-1)

    def set_box(self, whole):
        flat = whole.reshape(-1).to(self.settings.dtype)
        self.values.put(self.split.part(flat) if self.zero == 3 else flat.contiguous())

    def set_part(self, part):
        """With ZeRO 3 if the region is the box: only this rank's part."""
        self.values.put(part.to(self.settings.dtype))

    def value_part(self):
        """What this rank has: (range of the flattened box, its values)."""
        flat = self.values.get()
        if self.zero < 3:
            return (0, flat.numel()), flat
        return self.split.unpadded(flat)

    # Gradients.
    def add_gradient(self, gradient):
        flat = gradient.detach().reshape(-1).to(self.settings.gradient_dtype)
        if self.zero >= 2:
            flat = self.split.sum_part(flat)
        if self.sums is None:
            self._hold(flat.clone())
        else:
            self.sums.put(self.sums.get() + flat)

    def _hold(self, flat):
        self.sums = Held(flat, GRADIENTS, self.offload.gradients, self.memory)

    @property
    def summands(self):
        """The ranks whose sums add up after the passes; each has added up its own over
        its group with ZeRO 2."""
        return self.replicas.all if self.zero < 2 else self.replicas.equals

    def flat_sums(self):
        if self.sums is None:
            split = self.region_split if self.has_region_sums else self.split
            size = split.length if self.zero >= 2 else split.size
            self._hold(torch.zeros(size, dtype=self.settings.gradient_dtype,
                                   device=self.fabric.device))
        return self.sums.get()

    def set_sums(self, flat):
        self.clear()
        self._hold(flat)

    def take_box(self):
        """Returns the sums of the whole box and forgets them."""
        flat = self.flat_sums()
        if self.zero >= 2:
            flat = self.split.whole(flat)
        self.clear()
        return flat.view(self.shape)

    def set_region_sums(self, total):
        """Keeps the complete sums of the region."""
        flat = total.reshape(-1)
        self.set_sums(self.region_split.part(flat) if self.zero >= 2 else flat)
        self.has_region_sums = True

    def clear(self):
        if self.sums:
            self.sums.free()
        self.sums, self.has_region_sums = None, False

    @property
    def gradient(self):
        """Of the region, if this rank has it whole."""
        return self.flat_sums().view(shape(self.region))

    def gradient_part(self):
        """What this rank has: (range of the flattened region, its gradients)."""
        flat = self.flat_sums()
        if self.zero < 2:
            return (0, flat.numel()), flat
        return self.region_split.unpadded(flat)


def _volume(box):
    total = 1
    for begin, end in box:
        total *= end - begin
    return total


class _Use(torch.autograd.Function):

    @staticmethod
    def forward(ctx, anchor, shard):
        ctx.shard = shard
        # Another tensor object, as autograd marks what it returns.
        return shard.whole().detach()

    @staticmethod
    def backward(ctx, gradient):
        ctx.shard.add_gradient(gradient)
        return None, None
