"""Writes a plan as a file: the inverse of read_plan.py. A prediction of a run with
smaller sizes, or on this machine, needs one."""

import dataclasses

from .read_plan import DROP_OUTPUTS, VERSION


@dataclasses.dataclass(frozen=True)
class Seat:
    """Where a rank runs: a GPU of a node."""
    node: str
    index: int


def plan_file(plan, cluster, seats):
    """`seats` has the Seat of each rank, on nodes of `cluster`."""
    types = list(dict.fromkeys(plan.layers))
    degrees = [team.parallelism.cp_degree for pipeline in plan.pipelines
               for stage in pipeline.stages for team in stage.teams]
    file = {
        "format_version": VERSION,
        "cluster": cluster,
        "model": {"name": plan.model, "layer_types": [_layer(layer) for layer in types],
                  "layers": [{"layer_type": types.index(layer), "count": 1}
                             for layer in plan.layers]},
        "training": {"global_batch_size": plan.global_batch_size,
                     "sequence_length": plan.sequence_length,
                     "precision": plan.precision, "optimizer": plan.optimizer,
                     "fp32_gradients": plan.fp32_gradients,
                     "bf16_moments": plan.bf16_moments,
                     "flash_attention": max(degrees) > 1,
                     # The runner has none.
                     "no_dropout": True}}
    pipelines = [_pipeline(pipeline, seats) for pipeline in plan.pipelines]
    if not plan.replicated:
        return {**file, "plan": pipelines[0]}
    return {**file, "replicated_plan": {"sync": plan.sync, "pipelines": [
        {"plan": data, "num_microbatches": pipeline.num_microbatches,
         "state_fraction": pipeline.state_fraction}
        for data, pipeline in zip(pipelines, plan.pipelines)]}}


def _layer(layer):
    # Rotary embedding follows from the embedding's positions.
    return {name: value for name, value in dataclasses.asdict(layer).items()
            if value and name != "rotary"}


def _pipeline(pipeline, seats):
    data = {"pipeline_microbatch_size": pipeline.microbatch_size,
            "schedule": pipeline.schedule, "virtual_stages": pipeline.virtual_stages,
            "stages": [_stage(stage, pipeline, seats) for stage in pipeline.stages]}
    if pipeline.warm_up:
        data["warm_up"] = {"passes": list(pipeline.warm_up)}
    return data


def _stage(stage, pipeline, seats):
    plan = {"begin": stage.begin._asdict(), "end": stage.end._asdict(),
            "recompute": [{"num_layers": 1, "mask":
                           mask | (DROP_OUTPUTS if layer in stage.drops_outputs else 0)}
                          for layer, mask in sorted(stage.masks.items())],
            "offload": dataclasses.asdict(stage.offload)}
    ranks = [rank for team in stage.teams for rank in team.ranks]
    data = {"plan": plan, "gpus": [{"node": seats[rank].node, "first": seats[rank].index,
                                    "count": 1} for rank in ranks]}
    if len(stage.teams) == 1:
        plan["parallelism"] = _parallelism(stage.teams[0].parallelism)
    else:
        data["mixed"] = _mixed(stage.teams, pipeline)
    return data


def _parallelism(parallelism):
    return {name: value for name, value in dataclasses.asdict(parallelism).items()
            if value or name != "zero_degree"}


def _mixed(teams, pipeline):
    routed = teams[0].microbatches is not None
    return {"sharing": "routed" if routed else "lock-step",
            "groups": [{"parallelism": _parallelism(team.parallelism),
                        "share": sum(map(team.runs, range(pipeline.num_microbatches)))
                        if routed else team.num_samples} for team in teams]}
