"""Steps between whole and shared tensors that know their gradients.

Each is the mirror image of another: what one does forward, the other does
backward (Megatron-LM, 1909.08053 section 3; sequence parallelism, 2205.05198
section 4.2.2). Gradients at the ends of every operator are whole sums, never
parts, so that a stage can end there.
"""

import torch


class _Step(torch.autograd.Function):
    """Applies one function forward and another to the gradient."""

    @staticmethod
    def forward(ctx, tensor, forward, backward):
        ctx.backward_step = backward
        return forward(tensor)

    @staticmethod
    def backward(ctx, gradient):
        return ctx.backward_step(gradient), None, None


def _same(tensor):
    return tensor.view_as(tensor)


def copy_to(tensor, fabric, ranks):
    """Whole input of products that `ranks` share: sums their gradients."""
    if len(ranks) == 1:
        return tensor
    return _Step.apply(tensor, _same, lambda g: fabric.all_reduce(g, ranks))


def sum_over(tensor, fabric, ranks):
    """Adds up the partial results of `ranks`."""
    if len(ranks) == 1:
        return tensor
    return _Step.apply(tensor, lambda t: fabric.all_reduce(t, ranks), _same)


def gather_from(tensor, fabric, ranks, dim):
    """Joins the parts of `ranks` along `dim`. Adds up the gradients of each."""
    if len(ranks) == 1:
        return tensor
    return _Step.apply(tensor, lambda t: _join(t, fabric, ranks, dim),
                       lambda g: _sum_part(g, fabric, ranks, dim))


def sum_scatter(tensor, fabric, ranks, dim):
    """Adds up partial results and keeps this rank's part along `dim`."""
    if len(ranks) == 1:
        return tensor
    return _Step.apply(tensor, lambda t: _sum_part(t, fabric, ranks, dim),
                       lambda g: _join(g, fabric, ranks, dim))


def scale_gradient(tensor, factor):
    """Passes the tensor on and multiplies its gradient."""
    if factor == 1:
        return tensor
    return _Step.apply(tensor, _same, lambda g: g * factor)


def _join(tensor, fabric, ranks, dim):
    return torch.cat(fabric.all_gather(tensor, ranks), dim)


def _sum_part(tensor, fabric, ranks, dim):
    whole = fabric.all_reduce(tensor, ranks)
    length = whole.shape[dim] // len(ranks)
    part = ranks.index(fabric.rank)
    return whole.narrow(dim, part * length, length).contiguous()
