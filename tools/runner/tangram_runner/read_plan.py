"""Reads a plan file and checks that it says one thing only.

The checks are those of common/domain/validate_plan.cc: what passes here covers
the model once, uses each GPU once and divides evenly.
"""

import dataclasses
import json

from . import limits, shapes
from .boxes import shard
from .errors import PlanError
from .model import Cut, positions_between
from .plan import Offload, Parallelism, Pipeline, Plan, Stage, Team
from .read_cluster import read_nodes
from .read_model import read_layers
from .records import Record, parse
from .schedule import SCHEDULES, route

VERSION = "tangram.plan/v1"
# The bit of a mask that drops the outputs of segments too.
DROP_OUTPUTS = 1 << 31
FILE_FIELDS = ("format_version", "cluster", "model", "training", "plan",
               "infeasible", "replicated_plan")
# The planner writes these for people and tools. They do not change how a plan runs;
# only their names and kinds are checked.
UNREAD_FIELDS = ("islands", "evaluation", "unused_islands", "lower_bound_s",
                 "closed_form_s", "stats", "notes", "explanation", "provenance",
                 "alternatives", "runners_up", "constraints", "planner",
                 "planner_options", "replicated_evaluation", "certificate",
                 "band")
# They change how long an iteration takes, not what it computes; some plans need one
# of the first three, or its absence.
TIMING_FIELDS = ("flash_attention", "blocking_transfers", "buffered_sends",
                 "overlap_grad_reduce", "no_dropout", "gradient_copy", "fused_loss")
TRAINING_FIELDS = ("global_batch_size", "sequence_length", "precision", "optimizer",
                   "fp32_gradients", "bf16_moments", *TIMING_FIELDS)
PRECISIONS = ("FP32", "FP16", "BF16", "FP8")
OPTIMIZERS = ("ADAM", "SGD")
SYNCS = ("", "all-reduce", "zero1", "zero2")
STAGE_FIELDS = ("plan", "gpus", "island", "made_by", "mixed")
STAGE_PLAN_FIELDS = ("begin", "end", "parallelism", "recompute", "offload")
PIPELINE_FIELDS = ("pipeline_microbatch_size", "stages", "schedule",
                   "virtual_stages", "warm_up")
OFFLOAD_FIELDS = tuple(field.name for field in dataclasses.fields(Offload))
PARALLELISM_FIELDS = tuple(field.name for field in dataclasses.fields(Parallelism))


def read_plan(path):
    """Returns the Plan of a file. Raises PlanError or NotSupported."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except OSError as error:
        raise PlanError(path, error.strerror, "a plan file") from error
    except ValueError as error:
        raise PlanError(path, f"no JSON ({error})", "a plan file") from error
    return plan_of(parse(text, path))


def plan_of(data):
    file = Record(data, "", FILE_FIELDS, UNREAD_FIELDS)
    file.text("format_version", (VERSION,))
    model = file.record("model", ("name", "layer_types", "layers"), ("details",))
    layers = read_layers(model)
    training = file.record("training", TRAINING_FIELDS)
    switches = {name: training.boolean(name) for name in TIMING_FIELDS}
    batch = training.integer("global_batch_size", 1, limits.MAX_BATCH)
    reader = _Reader(layers, training.integer("sequence_length", 1, limits.MAX_POSITIONS),
                     read_nodes(file), switches)
    replicated = file.has("replicated_plan")
    if file.has("plan") + replicated + file.has("infeasible") > 1:
        raise PlanError("plan", "several answers",
                        "either plan or infeasible, or replicated_plan alone")
    sync = "all-reduce"
    if replicated:
        sync, pipelines = _replicated(file, reader, batch)
    elif file.has("plan"):
        pipelines = [reader.pipeline(file.record("plan", PIPELINE_FIELDS), batch)]
    else:
        raise PlanError("plan", "none", "a plan to run")
    # Last, because what was read so far says more when it refuses.
    shapes.check(data)
    return Plan(model.text("name"), layers, reader.sequence_length, batch,
                training.enum("precision", PRECISIONS),
                training.enum("optimizer", OPTIMIZERS), tuple(pipelines), sync,
                training.boolean("fp32_gradients"), training.boolean("bf16_moments"),
                replicated)


def _replicated(file, reader, batch):
    replicated = file.record("replicated_plan", ("sync", "pipelines"))
    sync = replicated.text("sync", SYNCS) or "all-reduce"
    pipelines = []
    for replica in replicated.records("pipelines", (
            "plan", "num_microbatches", "state_fraction"), limits.MAX_GPUS):
        pipelines.append(reader.pipeline(
            replica.record("plan", PIPELINE_FIELDS), None,
            replica.integer("num_microbatches", 1, limits.MAX_BATCH),
            replica.fraction("state_fraction")))
    for i, pipeline in enumerate(pipelines):
        if (pipeline.state_fraction > 0) != (sync != "all-reduce"):
            raise PlanError(f"replicated_plan.pipelines[{i}].state_fraction",
                            pipeline.state_fraction, "none with all-reduce"
                            if sync == "all-reduce" else "a fraction above 0, at most 1")
    held = sum(p.state_fraction for p in pipelines)
    if sync != "all-reduce" and abs(held - 1) > 1e-6:
        raise PlanError("replicated_plan.pipelines.state_fraction",
                        f"a sum of {held}", f"a sum of 1 with {sync}")
    samples = sum(p.microbatch_size * p.num_microbatches for p in pipelines)
    if samples != batch:
        raise PlanError("replicated_plan.pipelines.num_microbatches",
                        f"{samples} samples", f"the global batch size, {batch}")
    return sync, pipelines


class _Reader:
    """Reads pipelines. GPUs become ranks in the order in which they occur."""

    def __init__(self, layers, sequence_length, nodes, switches):
        self.layers = layers
        self.sequence_length = sequence_length
        self.nodes = nodes
        self.switches = switches  # From the names of TIMING_FIELDS.
        self.ranks = {}
        self.samples = 0  # Of the pipelines read so far.

    def pipeline(self, data, batch, num_microbatches=0, state_fraction=0.0):
        """Without a number of microbatches, those of the whole `batch`."""
        field = data.field
        size = data.integer("pipeline_microbatch_size", 1, limits.MAX_BATCH)
        if not num_microbatches:
            if batch % size:
                raise PlanError(field + ".pipeline_microbatch_size", size,
                                f"a divisor of the global batch size, {batch}")
            num_microbatches = batch // size
        schedule = data.text("schedule", SCHEDULES, "1f1b")
        chunks = data.integer("virtual_stages", 1, limits.MAX_LAYERS, 1)
        stages = data.records("stages", STAGE_FIELDS, limits.MAX_GPUS)
        devices = self._devices(field, schedule, chunks, len(stages),
                                num_microbatches)
        self.placed = []
        result = []
        for i, stage in enumerate(stages):
            result.append(self.stage(stage, i, devices, size, num_microbatches,
                                     schedule))
        self._check_cover(field, result)
        warm_up = self._warm_up(data, field, schedule, devices)
        first_sample = self.samples
        self.samples += size * num_microbatches
        return Pipeline(size, num_microbatches, tuple(result), schedule, chunks,
                        warm_up, first_sample, state_fraction)

    def _devices(self, field, schedule, chunks, num_stages, num_microbatches):
        if num_stages == 0:
            raise PlanError(field + ".stages", "none", "at least one")
        if chunks > 1 and schedule != "interleaved":
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

    def stage(self, data, index, devices, size, num_microbatches, schedule):
        field = data.field
        data.integer("island", -1, limits.MAX_NODES)
        data.text("made_by")
        plan = data.record("plan", STAGE_PLAN_FIELDS)
        begin, end = self._cut(plan, "begin"), self._cut(plan, "end")
        gpus = self._gpus(data)
        mixed = data.has("mixed")
        # A mixed stage has none of its own.
        if not mixed or plan.has("parallelism"):
            parallelism = _parallelism(plan)
        else:
            parallelism = Parallelism()
        if index < devices:
            ranks = self._claim(gpus, field)
            self.placed.append((gpus, ranks, parallelism))
        else:
            first, ranks, own = self.placed[index % devices]
            wanted = f"those of stages[{index % devices}], a chunk of the same device"
            if gpus != first:
                raise PlanError(field + ".gpus", "other GPUs or another order", wanted)
            if parallelism != own:
                raise PlanError(field + ".plan.parallelism",
                                "other degrees or options", wanted)
        masks, drops = self._masks(plan, begin, end)
        offload = plan.record("offload", OFFLOAD_FIELDS)
        offload = Offload(*(offload.fraction(name) for name in OFFLOAD_FIELDS))
        if offload != Offload():
            self._check_host_links(gpus, field)
        if mixed:
            if parallelism != Parallelism():
                raise PlanError(field + ".plan.parallelism", "given",
                                "none, as each group has its own")
            if schedule not in ("1f1b", "gpipe"):
                raise PlanError(field + ".mixed", f"the schedule {schedule}",
                                "1f1b or gpipe with replicas that differ")
            teams = self._groups(data.record("mixed", ("sharing", "groups")), ranks,
                                 size, num_microbatches)
        else:
            teams = [Team(parallelism, ranks, 0, size)]
        stage = Stage(index, begin, end, tuple(teams), masks, drops, offload)
        used = sum(team.parallelism.num_ranks for team in teams)
        if used != len(ranks):
            raise PlanError(field + ".gpus", f"{len(ranks)} GPUs",
                            f"{used}, as tp x cp x dp")
        for team in teams:
            self._check_splits(stage, team, field)
            if team.parallelism.cp_degree > 1:
                self._check_context_parallel(team.parallelism.cp_degree, gpus, field)
        return stage

    def _check_host_links(self, gpus, field):
        for name, _ in gpus:
            if not self.nodes[name].knows_host_link:
                raise PlanError(field + ".plan.offload", "given", "none, as the host "
                                f"link of node {name} is not known")

    def _check_context_parallel(self, degree, gpus, field):
        """Each rank computes attention of chunks of the sequence from both its ends,
        with kernels of flash attention."""
        field += ".cp_degree"
        if self.sequence_length % (2 * degree):
            raise PlanError(field, degree, "twice it to divide the sequence length, "
                            f"{self.sequence_length}")
        if not self.switches["flash_attention"]:
            raise PlanError(field, degree, "1, as training.flash_attention is false")
        for name, _ in gpus:
            node = self.nodes[name]
            if not node.supports_flash_attention:
                raise PlanError(field, degree, "1, as flash attention does not run on "
                                f"{node.device} (node {name})")

    def _claim(self, gpus, field):
        ranks = []
        for i, gpu in enumerate(gpus):
            if gpu in self.ranks:
                raise PlanError(f"{field}.gpus[{i}]", f"GPU {gpu[1]} of node {gpu[0]} again",
                                "each GPU at most once in a plan")
            self.ranks[gpu] = len(self.ranks)
            ranks.append(self.ranks[gpu])
        return tuple(ranks)

    def _groups(self, mixed, ranks, size, num_microbatches):
        field = mixed.field
        sharing = mixed.text("sharing", ("lock-step", "routed"))
        groups = mixed.records("groups", ("parallelism", "share"),
                               limits.MAX_REPLICA_GROUPS)
        shares = [group.integer("share", 1, limits.MAX_BATCH) for group in groups]
        whole = size if sharing == "lock-step" else num_microbatches
        if len(groups) < 2 or sum(shares) != whole:
            raise PlanError(field + ".groups", f"{len(groups)} with a sum of shares "
                            f"of {sum(shares)}", f"at least two with a sum of {whole}")
        if sharing == "routed" and self.switches["blocking_transfers"]:
            raise PlanError(field + ".sharing", "routed", "lock-step, as "
                            "training.blocking_transfers is set")
        routes = route(shares) if sharing == "routed" else []
        teams, rank, sample = [], 0, 0
        for g, group in enumerate(groups):
            p = _parallelism(group)
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

    def _masks(self, plan, begin, end):
        field = plan.field
        touched = range(begin.layer, end.layer + (end.op > 0))
        masks = []
        for run in plan.records("recompute", ("num_layers", "mask", "operators"),
                                limits.MAX_LAYERS):
            run.texts("operators", limits.MAX_OPS_PER_LAYER)
            mask = run.unsigned("mask", 2**32 - 1)
            # One mask too many shows that the runs are too long.
            masks += [mask] * min(run.integer("num_layers", 1, limits.MAX_LAYERS),
                                  len(touched) + 1)
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

    def _cut(self, plan, name):
        data = plan.record(name, ("layer", "op", "before"))
        data.text("before")
        cut = Cut(data.integer("layer", 0, limits.MAX_LAYERS),
                  data.integer("op", 0, limits.MAX_OPS_PER_LAYER))
        self._check_cut(cut, data.field)
        return cut

    def _gpus(self, data):
        gpus = []
        for run in data.records("gpus", ("node", "first", "count"), limits.MAX_GPUS):
            node = run.text("node")
            first = run.integer("first", 0, limits.MAX_GPUS_PER_NODE)
            count = run.integer("count", 1, limits.MAX_GPUS_PER_NODE)
            if node not in self.nodes:
                raise PlanError(run.path("node"), json.dumps(node),
                                "a node of the cluster")
            there = self.nodes[node].num_gpus
            if first + count > there:
                raise PlanError(run.field, f"GPU {first + count - 1} of node {node}",
                                f"one of its {there} GPUs, counted from 0")
            gpus += [(node, first + i) for i in range(count)]
            if len(gpus) > limits.MAX_GPUS:
                raise PlanError(data.path("gpus"), len(gpus),
                                f"at most {limits.MAX_GPUS}")
        if not gpus:
            raise PlanError(data.path("gpus"), "none", "at least one")
        return gpus

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
        if p.ep_degree > 1 and not any(layer.num_experts for layer in self.layers):
            raise PlanError(field + ".ep_degree", p.ep_degree, "1, as no layer has experts")
        if p.fsep and p.ep_degree == 1:
            raise PlanError(field + ".fsep", "true", "false, as ep_degree is 1")
        if p.zero_degree:
            if p.zero_stage == 0:
                raise PlanError(field + ".zero_degree", p.zero_degree,
                                "none, as zero_stage is 0")
            _divides(field, "zero_degree", p.zero_degree, p.dp_degree, "dp ranks")
            _divides(field, "ep_degree", p.ep_degree, p.cp_degree * p.zero_degree,
                     "cp ranks x zero_degree")
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
        counts = data.record("warm_up", ("passes",)).integers(
            "passes", 1, limits.MAX_WARM_UP_PASSES, limits.MAX_GPUS)
        if not counts:
            return ()
        field += ".warm_up.passes"
        if schedule != "1f1b":
            raise PlanError(field, "given", f"none, as the schedule is {schedule}")
        if self.switches["blocking_transfers"] and not self.switches["buffered_sends"]:
            raise PlanError(field, "given", "none, as with blocking_transfers stages "
                            "would wait for each other in a ring")
        if len(counts) != devices or any(
                count < least for count, least in zip(counts, counts[1:] + (1,))):
            raise PlanError(field, list(counts),
                            f"{devices} positive numbers that fall along the stages")
        return counts


def _divides(field, name, degree, size, what):
    if size % degree:
        raise PlanError(f"{field}.{name}", degree, f"a divisor of the {size} {what}")


def _parallelism(data):
    data = data.record("parallelism", PARALLELISM_FIELDS)
    degrees = {name: data.integer(name, 1, limits.MAX_GPUS) for name in (
        "tp_degree", "cp_degree", "dp_degree", "ep_degree")}
    return Parallelism(**degrees, fsep=data.boolean("fsep"),
                       zero_stage=data.integer("zero_stage", 0, 3),
                       sequence_parallel=data.boolean("sequence_parallel"),
                       tp_y_degree=data.integer("tp_y_degree", 1, limits.MAX_GPUS, 1),
                       zero_degree=data.integer("zero_degree", 2, limits.MAX_GPUS)
                       if data.has("zero_degree") else 0)
