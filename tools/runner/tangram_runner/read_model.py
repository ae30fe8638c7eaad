"""Reads the model of a plan file and checks that its layers fit each other."""

import dataclasses

from . import limits
from .errors import NotSupported, PlanError
from .model import Layer

KINDS = ("EMBEDDING", "TRANSFORMER", "HEAD")
LARGEST = {
    "hidden_size": limits.MAX_HIDDEN_SIZE,
    "num_heads": limits.MAX_HEADS,
    "num_kv_heads": limits.MAX_HEADS,
    "head_dim": limits.MAX_HEAD_DIM,
    "value_head_dim": limits.MAX_HEAD_DIM,
    "sliding_window": limits.MAX_POSITIONS,
    "q_lora_rank": limits.MAX_HIDDEN_SIZE,
    "kv_lora_rank": limits.MAX_HIDDEN_SIZE,
    "rope_head_dim": limits.MAX_HEAD_DIM,
    "ffn_hidden_size": limits.MAX_HIDDEN_SIZE,
    "num_experts": limits.MAX_EXPERTS,
    "experts_per_token": limits.MAX_EXPERTS,
    "expert_ffn_hidden_size": limits.MAX_HIDDEN_SIZE,
    "shared_expert_ffn_hidden_size": limits.MAX_HIDDEN_SIZE,
    "expert_latent_size": limits.MAX_HIDDEN_SIZE,
    "expert_group_tokens": limits.MAX_POSITIONS,
    "vocab_size": limits.MAX_VOCABULARY,
    "max_position_embeddings": limits.MAX_POSITIONS,
}
EXPERT_FIELDS = ("num_experts", "experts_per_token", "expert_ffn_hidden_size",
                 "shared_expert_ffn_hidden_size", "expert_latent_size",
                 "expert_capacity_factor", "expert_group_tokens")
# The runner does not run hybrid models, whose fields these are.
HYBRID = ("mixer", "no_mlp", "mamba")
SWITCHES = tuple(field.name for field in dataclasses.fields(Layer)
                 if field.type in (bool, "bool") and field.name != "rotary")


def read_layers(model):
    """The layers of a Record of the model."""
    types = [_layer(spec) for spec in model.records(
        "layer_types", ("kind", *LARGEST, *SWITCHES, "expert_capacity_factor", *HYBRID), limits.MAX_LAYERS)]
    layers = []
    for run in model.records("layers", ("layer_type", "count"), limits.MAX_LAYERS):
        kind = run.integer("layer_type", 0, len(types) - 1)
        layers += [types[kind]] * run.integer("count", 1, limits.MAX_LAYERS - len(layers))
    if len(layers) < 2 or layers[0].kind != "EMBEDDING" or layers[-1].kind != "HEAD":
        raise PlanError("model.layers", f"{len(layers)} layers",
                        "an embedding, transformer layers and a head")
    if not all(layer.is_transformer for layer in layers[1:-1]):
        raise PlanError("model.layers", "another embedding or head",
                        "transformer layers between embedding and head")
    _check_ends(layers)
    rotary = layers[0].max_position_embeddings == 0
    return tuple(dataclasses.replace(layer, rotary=rotary) for layer in layers)


def _layer(spec):
    kind = spec.enum("kind", KINDS)
    if spec.raw("mixer") not in (None, "ATTENTION", 0) or spec.has("mamba"):
        raise NotSupported("layers with Mamba, or without attention")
    if spec.boolean("no_mlp"):
        raise NotSupported("layers without an MLP")
    needed = {"hidden_size"}
    if kind == "TRANSFORMER":
        needed |= {"num_heads", "head_dim"}
        if not spec.integer("kv_lora_rank", 0, limits.MAX_HIDDEN_SIZE):
            needed.add("num_kv_heads")
        if spec.integer("num_experts", 0, limits.MAX_EXPERTS):
            needed |= {"experts_per_token", "expert_ffn_hidden_size"}
        else:
            needed.add("ffn_hidden_size")
    else:
        needed.add("vocab_size")
    layer = Layer(kind, **{name: spec.integer(name, int(name in needed), most)
                           for name, most in LARGEST.items()},
                  **{name: spec.boolean(name) for name in SWITCHES},
                  expert_capacity_factor=spec.number("expert_capacity_factor"))
    if kind != "TRANSFORMER" or not layer.num_experts:
        reason = "num_experts is 0" if kind == "TRANSFORMER" else f"the layer is {kind}"
        for name in EXPERT_FIELDS:
            if getattr(layer, name):
                raise PlanError(spec.path(name), getattr(layer, name), f"0, as {reason}")
    if layer.cached_heads and layer.num_heads % layer.cached_heads:
        raise PlanError(spec.path("num_kv_heads"), layer.num_kv_heads,
                        f"a divisor of num_heads, {layer.num_heads}")
    if layer.num_experts and layer.experts_per_token > layer.num_experts:
        raise PlanError(spec.path("experts_per_token"), layer.experts_per_token,
                        f"at most num_experts, {layer.num_experts}")
    return layer


def _check_ends(layers):
    """The embedding, the head and the stream between them are of one size."""
    for name, same in (("hidden_size", layers), ("vocab_size", (layers[0], layers[-1])),
                       ("tied_embeddings", (layers[0], layers[-1]))):
        values = {getattr(layer, name) for layer in same}
        if len(values) > 1:
            raise PlanError("model.layers", f"{name} {sorted(values)}",
                            f"one {name} in all layers that have it")
