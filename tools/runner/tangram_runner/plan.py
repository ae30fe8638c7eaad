"""A plan as stages, teams and ranks, without how it was written in the file."""

import dataclasses
from typing import NamedTuple, Optional, Tuple

from .boxes import shard
from .model import Cut, Layer


@dataclasses.dataclass(frozen=True)
class Parallelism:
    """Degrees of one stage; fields as in StageParallelism of plan.proto."""
    tp_degree: int = 1
    cp_degree: int = 1
    dp_degree: int = 1
    ep_degree: int = 1
    fsep: bool = False
    zero_stage: int = 0
    sequence_parallel: bool = False
    tp_y_degree: int = 1
    zero_degree: int = 0

    @property
    def num_ranks(self):
        return self.tp_degree * self.cp_degree * self.dp_degree

    @property
    def sharing_dp(self):
        """The dp ranks over which ZeRO shards."""
        return self.zero_degree or self.dp_degree

    @property
    def tp_x_degree(self):
        return self.tp_degree // self.tp_y_degree

    @property
    def splits_stream(self):
        """Whether tp ranks share the residual stream. Otherwise each holds it all."""
        return self.sequence_parallel or self.tp_y_degree > 1

    # Coordinates of a rank in 2-D tensor parallelism; x varies fastest.
    def x(self, place):
        return place.tp % self.tp_x_degree

    def y(self, place):
        return place.tp // self.tp_x_degree

    def feature_part(self, place):
        """Which of tp parts of heads, MLP width or vocabulary a rank holds. Ranks
        with the same x hold adjacent parts."""
        return self.x(place) * self.tp_y_degree + self.y(place)

    def expert_rank(self, place):
        """Index in the ep group, which is consecutive replicas."""
        return (place.dp * self.cp_degree + place.cp) % self.ep_degree

    def expert_group(self, place):
        return (place.dp * self.cp_degree + place.cp) // self.ep_degree


class Place(NamedTuple):
    """Indices of a rank in its team: tp varies fastest, then cp, then dp."""
    tp: int
    cp: int
    dp: int


@dataclasses.dataclass(frozen=True)
class Team:
    """Equal replicas of a stage. A stage has one team, a mixed stage several.

    A team processes samples [first_sample, first_sample + num_samples) of each
    of its microbatches.
    """
    parallelism: Parallelism
    ranks: Tuple[int, ...]
    first_sample: int
    num_samples: int
    # Its microbatches; None: all of them.
    microbatches: Optional[frozenset] = None

    def runs(self, microbatch):
        return self.microbatches is None or microbatch in self.microbatches

    def place(self, rank):
        i = self.ranks.index(rank)
        p = self.parallelism
        return Place(i % p.tp_degree, i // p.tp_degree % p.cp_degree,
                     i // (p.tp_degree * p.cp_degree))

    def places(self):
        return {rank: self.place(rank) for rank in self.ranks}

    def samples_of(self, place):
        """Range of samples within the microbatch of the replica at `place`."""
        begin, end = shard(self.num_samples, self.parallelism.dp_degree, place.dp)
        return self.first_sample + begin, self.first_sample + end


@dataclasses.dataclass(frozen=True)
class Offload:
    """Fractions that are kept in host memory; fields as in HostOffload of
    plan.proto."""
    weights: float = 0.0
    gradients: float = 0.0
    optimizer: float = 0.0
    activations: float = 0.0


@dataclasses.dataclass(frozen=True)
class Stage:
    index: int
    begin: Cut
    end: Cut
    teams: Tuple[Team, ...]
    # By layer index: bit i says that operator i is recomputed.
    masks: dict
    # Layers in which the outputs of recomputed segments are made again too.
    drops_outputs: frozenset = frozenset()
    offload: Offload = Offload()

    def team_of(self, microbatch):
        """The teams that run a microbatch, in order of their samples."""
        return [team for team in self.teams if team.runs(microbatch)]


@dataclasses.dataclass(frozen=True)
class Pipeline:
    microbatch_size: int
    num_microbatches: int
    stages: Tuple[Stage, ...]
    schedule: str = "1f1b"
    virtual_stages: int = 1
    warm_up: Tuple[int, ...] = ()
    first_sample: int = 0  # Of its part of the global batch.
    state_fraction: float = 0.0

    @property
    def num_devices(self):
        return len(self.stages) // self.virtual_stages


@dataclasses.dataclass(frozen=True)
class Plan:
    model: str
    layers: Tuple[Layer, ...]
    sequence_length: int
    global_batch_size: int
    precision: str
    optimizer: str
    pipelines: Tuple[Pipeline, ...]
    sync: str = "all-reduce"
    # With 16-bit precision: sums of gradients in float32, moments in 16 bits.
    fp32_gradients: bool = False
    bf16_moments: bool = False
    # Several pipelines in the file, so that stages are named with theirs.
    replicated: bool = False

    @property
    def num_ranks(self):
        return 1 + max(rank for pipeline in self.pipelines
                       for stage in pipeline.stages
                       for team in stage.teams for rank in team.ranks)

    def stage_name(self, pipeline, stage):
        name = f"stage {stage}"
        return f"pipeline {pipeline} {name}" if self.replicated else name


def one_process(plan):
    """The same training on one rank: one stage, one microbatch, no borders."""
    samples = plan.global_batch_size
    team = Team(Parallelism(), (0,), 0, samples)
    stage = Stage(0, Cut(0, 0), Cut(len(plan.layers), 0), (team,),
                  {i: 0 for i in range(len(plan.layers))})
    pipeline = Pipeline(samples, 1, (stage,))
    return dataclasses.replace(plan, pipelines=(pipeline,), sync="all-reduce",
                               replicated=False)
