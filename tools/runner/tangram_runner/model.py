"""The model of a plan: its layers and their operators in execution order."""

import dataclasses
from typing import NamedTuple

DENSE = ("attention_norm", "qkv_projection", "attention_core",
         "output_projection", "attention_residual", "mlp_norm", "mlp_up",
         "mlp_activation", "mlp_down", "mlp_residual")
MOE = DENSE[:6] + ("router", "expert_dispatch", "expert_up",
                   "expert_activation", "expert_down", "expert_combine",
                   "mlp_residual")
OPERATORS = {"EMBEDDING": ("embedding",), "HEAD": ("final_norm", "head")}


@dataclasses.dataclass(frozen=True)
class Layer:
    """A layer's sizes; fields as in LayerSpec of model.proto."""
    kind: str
    hidden_size: int
    num_heads: int = 0
    num_kv_heads: int = 0
    head_dim: int = 0
    value_head_dim: int = 0
    sliding_window: int = 0
    q_lora_rank: int = 0
    kv_lora_rank: int = 0
    rope_head_dim: int = 0
    ffn_hidden_size: int = 0
    gated_mlp: bool = False
    num_experts: int = 0
    experts_per_token: int = 0
    expert_ffn_hidden_size: int = 0
    shared_expert_ffn_hidden_size: int = 0
    expert_latent_size: int = 0
    expert_capacity_factor: float = 0
    expert_group_tokens: int = 0
    vocab_size: int = 0
    max_position_embeddings: int = 0
    tied_embeddings: bool = False
    linear_bias: bool = False
    norm_bias: bool = False
    qkv_bias: bool = False
    qk_norm: bool = False
    # Rotary embedding of queries and keys, where no positions are learned.
    # Not a field of the file: it follows from the embedding.
    rotary: bool = False

    @property
    def operators(self):
        if self.kind in OPERATORS:
            return OPERATORS[self.kind]
        return MOE if self.num_experts else DENSE

    @property
    def is_transformer(self):
        return self.kind == "TRANSFORMER"

    @property
    def expert_width(self):
        """Elements of a token that a routed expert reads and writes."""
        return self.expert_latent_size or self.hidden_size

    @property
    def cached_heads(self):
        """Heads of keys and values. Latent attention has one for each query."""
        return self.num_heads if self.kv_lora_rank else self.num_kv_heads


class Cut(NamedTuple):
    """The boundary before operator `op` of layer `layer`."""
    layer: int
    op: int

    def __str__(self):
        return f"layer {self.layer}" + (f" operator {self.op}" if self.op else "")


def positions_between(layers, begin, end):
    """Yields (layer index, operator index) of the operators in [begin, end)."""
    for layer in range(begin.layer, end.layer + (end.op > 0)):
        first = begin.op if layer == begin.layer else 0
        last = end.op if layer == end.layer else len(layers[layer].operators)
        for op in range(first, last):
            yield layer, op
