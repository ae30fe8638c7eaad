"""The border between two stages: its live tensors change hands.

Both sides hold the same tensors in layouts of their own degrees. Each receiver
gets every element once, from any rank that holds it. Gradients go the same way
back: like the tensors, equal ranks hold equal gradients.
"""

import functools

import torch

from .boxes import moves, shape, volume, within
from .operators.base import live_box


class Border:
    """Between stages `index` and `index` + 1 of a pipeline."""

    def __init__(self, plan, pipeline_index, index, live):
        pipeline = plan.pipelines[pipeline_index]
        self.plan = plan
        self.stages = pipeline.stages[index:index + 2]
        self.live = live[self.stages[0].end]
        self.microbatches = pipeline.num_microbatches
        # Tags tell apart what two ranks send each other.
        self.first_tag = 2 * index * self.microbatches
        self.channels = [(pipeline_index, index, direction) for direction in (0, 1)]

    @property
    def ranks(self):
        return sorted({rank for stage in self.stages for team in stage.teams
                       for rank in team.ranks})


@functools.lru_cache(maxsize=None)
def _boxes(live, sequence_length, teams):
    return {tensor.name: {rank: live_box(tensor, sequence_length, team, place)
                          for team in teams
                          for rank, place in team.places().items()}
            for tensor in live}


@functools.lru_cache(maxsize=None)
def _routes(live, sequence_length, senders, receivers):
    """From (source, target) to its list of (tensor name, box), in one order."""
    sent = _boxes(live, sequence_length, senders)
    wanted = _boxes(live, sequence_length, receivers)
    result = {}
    for tensor in live:
        for move in moves(sent[tensor.name], wanted[tensor.name]):
            result.setdefault((move.source, move.target), []).append(
                (tensor.name, move.box))
    return result


def as_bytes(tensor):
    # Adjacent numbers in memory, which a contiguous tensor of one number may not say
    # that it is.
    tensor = tensor.detach().clone(memory_format=torch.contiguous_format)
    return tensor.view(-1).view(torch.uint8)


class Exchange:
    """Moves tensors over a border in one direction: 0 forward, 1 backward."""

    def __init__(self, border, direction, microbatch):
        teams = [tuple(stage.team_of(microbatch)) for stage in border.stages]
        if direction:
            teams.reverse()
        length = border.plan.sequence_length
        self.live = tuple(tensor for tensor in border.live
                          if not (direction and tensor.discrete))
        self.sent = _boxes(self.live, length, teams[0])
        self.wanted = _boxes(self.live, length, teams[1])
        self.routes = _routes(self.live, length, *teams)
        self.tag = border.first_tag + direction * border.microbatches + microbatch
        self.channel = border.channels[direction]

    def send(self, fabric, tensors):
        for (source, target), pieces in self.routes.items():
            if source != fabric.rank:
                continue
            # As bytes, because choices of experts are whole numbers.
            parts = [as_bytes(tensors[name][within(box, self.sent[name][source])])
                     for name, box in pieces]
            fabric.send(torch.cat(parts), target, self.tag, self.channel)

    def expect(self, fabric, dtype):
        """Starts to receive. Returns a function that waits for the tensors."""
        me = fabric.rank
        dtypes = {live.name: torch.long if live.discrete else dtype for live in self.live}
        arriving = []
        for (source, target), pieces in self.routes.items():
            if target == me:
                sizes = [volume(box) * torch.empty((), dtype=dtypes[name]).element_size()
                         for name, box in pieces]
                arriving.append((pieces, sizes, fabric.expect(
                    sum(sizes), torch.uint8, source, self.tag, self.channel)))

        def take():
            result = {name: torch.empty(shape(self.wanted[name][me]), dtype=dtype,
                                        device=fabric.device)
                      for name, dtype in dtypes.items()}
            for pieces, sizes, message in arriving:
                for (name, box), part in zip(pieces, message().split(sizes)):
                    # A copy, because numbers begin at multiples of their size.
                    part = part.clone().view(dtypes[name])
                    result[name][within(box, self.wanted[name][me])] = part.view(
                        shape(box))
            return result
        return take
