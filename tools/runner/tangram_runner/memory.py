"""Bytes of a rank, on its device and on its host, by kind.

Offloaded data are in another storage: of host memory if the device is a GPU, and
otherwise a copy, so that moves are real and counted on any machine.
"""

import collections

import torch

DEVICE, HOST = "device", "host"
WEIGHTS, GRADIENTS, OPTIMIZER, ACTIVATIONS = KINDS = (
    "weights", "gradients", "optimizer", "activations")


class Memory:

    def __init__(self, device):
        self.device = device
        # From (place, kind) to bytes: now, and the most so far.
        self.bytes = collections.Counter()
        self.peak = collections.Counter()
        # From (place, kind) to bytes that were copied to there.
        self.moved = collections.Counter()
        self._storages = collections.Counter()

    def count(self, place, kind, size):
        self.bytes[place, kind] += size
        self.peak[place, kind] = max(self.peak[place, kind], self.bytes[place, kind])

    def count_storage(self, tensor, times):
        """Counts the storage of an activation once, however often it is kept."""
        key = storage_of(tensor)
        before = self._storages[key]
        self._storages[key] += times
        if before == 0 or self._storages[key] == 0:
            self.count(DEVICE, ACTIVATIONS, times * _storage(tensor).nbytes())
        if self._storages[key] == 0:
            del self._storages[key]

    def to_host(self, tensor, kind):
        self.moved[HOST, kind] += bytes_of(tensor)
        if tensor.is_cuda:
            return torch.empty(tensor.shape, dtype=tensor.dtype,
                               pin_memory=True).copy_(tensor)
        return tensor.clone()

    def to_device(self, tensor, kind):
        self.moved[DEVICE, kind] += bytes_of(tensor)
        return tensor.clone() if self.device.type == "cpu" else tensor.to(self.device)


def bytes_of(tensor):
    return tensor.numel() * tensor.element_size()


def storage_of(tensor):
    """Equal for tensors that share a storage, as long as one of them lives. Empty ones
    have no address, but a storage each."""
    return _storage(tensor)._cdata


def _storage(tensor):
    # PyTorch 2 has another name.
    return (tensor.untyped_storage() if hasattr(tensor, "untyped_storage")
            else tensor.storage())


class Held:
    """A flat tensor whose first elements, a fraction of them, are on the host."""

    def __init__(self, values, kind, fraction, memory):
        self.kind, self.memory = kind, memory
        self.on_host = round(values.numel() * fraction)
        self.size = values.numel()
        self._count(values.element_size())
        self.put(values)

    def _count(self, element_bytes):
        self.memory.count(HOST, self.kind, element_bytes * self.on_host)
        self.memory.count(DEVICE, self.kind, element_bytes * (self.size - self.on_host))

    @property
    def is_on_device(self):
        return self.on_host == 0

    def get(self):
        """Returns the whole tensor on the device."""
        if self.is_on_device:
            return self.device_part
        return torch.cat([self.memory.to_device(self.host_part, self.kind),
                          self.device_part])

    def put(self, values):
        if self.is_on_device:
            self.device_part = values
        else:
            self.host_part = self.memory.to_host(values[:self.on_host], self.kind)
            self.device_part = values[self.on_host:].clone()

    def free(self):
        self._count(-self.device_part.element_size())
        self.device_part = self.host_part = None
