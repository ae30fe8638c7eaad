"""What an operator is: the tensors that it reads and writes, its parameters and
its forward pass. The backward pass follows by automatic differentiation.

A live tensor has dimensions (sample, token, features...). Stages that end inside
a layer send all tensors that are live there.
"""

import dataclasses
from typing import Callable, NamedTuple, Optional, Tuple, Union

from ..boxes import shard


class Live(NamedTuple):
    """A tensor between operators.

    `split` is the feature dimension that tensor parallelism splits. Without it,
    the tensor belongs to the residual stream: each rank holds all features, and
    with sequence parallelism its part of the tokens. 2-D tensor parallelism splits
    its tokens over x and its features over y.

    `routed` says how ranks hold it between a stage's operators, if not as at a cut.
    """
    name: str
    features: Tuple[int, ...]
    split: Optional[int] = None
    routed: int = 0
    discrete: bool = False  # Whole numbers, without gradients.


# Routed tensors, which operators/routing.py converts at the ends of a stage. ROWS are
# in the order of experts. So are SUMS, of which each tp rank holds a part. CHOICES
# are the experts of all tokens of the ep group.
ROWS, SUMS, CHOICES = 1, 2, 3


def live_box(live, sequence_length, team, place):
    """The part of a live tensor that a rank holds, as samples of a microbatch,
    tokens of the sequence and features."""
    p = team.parallelism
    begin, end = shard(sequence_length, p.cp_degree, place.cp)
    features = [(0, n) for n in live.features]
    if live.split is not None:
        features[live.split] = shard(live.features[live.split], p.tp_degree,
                                     p.feature_part(place))
    elif p.splits_stream:
        first, last = shard(end - begin, p.tp_x_degree, p.x(place))
        begin, end = begin + first, begin + last
        if p.tp_y_degree > 1:
            features[0] = shard(live.features[0], p.tp_y_degree, p.y(place))
    return (team.samples_of(place), (begin, end), *features)


# When the gradients of a rank are only a part of the sum over tensor-parallel
# ranks with the same values. Otherwise these ranks compute equal gradients.
NEVER, IF_STREAM_IS_SPLIT, ALWAYS = range(3)


class Parameter(NamedTuple):
    """A weight of an operator; `split` as in Live.

    `hidden` is the dimension of the residual stream's features. Where it is given,
    2-D tensor parallelism splits it over y and `split` over x alone.
    """
    name: str
    shape: Tuple[int, ...]
    split: Optional[int] = None
    partial: int = NEVER
    # Standard deviation and mean of the first values.
    deviation: float = 0.0
    mean: float = 0.0
    hidden: Optional[int] = None
    # Its first dimension counts experts, over which expert parallelism splits it.
    # FSEP splits the hidden dimension of every expert instead, where there is one.
    expert: bool = False

    def box(self, parallelism, place):
        p = parallelism
        box = [(0, n) for n in self.shape]

        def split(dim, parts, part):
            box[dim] = shard(self.shape[dim], parts, part)

        if self.split is not None and self.hidden is None:
            split(self.split, p.tp_degree, p.feature_part(place))
        elif self.split is not None:
            split(self.split, p.tp_x_degree, p.x(place))
        if self.hidden is not None and p.tp_y_degree > 1:
            split(self.hidden, p.tp_y_degree, p.y(place))
        if self.expert:
            whole_experts = self.hidden is None or not p.fsep
            split(0 if whole_experts else self.hidden, p.ep_degree, p.expert_rank(place))
        return tuple(box)

    def is_partial(self, parallelism):
        return self.partial == ALWAYS or (
            self.partial == IF_STREAM_IS_SPLIT and parallelism.splits_stream)


@dataclasses.dataclass(frozen=True)
class Operator:
    """`forward(context, parameters, live)` returns the tensors it writes.

    `parameters` maps names within the operator to this rank's shards, `live`
    names to this rank's boxes. The ends of the model also find there "tokens" and
    "targets", ids of (sample, token).
    """
    name: str
    reads: Union[Tuple[str, ...], Callable]  # Or (layer) -> names.
    writes: Callable  # (layer) -> tuple of Live
    parameters: Callable  # (layer) -> tuple of Parameter
    forward: Callable

    def reads_of(self, layer):
        return self.reads(layer) if callable(self.reads) else self.reads


def none_of(layer):
    return ()


def matrix(name, shape, inputs, split=None, partial=NEVER, hidden=None):
    """A weight that keeps the size of what it multiplies."""
    return Parameter(name, shape, split, partial, inputs ** -0.5, hidden=hidden)


def bias(name, shape, split=None, partial=NEVER, hidden=None):
    return Parameter(name, shape, split, partial, 0.1, hidden=hidden)
