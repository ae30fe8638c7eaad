"""Trains a plan on one rank: runs the passes of its device, step by step."""

import dataclasses
from typing import Any

import torch

from . import schedule
from .border import Border, Exchange
from .operators import live_tensors
from .optimizer import Optimizer
from .stage_run import StageRun
from .sync import GradientSync, groups_of, replicas


@dataclasses.dataclass(frozen=True)
class Settings:
    seed: int = 1
    dtype: Any = torch.float32


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
                        run = StageRun(plan, pipeline, stage, team, fabric, live,
                                       settings)
                        run.pipeline_index = r
                        self.runs[stage.index] = run
                        self.pipeline = pipeline
                        self.borders = borders[r]
        device = min(self.runs)
        self.passes = [p for p in schedule.passes(self.pipeline, device)
                       if self.runs[p.stage].team.runs(p.microbatch)]
        self.sync = GradientSync(plan, fabric, list(self.runs.values()))
        self.optimizers = [
            Optimizer(plan.optimizer, run,
                      lambda shard, run=run: replicas(run.team, shard.parameter,
                                                      fabric.rank))
            for run in self.runs.values()]
        # Called with (direction, stage, microbatch, tensors) on what crosses
        # borders, if set.
        self.watch = None

    def gradients(self, step):
        """Runs all passes of a step and adds up gradients. Returns the loss."""
        for run in self.runs.values():
            run.step, run.loss = step, 0.0
        for one in self.passes:
            run = self.runs[one.stage]
            if one.kind == schedule.FORWARD:
                self._forward(run, one.microbatch)
            elif one.kind == schedule.BACKWARD:
                self._backward(run, one.microbatch)
            else:
                run.weight_gradients(one.microbatch)
        self.sync()
        self.fabric.finish_sends()
        loss = torch.tensor(sum(run.loss for run in self.runs.values()),
                            dtype=torch.float64)
        return float(self.fabric.sum_of_all(loss))

    def update(self):
        for optimizer in self.optimizers:
            optimizer.step()

    def _forward(self, run, microbatch):
        stage = run.stage.index
        inputs = {}
        if not run.is_first:
            inputs = Exchange(self.borders[stage - 1], 0, microbatch).receive(
                self.fabric, self.settings.dtype)
            self._saw("value", stage - 1, run, microbatch, inputs)
        outputs = run.forward(microbatch, inputs)
        if not run.is_last:
            Exchange(self.borders[stage], 0, microbatch).send(self.fabric, outputs)

    def _backward(self, run, microbatch):
        stage = run.stage.index
        gradients = {}
        if not run.is_last:
            gradients = Exchange(self.borders[stage], 1, microbatch).receive(
                self.fabric, self.settings.dtype)
            self._saw("gradient", stage, run, microbatch, gradients)
        gradients = run.backward(microbatch, gradients)
        if not run.is_first:
            Exchange(self.borders[stage - 1], 1, microbatch).send(self.fabric,
                                                                  gradients)

    def _saw(self, kind, border, run, microbatch, tensors):
        if self.watch:
            self.watch(kind, border, run, microbatch, tensors)
