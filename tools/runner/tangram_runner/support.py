"""Refuses what a plan may say and the runner does not run yet, by its name."""

from .boxes import shard
from .errors import NotSupported, PlanError
from .model import positions_between
from .operators import operator_at


def check_supported(plan):
    """Raises NotSupported or PlanError. The plan has the sizes that will run."""
    if any(layer.expert_capacity_factor for layer in plan.layers):
        raise NotSupported("experts with a capacity factor")
    for r, pipeline in enumerate(plan.pipelines):
        for stage in pipeline.stages:
            where = plan.stage_name(r, stage.index)
            for team in stage.teams:
                _check_sizes(plan, stage, team.parallelism, where)


def check_precision(plan):
    """Raises NotSupported if the runner cannot train in the plan's precision."""
    if plan.precision == "FP8":
        raise NotSupported("FP8, except with --check or --dtype")


def check_choices(plan):
    """Raises PlanError if rounding to 16 bits changes what the model computes."""
    for index, layer in enumerate(plan.layers):
        if layer.num_experts:
            raise PlanError("--dtype", "16 bits with --check", "float32 or float64, as in "
                            f"16 bits tokens choose other experts of layer {index}")


def _check_sizes(plan, stage, p, where):
    tokens = p.cp_degree * (p.tp_x_degree if p.splits_stream else 1)
    if plan.sequence_length % tokens:
        raise PlanError(where, f"{plan.sequence_length} tokens a sequence",
                        f"a multiple of {tokens}, by which cp and sequence or 2-D "
                        "tensor parallelism split them")
    for index, op in positions_between(plan.layers, stage.begin, stage.end):
        layer = plan.layers[index]
        operator_at(plan.layers, index, op)
        split = {"vocabulary": layer.vocab_size, "MLP width": layer.ffn_hidden_size,
                 "experts' width": layer.expert_ffn_hidden_size,
                 "shared experts' width": layer.shared_expert_ffn_hidden_size}
        for what, size in split.items():
            if size % p.tp_degree:
                raise PlanError(where, f"{what} {size}", "a multiple of the "
                                f"tensor-parallel degree, {p.tp_degree}")
        if layer.hidden_size % p.tp_y_degree:
            raise PlanError(where, f"hidden size {layer.hidden_size}",
                            f"a multiple of tp_y_degree, {p.tp_y_degree}")
        if p.fsep and layer.num_experts and layer.expert_width % p.ep_degree:
            what = "experts' latent" if layer.expert_latent_size else "hidden"
            raise PlanError(where, f"{what} size {layer.expert_width}", "a multiple of "
                            f"ep_degree, {p.ep_degree}, by which FSEP splits experts")
        if layer.is_transformer:
            shard(layer.cached_heads, p.tp_x_degree, 0)
