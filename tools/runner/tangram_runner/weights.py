"""First values of parameters, drawn from the seed and the parameter's name, so
that every rank makes its shard of the same tensor without talking to others."""

import torch

from . import seeds
from .boxes import within


def first_values(seed, name, parameter, box, dtype, device):
    """Returns the part `box` of the parameter."""
    whole = torch.randn(parameter.shape, generator=seeds.generator(seed, name),
                        dtype=torch.float64)
    whole = whole * parameter.deviation + parameter.mean
    full = tuple((0, n) for n in parameter.shape)
    return whole[within(box, full)].to(device, dtype).contiguous()
