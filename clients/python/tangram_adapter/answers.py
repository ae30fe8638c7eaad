"""Functions that make an adapter's answer."""

from tangram_adapter.messages import plan_pb2

# Any number of stages may follow (common/domain/slice_plan.h).
UNLIMITED = 1 << 20


def stage(begin, end, *, tp=1, dp=1, cp=1, ep=1, zero=0, zero_degree=None,
          sequence_parallel=False, recompute=None):
    """A stage of layers [begin, end) of the slice on tp * cp * dp GPUs.

    A cut inside a layer is a pair (layer, operator). `recompute` holds a mask
    for each layer touched: bit i recomputes operator i. Default: none. The
    worker computes times and memory.
    """
    begin, end = _cut(begin), _cut(end)
    touched = end.layer - begin.layer + (end.op > 0)
    masks = [0] * touched if recompute is None else list(recompute)
    if len(masks) != touched:
        raise RuntimeError(f"{len(masks)} recompute masks for {touched} layers")
    plan = plan_pb2.StagePlan(
        begin=begin, end=end,
        parallelism=plan_pb2.StageParallelism(
            tp_degree=tp, cp_degree=cp, dp_degree=dp, ep_degree=ep,
            zero_stage=zero, zero_degree=zero_degree,
            sequence_parallel=sequence_parallel))
    for mask in masks:
        if plan.recompute and plan.recompute[-1].mask == mask:
            plan.recompute[-1].num_layers += 1
        else:
            plan.recompute.add(num_layers=1, mask=mask)
    return plan_pb2.SliceStage(plan=plan)


def plan(stages):
    """A plan: stages in pipeline order, from the island's first GPU on."""
    return plan_pb2.SlicePlan(stages=stages)


def answer(plans, *, covers_trailing_stages=UNLIMITED, search_steps=0,
           truncated=False):
    """The plans to choose from. `covers_trailing_stages` is the largest number
    of stages behind the slice for which asking again brings no other plans."""
    return plan_pb2.SlicePlanSet(
        plans=plans, covers_trailing_stages=covers_trailing_stages,
        search_steps=search_steps, truncated=truncated)


def no_plan(reason, bytes_short=0):
    """No plan fits, nor does any with more trailing stages."""
    return plan_pb2.SlicePlanSet(
        infeasible=plan_pb2.Infeasible(reason=reason, bytes_short=bytes_short))


def _cut(where):
    layer, op = where if isinstance(where, tuple) else (where, 0)
    return plan_pb2.OperatorCut(layer=layer, op=op)
