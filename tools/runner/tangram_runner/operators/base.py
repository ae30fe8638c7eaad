"""What an operator is: the tensors that it reads and writes, its parameters and
its forward pass. The backward pass follows by automatic differentiation.

A live tensor has dimensions (sample, token, features...). Stages that end inside
a layer send all tensors that are live there.
"""

import dataclasses
from typing import Callable, NamedTuple, Optional, Tuple

from ..boxes import shard


class Live(NamedTuple):
    """A tensor between operators.

    `split` is the feature dimension that tensor parallelism splits. Without it,
    the tensor belongs to the residual stream: each rank holds all features, and
    with sequence parallelism its part of the tokens.
    """
    name: str
    features: Tuple[int, ...]
    split: Optional[int] = None


def live_box(live, sequence_length, team, place):
    """The part of a live tensor that a rank holds, as samples of a microbatch,
    tokens of the sequence and features."""
    p = team.parallelism
    begin, end = shard(sequence_length, p.cp_degree, place.cp)
    if live.split is None and p.sequence_parallel:
        first, last = shard(end - begin, p.tp_degree, place.tp)
        begin, end = begin + first, begin + last
    features = [(0, n) for n in live.features]
    if live.split is not None:
        features[live.split] = shard(live.features[live.split], p.tp_degree,
                                     place.tp)
    return (team.samples_of(place), (begin, end), *features)


# When the gradients of a rank are only a part of the sum over tensor-parallel
# ranks with the same values. Otherwise these ranks compute equal gradients.
NEVER, WITH_SEQUENCE_PARALLEL, ALWAYS = range(3)


class Parameter(NamedTuple):
    """A weight of an operator; `split` as in Live."""
    name: str
    shape: Tuple[int, ...]
    split: Optional[int] = None
    partial: int = NEVER
    # Standard deviation and mean of the first values.
    deviation: float = 0.0
    mean: float = 0.0

    def box(self, parallelism, place):
        box = [(0, n) for n in self.shape]
        if self.split is not None:
            box[self.split] = shard(self.shape[self.split],
                                    parallelism.tp_degree, place.tp)
        return tuple(box)

    def is_partial(self, parallelism):
        return self.partial == ALWAYS or (
            self.partial == WITH_SEQUENCE_PARALLEL and parallelism.sequence_parallel)


@dataclasses.dataclass(frozen=True)
class Operator:
    """`forward(context, parameters, live)` returns the tensors it writes.

    `parameters` maps names within the operator to this rank's shards, `live`
    names to this rank's boxes. The ends of the model also find there "tokens" and
    "targets", ids of (sample, token).
    """
    name: str
    reads: Tuple[str, ...]
    writes: Callable  # (layer) -> tuple of Live
    parameters: Callable  # (layer) -> tuple of Parameter
    forward: Callable


def none_of(layer):
    return ()


def matrix(name, shape, inputs, split=None, partial=NEVER):
    """A weight that keeps the size of what it multiplies."""
    return Parameter(name, shape, split, partial, deviation=inputs ** -0.5)


def bias(name, shape, split=None, partial=NEVER):
    return Parameter(name, shape, split, partial, deviation=0.1)
