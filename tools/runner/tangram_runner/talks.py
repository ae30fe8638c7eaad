"""Times what ranks say to each other: collectives, and transfers between two."""

import statistics

import torch

from . import pieces
from .sync import groups_of

SIZES = (1 << 10, 1 << 13, 1 << 16, 1 << 19, 1 << 22)
# Gradients are added up in one piece.
COLLECTIVE_SIZES = (*SIZES, 1 << 24)
WARM_UP, ROUNDS = 1, 5
# One block for each collective and size, so that a share of a core is felt here too.
EFFORT = pieces.Effort(1, 0)
# A sender goes on with its next pass meanwhile.
BUSY_S = 0.02
TAG = 1 << 29  # Between those of borders and of pipelines.


def _operations(fabric, ranks):
    """From the name of a collective to a function of a flat tensor, which is whole: the
    result of all_gather, the input of the others."""
    parts = len(ranks)
    mine = ranks.index(fabric.rank)

    def all_to_all(tensor):
        rows = [len(tensor) // parts] * parts
        fabric.all_to_all(tensor, rows, rows, ranks)

    return {"all_reduce": lambda tensor: fabric.all_reduce(tensor, ranks),
            "reduce_scatter": lambda tensor: fabric.reduce_scatter(tensor, ranks),
            "all_gather": lambda tensor: fabric.all_gather(
                tensor.chunk(parts)[mine], ranks),
            "all_to_all": all_to_all}


def collectives(plan, fabric, dtype, clock):
    """Returns (ranks, name of the collective, points) of one group of each size and
    each team. Groups take turns, so that none waits for another."""
    result, seen = [], set()
    for ranks in sorted(groups_of(plan), key=lambda group: (len(group), group)):
        team = _team_of(plan, ranks)
        if len(ranks) == 1 or team is None or (team, len(ranks)) in seen:
            continue
        seen.add((team, len(ranks)))
        if fabric.rank in ranks:
            result += _group(fabric, ranks, dtype, clock)
        fabric.sum_of_all(torch.zeros(()))
    return result


def _group(fabric, ranks, dtype, clock):
    result = []
    for name, run in _operations(fabric, ranks).items():
        points = []
        for size in COLLECTIVE_SIZES:
            element = torch.empty((), dtype=dtype).element_size()
            count = max(1, size // element // len(ranks)) * len(ranks)
            tensor = torch.ones(count, dtype=dtype, device=fabric.device)
            seconds = _seconds(run, tensor, fabric, ranks, clock)
            points.append({"bytes": count * element, "seconds": seconds})
        result.append((ranks, name, points))
    return result


def _seconds(run, tensor, fabric, ranks, clock):
    def step():
        before = clock()
        run(tensor)
        return [clock() - before]

    def agree(seconds):
        mine = torch.tensor(seconds, dtype=torch.float64, device=fabric.device)
        return float(fabric.all_reduce_max(mine, ranks))

    seconds, = pieces.steady(step, clock, EFFORT, agree)
    return seconds


def _team_of(plan, ranks):
    """The first ranks of the team that has all `ranks`."""
    for pipeline in plan.pipelines:
        for stage in pipeline.stages:
            for team in stage.teams:
                if set(ranks) <= set(team.ranks):
                    return team.ranks
    return None


def transfers(pairs, fabric, clock):
    """From each (rank, rank, channel) of `pairs` to points, on its first rank. Pairs take
    turns."""
    result = {}
    for first, second, channel in pairs:
        if fabric.rank in (first, second):
            other = second if fabric.rank == first else first
            points = [_both_ways(fabric, other, fabric.rank == first, size, channel, clock)
                      for size in SIZES]
            if fabric.rank == first:
                result[first, second] = points
        fabric.sum_of_all(torch.zeros(()))
    return result


def _both_ways(fabric, other, begins, size, channel, clock):
    """The mean of both directions. The sender computes on, as in a run: on a CPU, what it
    sends waits for its turn."""
    tensor = torch.ones(size, dtype=torch.uint8, device=fabric.device)

    def tell(seconds):
        fabric.send(torch.full((1,), seconds, dtype=torch.float64, device=fabric.device),
                    other, TAG, channel)

    def hear():
        return float(fabric.receive(1, torch.float64, other, TAG, channel))

    def send():
        hear()  # The receiver waits.
        before = clock()
        fabric.send(tensor, other, TAG, channel)
        while clock() - before < BUSY_S:
            tensor.sum()
        seconds.append(hear() - before)

    def receive():
        tell(0)
        fabric.receive(size, torch.uint8, other, TAG, channel)
        tell(clock())

    seconds = []
    for _ in range(WARM_UP + ROUNDS):
        for sends in (begins, not begins):
            if sends:
                send()
            else:
                receive()
    mine = statistics.median(seconds[WARM_UP:])
    tell(mine)
    result = {"bytes": size, "seconds": (mine + hear()) / 2}
    fabric.finish_sends()
    return result
