"""Products of tensors and weights. Their backward pass may have two halves
(2401.10241): the gradient of the tensor at once, that of the weight when somebody asks.
"""

import itertools
from typing import NamedTuple

import torch


def product(equation, tensor, weight, operator, put_off=None):
    """torch.einsum, such as "bsh,fh->bsf". With `put_off`, the backward pass leaves the
    gradient of the operator's weight there."""
    inputs, output = equation.split("->")
    first, second = inputs.split(",")
    equations = Equations(equation, f"{output},{second}->{first}",
                          f"{output},{first}->{second}")
    if put_off is None:
        return _Product.apply(tensor, weight, equations, None)
    half = _Half(equations.to_weight, weight, operator, put_off)
    return _Product.apply(tensor, weight.detach(), equations, half)


class Equations(NamedTuple):
    """Of a product, and of the gradients of its two factors."""
    product: str
    to_tensor: str
    to_weight: str


class PutOff:
    """The second halves of a stage's products."""

    def __init__(self, memory):
        self._memory = memory
        self._of_pass, self._halves = [], {}  # The latter by microbatch.

    def add(self, half):
        # Autograd counts both no longer, once the pass has ended.
        self._count(half, 1)
        self._of_pass.append(half)

    def end_pass(self, microbatch):
        """What was added since the last call is of this microbatch's backward pass."""
        self._halves[microbatch], self._of_pass = self._of_pass, []

    def run(self, microbatch):
        """Adds the gradients of the weights."""
        # An operator may have fetched its weights together, so their gradients go back
        # together.
        for _, halves in itertools.groupby(self._halves.pop(microbatch),
                                           lambda half: half.operator):
            halves = list(halves)
            for half in halves:
                self._count(half, -1)
            torch.autograd.backward([half.compute() for half in halves])

    def _count(self, half, times):
        for tensor in half.operands:
            self._memory.count_storage(tensor, times)


class _Half:
    """The gradient of one weight, not yet computed."""

    def __init__(self, equation, weight, operator, put_off):
        self.equation, self.operator, self.put_off = equation, operator, put_off
        self.operands = None
        self.gradient = []  # The computed one.
        self.way = _Way.apply(weight, self.gradient)

    def compute(self):
        """Returns a number whose backward pass passes the gradient on."""
        self.gradient.append(torch.einsum(self.equation, *self.operands))
        self.operands = None
        return self.way


class _Way(torch.autograd.Function):
    """How autograd finds a weight's parameter, without keeping the weight."""

    @staticmethod
    def forward(ctx, weight, gradient):
        ctx.gradient = gradient
        return weight.new_zeros(())

    @staticmethod
    def backward(ctx, _):
        return ctx.gradient.pop(), None


class _Product(torch.autograd.Function):
    """With a half, the weight is a constant."""

    @staticmethod
    def forward(ctx, tensor, weight, equations, half):
        ctx.save_for_backward(tensor, weight)
        ctx.equations, ctx.half = equations, half
        return torch.einsum(equations.product, tensor, weight)

    @staticmethod
    def backward(ctx, gradient):
        tensor, weight = ctx.saved_tensors
        found = torch.einsum(ctx.equations.to_tensor, gradient, weight)
        if ctx.half is None:
            return found, torch.einsum(ctx.equations.to_weight, gradient, tensor), None, None
        ctx.half.operands = gradient, tensor
        ctx.half.put_off.add(ctx.half)
        return found, None, None, None
