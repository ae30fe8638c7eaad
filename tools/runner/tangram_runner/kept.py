"""What a forward pass keeps for its backward pass.

Autograd asks for each tensor that it saves. It is kept on the device or, a fraction
of it, on the host. Two kinds are not kept but made again: parameters that are
gathered or copied for each use, and what recomputed segments compute (1604.06174).
"""

import contextlib

import torch
from torch.autograd.graph import saved_tensors_hooks

from .memory import ACTIVATIONS, DEVICE, HOST, bytes_of, storage_of


class _Kept:
    """A tensor that is kept, in part on the host."""

    def __init__(self, tensor, fraction, memory):
        self.memory = memory
        tensor = tensor.detach()
        on_host = round(tensor.numel() * fraction)
        self.tensor, self.parts = tensor, None
        if on_host:
            flat = tensor.reshape(-1)
            self.parts = memory.to_host(flat[:on_host], ACTIVATIONS), flat[on_host:].clone()
            self.shape, self.tensor = tensor.shape, None
        self._count(1)

    def _count(self, times):
        if self.parts is None:
            self.memory.count_storage(self.tensor, times)
            return
        for place, part in zip((HOST, DEVICE), self.parts):
            self.memory.count(place, ACTIVATIONS, times * bytes_of(part))

    def get(self):
        if self.parts is None:
            return self.tensor
        host, rest = self.parts
        return torch.cat([self.memory.to_device(host, ACTIVATIONS), rest]).view(self.shape)

    def __del__(self):
        self._count(-1)


class _Again:
    """A tensor that `make` makes again, or a view of it."""

    def __init__(self, tensor, make):
        self.make = make
        self.view = tensor.size(), tensor.stride(), tensor.storage_offset()

    def get(self):
        return self.make().detach().as_strided(*self.view)


class Keeper:
    """How the passes of one stage on one rank keep tensors."""

    def __init__(self, memory, fraction):
        self.memory, self.fraction = memory, fraction
        # From storage to a function that makes its tensor again. The tensors live
        # while they are here, so that no other has their storage.
        self._sources = {}

    @contextlib.contextmanager
    def instead(self, pairs):
        """Within this, a tensor of a (tensor, function) pair is not kept."""
        before = self._sources
        self._sources = {**before, **{storage_of(t): make for t, make in pairs}}
        try:
            yield
        finally:
            self._sources = before

    def keep(self, tensor):
        # Empty tensors are made again too: to do so, ranks talk to others, whose tensors
        # need not be empty.
        make = self._sources.get(storage_of(tensor))
        return (_Again(tensor, make) if make
                else _Kept(tensor, self.fraction, self.memory))

    def hooks(self):
        return saved_tensors_hooks(self.keep, lambda kept: kept.get())


class Segment:
    """A recomputed segment: `run` from named tensors to named tensors. It keeps its
    inputs, and runs again when the backward pass first asks for something else."""

    def __init__(self, run, inputs, keeper):
        self.run = run
        self.inputs = {name: (keeper.keep(tensor), tensor.requires_grad)
                       for name, tensor in inputs.items()}
        self.saved, self.outputs, self.count = None, None, 0
        with saved_tensors_hooks(self._number, lambda i: self._again()[0][i]):
            self.results = run(inputs)

    def forward(self):
        """The results of the first run. From now on they are not kept here."""
        results, self.results = self.results, None
        return results

    def output(self, name):
        return self._again()[1][name]

    def _number(self, tensor):
        self.count += 1
        return self.count - 1

    def _again(self):
        if self.saved is None:
            saved = []
            inputs = {name: kept.get().detach().requires_grad_(needs)
                      for name, (kept, needs) in self.inputs.items()}
            with torch.enable_grad(), saved_tensors_hooks(
                    lambda tensor: saved.append(tensor.detach()), lambda _: None):
                outputs = self.run(inputs)
            self.saved = saved
            self.outputs = {name: tensor.detach() for name, tensor in outputs.items()}
        return self.saved, self.outputs


class _Enter(torch.autograd.Function):
    """An input of a stage. Its gradient is put into `found`."""

    @staticmethod
    def forward(ctx, anchor, tensor, name, found):
        ctx.name, ctx.found = name, found
        return tensor.view_as(tensor)

    @staticmethod
    def backward(ctx, gradient):
        ctx.found[ctx.name] = gradient
        return None, None, None, None


class _Leave(torch.autograd.Function):
    """The outputs of a stage, as one number. Their gradients are taken from
    `gradients`, so that the outputs need not be kept."""

    @staticmethod
    def forward(ctx, gradients, names, *outputs):
        ctx.names, ctx.gradients = names, gradients
        return outputs[0].new_zeros((), dtype=torch.float32)

    @staticmethod
    def backward(ctx, _):
        return (None, None, *(ctx.gradients.get(name) for name in ctx.names))


class Pass:
    """One microbatch in a stage, from its forward to its backward pass."""

    def __init__(self, device):
        self.anchor = torch.zeros((), device=device, requires_grad=True)
        self.shapes, self.found, self.gradients = {}, {}, {}

    def enter(self, inputs):
        result = dict(inputs)
        for name, tensor in inputs.items():
            if tensor.is_floating_point():
                self.shapes[name] = tensor.shape, tensor.dtype, tensor.device
                result[name] = _Enter.apply(self.anchor, tensor, name, self.found)
        return result

    def leave(self, outputs):
        names = sorted(n for n, t in outputs.items() if t.requires_grad)
        self.end = _Leave.apply(self.gradients, names, *(outputs[n] for n in names))

    def backward(self, gradients):
        """Also adds the gradients of parameters. Returns those of the inputs."""
        self.gradients.update(gradients)
        self.end.backward()
        return {name: self.found[name] if name in self.found else
                torch.zeros(shape, dtype=dtype, device=device)
                for name, (shape, dtype, device) in self.shapes.items()}
