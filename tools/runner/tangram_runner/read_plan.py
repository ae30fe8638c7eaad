"""Reads a plan file and checks that it says one thing only.

The checks are those of common/domain/validate_plan.cc: what passes here covers
the model once, uses each GPU once and divides evenly.
"""

import dataclasses
import json

from .boxes import shard
from .errors import PlanError
from .model import Cut, Layer, positions_between
from .plan import Offload, Parallelism, Pipeline, Plan, Stage, Team
from .schedule import SCHEDULES, route

VERSION = "tangram.plan/v1"
# The bit of a mask that drops the outputs of segments too.
DROP_OUTPUTS = 1 << 31
LAYER_FIELDS = {field.name for field in dataclasses.fields(Layer)} - {"rotary"}
STAGE_FIELDS = {"plan", "gpus", "island", "made_by", "mixed"}
PIPELINE_FIELDS = {"pipeline_microbatch_size", "stages", "schedule",
                   "virtual_stages", "warm_up"}
OFFLOAD_FIELDS = {field.name for field in dataclasses.fields(Offload)}
PARALLELISM_FIELDS = {field.name for field in dataclasses.fields(Parallelism)}


def read_plan(path):
    """Returns the Plan of a file. Raises PlanError or NotSupported."""
    try:
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
    except OSError as error:
        raise PlanError(path, error.strerror, "a plan file") from error
    except ValueError as error:
        raise PlanError(path, f"no JSON ({error})", "a plan file") from error
    if not isinstance(data, dict):
        raise PlanError(path, "no object", "a plan file")
    return plan_of(data)


def plan_of(data):
    if data.get("format_version") != VERSION:
        raise PlanError("format_version", json.dumps(data.get("format_version")),
                        f'"{VERSION}"')
    layers = _layers(data.get("model", {}))
    training = data.get("training", {})
    batch = _positive(training, "training", "global_batch_size")
    reader = _Reader(layers, _positive(training, "training", "sequence_length"))
    replicated = data.get("replicated_plan")
    sync = "all-reduce"
    if replicated:
        sync = replicated.get("sync") or sync
        if sync not in ("all-reduce", "zero1", "zero2"):
            raise PlanError("replicated_plan.sync", sync,
                            "all-reduce, zero1 or zero2")
        pipelines = []
        for r, replica in enumerate(replicated.get("pipelines", [])):
            field = f"replicated_plan.pipelines[{r}]"
            pipelines.append(reader.pipeline(
                replica.get("plan", {}), field + ".plan",
                _positive(replica, field, "num_microbatches"),
                replica.get("state_fraction", 0.0)))
        held = sum(p.state_fraction for p in pipelines)
        if sync != "all-reduce" and abs(held - 1) > 1e-6:
            raise PlanError("replicated_plan.pipelines.state_fraction",
                            f"a sum of {held}", f"a sum of 1 with {sync}")
        samples = sum(p.microbatch_size * p.num_microbatches for p in pipelines)
        if samples != batch:
            raise PlanError("replicated_plan.pipelines.num_microbatches",
                            f"{samples} samples", f"the global batch size, {batch}")
    elif "plan" in data:
        size = _positive(data["plan"], "plan", "pipeline_microbatch_size")
        if batch % size:
            raise PlanError("plan.pipeline_microbatch_size", size,
                            f"a divisor of the global batch size, {batch}")
        pipelines = [reader.pipeline(data["plan"], "plan", batch // size, 0.0)]
    else:
        raise PlanError("plan", "none", "a plan to run")
    return Plan(data["model"].get("name", ""), layers, reader.sequence_length,
                batch, training.get("precision", "FP32"),
                training.get("optimizer", "ADAM"), tuple(pipelines), sync,
                training.get("fp32_gradients", False),
                training.get("bf16_moments", False), bool(replicated))


def _known(data, field, names):
    """Refuses fields that may say how a stage runs."""
    for name in data:
        if name not in names:
            raise PlanError(f"{field}.{name}", "an unknown field",
                            "one of " + ", ".join(sorted(names)))


def _positive(data, field, name):
    value = data.get(name, 0)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise PlanError(f"{field}.{name}", json.dumps(value), "a positive integer")
    return value


def _layers(model):
    types = []
    for i, spec in enumerate(model.get("layer_types", [])):
        _known(spec, f"model.layer_types[{i}]", LAYER_FIELDS)
        types.append(Layer(**spec))
    layers = []
    for run in model.get("layers", []):
        kind = run.get("layer_type", 0)
        if not 0 <= kind < len(types):
            raise PlanError("model.layers.layer_type", kind, "a layer type")
        layers += [types[kind]] * run.get("count", 0)
    if len(layers) < 2 or layers[0].kind != "EMBEDDING" or layers[-1].kind != "HEAD":
        raise PlanError("model.layers", f"{len(layers)} layers",
                        "an embedding, transformer layers and a head")
    if not all(layer.is_transformer for layer in layers[1:-1]):
        raise PlanError("model.layers", "another embedding or head",
                        "transformer layers between embedding and head")
    rotary = layers[0].max_position_embeddings == 0
    return tuple(dataclasses.replace(layer, rotary=rotary) for layer in layers)


class _Reader:
    """Reads pipelines. GPUs become ranks in the order in which they occur."""

    def __init__(self, layers, sequence_length):
        self.layers = layers
        self.sequence_length = sequence_length
        self.ranks = {}
        self.samples = 0  # Of the pipelines read so far.

    def pipeline(self, data, field, num_microbatches, state_fraction):
        _known(data, field, PIPELINE_FIELDS)
        size = _positive(data, field, "pipeline_microbatch_size")
        schedule = data.get("schedule", "1f1b")
        if schedule not in SCHEDULES:
            raise PlanError(field + ".schedule", schedule,
                            "one of " + ", ".join(SCHEDULES))
        chunks = data.get("virtual_stages", 1)
        stages = data.get("stages", [])
        devices = self._devices(field, schedule, chunks, len(stages),
                                num_microbatches)
        self.taken = len(self.ranks)
        self.placed = []
        result = []
        for i, stage in enumerate(stages):
            result.append(self.stage(stage, f"{field}.stages[{i}]", i, devices,
                                     size, num_microbatches))
        self._check_cover(field, result)
        warm_up = self._warm_up(data, field, schedule, devices)
        first_sample = self.samples
        self.samples += size * num_microbatches
        return Pipeline(size, num_microbatches, tuple(result), schedule, chunks,
                        warm_up, first_sample, state_fraction)

    def _devices(self, field, schedule, chunks, num_stages, num_microbatches):
        if num_stages == 0:
            raise PlanError(field + ".stages", "none", "at least one")
        if chunks < 1 or (chunks > 1 and schedule != "interleaved"):
            raise PlanError(field + ".virtual_stages", chunks,
                            f"1, as the schedule is {schedule} and not interleaved")
        if num_stages % chunks:
            raise PlanError(field + ".stages", num_stages,
                            f"a multiple of virtual_stages, {chunks}")
        devices = num_stages // chunks
        if schedule == "interleaved" and num_microbatches % devices:
            raise PlanError(field + ".pipeline_microbatch_size", num_microbatches,
                            f"microbatches in a multiple of the {devices} devices")
        return devices

    def stage(self, data, field, index, devices, size, num_microbatches):
        _known(data, field, STAGE_FIELDS)
        plan = data.get("plan", {})
        begin, end = (_cut(plan, name, field) for name in ("begin", "end"))
        self._check_cut(begin, field + ".plan.begin")
        self._check_cut(end, field + ".plan.end")
        gpus = _gpus(data, field)
        if index < devices:
            ranks = self._claim(gpus, field)
            self.placed.append((gpus, ranks))
        else:
            first, ranks = self.placed[index % devices]
            if gpus != first:
                raise PlanError(field + ".gpus", "other GPUs or another order",
                                f"those of stages[{index % devices}], a chunk of "
                                "the same device")
        masks, drops = self._masks(plan, begin, end, field + ".plan")
        offload = _offload(plan.get("offload", {}), field + ".plan.offload")
        mixed = data.get("mixed")
        if mixed:
            teams = self._groups(mixed, field, ranks, size, num_microbatches)
        else:
            p = _parallelism(plan.get("parallelism", {}), field + ".plan.parallelism")
            teams = [Team(p, ranks, 0, size)]
        stage = Stage(index, begin, end, tuple(teams), masks, drops, offload)
        used = sum(team.parallelism.num_ranks for team in teams)
        if used != len(ranks):
            raise PlanError(field + ".gpus", f"{len(ranks)} GPUs",
                            f"{used}, as tp x cp x dp")
        for team in teams:
            self._check_splits(stage, team, field)
        return stage

    def _claim(self, gpus, field):
        ranks = []
        for i, gpu in enumerate(gpus):
            if gpu in self.ranks:
                raise PlanError(f"{field}.gpus[{i}]", f"GPU {gpu[1]} of node {gpu[0]} again",
                                "each GPU at most once in a plan")
            self.ranks[gpu] = len(self.ranks)
            ranks.append(self.ranks[gpu])
        return tuple(ranks)

    def _groups(self, mixed, field, ranks, size, num_microbatches):
        field += ".mixed"
        _known(mixed, field, {"sharing", "groups"})
        sharing = mixed.get("sharing")
        if sharing not in ("lock-step", "routed"):
            raise PlanError(field + ".sharing", json.dumps(sharing),
                            "lock-step or routed")
        groups = mixed.get("groups", [])
        shares = [_positive(group, f"{field}.groups[{g}]", "share")
                  for g, group in enumerate(groups)]
        whole = size if sharing == "lock-step" else num_microbatches
        if len(groups) < 2 or sum(shares) != whole:
            raise PlanError(field + ".groups", f"{len(groups)} with a sum of shares "
                            f"of {sum(shares)}", f"at least two with a sum of {whole}")
        routes = route(shares) if sharing == "routed" else []
        teams, rank, sample = [], 0, 0
        for g, group in enumerate(groups):
            p = _parallelism(group.get("parallelism", {}),
                             f"{field}.groups[{g}].parallelism")
            own = ranks[rank:rank + p.num_ranks]
            rank += p.num_ranks
            if len(own) < p.num_ranks:
                raise PlanError(field + ".groups", f"{rank} GPUs", str(len(ranks)))
            if sharing == "lock-step":
                teams.append(Team(p, own, sample, shares[g]))
                sample += shares[g]
            else:
                mine = frozenset(m for m, to in enumerate(routes) if to == g)
                teams.append(Team(p, own, 0, size, mine))
        return teams

    def _masks(self, plan, begin, end, field):
        touched = range(begin.layer, end.layer + (end.op > 0))
        masks = []
        for r, run in enumerate(plan.get("recompute", [])):
            masks += [run.get("mask", 0)] * _positive(run, f"{field}.recompute[{r}]",
                                                      "num_layers")
        if len(masks) != len(touched):
            raise PlanError(field + ".recompute", f"{len(masks)} layers",
                            f"{len(touched)}, as many as the stage touches")
        drops = frozenset(layer for layer, mask in zip(touched, masks)
                          if mask & DROP_OUTPUTS)
        masks = [mask & ~DROP_OUTPUTS for mask in masks]
        for layer, mask in zip(touched, masks):
            if mask >> len(self.layers[layer].operators):
                raise PlanError(field + ".recompute", f"mask {mask:#x}",
                                f"bits of the operators of layer {layer} only")
        return dict(zip(touched, masks)), drops

    def _check_cut(self, cut, field):
        if not 0 <= cut.layer <= len(self.layers):
            raise PlanError(field, cut, f"a layer from 0 to {len(self.layers)}")
        ops = (len(self.layers[cut.layer].operators)
               if cut.layer < len(self.layers) else 1)
        if not 0 <= cut.op < ops:
            raise PlanError(field, cut, f"an operator from 0 to {ops - 1}")

    def _check_cover(self, field, stages):
        covered = Cut(0, 0)
        for i, stage in enumerate(stages):
            if stage.begin != covered:
                raise PlanError(f"{field}.stages[{i}].plan.begin", stage.begin, covered)
            if stage.end <= stage.begin:
                raise PlanError(f"{field}.stages[{i}].plan.end", stage.end,
                                f"a cut after {stage.begin}")
            covered = stage.end
        if covered != Cut(len(self.layers), 0):
            raise PlanError(f"{field}.stages[{len(stages) - 1}].plan.end", covered,
                            f"layer {len(self.layers)}, the end of all layers")

    def _check_splits(self, stage, team, field):
        p = team.parallelism
        _divides(field, "dp_degree", p.dp_degree, team.num_samples,
                 "samples of a microbatch")
        _divides(field, "cp_degree", p.cp_degree, self.sequence_length,
                 "tokens of a sequence")
        _divides(field, "tp_y_degree", p.tp_y_degree, p.tp_degree, "tp ranks")
        _divides(field, "ep_degree", p.ep_degree, p.cp_degree * p.dp_degree, "cp x dp")
        if p.fsep and p.ep_degree == 1:
            raise PlanError(field + ".fsep", "true", "false, as ep_degree is 1")
        if p.tp_y_degree > 1 and p.sequence_parallel:
            raise PlanError(field + ".tp_y_degree", p.tp_y_degree,
                            "1 with sequence_parallel")
        for index in {layer for layer, _ in
                      positions_between(self.layers, stage.begin, stage.end)}:
            layer = self.layers[index]
            if layer.is_transformer:
                _divides(field, "tp_degree", p.tp_degree, layer.num_heads, "heads")
                shard(layer.cached_heads, p.tp_degree, 0)
                if p.tp_y_degree > 1 and (layer.num_experts or layer.kv_lora_rank):
                    raise PlanError(field + ".tp_y_degree", p.tp_y_degree,
                                    f"1, as layer {index} has experts or latent "
                                    "attention")
                if layer.num_experts:
                    _divides(field, "ep_degree", p.ep_degree, layer.num_experts,
                             "experts")

    def _warm_up(self, data, field, schedule, devices):
        counts = tuple(data.get("warm_up", {}).get("passes", []))
        if not counts:
            return ()
        field += ".warm_up.passes"
        if schedule != "1f1b":
            raise PlanError(field, "given", f"none, as the schedule is {schedule}")
        if len(counts) != devices or any(
                count < least for count, least in zip(counts, counts[1:] + (1,))):
            raise PlanError(field, list(counts),
                            f"{devices} positive numbers that fall along the stages")
        return counts


def _divides(field, name, degree, size, what):
    if size % degree:
        raise PlanError(f"{field}.{name}", degree, f"a divisor of the {size} {what}")


def _cut(plan, name, field):
    data = plan.get(name, {})
    _known(data, f"{field}.plan.{name}", {"layer", "op", "before"})
    return Cut(data.get("layer", 0), data.get("op", 0))


def _offload(data, field):
    _known(data, field, OFFLOAD_FIELDS)
    for name, value in data.items():
        if not 0 <= value <= 1:
            raise PlanError(f"{field}.{name}", value, "a fraction from 0 to 1")
    return Offload(**data)


def _gpus(data, field):
    gpus = [(run.get("node"), run.get("first", 0) + i)
            for run in data.get("gpus", []) for i in range(run.get("count", 0))]
    if not gpus:
        raise PlanError(field + ".gpus", "none", "at least one")
    return gpus


def _parallelism(data, field):
    _known(data, field, PARALLELISM_FIELDS)
    p = Parallelism(**data)
    for name in ("tp_degree", "cp_degree", "dp_degree", "ep_degree", "tp_y_degree"):
        value = getattr(p, name)
        if not isinstance(value, int) or value < 1:
            raise PlanError(f"{field}.{name}", value, "a positive integer")
    if p.zero_stage not in (0, 1, 2, 3):
        raise PlanError(f"{field}.zero_stage", p.zero_stage, "0, 1, 2 or 3")
    return p
