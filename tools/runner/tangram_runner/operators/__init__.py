"""The operators by name, and which of their tensors live at a cut.

To add an operator: write it in a file here, and add that file's OPERATORS.
"""

from ..errors import NotSupported
from ..model import Cut, positions_between
from . import attention, experts, mlp, residual, vocabulary

BY_NAME = {operator.name: operator
           for family in (residual, attention, mlp, experts, vocabulary)
           for operator in family.OPERATORS}


def operator_at(layers, layer, op):
    name = layers[layer].operators[op]
    if name not in BY_NAME:
        raise NotSupported(f"the operator {name}, in layer {layer}")
    return BY_NAME[name]


def full_name(layers, layer, operator, parameter):
    """The parameter's name in the model: "3.mlp_up.weight"."""
    if operator.name == "head" and layers[layer].tied_embeddings:
        return "0.embedding.tokens"
    return f"{layer}.{operator.name}.{parameter.name}"


def live_tensors(layers):
    """From each cut to the tensors that are written before it and read after
    it, in the order of their names."""
    cuts = list(positions_between(layers, Cut(0, 0), Cut(len(layers), 0)))
    written, before = {}, {}
    for layer, op in cuts:
        before[layer, op] = dict(written)
        for live in operator_at(layers, layer, op).writes(layers[layer]):
            written[live.name] = live
    result, needed = {Cut(len(layers), 0): ()}, set()
    for layer, op in reversed(cuts):
        operator = operator_at(layers, layer, op)
        needed -= {live.name for live in operator.writes(layers[layer])}
        needed |= set(operator.reads_of(layers[layer]))
        result[Cut(layer, op)] = tuple(before[layer, op][name]
                                       for name in sorted(needed))
    return result
