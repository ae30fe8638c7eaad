"""Random numbers that every rank can draw again."""

import hashlib

import torch


def generator(*parts):
    """A generator for these numbers and texts, as good as independent of that for
    any others. PyTorch's reads 32 bits of a seed, so they are hashed to as many."""
    digest = hashlib.sha256(repr(parts).encode()).digest()
    result = torch.Generator()
    result.manual_seed(int.from_bytes(digest[:4], "little"))
    return result
