"""`--measure`: times the pieces of a plan on this machine, has `tangram evaluate`
predict the run from them, trains, and prints predicted beside measured."""

import dataclasses
import json
import os
import statistics
import subprocess
import sys
import tempfile

from . import machine, pieces, talks, timed_run
from .errors import PlanError
from .memory import DEVICE, KINDS
from .trainer import Trainer
from .write_plan import plan_file

RIGHT, FAILED = 0, 3
FITS, HAS_VIOLATIONS = 0, 3  # Exit codes of `tangram evaluate`.


@dataclasses.dataclass
class Measured:
    """What all ranks have measured."""
    figures: list  # Of each rank: from Piece to Figures.
    rates: list
    memory_bytes: list
    collectives: list
    transfers: dict

    def figures_of(self, device):
        """From each Piece to the figures of the slowest rank."""
        result = {}
        for rank in device.ranks:
            for piece, found in self.figures[rank].items():
                other = result.get(piece, found)
                result[piece] = pieces.Figures(*(max(pair) for pair in zip(
                    dataclasses.astuple(found), dataclasses.astuple(other))))
        return result


class MeasureJob:
    """Called on each rank with its fabric."""

    def __init__(self, plan, settings, options, out=sys.stdout):
        self.plan, self.settings, self.out = plan, settings, out
        self.steps, self.tangram, self.folder = (
            options.steps, options.tangram, options.profile_folder)

    def __call__(self, fabric):
        clock = pieces.clock_of(fabric.device)
        trainer = Trainer(self.plan, fabric, self.settings)
        measured = self._measure(trainer, fabric, clock)
        # The first step makes states and connections.
        trainer.gradients(0)
        trainer.update()
        times = timed_run.watch(trainer, clock)
        for number in range(1, self.steps + 1):
            loss = timed_run.step(trainer, times, number, clock)
            if fabric.rank == 0:
                self._print(f"step {number}: loss {loss:.6f}")
        all_times = fabric.gather_objects(times)
        memories = fabric.gather_objects(trainer.memory())
        if fabric.rank:
            return RIGHT
        evaluation = self._predict(measured)
        for line in lines(self.plan, evaluation, all_times, memories):
            self._print(line)
        return RIGHT

    def _print(self, text):
        print(text, file=self.out, flush=True)

    def _measure(self, trainer, fabric, clock):
        """Returns Measured on rank 0, None elsewhere."""
        figures = {}
        for run in trainer.runs.values():
            for piece, (begin, end) in pieces.pieces_of(run).items():
                if piece not in figures:
                    figures[piece] = pieces.measure(run, piece, begin, end, clock)
        mine = (figures, machine.rates(fabric.device, clock),
                machine.memory_bytes(fabric.device, self.plan.num_ranks),
                talks.collectives(self.plan, fabric, self.settings.dtype, clock),
                talks.transfers(machine.pairs_of(self.plan), fabric, clock))
        everyone = fabric.gather_objects(mine)
        if everyone is None:
            return None
        figures, rates, memory, collectives, transfers = zip(*everyone)
        return Measured(
            list(figures), list(rates), list(memory),
            # The first rank of a group speaks for it.
            [one for rank, found in enumerate(collectives) for one in found
             if one[0][0] == rank],
            {pair: points for found in transfers for pair, points in found.items()})

    def _predict(self, measured):
        """The evaluation of the plan on this machine, as in a plan file."""
        with tempfile.TemporaryDirectory() as scratch:
            folder = self.folder or scratch
            os.makedirs(folder, exist_ok=True)
            profiles = []
            for device in machine.devices_of(self.plan):
                path = os.path.join(folder, f"{device.name}.json")
                _write(path, machine.profile(self.plan, device, measured))
                profiles += ["--profile", path]
            plan = os.path.join(folder, "measured-plan.json")
            _write(plan, plan_file(self.plan, machine.cluster(self.plan, measured),
                                   machine.seats_of(self.plan)))
            out = os.path.join(scratch, "predicted.json")
            done = subprocess.run(
                [self.tangram, "evaluate", plan, *profiles, "--output", out],
                capture_output=True, text=True, check=False)
            if done.returncode not in (FITS, HAS_VIOLATIONS):
                raise PlanError("tangram evaluate", done.stderr.strip(), "a prediction")
            with open(out, encoding="utf-8") as file:
                return json.load(file)


def _write(path, data):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(data, file, indent=1)


def lines(plan, file, all_times, memories):
    """The table: rows of the run, its stages, borders and memory."""
    replicated = file.get("replicated_evaluation")
    whole = replicated or file["evaluation"]
    evaluations = replicated["pipelines"] if replicated else [whole]
    yield f"{'':32}{'predicted':>12}{'measured':>12}{'error':>9}"
    # A step ends for all when it ends for the slowest.
    steps = [max(times) for times in zip(*(one.iterations for one in all_times))]
    yield _row("iteration", whole["iteration_time_s"], statistics.median(steps), _time)
    yield from time_rows(plan, file, all_times)
    for r, pipeline in enumerate(plan.pipelines):
        for stage, predicted in zip(pipeline.stages, evaluations[r]["stages"]):
            yield from _memory_rows(plan, r, stage, predicted, memories)
    yield f"measured share of predicted compute: {_share(evaluations)}"


def time_rows(plan, file, all_times):
    """Rows of stages, borders and pipelines."""
    replicated = file.get("replicated_evaluation")
    evaluations = replicated["pipelines"] if replicated else [file["evaluation"]]
    if replicated:
        yield _row("gradient sync of pipelines", replicated.get("exposed_replica_sync_s", 0),
                   timed_run.sync_seconds(all_times, range(len(all_times))), _time)
    for r, pipeline in enumerate(plan.pipelines):
        for stage, predicted in zip(pipeline.stages, evaluations[r]["stages"]):
            yield from _stage_rows(plan, r, stage, predicted, all_times)
        for stage, predicted in zip(pipeline.stages[:-1], evaluations[r]["stages"]):
            seconds = timed_run.border_seconds(all_times, r, stage.index)
            if seconds is not None:
                name = plan.stage_name(r, stage.index)
                yield _row(f"{name} to {stage.index + 1} and back",
                           predicted.get("send_s", 0), seconds, _time)


def _share(evaluations):
    return ", ".join(f"{100 * one.get('measured_fraction', 0):.0f} %"
                     for one in evaluations)


def _stage_rows(plan, r, stage, predicted, all_times):
    name = plan.stage_name(r, stage.index)
    for kind, parts in (("forward", ("forward",)), ("backward", ("backward", "weights"))):
        slowest = max(sum(statistics.median(one.passes[r, stage.index, part])
                          for part in parts if one.passes.get((r, stage.index, part)))
                      for one in all_times if (r, stage.index, kind) in one.passes)
        yield _row(f"{name} {kind}", predicted[kind + "_s"], slowest, _time)
    ranks = [rank for team in stage.teams for rank in team.ranks]
    replicas = [team.parallelism.dp_degree * team.parallelism.cp_degree
                for team in stage.teams]
    if sum(replicas) > 1 and not plan.replicated:
        yield _row(f"{name} gradient sync", predicted.get("sync_s", 0),
                   timed_run.sync_seconds(all_times, ranks), _time)
    yield _row(f"{name} optimizer", predicted.get("optimizer_s", 0),
               max(statistics.median(all_times[rank].updates) for rank in ranks), _time)


def _memory_rows(plan, r, stage, predicted, memories):
    found = [memory for of_rank in memories for key, memory in of_rank
             if key == (r, stage.index)]
    names = {"weights": "weight_bytes", "gradients": "gradient_bytes",
             "optimizer": "optimizer_bytes", "activations": "activation_bytes"}
    for kind in KINDS:
        yield _row(f"{plan.stage_name(r, stage.index)} {kind}",
                   predicted.get(names[kind], 0),
                   max(memory.peak[DEVICE, kind] for memory in found), _size)


def _row(name, predicted, measured, text):
    error = f"{100 * (predicted / measured - 1):+.0f} %" if measured else ""
    return f"{name:32}{text(predicted):>12}{text(measured):>12}{error:>9}"


def _time(seconds):
    return f"{1e3 * seconds:.3f} ms"


def _size(size):
    return f"{size / 1e6:.3f} MB"
