"""What runs on the ranks: measures the islands once, then trains a plan."""

import dataclasses
import statistics

import torch

from tangram_runner import launch, machine, pieces, talks, timed_run
from tangram_runner.job import DTYPES, settings_of
from tangram_runner.measure_run import Measured
from tangram_runner.operators import live_tensors
from tangram_runner.plan import Cut, Parallelism, Pipeline, Stage, Team
from tangram_runner.silent import Silent
from tangram_runner.stage_run import StageRun
from tangram_runner.sync import groups_of
from tangram_runner.trainer import Trainer


# There are many pieces, and each is timed in some sweeps: other work of the machine
# comes and goes.
EFFORT = pieces.Effort(1, 0.1)
# Between them, and beyond, predictions interpolate.
SAMPLES = (1, 2, 4)


def settings(plan):
    return settings_of(plan, 1, DTYPES[plan.precision])


def splits_of(plans):
    """From (tp, sequence parallel, samples of one replica) to whether a stage has a part
    of a layer."""
    result = {}
    for plan, stage, team in ((plan, stage, team) for plan in plans
                              for pipeline in plan.pipelines
                              for stage in pipeline.stages for team in stage.teams):
        p = team.parallelism
        samples = team.num_samples // p.dp_degree
        for key in ((p.tp_degree, p.sequence_parallel, count) for count in SAMPLES):
            result[key] = result.get(key, False) or (
                key[2] == samples and _is_cut(plan, stage))
    return dict(sorted(result.items()))


def _is_cut(plan, stage):
    """Whether a stage has, or recomputes, a part of a layer."""
    return bool(stage.begin.op or stage.end.op) or any(
        mask not in (0, (1 << len(plan.layers[layer].operators)) - 1)
        for layer, mask in stage.masks.items())


def _whole(plan, ranks, tp, sequence_parallel, samples):
    """A plan of one stage for each of the islands' `ranks`, which are not to talk."""
    def team(of):
        p = Parallelism(tp_degree=tp, sequence_parallel=sequence_parallel)
        return Team(p, tuple(of[:tp]), 0, samples)
    masks = dict.fromkeys(range(len(plan.layers)), 0)
    stages = [Stage(i, Cut(0, 0), Cut(len(plan.layers), 0), (team(of),), masks)
              for i, of in enumerate(ranks)]
    return dataclasses.replace(plan, sync="all-reduce", replicated=False,
                               pipelines=(Pipeline(samples, 1, tuple(stages)),))


class MeasureJob:
    """Measures what `--measure` does, for all plans at once. The ranks of islands are
    numbered one after another."""

    def __init__(self, plans, islands, sweeps):
        self.sweeps = sweeps
        self.plan, self.splits = plans[0], splits_of(plans)
        self.devices, rank = [], 0
        for island in islands:
            count = len(island.shares)
            ranks = tuple(range(rank, rank + count))
            self.devices.append(machine.Device(island.name, ranks))
            rank += count

    def __call__(self, fabric, limit):
        limit()
        clock = pieces.clock_of(fabric.device)
        talking = _whole(self.plan, [device.ranks for device in self.devices],
                         len(self.devices[0].ranks), False, 2)
        fabric.make_groups(groups_of(talking))
        figures = self._figures(fabric, clock)
        (first, *_), (second, *_) = (device.ranks for device in self.devices)
        pairs = [(first, second, None)] + [(*device.ranks[:2], None)
                                           for device in self.devices
                                           if len(device.ranks) > 1]
        mine = (figures, machine.rates(fabric.device, clock),
                machine.memory_bytes(fabric.device, 1),
                talks.collectives(talking, fabric, settings(self.plan).dtype, clock),
                talks.transfers(pairs, fabric, clock))
        return self._files(fabric.gather_objects(mine))

    def _figures(self, fabric, clock):
        """Medians of some sweeps. All ranks compute at once and equally long, as in a
        run."""
        work = self._work(fabric)
        sweeps = {}
        for _ in range(self.sweeps):
            for run, piece, begin, end in work:
                # Two that share a core wait for each other, so layers are timed with
                # their collectives.
                talks_too = len(run.team.ranks) > 1 and not piece.operator
                found = dataclasses.astuple(pieces.measure(
                    run, piece, begin, end, clock, EFFORT,
                    fabric if talks_too else None))
                sweeps.setdefault(piece, []).append(found)
        return {piece: pieces.Figures(*map(statistics.median, zip(*found)))
                for piece, found in sweeps.items()}

    def _work(self, fabric):
        """(run, piece, begin, end) of all pieces of this rank's island."""
        mine = next(i for i, device in enumerate(self.devices)
                    if fabric.rank in device.ranks)
        index = self.devices[mine].ranks.index(fabric.rank)
        live, work = live_tensors(self.plan.layers), []
        for (tp, sequence_parallel, samples), is_cut in self.splits.items():
            plan = _whole(self.plan, [device.ranks for device in self.devices], tp,
                          sequence_parallel, samples)
            stage = plan.pipelines[0].stages[mine]
            silent = Silent(self.devices[mine].ranks[index % tp], fabric.device)
            run = StageRun(plan, 0, stage, stage.teams[0], silent, live, settings(plan))
            work += [(run, piece, *cuts) for piece, cuts in pieces.pieces_of(run).items()
                     if is_cut or not piece.operator]
        return work

    def _files(self, everyone):
        """(cluster, profiles) on rank 0."""
        if everyone is None:
            return ()
        figures, rates, memory, collectives, transfers = zip(*everyone)
        measured = Measured(
            list(figures), list(rates), list(memory),
            [one for rank, found in enumerate(collectives) for one in found
             if one[0][0] == rank],
            {pair: points for found in transfers for pair, points in found.items()})
        return (machine.cluster(self.plan, measured, self.devices),
                [machine.profile(self.plan, device, measured, with_collectives=True)
                 for device in self.devices])


class TrainJob:
    """Trains a plan. Returns the median seconds of a step after the first, and the
    times of each rank."""

    def __init__(self, plan, steps):
        self.plan, self.steps = plan, steps

    def __call__(self, fabric, limit):
        clock = pieces.clock_of(fabric.device)
        trainer = Trainer(self.plan, fabric, settings(self.plan))
        trainer.gradients(0)
        trainer.update()
        limit()
        fabric.sum_of_all(torch.zeros(()))
        times = timed_run.watch(trainer, clock)
        for number in range(1, self.steps + 1):
            timed_run.step(trainer, times, number, clock)
        everyone = fabric.gather_objects(times)
        if everyone is None:
            return ()
        steps = [max(of) for of in zip(*(one.iterations for one in everyone))]
        return statistics.median(steps), everyone


def run(job, seats, emulation):
    """Runs a job on seats, in the order of its ranks. The job says when they get the
    shares of their seats, because preparing needs no time that is measured."""
    def work(fabric):
        return job(fabric, lambda: emulation.limit(seats[fabric.rank]))

    result = launch.spawn(len(seats), work,
                          lambda rank: emulation.enter(seats[rank], seats[0]))
    if result is None:
        raise RuntimeError("a rank failed")
    return result
