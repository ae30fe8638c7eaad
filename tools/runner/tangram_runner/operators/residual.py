"""The residual stream `x`: norms that read it and additions to it.

LayerNorm where norms have a bias, RMSNorm otherwise. There is no dropout, so
that a run can be compared with another.
"""

import torch

from .base import Live, Operator, Parameter, IF_STREAM_IS_SPLIT, bias, none_of

EPSILON = 1e-5


def stream(name):
    return lambda layer: (Live(name, (layer.hidden_size,)),)


def norm_parameters(layer):
    shape = (layer.hidden_size,)
    weight = Parameter("weight", shape, None, IF_STREAM_IS_SPLIT, 0.1, 1.0, hidden=0)
    if not layer.norm_bias:
        return (weight,)
    return weight, bias("bias", shape, None, IF_STREAM_IS_SPLIT, hidden=0)


def mean(x):
    return x.mean(-1, keepdim=True)


def normalize(x, weight, offset=None, mean=mean):
    """Over the last dimension, of which `mean` knows all parts."""
    if offset is None:
        return x * torch.rsqrt(mean(x.square()) + EPSILON) * weight
    x = x - mean(x)
    return x * torch.rsqrt(mean(x.square()) + EPSILON) * weight + offset


def norm(name, output):
    def forward(context, parameters, live):
        return {output: normalize(live["x"], parameters["weight"],
                                  parameters.get("bias"), context.mean)}
    return Operator(name, ("x",), stream(output), norm_parameters, forward)


def residual(name):
    def forward(context, parameters, live):
        return {"x": live["x"] + live["y"]}
    return Operator(name, ("x", "y"), stream("x"), none_of, forward)


OPERATORS = (norm("attention_norm", "a"), residual("attention_residual"),
             norm("mlp_norm", "m"), residual("mlp_residual"),
             norm("final_norm", "f"))
