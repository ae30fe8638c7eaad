"""The dense MLP: up, activation, down. SiLU and a gate, or GELU without one."""

import torch
from torch.nn import functional

from .base import Live, Operator, IF_STREAM_IS_SPLIT, bias, matrix, none_of
from .residual import stream


def matrices(layer):
    return 2 if layer.gated_mlp else 1


def up_parameters(layer, ffn):
    shape = (matrices(layer), ffn, layer.hidden_size)
    weight = matrix("weight", shape, layer.hidden_size, split=1, hidden=2)
    if not layer.linear_bias:
        return (weight,)
    return weight, bias("bias", shape[:2], split=1)


def down_parameters(layer, ffn):
    weight = matrix("weight", (layer.hidden_size, ffn), ffn, split=1, hidden=0)
    if not layer.linear_bias:
        return (weight,)
    return weight, bias("bias", (layer.hidden_size,), None, IF_STREAM_IS_SPLIT, hidden=0)


def up(context, m, parameters):
    """(…, hidden) to (…, matrices, ffn)."""
    return add_bias(context.product("...h,kfh->...kf", m, parameters["weight"]), parameters)


def add_bias(tensor, parameters):
    return tensor + parameters["bias"] if "bias" in parameters else tensor


def activate(u, gated):
    if gated:
        return functional.silu(u[..., 0, :]) * u[..., 1, :]
    return functional.gelu(u[..., 0, :])


def _up(context, parameters, live):
    u = context.product("bsh,kfh->bskf", context.enter_first(live["m"]),
                        parameters["weight"])
    u = context.leave_first(u, 3, context.layer.ffn_hidden_size)
    return {"u": add_bias(u, parameters)}


def _activation(context, parameters, live):
    return {"z": activate(live["u"], context.layer.gated_mlp)}


def _down(context, parameters, live):
    z = context.enter_second(live["z"], 2)
    y = context.leave_second(context.product("bsf,hf->bsh", z, parameters["weight"]))
    # After the sum, so that the bias is added once.
    return {"y": add_bias(y, parameters)}


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
