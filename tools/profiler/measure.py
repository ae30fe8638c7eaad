"""Measures times and memory on one device.

CUDA events time a GPU on its own timeline. The clock times a CPU, which is for
tests of these programs.
"""

import argparse
import statistics
import sys
import time

import torch

WARMUP_ROUNDS = 3
SEED = 1234
DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}

EXIT_NOTHING_TO_MEASURE = 2


def fail(message):
    print(message, file=sys.stderr)
    sys.exit(EXIT_NOTHING_TO_MEASURE)


def positive_int(text):
    """The type of a command-line option."""
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"{text}; expected a positive integer")
    return int(text)


def check_writable(path):
    """Fails now rather than after minutes of measuring."""
    try:
        with open(path, "a", encoding="utf-8"):
            pass
    except OSError as error:
        fail(f"--out {path}: {error.strerror}")


def choose_device(kind, allow_no_gpu, index=0):
    """Returns the device to measure; ends the program if there is none."""
    if kind == "cpu":
        return Device(torch.device("cpu"))
    if torch.cuda.is_available():
        torch.cuda.set_device(index)
        return Device(torch.device("cuda", index))
    if allow_no_gpu:
        print("no GPU found: nothing measured")
        sys.exit(0)
    fail("no GPU found: nothing measured; PyTorch sees no CUDA or ROCm device")


class Device:
    """A device with its tensors, time and memory."""

    def __init__(self, torch_device, repeats=10):
        self.torch = torch_device
        self.is_gpu = torch_device.type == "cuda"
        self.repeats = repeats
        self.name = (torch.cuda.get_device_name(torch_device) if self.is_gpu
                     else "CPU")
        # FlashAttention-2 needs compute capability 8.0; ROCm reports 9.0+.
        self.has_flash_attention = self.is_gpu and (
            torch.cuda.get_device_capability(torch_device)[0] >= 8)

    def synchronize(self):
        if self.is_gpu:
            torch.cuda.synchronize(self.torch)

    def medians(self, *steps):
        """Returns the median seconds of each of `steps`, run in turn."""
        rounds = []
        for i in range(WARMUP_ROUNDS + self.repeats):
            marks = [self._mark()]
            for step in steps:
                step()
                marks.append(self._mark())
            self.synchronize()
            if i >= WARMUP_ROUNDS:
                rounds.append([self._seconds(a, b)
                               for a, b in zip(marks, marks[1:])])
        return [statistics.median(seconds) for seconds in zip(*rounds)]

    def _mark(self):
        if not self.is_gpu:
            return time.perf_counter()
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def _seconds(self, begin, end):
        if not self.is_gpu:
            return end - begin
        return begin.elapsed_time(end) / 1e3

    def allocated_bytes(self):
        """Returns the bytes of tensors; None on a CPU."""
        return torch.cuda.memory_allocated(self.torch) if self.is_gpu else None

    def peak_allocated_bytes(self):
        return (torch.cuda.max_memory_allocated(self.torch) if self.is_gpu
                else None)

    def forget(self):
        """Returns memory to the driver between measurements."""
        if self.is_gpu:
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats(self.torch)

    def context_bytes(self):
        """Returns the bytes that the runtime took beside the allocator.

        Assumes that all used memory of the GPU belongs to this process.
        """
        if not self.is_gpu:
            return None
        free, total = torch.cuda.mem_get_info(self.torch)
        return total - free - torch.cuda.memory_reserved(self.torch)


def is_out_of_memory(error):
    return "out of memory" in str(error).lower()


def time_passes(device, function, inputs):
    """Median seconds of the forward and the backward pass of `function`.

    Gradients of weights accumulate, as they do over microbatches.
    """
    leaves = [_leaf(x) for x in inputs]
    live = {}

    def forward():
        live["output"] = function(*leaves)

    def backward():
        output = live.pop("output")
        if "gradient" not in live:
            live["gradient"] = torch.ones_like(output)
        output.backward(live["gradient"])
        for leaf in leaves:
            leaf.grad = None

    return device.medians(forward, backward)


def saved_bytes(device, function, inputs):
    """What a forward pass leaves in memory for the backward pass.

    The output counts and the input does not: it is the output of the layer
    before. None where the device does not count.
    """
    leaves = [_leaf(x) for x in inputs]
    if device.allocated_bytes() is None:
        return None
    before = device.allocated_bytes()
    output = function(*leaves)
    after = device.allocated_bytes()
    del output
    return after - before


def _leaf(x):
    x = x.detach()
    return x.requires_grad_() if x.is_floating_point() else x
