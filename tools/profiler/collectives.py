"""Measures collectives and transfers between the ranks of torchrun."""

import os

import torch
import torch.distributed as dist

from layers import TensorParallel

_ALIGNMENT = 256  # Elements, so that every group divides a buffer evenly.


class Ranks:
    """The processes of this run; one process if torchrun did not start it."""

    def __init__(self):
        self.count = int(os.environ.get("WORLD_SIZE", "1"))
        self.rank = int(os.environ.get("RANK", "0"))
        self.local = int(os.environ.get("LOCAL_RANK", "0"))
        self.per_node = int(os.environ.get("LOCAL_WORLD_SIZE", self.count))
        self.is_first = self.rank == 0

    def connect(self, use_gpu):
        if self.count > 1:
            dist.init_process_group("nccl" if use_gpu else "gloo")

    def barrier(self):
        if self.count > 1:
            dist.barrier()

    def close(self):
        if self.count > 1:
            dist.destroy_process_group()

    def group_of(self, size):
        """Returns this rank's group of `size` ranks; every rank calls it."""
        mine = None
        for begin in range(0, self.count - size + 1, size):
            ranks = list(range(begin, begin + size))
            group = dist.new_group(ranks)
            if self.rank in ranks:
                mine = group
        return mine

    def tensor_parallel(self, degree):
        if degree == 1:
            return TensorParallel()
        return TensorParallel(degree, self.rank % degree,
                              self.group_of(degree))

    def group_sizes(self):
        """Powers of two inside a node, a whole node, and all nodes."""
        sizes = {self.per_node, self.count}
        size = 2
        while size < self.per_node:
            if self.per_node % size == 0:
                sizes.add(size)
            size *= 2
        return sorted(size for size in sizes if size > 1)


def byte_sizes(largest, smallest=4096):
    size = smallest
    while size <= largest:
        yield size
        size *= 4


def _all_reduce(x, group, _size):
    return lambda: dist.all_reduce(x, group=group)


def _all_gather(x, group, size):
    part = x[:x.numel() // size].clone()
    parts = list(x.chunk(size))
    if hasattr(dist, "all_gather_into_tensor") and x.is_cuda:
        return lambda: dist.all_gather_into_tensor(x, part, group=group)
    return lambda: dist.all_gather(parts, part, group=group)


def _reduce_scatter(x, group, size):
    part = x[:x.numel() // size].clone()
    return lambda: dist.reduce_scatter_tensor(part, x, group=group)


def _all_to_all(x, group, _size):
    received = torch.empty_like(x)
    return lambda: dist.all_to_all_single(received, x, group=group)


# gloo, which stands in for NCCL in tests, has neither of the last two.
_OPERATIONS = {"all_reduce": (_all_reduce, True),
               "all_gather": (_all_gather, True),
               "reduce_scatter": (_reduce_scatter, False),
               "all_to_all": (_all_to_all, False)}


def _points(device, make, largest, align):
    points = []
    for size in byte_sizes(largest):
        elements = max(align, size // 2 // align * align)
        x = torch.ones(elements, dtype=torch.float16, device=device.torch)
        step = make(x)
        (seconds,) = device.medians(step)
        points.append({"bytes": 2 * elements, "seconds": seconds})
        del x, step
        device.forget()
    return points


def measure_collectives(device, ranks, largest, log):
    """Returns entries of `collectives`, measured in the first group of a size.

    The other groups run the same collective at the same time.
    """
    entries = []
    for size in ranks.group_sizes():
        group = ranks.group_of(size)
        if group is None:
            continue  # This rank is in no group of that size.
        for op, (make, on_cpu) in _OPERATIONS.items():
            if not device.is_gpu and not on_cpu:
                continue
            points = _points(device, lambda x: make(x, group, size), largest,
                             _ALIGNMENT * size)
            nodes = max(1, size // ranks.per_node)
            entries.append({"op": op, "ranks": size, "nodes": nodes,
                            "points": points})
            log(f"{op} of {size} ranks: {len(points)} sizes")
    return entries


def _transfer(x, rank, peer):
    if rank < peer:
        return lambda: dist.send(x, peer)
    return lambda: dist.recv(x, peer)


def measure_p2p(device, ranks, largest, log):
    """Measures transfers to a rank of the same node and of another node."""
    entries = []
    peers = {1: 1} if ranks.per_node > 1 else {}
    if ranks.count > ranks.per_node:
        peers[2] = ranks.per_node
    for nodes, peer in peers.items():
        ranks.barrier()
        if ranks.rank not in (0, peer):
            continue
        points = _points(
            device,
            lambda x, peer=peer: _transfer(
                x, ranks.rank, peer if ranks.rank == 0 else 0),
            largest, _ALIGNMENT)
        entries.append({"nodes": nodes, "points": points})
        log(f"p2p over {nodes} nodes: {len(points)} sizes")
    ranks.barrier()
    return entries
