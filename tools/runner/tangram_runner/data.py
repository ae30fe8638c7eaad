"""Tokens to train on: random, but the same for the same step and sample on
every rank. Sample numbers are those of the global batch."""

import torch

from . import seeds


def batch(seed, step, samples, tokens, vocab_size, sequence_length, device):
    """Returns inputs and targets, the next tokens, of a range of samples and a
    range of the sequence's tokens."""
    rows = []
    for sample in range(*samples):
        rows.append(torch.randint(vocab_size, (sequence_length + 1,),
                                  generator=seeds.generator(seed, step, sample)))
    rows = torch.stack(rows).to(device)
    begin, end = tokens
    return rows[:, begin:end], rows[:, begin + 1:end + 1]
