"""The order in which the devices of a pipeline run their passes.

All schedules are one rule with three parameters:
  - w, the number of forward passes in the warm-up. After it, forward and
    backward passes alternate. GPipe: all; 1F1B and ZB-H1: p - s - 1;
    interleaved: 2 (p - s - 1) + (v - 1) p. Here p is the number of devices, v
    the chunks on each, s the device.
  - the order of chunks: p microbatches of one chunk, then the same of the next.
    Forward passes start at the first chunk, backward passes at the last.
  - whether weight gradients are passes of their own (ZB-H1). Each then follows
    its backward pass s microbatches later.
GPipe 1811.06965; 1F1B and interleaving Megatron-LM 2104.04473 section 2.2;
ZB-H1 2401.10241 section 2.1.
"""

from typing import NamedTuple

SCHEDULES = ("gpipe", "1f1b", "interleaved", "zb-h1")
FORWARD, BACKWARD, WEIGHTS = "F", "B", "W"


class Pass(NamedTuple):
    kind: str
    stage: int
    microbatch: int


def splits_backward(schedule):
    return schedule == "zb-h1"


def warm_up_passes(pipeline, device):
    """Forward passes before forward and backward passes alternate."""
    if pipeline.warm_up:
        # A plan counts the first forward pass after the warm-up too.
        return pipeline.warm_up[device] - 1
    behind = pipeline.num_devices - device - 1
    if pipeline.schedule == "gpipe":
        return pipeline.num_microbatches
    if pipeline.schedule == "interleaved":
        return 2 * behind + (pipeline.virtual_stages - 1) * pipeline.num_devices
    return behind


def _in_chunk_order(kind, pipeline, device):
    """All passes of one kind in the order in which they run."""
    p = pipeline.num_devices
    stages = range(device, len(pipeline.stages), p)
    if kind != FORWARD:
        stages = stages[::-1]
    if len(stages) == 1:
        return [Pass(kind, device, m) for m in range(pipeline.num_microbatches)]
    return [Pass(kind, stage, group + i)
            for group in range(0, pipeline.num_microbatches, p)
            for stage in stages for i in range(p)]


def passes(pipeline, device):
    """The passes of one device, in order."""
    left = {kind: _in_chunk_order(kind, pipeline, device)[::-1]
            for kind in (FORWARD, BACKWARD, WEIGHTS)}
    total = len(left[FORWARD])
    ahead = warm_up_passes(pipeline, device) + 1
    # Without passes of their own, weight gradients belong to backward passes.
    if not splits_backward(pipeline.schedule):
        left[WEIGHTS] = []
    delay = device if left[WEIGHTS] else total
    done = dict.fromkeys(left, 0)
    order = []
    while any(left.values()):
        if left[WEIGHTS] and done[BACKWARD] - done[WEIGHTS] > delay:
            kind = WEIGHTS
        elif left[FORWARD] and done[FORWARD] < done[BACKWARD] + ahead:
            kind = FORWARD
        elif left[BACKWARD]:
            kind = BACKWARD
        else:
            kind = WEIGHTS
        order.append(left[kind].pop())
        done[kind] += 1
    return order


def route(shares):
    """The group of each microbatch if groups take whole microbatches.

    The next one goes to the group with the least (taken + 1/2) / share, the
    first of equal ones (Webster's method; docs/schedules.md).
    """
    taken = [0] * len(shares)
    result = []
    for _ in range(sum(shares)):
        group = 0
        for g in range(1, len(shares)):
            # Compared by cross-multiplication, so that ties are exact.
            if (2 * taken[g] + 1) * shares[group] < (2 * taken[group] + 1) * shares[g]:
                group = g
        taken[group] += 1
        result.append(group)
    return result
