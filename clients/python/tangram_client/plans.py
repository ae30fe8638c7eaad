"""Plans as typed values."""

import dataclasses
from typing import Optional, Tuple

import grpc
from google.protobuf import json_format

from tangram_client import picture
from tangram_client.errors import BadInput
from tangram_client.messages import plan_pb2

_FORMAT = "tangram.plan/v1"


@dataclasses.dataclass(frozen=True)
class Gpus:
    """GPUs first ... first + count - 1 of one node."""

    node: str
    first: int
    count: int

    def __str__(self):
        last = self.first + self.count - 1
        return (f"{self.node}:{self.first}" if self.count == 1
                else f"{self.node}:{self.first}-{last}")


@dataclasses.dataclass(frozen=True)
class Infeasible:
    """The reason why no plan fits."""

    reason: str
    bytes_short: float  # Per GPU, for the closest plan; 0: not memory.


@dataclasses.dataclass(frozen=True)
class Certificate:
    """Lower bounds on simulated iteration times in seconds, of wider and wider
    scopes. 0: none is proven."""

    answered_s: float  # Compositions of the slice plans that were answered.
    asked_s: float  # Pipelines of all plans that could have been answered.
    any_plan_s: float  # Any plan at all on these GPUs.


@dataclasses.dataclass(frozen=True)
class Group:
    """Equal replicas of a mixed stage and their estimates."""

    gpus: Tuple[Gpus, ...]  # In rank order.
    gpu_type: str
    tp: int
    cp: int
    dp: int
    ep: int
    zero_stage: int
    zero_degree: int  # dp ranks over which it shards; 0: all.
    sequence_parallel: bool
    samples: int  # Samples of each microbatch that the group takes.
    num_microbatches: int  # Microbatches that it takes of each iteration.
    microbatch_s: float  # Forward and backward pass of one of them.
    peak_bytes: float
    capacity_bytes: float

    @property
    def num_gpus(self):
        return sum(gpus.count for gpus in self.gpus)


@dataclasses.dataclass(frozen=True)
class Stage:
    """One stage of the pipeline and its estimates."""

    index: int
    layers: str  # As in the command's table, such as "emb-4.5".
    share: float  # Share of the model's layers, for pictures.
    gpus: Tuple[Gpus, ...]  # In rank order.
    gpu_type: str
    island: int  # -1 if unknown.
    made_by: str
    tp: int
    cp: int
    dp: int
    ep: int
    zero_stage: int
    zero_degree: int  # dp ranks over which it shards; 0: all.
    sequence_parallel: bool
    microbatch_size: int  # Samples of each replica.
    recomputes: bool  # Whether the backward pass recomputes anything.
    microbatch_s: float  # Forward and backward pass of one microbatch.
    peak_bytes: float
    capacity_bytes: float
    # A stage whose replicas differ: "lock-step" or "routed", and its groups.
    # Its own degrees are then 1.
    sharing: str = ""
    groups: Tuple[Group, ...] = ()

    @property
    def num_gpus(self):
        return sum(gpus.count for gpus in self.gpus)


@dataclasses.dataclass(frozen=True)
class Pipeline:
    """A pipeline over the whole model and its share of each global batch."""

    index: int
    stages: Tuple[Stage, ...]
    schedule: str
    warm_up_passes: Tuple[int, ...]  # By stage; empty: those of the schedule.
    microbatch_size: int
    num_microbatches: int
    batch_fraction: float  # Share of the global batch.
    state_fraction: float  # Share of the optimizer state; 0: not shared.
    alone_s: float  # Iteration time if it were the only pipeline.

    @property
    def samples(self):
        return self.microbatch_size * self.num_microbatches


class Plan:
    """The answer to a request: one or several pipelines, or the reason why none
    fits. Notebooks show it as a picture."""

    def __init__(self, message):
        self.message = message  # The whole answer, tangram.v1.PlanFile.

    @property
    def planner(self):
        """The planner that made the plan; files that name none are Tangram's."""
        return self.message.planner or "tangram"

    @classmethod
    def load(cls, path):
        """Reads a plan file."""
        with open(path, "rb") as file:
            return cls.from_json(file.read(), path)

    @classmethod
    def from_json(cls, text, source_name="plan"):
        """Returns the plan in the text of a plan file."""
        try:
            message = json_format.Parse(text, plan_pb2.PlanFile(),
                                        ignore_unknown_fields=True)
            if message.format_version == _FORMAT:
                message = json_format.Parse(text, plan_pb2.PlanFile())
        except json_format.ParseError as error:
            raise BadInput(f"{source_name}: {error}",
                           grpc.StatusCode.INVALID_ARGUMENT) from error
        if message.format_version != _FORMAT:
            raise BadInput(
                f'{source_name}: format_version: "{message.format_version}"; '
                f'expected "{_FORMAT}"', grpc.StatusCode.INVALID_ARGUMENT)
        return cls(message)

    def to_json(self):
        """Returns the text of a plan file, for the command and for load()."""
        return json_format.MessageToJson(
            self.message, including_default_value_fields=True,
            preserving_proto_field_name=True) + "\n"

    def save(self, path):
        """Writes a plan file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.to_json())

    @property
    def fits(self):
        return (self.message.HasField("plan")
                or self.message.HasField("replicated_plan"))

    def __bool__(self):
        return self.fits

    @property
    def infeasible(self) -> Optional[Infeasible]:
        if self.fits:
            return None
        return Infeasible(self.message.infeasible.reason,
                          self.message.infeasible.bytes_short)

    @property
    def model(self):
        return self.message.model.name

    @property
    def cluster(self):
        return self.message.cluster.name

    @property
    def islands(self):
        """Names of the islands, by number."""
        return tuple(island.name for island in self.message.islands)

    @property
    def _evaluation(self):
        return (self.message.replicated_evaluation
                if self.message.HasField("replicated_plan")
                else self.message.evaluation)

    @property
    def iteration_time_s(self):
        return self._evaluation.iteration_time_s

    @property
    def certificate(self) -> Optional[Certificate]:
        """Lower bounds on iteration times; None without a plan, and in files
        from before there was one."""
        if not self.message.HasField("certificate"):
            return None
        bounds = self.message.certificate
        return Certificate(self.message.lower_bound_s, bounds.asked_s,
                           bounds.any_plan_s)

    @property
    def tokens_per_s(self):
        return self._evaluation.tokens_per_s

    @property
    def microbatch_size(self):
        """Samples that all replicas of a stage process together; 0 if the
        pipelines differ."""
        sizes = {pipeline.microbatch_size for pipeline in self.pipelines}
        return sizes.pop() if len(sizes) == 1 else 0

    @property
    def num_microbatches(self):
        """Microbatches of an iteration, over all pipelines."""
        return sum(pipeline.num_microbatches for pipeline in self.pipelines)

    @property
    def notes(self):
        return tuple(self.message.notes)

    @property
    def sync(self):
        """How several pipelines add up their gradients, such as "all-reduce";
        empty for one pipeline."""
        if not self.message.HasField("replicated_plan"):
            return ""
        return self.message.replicated_plan.sync or "all-reduce"

    @property
    def pipelines(self) -> Tuple[Pipeline, ...]:
        file = self.message
        if file.HasField("replicated_plan"):
            replicas = file.replicated_plan.pipelines
            figures = file.replicated_evaluation.pipelines
            return tuple(
                _pipeline(file, index, replica.plan,
                          figures[index] if index < len(figures) else None,
                          num_microbatches=replica.num_microbatches,
                          state_fraction=replica.state_fraction)
                for index, replica in enumerate(replicas))
        if not file.HasField("plan"):
            return ()
        return (_pipeline(
            file, 0, file.plan, file.evaluation,
            num_microbatches=(file.training.global_batch_size
                              // file.plan.pipeline_microbatch_size)),)

    @property
    def stages(self) -> Tuple[Stage, ...]:
        """The stages of all pipelines, one pipeline after the other."""
        return tuple(stage for pipeline in self.pipelines
                     for stage in pipeline.stages)

    def __repr__(self):
        if not self.fits:
            return f"<Plan: none fits: {self.infeasible.reason}>"
        pipelines = (f"{len(self.pipelines)} pipelines, "
                     if len(self.pipelines) > 1 else "")
        return (f"<Plan of {self.model} on {self.cluster}: {pipelines}"
                f"{len(self.stages)} stages, {self.iteration_time_s:.3g} s "
                "an iteration>")

    def _repr_svg_(self):
        return picture.svg(self)

    def _repr_html_(self):
        return picture.html(self)


def _pipeline(file, index, plan, evaluation, *, num_microbatches,
              state_fraction=0.0):
    types = {name: file.cluster.devices[run.device].type
             for run in file.cluster.nodes for name in run.names}
    size = plan.pipeline_microbatch_size
    return Pipeline(
        index=index,
        stages=tuple(
            _stage(file, plan, s, types, num_microbatches,
                   _figures(evaluation, s))
            for s in range(len(plan.stages))),
        schedule=plan.schedule or "1f1b",
        warm_up_passes=tuple(plan.warm_up.passes),
        microbatch_size=size, num_microbatches=num_microbatches,
        batch_fraction=(size * num_microbatches
                        / file.training.global_batch_size),
        state_fraction=state_fraction,
        alone_s=evaluation.iteration_time_s if evaluation else 0.0)


def _figures(evaluation, index):
    """The figures of a stage; all 0 if the plan was not evaluated."""
    if evaluation is None or index >= len(evaluation.stages):
        return plan_pb2.StageEvaluation()
    return evaluation.stages[index]


def _stage(file, plan, index, types, num_microbatches, figures):
    placed = plan.stages[index]
    cuts = placed.plan
    num_layers = sum(run.count for run in file.model.layers)
    touched = _position(cuts.end) - _position(cuts.begin)
    degrees = _degrees(cuts.parallelism)
    return Stage(
        index=index,
        layers=_layers(cuts.begin, cuts.end, num_layers),
        share=touched / num_layers,
        gpus=tuple(Gpus(run.node, run.first, run.count) for run in placed.gpus),
        gpu_type=types.get(placed.gpus[0].node, ""),
        island=placed.island, made_by=placed.made_by,
        **degrees,
        microbatch_size=plan.pipeline_microbatch_size // degrees["dp"],
        recomputes=any(run.mask for run in cuts.recompute),
        microbatch_s=figures.forward_s + figures.backward_s,
        peak_bytes=figures.peak_bytes, capacity_bytes=figures.capacity_bytes,
        sharing=placed.mixed.sharing,
        groups=_groups(placed, types, plan.pipeline_microbatch_size,
                       num_microbatches, figures))


def _degrees(parallelism):
    """Degrees as in Stage and Group. A mixed stage has none of its own."""
    return {"tp": parallelism.tp_degree or 1, "cp": parallelism.cp_degree or 1,
            "dp": parallelism.dp_degree or 1, "ep": parallelism.ep_degree or 1,
            "zero_stage": parallelism.zero_stage,
            "zero_degree": parallelism.zero_degree,
            "sequence_parallel": parallelism.sequence_parallel}


def _groups(placed, types, microbatch_size, num_microbatches, figures):
    """Each group takes the next GPUs of the stage."""
    routed = placed.mixed.sharing == "routed"
    ranks = [(run.node, run.first + i)
             for run in placed.gpus for i in range(run.count)]
    groups = []
    for index, group in enumerate(placed.mixed.groups):
        degrees = _degrees(group.parallelism)
        count = degrees["tp"] * degrees["cp"] * degrees["dp"]
        here, ranks = ranks[:count], ranks[count:]
        own = (figures.replicas.groups[index]
               if index < len(figures.replicas.groups)
               else plan_pb2.StageEvaluation())
        groups.append(Group(
            gpus=_runs(here), gpu_type=types.get(here[0][0], "") if here else "",
            **degrees,
            samples=microbatch_size if routed else group.share,
            num_microbatches=group.share if routed else num_microbatches,
            microbatch_s=own.forward_s + own.backward_s,
            peak_bytes=own.peak_bytes, capacity_bytes=own.capacity_bytes))
    return tuple(groups)


def _runs(ranks):
    """Joins GPUs (node, index) that follow one another."""
    runs = []
    for node, index in ranks:
        last = runs[-1] if runs else None
        if last and last.node == node and last.first + last.count == index:
            runs[-1] = Gpus(node, last.first, last.count + 1)
        else:
            runs.append(Gpus(node, index, 1))
    return tuple(runs)


# Approximate number of operators of a layer; only for the widths of pictures.
_OPERATORS = 10


def _position(cut):
    return cut.layer + cut.op / _OPERATORS


def _layers(begin, end, num_layers):
    """Names layers as common/sim/stage_labels.cc does."""
    def name(layer):
        return {0: "emb", num_layers - 1: "head"}.get(layer, str(layer))

    def inside(cut):
        half = cut.before == "mlp_norm"
        return name(cut.layer) + (".5" if half else f"+{cut.op}")

    first = inside(begin) if begin.op else name(begin.layer)
    last = inside(end) if end.op else name(end.layer - 1)
    return first if first == last else f"{first}-{last}"
