"""Mixture of experts: router, dispatch, the experts' MLPs, combine.

The router chooses k experts for each token (GShard, 2006.16668; Mixtral,
2401.04088). Shared experts see every token; they are a dense MLP that runs beside
the router. Tensor parallelism splits each expert like a dense MLP.

Experts of another width than the layer (LatentMoE) see tokens that a projection beside
the router takes there. Another takes the sum of what they make of a token back. As in
Megatron-Core, tensor parallelism splits neither.

Between dispatch and combine, rows are in expert order (routing.py). There tp ranks
hold the same whole values of inputs with their parts of the gradients, and parts of
the outputs with whole gradients.
"""

import dataclasses

import torch
from torch.nn import functional

from .. import sharing
from . import mlp
from .base import (ALWAYS, CHOICES, IF_STREAM_IS_SPLIT, ROWS, SUMS, Live, Operator,
                   bias, matrix, none_of)
from .residual import stream
from .routing import GATHER, SUM, Routing, gather_choices

SHARED = "shared_"
LATENT = "latent."


def per_token(layer):
    return (layer.experts_per_token,)


def latent_parameters(layer, inputs, outputs):
    """Those of a projection between both widths, if there are two."""
    if not layer.expert_latent_size:
        return ()
    weight = matrix(f"{LATENT}weight", (outputs, inputs), inputs, None, IF_STREAM_IS_SPLIT)
    if not layer.linear_bias:
        return (weight,)
    return weight, bias(f"{LATENT}bias", (outputs,), None, IF_STREAM_IS_SPLIT)


def project(context, tensor, parameters):
    return mlp.add_bias(context.product("bsi,oi->bso", tensor, parameters["weight"]),
                        parameters)


def under(prefix, parameters):
    return {name[len(prefix):]: value for name, value in parameters.items()
            if name.startswith(prefix)}


def router_parameters(layer):
    shape = (layer.num_experts, layer.hidden_size)
    result = [matrix("weight", shape, layer.hidden_size, None, IF_STREAM_IS_SPLIT)]
    result += latent_parameters(layer, layer.hidden_size, layer.expert_latent_size)
    width = layer.shared_expert_ffn_hidden_size
    if width:
        result += [parameter._replace(name=f"{SHARED}{name}.{parameter.name}")
                   for name, parameters in (("up", mlp.up_parameters(layer, width)),
                                            ("down", mlp.down_parameters(layer, width)))
                   for parameter in parameters]
    return tuple(result)


def router_live(layer):
    result = (Live("e", per_token(layer), discrete=True), Live("w", per_token(layer)))
    if layer.expert_latent_size:
        result += (Live("l", (layer.expert_latent_size,)),)
    if layer.shared_expert_ffn_hidden_size:
        result += stream("s")(layer)
    return result


def sent_to_experts(layer):
    return "l" if layer.expert_latent_size else "m"


def _router(context, parameters, live):
    layer, m = context.layer, live["m"]
    scores = functional.softmax(context.product("bsh,eh->bse", m, parameters["weight"]), -1)
    weights, chosen = scores.topk(layer.experts_per_token, -1)
    if layer.experts_per_token > 1:
        weights = weights / weights.sum(-1, keepdim=True)
    result = {"e": chosen, "w": weights}
    if layer.expert_latent_size:
        result["l"] = project(context, m, under(LATENT, parameters))
    if layer.shared_expert_ffn_hidden_size:
        up, down = (under(f"{SHARED}{name}.", parameters) for name in ("up", "down"))
        z = mlp.activate(mlp.up(context, context.enter_tp(m), up), layer.gated_mlp)
        s = context.leave_tp(context.product("bsf,hf->bsh", z, down["weight"]))
        result["s"] = mlp.add_bias(s, down)
    return result


def _dispatch(context, parameters, live):
    m, w = live[sent_to_experts(context.layer)], live["w"][..., None]
    if not context.parallelism.sequence_parallel:
        m, w = context.enter_tp(m), context.enter_tp(w)
    chosen = gather_choices(context, live["e"])
    # A weight travels with its copy.
    copies = torch.cat([m[:, :, None].expand(*w.shape[:-1], m.shape[-1]), w], -1)
    rows = Routing(context, chosen).to_experts(copies, GATHER)
    return {"e": chosen, "t": rows[:, :-1], "w": rows[:, -1]}


def expert_parameters(parameters, num_experts):
    """Those of a dense MLP, for each expert."""
    return tuple(parameter._replace(
        shape=(num_experts,) + parameter.shape, expert=True,
        split=None if parameter.split is None else parameter.split + 1,
        hidden=None if parameter.hidden is None else parameter.hidden + 1,
        # One tp rank adds the output's bias.
        partial=ALWAYS if parameter.split is None else parameter.partial)
        for parameter in parameters)


def as_wide_as_experts(layer):
    return dataclasses.replace(layer, hidden_size=layer.expert_width)


def up_parameters(layer):
    return expert_parameters(
        mlp.up_parameters(as_wide_as_experts(layer), layer.expert_ffn_hidden_size),
        layer.num_experts)


def down_parameters(layer):
    return expert_parameters(
        mlp.down_parameters(as_wide_as_experts(layer), layer.expert_ffn_hidden_size),
        layer.num_experts)


def combine_parameters(layer):
    return latent_parameters(layer, layer.expert_latent_size, layer.hidden_size)


def fetch(context, routing, values, hidden):
    """Fully sharded experts: from this rank's part of every expert to its experts of
    this microbatch, whole. LAER-MoE drops them after each pass and fetches them
    again. That saves memory and changes no value, so the runner keeps them."""
    if not context.parallelism.fsep:
        return values
    ranks = context.ep_ranks
    if hidden is None:  # Biases are small: each rank holds those of some experts.
        everything = sharing.gather_from(values, context.fabric, ranks, 0)
        return everything.index_select(0, routing.experts)
    # Each rank gets its experts' parts from all.
    order = torch.sort(routing.homes, stable=True)[1]
    counts = [len(order) // len(ranks)] * len(ranks)
    parts = sharing.all_to_all(values.index_select(0, order), context.fabric, ranks,
                               counts, counts)
    return torch.cat(parts.split(counts[0]), hidden)


def each(context, parameters, live, described, product):
    """Applies `product(context, rows, parameters)` to the rows of each expert of this
    rank."""
    routing = Routing(context, live["e"])
    whole = {p.name: fetch(context, routing, parameters[p.name], p.hidden)
             for p in described}
    return routing, lambda tensor: torch.cat([
        product(context, rows, {name: value[i] for name, value in whole.items()})
        for i, rows in enumerate(tensor.split(routing.sizes))])


def _up(context, parameters, live):
    _, products = each(context, parameters, live, up_parameters(context.layer), mlp.up)
    return {"u": products(live["t"])}


def _activation(context, parameters, live):
    # As in Megatron-Core, outputs get their weights before the last product.
    z = mlp.activate(live["u"], context.layer.gated_mlp)
    return {"z": z * live["w"][:, None]}


def _down(context, parameters, live):
    adds_bias = 1.0 if context.place.tp == 0 else 0.0

    def product(context, rows, weights):
        out = context.product("nf,hf->nh", rows[:, :-1], weights["weight"])
        if "bias" in weights:
            out = out + rows[:, -1:] * weights["bias"] * adds_bias
        return out

    _, products = each(context, parameters, live, down_parameters(context.layer), product)
    return {"o": products(torch.cat([live["z"], live["w"][:, None]], -1))}


def _combine(context, parameters, live):
    y = Routing(context, live["e"]).to_tokens(live["o"], SUM).sum(2)
    if not context.parallelism.sequence_parallel:
        y = context.leave_tp(y)
    if context.layer.expert_latent_size:
        y = project(context, y, under(LATENT, parameters))
    return {"y": y + live["s"] if context.layer.shared_expert_ffn_hidden_size else y}


def rows_of(name, *features, split=None, routed=ROWS):
    """A tensor of each copy of a token."""
    return lambda layer: Live(
        name, per_token(layer) + tuple(f(layer) for f in features), split, routed)


def _width(layer):
    return layer.expert_ffn_hidden_size


def _expert_width(layer):
    return layer.expert_width


OPERATORS = (
    Operator("router", ("m",), router_live, router_parameters, _router),
    Operator("expert_dispatch", lambda layer: (sent_to_experts(layer), "e", "w"),
             lambda layer: (Live("e", per_token(layer), None, CHOICES, True),
                            rows_of("t", _expert_width)(layer), rows_of("w")(layer)),
             none_of, _dispatch),
    Operator("expert_up", ("t", "e"),
             lambda layer: (rows_of("u", mlp.matrices, _width, split=2)(layer),),
             up_parameters, _up),
    Operator("expert_activation", ("u", "w"),
             lambda layer: (rows_of("z", _width, split=1)(layer),), none_of, _activation),
    Operator("expert_down", ("z", "w", "e"),
             lambda layer: (rows_of("o", _expert_width, routed=SUMS)(layer),),
             down_parameters, _down),
    Operator("expert_combine",
             lambda layer: ("o", "e") + (
                 ("s",) if layer.shared_expert_ffn_hidden_size else ()),
             stream("y"), combine_parameters, _combine),
)
