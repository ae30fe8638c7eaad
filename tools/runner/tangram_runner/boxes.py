"""Boxes: the parts of a tensor that ranks hold, and moves between layouts.

A box is a (begin, end) pair for each dimension. A layout gives each rank its
box. The different boxes of a layout partition the tensor; ranks with equal
boxes are replicas.
"""

from typing import NamedTuple, Tuple

from .errors import PlanError


class Move(NamedTuple):
    """`source` sends the part `box` of a tensor to `target`."""
    source: int
    target: int
    box: Tuple[Tuple[int, int], ...]


def shard(size, parts, index):
    """Range of part `index` of `size` elements in `parts` equal parts.

    If the parts outnumber the elements (key and value heads under a larger
    tensor-parallel degree), adjacent parts share one element.
    """
    if size % parts == 0:
        length = size // parts
        return index * length, (index + 1) * length
    if parts % size == 0:
        first = index // (parts // size)
        return first, first + 1
    raise PlanError("degree", parts, f"a divisor or a multiple of {size}")


def intersection(a, b):
    """The common part of two boxes, or None."""
    common = tuple((max(p[0], q[0]), min(p[1], q[1])) for p, q in zip(a, b))
    return common if all(begin < end for begin, end in common) else None


def clip(box, outer):
    """The part of `box` within `outer`, which may be empty."""
    return tuple((min(max(begin, first), last), max(min(end, last), first))
                 for (begin, end), (first, last) in zip(box, outer))


def volume(box):
    total = 1
    for begin, end in box:
        total *= end - begin
    return total


def shape(box):
    return tuple(end - begin for begin, end in box)


def within(box, outer):
    """Slices of `box` in a tensor that holds `outer`."""
    return tuple(slice(b[0] - o[0], b[1] - o[0]) for b, o in zip(box, outer))


def moves(senders, receivers):
    """Moves that fill the box of every receiver, each element once.

    Both arguments map ranks to boxes. Among replicas, receivers are spread
    over the senders in turn. A rank that sends and receives prefers itself.
    """
    replicas = {}
    for rank, box in senders.items():
        replicas.setdefault(box, []).append(rank)
    result = []
    for turn, (target, wanted) in enumerate(receivers.items()):
        covered = 0
        for box, ranks in replicas.items():
            common = intersection(box, wanted)
            if common is None:
                continue
            source = target if target in ranks else ranks[turn % len(ranks)]
            result.append(Move(source, target, common))
            covered += volume(common)
        if covered != volume(wanted):
            raise AssertionError(
                f"{covered} of {volume(wanted)} elements of {wanted} are sent")
    return result
