"""Communication between ranks: collectives of groups, and messages.

Everything that depends on torch.distributed and its backends is here. gloo has
no reduce-scatter, and exchanges tensors of host memory only.
"""

import torch
import torch.distributed as dist


class Fabric:
    """The ranks of a run and the groups among them."""

    def __init__(self, device):
        self.rank = dist.get_rank()
        self.device = device
        self._groups = {}
        self._sends = []
        self._to_self = {}

    def make_groups(self, all_ranks):
        """Creates the groups of every rank; all ranks call it with the same."""
        for ranks in sorted(set(all_ranks)):
            if len(ranks) > 1 and ranks not in self._groups:
                self._groups[ranks] = dist.new_group(list(ranks))

    def all_reduce(self, tensor, ranks, op=dist.ReduceOp.SUM):
        """Returns the sum over `ranks`. Leaves `tensor` as it is."""
        result = tensor.detach().clone(memory_format=torch.contiguous_format)
        if len(ranks) > 1:
            dist.all_reduce(result, op=op, group=self._groups[ranks])
        return result

    def all_reduce_max(self, tensor, ranks):
        return self.all_reduce(tensor, ranks, dist.ReduceOp.MAX)

    def all_gather(self, tensor, ranks):
        """Returns the tensors of all `ranks`, in their order."""
        tensor = tensor.detach().contiguous()
        if len(ranks) == 1:
            return [tensor]
        parts = [torch.empty_like(tensor) for _ in ranks]
        dist.all_gather(parts, tensor, group=self._groups[ranks])
        return parts

    def sum_of_all(self, tensor):
        """Adds up a tensor of host memory over all ranks."""
        dist.all_reduce(tensor)
        return tensor

    def gather_objects(self, thing):
        """Returns the things of all ranks on rank 0, None elsewhere."""
        things = [None] * dist.get_world_size() if self.rank == 0 else None
        dist.gather_object(thing, things)
        return things

    def send(self, tensor, target, tag):
        """Starts to send. The sender goes on, so that no two ranks can wait for
        each other."""
        tensor = tensor.detach().contiguous()
        if target == self.rank:
            self._to_self[tag] = tensor
            return
        self._sends = [s for s in self._sends if not s[0].is_completed()]
        self._sends.append((dist.isend(tensor, target, tag=tag), tensor))

    def receive(self, size, dtype, source, tag):
        if source == self.rank:
            return self._to_self.pop(tag)
        buffer = torch.empty(size, dtype=dtype, device=self.device)
        dist.recv(buffer, source, tag=tag)
        return buffer

    def finish_sends(self):
        for work, _ in self._sends:
            work.wait()
        self._sends = []


class Alone:
    """The fabric of one process: no other rank to talk to."""

    rank = 0

    def __init__(self, device):
        self.device = device

    def make_groups(self, all_ranks):
        pass

    def all_reduce(self, tensor, ranks):
        return tensor.detach().clone()

    all_reduce_max = all_reduce

    def all_gather(self, tensor, ranks):
        return [tensor.detach()]

    def sum_of_all(self, tensor):
        return tensor

    def finish_sends(self):
        pass
