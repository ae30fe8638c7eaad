"""Products of tensors and weights. Their backward pass may have two halves
(2401.10241): the gradient of the tensor at once, that of the weight when somebody asks.
"""

import itertools
from typing import NamedTuple

import torch


def product(equation, tensor, weight, operator, put_off=None):
    """torch.einsum, such as "bsh,fh->bsf", of an operator. With `put_off`, the backward pass
    leaves the factors of the weight's gradient there; `tensor` must need a gradient."""
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
    """The second halves of a stage's products. `keeper` keeps their factors."""

    def __init__(self, keeper):
        self.keeper = keeper
        self._of_pass, self._halves = [], {}  # The latter by microbatch.

    def add(self, half):
        self._of_pass.append(half)

    def end_pass(self, microbatch):
        """All that was added since the last call is of this microbatch."""
        self._halves[microbatch], self._of_pass = self._of_pass, []

    def run(self, microbatch):
        """Adds the gradients of the weights."""
        # An operator may have fetched its weights together, so their gradients go back
        # together.
        for _, halves in itertools.groupby(self._halves.pop(microbatch),
                                           lambda half: id(half.operator)):
            torch.autograd.backward([half.compute() for half in halves])


class _Half:
    """The gradient of one weight, not yet computed."""

    def __init__(self, equation, weight, operator, put_off):
        self.equation, self.operator, self.put_off = equation, operator, put_off
        self.factors = None
        # Once it is computed. Shared with `way`, whose backward pass takes it.
        self.gradient = []
        self.way = _Way.apply(weight, self.gradient)

    def keep(self, *factors):
        self.factors = [self.put_off.keeper.keep(factor) for factor in factors]
        self.put_off.add(self)

    def compute(self):
        """Returns a number whose backward pass hands the gradient to the weight."""
        factors, self.factors = self.factors, None
        self.gradient.append(torch.einsum(self.equation,
                                          *(factor.get() for factor in factors)))
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
        ctx.half.keep(gradient, tensor)
        return found, None, None, None
