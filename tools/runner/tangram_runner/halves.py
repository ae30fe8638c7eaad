"""An operator whose backward pass has two halves (2401.10241): the gradients of its
inputs at once, those of its parameters when somebody asks. None of the work is done
twice: what halves talk about, sharing.py keeps.
"""

import functools

import torch

from .kept import Pass


def in_halves(forward, shards, later, tensors):
    """Returns `forward(tensors)`, by names. The backward pass appends to `later` a
    function that adds the gradients of `shards`."""
    inner = Pass(next(iter(shards)).anchor.device)
    names, written = list(tensors), []
    second_half = functools.partial(inner.backward_to, shards)
    results = _Halves.apply(inner.anchor, forward, inner, names, written,
                            lambda: later.append(second_half), *tensors.values())
    return dict(zip(written, results))


class _Halves(torch.autograd.Function):

    @staticmethod
    def forward(ctx, anchor, forward, inner, names, written, put_off, *tensors):
        ctx.inner, ctx.names, ctx.written, ctx.put_off = inner, names, written, put_off
        ctx.set_materialize_grads(False)
        with torch.enable_grad():
            results = forward(inner.enter(dict(zip(names, tensors))))
            inner.leave(results)
        written += results
        results = [tensor.detach() for tensor in results.values()]
        ctx.mark_non_differentiable(*(t for t in results if not t.is_floating_point()))
        return tuple(results)

    @staticmethod
    def backward(ctx, *gradients):
        ctx.put_off()
        found = ctx.inner.backward_to_inputs(
            {name: gradient for name, gradient in zip(ctx.written, gradients)
             if gradient is not None})
        return (*[None] * 6, *(found.get(name) for name in ctx.names))
