"""Models to measure, in the format of docs/model-file.md."""

import json
import os
from dataclasses import dataclass, field

_TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                      "models.json")
_NOT_MEASURED = ("latent_attention", "sliding_window", "mixer", "mamba")


@dataclass
class Experts:
    count: int
    per_token: int
    ffn_hidden_size: int
    shared_ffn_hidden_size: int = 0
    first_layer: int = 0
    every: int = 1


@dataclass
class Model:
    """The keys of a model file, with its defaults."""
    layers: int
    hidden_size: int
    heads: int
    vocab_size: int
    name: str = ""
    kv_heads: int = 0
    head_dim: int = 0
    ffn_hidden_size: int = 0
    gated_mlp: bool = False
    experts: Experts = None
    max_positions: int = 0
    tied_embeddings: bool = False
    bias: str = "none"
    norm_bias: bool = False
    qk_norm: bool = False
    source: dict = field(default=None, repr=False)  # The file's own mapping.

    def __post_init__(self):
        self.kv_heads = self.kv_heads or self.heads
        self.head_dim = self.head_dim or self.hidden_size // self.heads
        if isinstance(self.experts, dict):
            self.experts = Experts(**self.experts)

    def has_experts(self, layer):
        e = self.experts
        return (e is not None and layer >= e.first_layer
                and (layer - e.first_layer) % e.every == 0)

    def distinct_layers(self):
        """Returns the first layer with experts and the first without."""
        first = {}
        for layer in range(self.layers):
            first.setdefault(self.has_experts(layer), layer)
        return sorted(first.values())


def _parse(name, source):
    unknown = [key for key in _NOT_MEASURED if source.get(key)]
    if (source.get("experts") or {}).get("latent_size"):
        unknown.append("experts.latent_size")
    if unknown:
        raise ValueError(f"{name}: {unknown[0]}: this program cannot run it")
    try:
        return Model(source=source, **{**source, "name": name})
    except TypeError as error:
        raise ValueError(f"{name}: {error}") from error


def load_model(name_or_file):
    """Returns (model, usual sequence length) of a name or a JSON file.

    The length is None for a file.
    """
    with open(_TABLE, encoding="utf-8") as table:
        known = json.load(table)
    if name_or_file in known:
        entry = known[name_or_file]
        return _parse(name_or_file, entry["model"]), entry["sequence_length"]
    if not os.path.exists(name_or_file):
        raise ValueError(f"{name_or_file}: no such file; known models: "
                         + ", ".join(known))
    with open(name_or_file, encoding="utf-8") as file:
        try:
            source = json.load(file)
        except ValueError as error:
            raise ValueError(f"{name_or_file}: {error}") from error
    name = source.get("name") or os.path.splitext(
        os.path.basename(name_or_file))[0]
    return _parse(name, source), None
