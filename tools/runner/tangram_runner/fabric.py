"""Communication between ranks: collectives of groups, and messages.

Everything that depends on torch.distributed and its backends is here. NCCL is
for ranks with a GPU each. gloo serves the others: it exchanges tensors of host
memory, to which tensors of a GPU are copied, and it has no reduce-scatter.
"""

import torch
import torch.distributed as dist


class Fabric:
    """The ranks of a run and the groups among them."""

    def __init__(self, device):
        self.rank = dist.get_rank()
        self.device = device
        self.uses_nccl = dist.get_backend() == "nccl"
        # A group of gloo for what is no tensor of a GPU.
        self._host = dist.new_group(backend="gloo") if self.uses_nccl else None
        self._groups = {}
        self._channels = {}
        self._sends = []
        self._to_self = {}

    def make_groups(self, all_ranks):
        """Creates the groups of every rank; all ranks call it with the same."""
        for ranks in sorted(set(all_ranks)):
            if len(ranks) > 1 and ranks not in self._groups:
                self._groups[ranks] = dist.new_group(list(ranks))

    def make_channels(self, channels):
        """Creates channels for messages, from key to ranks; all ranks call it.

        NCCL has no tags, and a message waits for those before it. On a channel,
        messages between two ranks are received in the order of sending.
        """
        for key, ranks in sorted(channels.items()):
            self._channels[key] = dist.new_group(list(ranks)) if self.uses_nccl else None

    def _staged(self, tensor):
        """A tensor that the backend can send and write."""
        tensor = tensor.detach()
        if not self.uses_nccl:
            tensor = tensor.cpu()
        return tensor.contiguous()

    def all_reduce(self, tensor, ranks, op=dist.ReduceOp.SUM, keep=True):
        """Returns the sum over `ranks`. Leaves `tensor` as it is, if it is to `keep` it."""
        result = self._staged(tensor)
        if keep:
            result = result.clone()
        if len(ranks) > 1:
            if self._too_short(result):
                result = result.float()
            dist.all_reduce(result, op=op, group=self._groups[ranks])
        return result.to(tensor.device, tensor.dtype)

    def reduce_scatter(self, tensor, ranks):
        """Returns this rank's part of the sum over `ranks` of a flat tensor that
        they share in equal parts."""
        mine = ranks.index(self.rank)
        if not self.uses_nccl:
            return self.all_reduce(tensor, ranks).chunk(len(ranks))[mine].clone()
        parts = [part.contiguous() for part in tensor.chunk(len(ranks))]
        dist.reduce_scatter(parts[mine], parts, group=self._groups[ranks])
        return parts[mine]

    def _too_short(self, tensor):
        """gloo has no collective of all 16-bit numbers."""
        return (not self.uses_nccl and tensor.is_floating_point()
                and tensor.element_size() < 4)

    def all_reduce_max(self, tensor, ranks):
        return self.all_reduce(tensor, ranks, dist.ReduceOp.MAX)

    def all_gather(self, tensor, ranks):
        """Returns the tensors of all `ranks`, in their order."""
        if len(ranks) == 1:
            return [tensor.detach()]
        mine = self._staged(tensor)
        if self._too_short(mine):
            mine = mine.float()
        parts = [torch.empty_like(mine) for _ in ranks]
        dist.all_gather(parts, mine, group=self._groups[ranks])
        return [part.to(tensor.device, tensor.dtype) for part in parts]

    def all_to_all(self, tensor, sent, received, ranks):
        """Sends the next sent[i] rows to ranks[i] and returns received[i] rows of
        each, in the order of `ranks`."""
        mine = self._staged(tensor)
        if self._too_short(mine):
            mine = mine.float()
        result = mine.new_empty((sum(received),) + mine.shape[1:])
        dist.all_to_all_single(result, mine, received, sent, group=self._groups[ranks])
        return result.to(tensor.device, tensor.dtype)

    def sum_of_all(self, tensor):
        """Adds up a tensor of host memory over all ranks."""
        dist.all_reduce(tensor, group=self._host)
        return tensor

    def gather_objects(self, thing):
        """Returns the things of all ranks on rank 0, None elsewhere."""
        things = [None] * dist.get_world_size() if self.rank == 0 else None
        dist.gather_object(thing, things, group=self._host)
        return things

    def send(self, tensor, target, tag, channel=None):
        """Starts to send. The sender goes on, so that no two ranks can wait for
        each other. Without a channel, the message goes through host memory."""
        if target == self.rank:
            self._to_self[tag] = tensor.detach().contiguous()
            return
        self._sends = [s for s in self._sends if not s[0].is_completed()]
        if channel is None:
            tensor = tensor.cpu()
        tensor = self._staged(tensor)
        group = self._channels.get(channel, self._host)
        self._sends.append((dist.isend(tensor, target, group=group, tag=tag), tensor))

    def expect(self, size, dtype, source, tag, channel=None):
        """Starts to receive. Returns a function that waits for the message."""
        if source == self.rank:
            return lambda: self._to_self.pop(tag)
        on_gpu = self.uses_nccl and channel is not None
        buffer = torch.empty(size, dtype=dtype, device=self.device if on_gpu else "cpu")
        work = dist.irecv(buffer, source, group=self._channels.get(channel, self._host),
                          tag=tag)

        def take():
            work.wait()
            return buffer.to(self.device)
        return take

    def receive(self, size, dtype, source, tag, channel=None):
        return self.expect(size, dtype, source, tag, channel)()

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

    make_channels = make_groups

    def all_reduce(self, tensor, ranks):
        return tensor.detach().clone()

    all_reduce_max = all_reduce

    def all_gather(self, tensor, ranks):
        return [tensor.detach()]

    def sum_of_all(self, tensor):
        return tensor

    def finish_sends(self):
        pass
