"""The dense MLP: up, activation, down. SiLU and a gate, or GELU without one."""

import torch
from torch.nn import functional

from .base import Live, Operator, WITH_SEQUENCE_PARALLEL, bias, matrix, none_of
from .residual import stream


def matrices(layer):
    return 2 if layer.gated_mlp else 1


def up_parameters(layer, ffn):
    shape = (matrices(layer), ffn, layer.hidden_size)
    weight = matrix("weight", shape, layer.hidden_size, split=1)
    if not layer.linear_bias:
        return (weight,)
    return weight, bias("bias", shape[:2], split=1)


def down_parameters(layer, ffn):
    weight = matrix("weight", (layer.hidden_size, ffn), ffn, split=1)
    if not layer.linear_bias:
        return (weight,)
    return weight, bias("bias", (layer.hidden_size,), None, WITH_SEQUENCE_PARALLEL)


def up(m, parameters):
    """(…, hidden) to (…, matrices, ffn)."""
    u = torch.einsum("...h,kfh->...kf", m, parameters["weight"])
    return u + parameters["bias"] if "bias" in parameters else u


def activate(u, gated):
    if gated:
        return functional.silu(u[..., 0, :]) * u[..., 1, :]
    return functional.gelu(u[..., 0, :])


def _up(context, parameters, live):
    return {"u": up(context.enter_tp(live["m"]), parameters)}


def _activation(context, parameters, live):
    return {"z": activate(live["u"], context.layer.gated_mlp)}


def _down(context, parameters, live):
    y = context.leave_tp(functional.linear(live["z"], parameters["weight"]))
    # After the sum, so that the bias is added once.
    return {"y": y + parameters["bias"] if "bias" in parameters else y}


OPERATORS = (
    Operator("mlp_up", ("m",),
             lambda layer: (Live("u", (matrices(layer), layer.ffn_hidden_size), 1),),
             lambda layer: up_parameters(layer, layer.ffn_hidden_size), _up),
    Operator("mlp_activation", ("u",),
             lambda layer: (Live("z", (layer.ffn_hidden_size,), 0),), none_of,
             _activation),
    Operator("mlp_down", ("z",), stream("y"),
             lambda layer: down_parameters(layer, layer.ffn_hidden_size), _down),
)
