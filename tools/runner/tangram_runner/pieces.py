"""Times what ranks compute: whole layers and single operators, each as a stage of its
own, with the runner's own passes. Nothing is sent meanwhile."""

import dataclasses
import statistics
import time
from typing import Optional

import torch

from .boxes import shape
from .memory import ACTIVATIONS, DEVICE, GRADIENTS, OPTIMIZER, WEIGHTS
from .model import Cut
from .operators.base import live_box
from .optimizer import Optimizer
from .plan import Offload
from .silent import Silent
from .stage_run import StageRun

WARM_UP, LEAST_ROUNDS, MOST_ROUNDS, ENOUGH_S = 2, 3, 15, 0.5


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
        # Operators on routed tokens have no sizes of their own.
        for op, name in enumerate(names if not spec.num_experts else ()):
            last = op + 1 == len(names)
            result.setdefault(
                dataclasses.replace(whole, operator=name),
                (Cut(layer, op), Cut(layer + 1, 0) if last else Cut(layer, op + 1)))
    return result


class _NoExchange:
    def shares_state(self, name):
        return False


def measure(run, piece, begin, end, clock):
    """Returns Figures of a piece on this rank."""
    alone = _run_of(run, begin, end)
    inputs = _values(alone, begin, run.live)
    gradients = {} if alone.is_last else _values(alone, end, run.live, gradients=True)
    rounds, start = [], clock()
    while len(rounds) < WARM_UP + LEAST_ROUNDS or (
            clock() - start < ENOUGH_S and len(rounds) < WARM_UP + MOST_ROUNDS):
        before = clock()
        alone.forward(0, inputs)
        between = clock()
        alone.backward(0, gradients)
        rounds.append((between - before, clock() - between))
    forward_s, backward_s = map(statistics.median, zip(*rounds[WARM_UP:]))
    if piece.operator:
        return Figures(forward_s, backward_s)
    # Once more, for what is kept meanwhile.
    alone.forward(0, inputs)
    saved = alone.memory.bytes[DEVICE, ACTIVATIONS]
    alone.backward(0, gradients)
    return Figures(forward_s, backward_s, saved, *_optimizer(alone, clock))


def _optimizer(alone, clock):
    """Seconds of a step, and the bytes that a layer holds between steps."""
    optimizer = Optimizer(alone.plan.optimizer, alone, _NoExchange())
    seconds = []
    for _ in range(LEAST_ROUNDS + 1):
        for shard in alone.shards.values():
            shard.flat_sums()
        before = clock()
        optimizer.step()
        seconds.append(clock() - before)
    state = sum(alone.memory.peak[DEVICE, kind] for kind in (WEIGHTS, GRADIENTS, OPTIMIZER))
    return statistics.median(seconds[1:]), state


def _run_of(run, begin, end):
    """A stage between two cuts on this rank, unshared, as part of a plain pipeline."""
    team = dataclasses.replace(
        run.team, microbatches=None,
        parallelism=dataclasses.replace(run.team.parallelism, zero_stage=0))
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
                    Silent(run.fabric.rank, run.fabric.device), run.live, run.settings)


def _values(alone, cut, live, gradients=False):
    """Random tensors of what lives at a cut."""
    result = {}
    for one in live[cut]:
        size = shape(live_box(one, alone.plan.sequence_length, alone.team, alone.place))
        if not one.discrete:
            result[one.name] = torch.randn(size, dtype=alone.settings.dtype,
                                           device=alone.fabric.device)
        elif not gradients:
            raise AssertionError("a piece begins among routed tokens")
    return result


def clock_of(device):
    """A clock that all processes of a machine share; a GPU finishes its work first."""
    def clock():
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        return time.monotonic()
    return clock
