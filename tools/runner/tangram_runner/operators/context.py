"""What an operator knows of its rank beside its tensors."""

import dataclasses
import functools
from typing import Any, Tuple

from .. import sharing
from ..boxes import shard
from ..model import Layer
from ..plan import Place, Team
from ..products import product

# Dimensions of the residual stream.
TOKENS, FEATURES = 1, 2


@dataclasses.dataclass
class Context:
    layer: Layer
    team: Team
    place: Place
    fabric: Any
    sequence_length: int
    # Tokens of the global batch. Each weighs the same, whichever stage, replica
    # or pipeline computes it.
    num_tokens: int
    # Where gradients of weights are left, if the schedule splits backward passes.
    put_off: Any = None

    def product(self, equation, tensor, weight):
        """All products with weights are made here, so that each can be split."""
        return product(equation, tensor, weight, self, self.put_off)

    @property
    def parallelism(self):
        return self.team.parallelism

    @functools.cached_property
    def tp_ranks(self) -> Tuple[int, ...]:
        return self._ranks(lambda at: (at.cp, at.dp))

    @functools.cached_property
    def cp_ranks(self):
        return self._ranks(lambda at: (at.tp, at.dp))

    @functools.cached_property
    def tp_x_ranks(self):
        return self._ranks(lambda at: (self.parallelism.y(at), at.cp, at.dp))

    @functools.cached_property
    def tp_y_ranks(self):
        return self._ranks(lambda at: (self.parallelism.x(at), at.cp, at.dp))

    @functools.cached_property
    def ep_ranks(self):
        return self._ranks(lambda at: (at.tp, self.parallelism.expert_group(at)))

    @functools.cached_property
    def token_ranks(self):
        """Ranks with the tokens of this ep group, each token once."""
        if not self.parallelism.sequence_parallel:
            return self.ep_ranks
        return self._ranks(self.parallelism.expert_group)

    @property
    def expert_rank(self):
        return self.parallelism.expert_rank(self.place)

    @property
    def feature_part(self):
        return self.parallelism.feature_part(self.place)

    def _ranks(self, same):
        mine = same(self.place)
        return tuple(rank for rank, at in self.team.places().items()
                     if same(at) == mine)

    @property
    def token_range(self):
        """The tokens of this rank's cp part."""
        return shard(self.sequence_length, self.parallelism.cp_degree,
                     self.place.cp)

    def stream_part(self, tokens):
        """The part of a cp rank's tokens that the residual stream has here."""
        p = self.parallelism
        return shard(tokens, p.tp_x_degree, p.x(self.place)) if p.splits_stream else (
            0, tokens)

    def enter_tp(self, tensor):
        """From the residual stream to the whole input of products that tp ranks
        share."""
        if not self.parallelism.splits_stream:
            return sharing.copy_to(tensor, self.fabric, self.tp_ranks)
        tensor = sharing.gather_from(tensor, self.fabric, self.tp_x_ranks, TOKENS)
        return sharing.gather_from(tensor, self.fabric, self.tp_y_ranks, FEATURES)

    def leave_tp(self, tensor):
        """From the partial results of tp ranks to the residual stream."""
        if not self.parallelism.splits_stream:
            return sharing.sum_over(tensor, self.fabric, self.tp_ranks)
        tensor = sharing.sum_scatter(tensor, self.fabric, self.tp_y_ranks, FEATURES)
        return sharing.sum_scatter(tensor, self.fabric, self.tp_x_ranks, TOKENS)

    # Attention and MLP are pairs of products. In one dimension, tp ranks share the
    # outputs of the first and the inputs of the second. In two, x ranks do so, and y
    # ranks share the other dimension, that of the residual stream: their results are
    # parts of sums. Features between the products are split over all.
    def enter_first(self, tensor):
        if self.parallelism.tp_y_degree == 1:
            return self.enter_tp(tensor)
        return sharing.gather_from(tensor, self.fabric, self.tp_x_ranks, TOKENS)

    def leave_first(self, tensor, dim, size):
        """`size` is that of the dimension `dim` on all ranks together."""
        p = self.parallelism
        if p.tp_y_degree == 1:
            return tensor
        begin, _ = shard(size, p.tp_x_degree, p.x(self.place))
        first, last = shard(size, p.tp_degree, self.feature_part)
        return sharing.sum_and_take(tensor, self.fabric, self.tp_y_ranks, dim,
                                    first - begin, last - begin)

    def enter_second(self, tensor, dim):
        return sharing.gather_from(tensor, self.fabric, self.tp_y_ranks, dim)

    def leave_second(self, tensor):
        if self.parallelism.tp_y_degree == 1:
            return self.leave_tp(tensor)
        return sharing.sum_scatter(tensor, self.fabric, self.tp_x_ranks, TOKENS)

    def mean(self, x):
        """Over the features of the residual stream."""
        total = x.sum(-1, keepdim=True)
        if len(self.tp_y_ranks) > 1:
            # Each rank goes on with the sum, so its gradients add up as well.
            total = sharing.copy_to(sharing.sum_over(total, self.fabric, self.tp_y_ranks),
                                    self.fabric, self.tp_y_ranks)
        return total / self.layer.hidden_size
