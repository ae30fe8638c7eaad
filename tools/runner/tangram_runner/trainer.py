"""Trains a plan on one rank: runs the passes of its device, step by step."""

import dataclasses
from typing import Any

import torch

from . import schedule
from .border import Border, Exchange
from .operators import live_tensors
from .optimizer import Optimizer
from .stage_run import StageRun
from .sync import GradientSync, groups_of


# Passes whose inputs may arrive while another runs: the next one of each direction.
AHEAD = 2


@dataclasses.dataclass(frozen=True)
class Settings:
    seed: int = 1
    # Type of weights, and of tensors between operators.
    dtype: Any = torch.float32
    # With 16 bits: sums of gradients in float32, and moments in 16 bits.
    fp32_gradients: bool = False
    bf16_moments: bool = False

    @property
    def has_masters(self):
        return self.dtype in (torch.float16, torch.bfloat16)

    @property
    def compute_dtype(self):
        return torch.float32 if self.has_masters else self.dtype

    @property
    def master_dtype(self):
        return self.compute_dtype

    @property
    def gradient_dtype(self):
        return torch.float32 if self.fp32_gradients and self.has_masters else self.dtype

    @property
    def moment_dtype(self):
        narrow = self.bf16_moments and self.has_masters
        return torch.bfloat16 if narrow else self.master_dtype


class LossScale:
    """Multiplies the loss of float16, whose small gradients would be zero. Halved
    when gradients overflow, doubled after many steps without (1710.03740)."""

    FIRST, MOST, STEPS_TO_DOUBLE = 2.0 ** 16, 2.0 ** 24, 2000

    def __init__(self, dtype):
        self.is_used = dtype == torch.float16
        self.value = self.FIRST if self.is_used else 1.0
        self.good_steps = 0

    def after(self, overflowed):
        self.good_steps = 0 if overflowed else self.good_steps + 1
        if overflowed:
            self.value = max(1.0, self.value / 2)
        elif self.good_steps % self.STEPS_TO_DOUBLE == 0:
            self.value = min(self.MOST, self.value * 2)


class Trainer:

    def __init__(self, plan, fabric, settings):
        self.plan = plan
        self.fabric = fabric
        self.settings = settings
        fabric.make_groups(groups_of(plan))
        live = live_tensors(plan.layers)
        borders = [[Border(plan, r, i, live) for i in range(len(pipeline.stages) - 1)]
                   for r, pipeline in enumerate(plan.pipelines)]
        fabric.make_channels({channel: border.ranks for each in borders
                              for border in each for channel in border.channels})
        self.runs = {}  # From stage to its run on this rank.
        for r, pipeline in enumerate(plan.pipelines):
            for stage in pipeline.stages:
                for team in stage.teams:
                    if fabric.rank in team.ranks:
                        run = StageRun(plan, r, stage, team, fabric, live, settings)
                        self.runs[stage.index] = run
                        self.pipeline = pipeline
                        self.borders = borders[r]
        device = min(self.runs)
        self.passes = [p for p in schedule.passes(self.pipeline, device)
                       if self.runs[p.stage].team.runs(p.microbatch)]
        self.sync = GradientSync(plan, fabric, list(self.runs.values()))
        self.optimizers = [Optimizer(plan.optimizer, run, self.sync)
                           for run in self.runs.values()]
        self.loss_scale = LossScale(settings.dtype)
        # Called with (direction, stage, microbatch, tensors) on what crosses
        # borders, if set.
        self.watch = None

    def gradients(self, step):
        """Runs all passes of a step and adds up gradients. Returns the loss."""
        for run in self.runs.values():
            run.step, run.loss = step, 0.0
            run.loss_scale = self.loss_scale.value
        splits = schedule.splits_backward(self.pipeline.schedule)
        last_kind = schedule.WEIGHTS if splits else schedule.BACKWARD
        arriving = []  # What the next passes need.
        for i, one in enumerate(self.passes):
            run = self.runs[one.stage]
            arriving += map(self._expect, self.passes[i + len(arriving):i + 1 + AHEAD])
            inputs = arriving.pop(0)()
            if one.kind == schedule.FORWARD:
                self._forward(run, one.microbatch, inputs)
            elif one.kind == schedule.BACKWARD:
                self._backward(run, one.microbatch, inputs)
            else:
                run.weight_gradients(one.microbatch)
            if one.kind == last_kind:
                self.sync.after_pass(run, one.microbatch)
        self.sync()
        self.fabric.finish_sends()
        loss = torch.tensor(sum(run.loss for run in self.runs.values()),
                            dtype=torch.float64)
        return float(self.fabric.sum_of_all(loss))

    def update(self):
        """Steps the optimizer. Returns whether it did: gradients of float16 that
        overflow are left out."""
        overflowed = self._overflowed()
        if overflowed:
            for run in self.runs.values():
                for shard in run.shards.values():
                    shard.clear()
        else:
            for optimizer in self.optimizers:
                optimizer.step(self.loss_scale.value)
            self.sync.gather_new()
            self.fabric.finish_sends()
        if self.loss_scale.is_used:
            self.loss_scale.after(overflowed)
        return not overflowed

    def memory(self):
        """From stage to its Memory, as pairs."""
        return [((run.pipeline_index, run.stage.index), run.memory)
                for run in self.runs.values()]

    def _overflowed(self):
        if not self.loss_scale.is_used:
            return False
        finite = all(torch.isfinite(shard.flat_sums()).all()
                     for run in self.runs.values() for shard in run.shards.values())
        return float(self.fabric.sum_of_all(torch.tensor(0.0 if finite else 1.0))) > 0

    def _expect(self, one):
        """Starts to receive what a pass needs. Returns a function that waits for it."""
        run = self.runs[one.stage]
        if one.kind == schedule.FORWARD and not run.is_first:
            border, direction = one.stage - 1, 0
        elif one.kind == schedule.BACKWARD and not run.is_last:
            border, direction = one.stage, 1
        else:
            return dict
        return Exchange(self.borders[border], direction, one.microbatch).expect(
            self.fabric, self.settings.dtype)

    def _forward(self, run, microbatch, inputs):
        stage = run.stage.index
        if not run.is_first:
            self._saw("value", stage - 1, run, microbatch, inputs)
        outputs = run.forward(microbatch, inputs)
        if not run.is_last:
            Exchange(self.borders[stage], 0, microbatch).send(self.fabric, outputs)

    def _backward(self, run, microbatch, gradients):
        stage = run.stage.index
        if not run.is_last:
            self._saw("gradient", stage, run, microbatch, gradients)
        gradients = run.backward(microbatch, gradients)
        if not run.is_first:
            Exchange(self.borders[stage - 1], 1, microbatch).send(self.fabric,
                                                                  gradients)

    def _saw(self, kind, border, run, microbatch, tensors):
        if self.watch:
            self.watch(kind, border, run, microbatch, tensors)
