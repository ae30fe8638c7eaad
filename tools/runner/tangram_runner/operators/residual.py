"""The residual stream `x`: norms that read it and additions to it.

LayerNorm where norms have a bias, RMSNorm otherwise. There is no dropout, so
that a run can be compared with another.
"""

import torch

from .base import Live, Operator, Parameter, WITH_SEQUENCE_PARALLEL, bias, none_of

EPSILON = 1e-5


def stream(name):
    return lambda layer: (Live(name, (layer.hidden_size,)),)


def norm_parameters(layer):
    shape = (layer.hidden_size,)
    weight = Parameter("weight", shape, None, WITH_SEQUENCE_PARALLEL, 0.1, 1.0)
    if not layer.norm_bias:
        return (weight,)
    return weight, bias("bias", shape, None, WITH_SEQUENCE_PARALLEL)


def normalize(x, weight, offset=None):
    """Over the last dimension."""
    if offset is not None:
        return torch.nn.functional.layer_norm(x, x.shape[-1:], weight, offset,
                                              EPSILON)
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + EPSILON) * weight


def norm(name, output):
    def forward(context, parameters, live):
        return {output: normalize(live["x"], parameters["weight"],
                                  parameters.get("bias"))}
    return Operator(name, ("x",), stream(output), norm_parameters, forward)


def residual(name):
    def forward(context, parameters, live):
        return {"x": live["x"] + live["y"]}
    return Operator(name, ("x", "y"), stream("x"), none_of, forward)


OPERATORS = (norm("attention_norm", "a"), residual("attention_residual"),
             norm("mlp_norm", "m"), residual("mlp_residual"),
             norm("final_norm", "f"))
