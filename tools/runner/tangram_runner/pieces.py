"""Times what ranks compute: whole layers and single operators, each as a stage of its
own, with the runner's own passes. Nothing is sent meanwhile."""

import dataclasses
import math
import statistics
import time
from typing import NamedTuple, Optional

import torch

from .boxes import shape
from .memory import ACTIVATIONS, DEVICE, GRADIENTS, OPTIMIZER, WEIGHTS
from .model import Cut
from .operators.base import live_box
from .optimizer import Optimizer
from .plan import Offload
from .silent import Silent
from .stage_run import StageRun

WARM_UP = 2


class Effort(NamedTuple):
    """How long each piece is timed."""
    least_blocks: int = 3
    enough_s: float = 0.15


# A kernel that gives a process a share of a core takes it away for milliseconds at a
# time. A block of rounds is longer than that, so that its mean is what a run gets.
BLOCK_S = 0.05


@dataclasses.dataclass(frozen=True)
class Piece:
    """A layer, or one of its operators, of the layer's sizes."""
    layer: object
    operator: Optional[str]
    parallelism: object  # Of its team.
    samples: int  # Of one replica.


@dataclasses.dataclass(frozen=True)
class Figures:
    """Of one rank, and one microbatch. The last three are of whole layers."""
    forward_s: float
    backward_s: float
    saved_bytes: int = 0
    optimizer_s: float = 0.0
    state_bytes: int = 0


def pieces_of(run):
    """From each Piece that a run of a stage touches to where it begins and ends. Layers
    count whole, because profiles have whole layers."""
    result = {}
    begin, end = run.stage.begin, run.stage.end
    team = run.team
    samples = team.num_samples // team.parallelism.dp_degree
    for layer in range(begin.layer, end.layer + (end.op > 0)):
        spec = run.plan.layers[layer]
        names = spec.operators
        whole = Piece(spec, None, team.parallelism, samples)
        result.setdefault(whole, (Cut(layer, 0), Cut(layer + 1, 0)))
        for op, name in enumerate(names):
            last = op + 1 == len(names)
            cuts = Cut(layer, op), Cut(layer + 1, 0) if last else Cut(layer, op + 1)
            # Operators on routed tokens have no sizes of their own.
            if not any(one.discrete for cut in cuts for one in run.live[cut]):
                result.setdefault(dataclasses.replace(whole, operator=name), cuts)
    return result


class _NoExchange:
    def shares_state(self, name):
        return False


def steady(step, clock, effort=Effort(), agree=lambda seconds: seconds):
    """Medians of the times that `step` returns, over means of blocks of steps. Ranks that
    talk in a step `agree` on its length, so that all take as many."""
    for _ in range(WARM_UP):
        before = clock()
        step()
        once_s = clock() - before
    once_s = max(agree(once_s), 1e-6)
    rounds = math.ceil(BLOCK_S / once_s)
    blocks = []
    for _ in range(max(effort.least_blocks,
                       math.ceil(effort.enough_s / (rounds * once_s)))):
        block = [step() for _ in range(rounds)]
        blocks.append([statistics.mean(times) for times in zip(*block)])
    return [statistics.median(times) for times in zip(*blocks)]


def measure(run, piece, begin, end, clock, effort=Effort(), fabric=None):
    """Returns Figures of a piece on this rank. With a fabric, the ranks of the team talk,
    and all are to call it."""
    alone = _run_of(run, begin, end, fabric)

    def agree(seconds):
        if fabric is None:
            return seconds
        longest = torch.tensor(seconds, dtype=torch.float64)
        return float(fabric.all_reduce_max(longest, run.team.ranks))
    inputs = _values(alone, begin, run.live)
    gradients = {} if alone.is_last else _values(alone, end, run.live)

    def step():
        before = clock()
        alone.forward(0, inputs)
        between = clock()
        alone.backward(0, gradients)
        return between - before, clock() - between

    forward_s, backward_s = steady(step, clock, effort, agree)
    if piece.operator:
        return Figures(forward_s, backward_s)
    # Once more, for what is kept meanwhile.
    alone.forward(0, inputs)
    saved = alone.memory.bytes[DEVICE, ACTIVATIONS]
    alone.backward(0, gradients)
    return Figures(forward_s, backward_s, saved, *_optimizer(alone, clock, effort))


def _optimizer(alone, clock, effort):
    """Seconds of a step, and the bytes that a layer holds between steps."""
    optimizer = Optimizer(alone.plan.optimizer, alone, _NoExchange())

    def step():
        for shard in alone.shards.values():
            shard.flat_sums()
        before = clock()
        optimizer.step()
        return [clock() - before]

    seconds, = steady(step, clock, effort)
    state = sum(alone.memory.peak[DEVICE, kind] for kind in (WEIGHTS, GRADIENTS, OPTIMIZER))
    return seconds, state


def _run_of(run, begin, end, fabric=None):
    """A stage between two cuts on this rank, unshared, as part of a plain pipeline."""
    fabric = fabric or Silent(run.fabric.rank, run.fabric.device)
    team = dataclasses.replace(
        run.team, microbatches=None,
        parallelism=dataclasses.replace(run.team.parallelism, zero_stage=0,
                                        zero_degree=0))
    layers = range(begin.layer, end.layer + (end.op > 0))
    stage = dataclasses.replace(
        run.stage, begin=begin, end=end, teams=(team,), drops_outputs=frozenset(),
        masks={layer: 0 for layer in layers}, offload=Offload())
    pipeline = dataclasses.replace(run.pipeline, schedule="1f1b", virtual_stages=1,
                                   stages=(stage,), warm_up=())
    pipelines = tuple(pipeline if i == run.pipeline_index else other
                      for i, other in enumerate(run.plan.pipelines))
    plan = dataclasses.replace(run.plan, pipelines=pipelines, sync="all-reduce")
    return StageRun(plan, run.pipeline_index, stage, team,
                    fabric, run.live, run.settings)


def _values(alone, cut, live):
    """Random tensors of what lives at a cut."""
    result = {}
    for one in live[cut]:
        size = shape(live_box(one, alone.plan.sequence_length, alone.team, alone.place))
        result[one.name] = torch.randn(size, dtype=alone.settings.dtype,
                                       device=alone.fabric.device)
    return result


def clock_of(device):
    """A clock that all processes of a machine share; a GPU finishes its work first."""
    def clock():
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        return time.monotonic()
    return clock
