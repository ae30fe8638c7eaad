"""What an operator knows of its rank beside its tensors."""

import dataclasses
import functools
from typing import Any, Tuple

from .. import sharing
from ..boxes import shard
from ..model import Layer
from ..plan import Place, Team

TOKENS = 1  # Dimension of a live tensor.


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

    @property
    def parallelism(self):
        return self.team.parallelism

    @functools.cached_property
    def tp_ranks(self) -> Tuple[int, ...]:
        return self._ranks(lambda at: (at.cp, at.dp))

    @functools.cached_property
    def cp_ranks(self):
        return self._ranks(lambda at: (at.tp, at.dp))

    def _ranks(self, same):
        mine = same(self.place)
        return tuple(rank for rank, at in self.team.places().items()
                     if same(at) == mine)

    @property
    def token_range(self):
        """The tokens of this rank's cp part."""
        return shard(self.sequence_length, self.parallelism.cp_degree,
                     self.place.cp)

    def enter_tp(self, tensor):
        """From the residual stream to the whole input of products that tp ranks
        share."""
        if self.parallelism.sequence_parallel:
            return sharing.gather_from(tensor, self.fabric, self.tp_ranks, TOKENS)
        return sharing.copy_to(tensor, self.fabric, self.tp_ranks)

    def leave_tp(self, tensor):
        """From the partial results of tp ranks to the residual stream."""
        if self.parallelism.sequence_parallel:
            return sharing.sum_scatter(tensor, self.fabric, self.tp_ranks, TOKENS)
        return sharing.sum_over(tensor, self.fabric, self.tp_ranks)
