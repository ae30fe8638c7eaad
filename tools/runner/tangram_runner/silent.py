"""A fabric that says nothing: what one rank computes, without the time of talking.

Other ranks seem to hold what this one holds. Shapes are right, values are not.
"""

import torch


class Silent:

    def __init__(self, rank, device):
        self.rank, self.device = rank, device

    def all_reduce(self, tensor, ranks):
        return tensor.detach()

    all_reduce_max = all_reduce

    def reduce_scatter(self, tensor, ranks):
        return tensor.chunk(len(ranks))[ranks.index(self.rank)].clone()

    def all_gather(self, tensor, ranks):
        return [tensor.detach()] * len(ranks)

    def all_to_all(self, tensor, sent, received, ranks):
        return torch.zeros((sum(received),) + tensor.shape[1:], dtype=tensor.dtype,
                           device=tensor.device)
