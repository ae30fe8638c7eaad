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
    sequence_parallel: bool
    microbatch_size: int  # Samples of each replica.
    recomputes: bool  # Whether the backward pass recomputes anything.
    microbatch_s: float  # Forward and backward pass of one microbatch.
    peak_bytes: float
    capacity_bytes: float

    @property
    def num_gpus(self):
        return sum(gpus.count for gpus in self.gpus)


class Plan:
    """The answer to a request: a pipeline, or the reason why none fits.
    Notebooks show it as a picture."""

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
        return self.message.HasField("plan")

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
    def iteration_time_s(self):
        return self.message.evaluation.iteration_time_s

    @property
    def tokens_per_s(self):
        return self.message.evaluation.tokens_per_s

    @property
    def microbatch_size(self):
        """Samples that all replicas of a stage process together."""
        return self.message.plan.pipeline_microbatch_size

    @property
    def num_microbatches(self):
        return (self.message.training.global_batch_size // self.microbatch_size
                if self.fits else 0)

    @property
    def notes(self):
        return tuple(self.message.notes)

    @property
    def stages(self) -> Tuple[Stage, ...]:
        types = {name: self.message.cluster.devices[run.device].type
                 for run in self.message.cluster.nodes for name in run.names}
        return tuple(
            _stage(self.message, index, types)
            for index in range(len(self.message.plan.stages)))

    def __repr__(self):
        if not self.fits:
            return f"<Plan: none fits: {self.infeasible.reason}>"
        return (f"<Plan of {self.model} on {self.cluster}: "
                f"{len(self.stages)} stages, {self.iteration_time_s:.3g} s "
                "an iteration>")

    def _repr_svg_(self):
        return picture.svg(self)

    def _repr_html_(self):
        return picture.html(self)


def _stage(file, index, types):
    placed = file.plan.stages[index]
    plan = placed.plan
    degrees = plan.parallelism
    figures = file.evaluation.stages[index]
    num_layers = sum(run.count for run in file.model.layers)
    touched = _position(plan.end) - _position(plan.begin)
    return Stage(
        index=index,
        layers=_layers(plan.begin, plan.end, num_layers),
        share=touched / num_layers,
        gpus=tuple(Gpus(run.node, run.first, run.count) for run in placed.gpus),
        gpu_type=types.get(placed.gpus[0].node, ""),
        island=placed.island, made_by=placed.made_by,
        tp=degrees.tp_degree, cp=degrees.cp_degree, dp=degrees.dp_degree,
        ep=degrees.ep_degree, zero_stage=degrees.zero_stage,
        sequence_parallel=degrees.sequence_parallel,
        microbatch_size=(file.plan.pipeline_microbatch_size
                         // degrees.dp_degree),
        recomputes=any(run.mask for run in plan.recompute),
        microbatch_s=figures.forward_s + figures.backward_s,
        peak_bytes=figures.peak_bytes, capacity_bytes=figures.capacity_bytes)


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
