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


# Parts of `ranks` along `dim` are equal, or `sizes` has their lengths along the first
# dimension.
def gather_from(tensor, fabric, ranks, dim, sizes=None):
    """Joins the parts of `ranks` along `dim`. Adds up the gradients of each."""
    if len(ranks) == 1:
        return tensor
    return _Step.apply(tensor, lambda t: _join(t, fabric, ranks, dim, sizes),
                       lambda g: _sum_part(g, fabric, ranks, dim, sizes))


def sum_scatter(tensor, fabric, ranks, dim, sizes=None):
    """Adds up partial results and keeps this rank's part along `dim`."""
    if len(ranks) == 1:
        return tensor
    return _Step.apply(tensor, lambda t: _sum_part(t, fabric, ranks, dim, sizes),
                       lambda g: _join(g, fabric, ranks, dim, sizes))


def own_part(tensor, fabric, ranks, dim, sizes=None):
    """Keeps this rank's part of values that all have. Its gradient is zero elsewhere."""
    begin, end = _range(tensor.shape[dim], fabric, ranks, sizes)
    return tensor.narrow(dim, begin, end - begin)


def place_part(tensor, fabric, ranks, dim, sizes=None):
    """This rank's part of a sum: its values, and zeros at those of the others."""
    whole = sum(sizes) if sizes else tensor.shape[dim] * len(ranks)
    begin, end = _range(whole, fabric, ranks, sizes)
    shape = list(tensor.shape)
    before, after = shape[:], shape[:]
    before[dim], after[dim] = begin, whole - end
    return torch.cat([tensor.new_zeros(before), tensor, tensor.new_zeros(after)], dim)


def sum_and_take(tensor, fabric, ranks, dim, begin, end):
    """Adds up partial results and keeps [begin, end) along `dim`. What ranks keep may
    be the same; their gradients add up."""
    if len(ranks) == 1:
        return tensor.narrow(dim, begin, end - begin)
    # copy_to adds up the gradients.
    whole = copy_to(sum_over(tensor, fabric, ranks), fabric, ranks)
    return whole.narrow(dim, begin, end - begin)


def divide(tensor, parts):
    """Parts of a sum, from its value on all ranks. Each gets the whole gradient."""
    if parts == 1:
        return tensor
    return _Step.apply(tensor, lambda t: t / parts, _same)


def all_to_all(tensor, fabric, ranks, sent, received):
    """Sends the next sent[i] rows to ranks[i] and gets received[i] from it."""
    if len(ranks) == 1:
        return tensor
    return _Step.apply(tensor, lambda t: fabric.all_to_all(t, sent, received, ranks),
                       lambda g: fabric.all_to_all(g, received, sent, ranks))


def scale_gradient(tensor, factor):
    """Passes the tensor on and multiplies its gradient."""
    if factor == 1:
        return tensor
    return _Step.apply(tensor, _same, lambda g: g * factor)


def _range(whole, fabric, ranks, sizes):
    part = ranks.index(fabric.rank)
    if sizes:
        return sum(sizes[:part]), sum(sizes[:part + 1])
    length = whole // len(ranks)
    return part * length, (part + 1) * length


def _join(tensor, fabric, ranks, dim, sizes):
    if not sizes:
        return torch.cat(fabric.all_gather(tensor, ranks), dim)
    # Backends gather parts of one shape.
    padded = tensor.new_zeros((max(sizes) + 1,) + tensor.shape[1:])
    padded[:len(tensor)] = tensor
    parts = fabric.all_gather(padded, ranks)
    return torch.cat([part[:size] for part, size in zip(parts, sizes)])


def _sum_part(tensor, fabric, ranks, dim, sizes):
    if tensor.shape[dim] == 0:
        return tensor
    begin, end = _range(tensor.shape[dim], fabric, ranks, sizes)
    whole = fabric.all_reduce(tensor, ranks)
    return whole.narrow(dim, begin, end - begin).contiguous()
