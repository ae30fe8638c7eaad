"""Adam in mixed precision, as training frameworks keep it."""

import torch


class MixedPrecisionAdam:
    """Keeps fp32 masters and moments of 16-bit weights.

    fp32 weights are their own masters. With `fp32_gradients` gradients
    accumulate in fp32, otherwise in the precision of the weights.
    """

    def __init__(self, parameters, fp32_gradients=False):
        self.weights = [p for p in parameters if p.requires_grad]
        self.fp32_gradients = fp32_gradients
        self.masters = [
            w if w.dtype == torch.float32
            else w.detach().float().requires_grad_() for w in self.weights]
        self.sums = None
        if fp32_gradients:
            self.sums = [torch.zeros_like(m) for m in self.masters]
            for weight, total in zip(self.weights, self.sums):
                _add_up(weight, total)
        # One kernel for all parameters, if this PyTorch has it.
        on_gpu = bool(self.weights) and self.weights[0].is_cuda
        try:
            self.adam = torch.optim.Adam(self.masters, lr=1e-4, fused=on_gpu)
        except (TypeError, RuntimeError):
            self.adam = torch.optim.Adam(self.masters, lr=1e-4, foreach=True)

    def gather_gradients(self):
        """Moves gradients after a backward pass, unless hooks have done it."""
        if self.sums is None:
            return
        for weight, total in zip(self.weights, self.sums):
            _move_gradient(weight, total)

    def step(self):
        for i, (weight, master) in enumerate(zip(self.weights, self.masters)):
            gradient = self.sums[i] if self.sums else weight.grad
            if gradient is not None:
                master.grad = gradient.float()
        self.adam.step()
        for i, (weight, master) in enumerate(zip(self.weights, self.masters)):
            if master is not weight:
                weight.detach().copy_(master)
                master.grad = None
            if self.sums:
                master.grad = None
                self.sums[i].zero_()

    def state_bytes(self):
        """Returns the bytes of weights, gradients, masters and moments."""
        total = 0
        for weight, master in zip(self.weights, self.masters):
            own_master = master is not weight
            gradient = 4 if self.fp32_gradients else weight.element_size()
            moments = 2 * 4
            total += weight.numel() * (weight.element_size() + gradient
                                       + moments + 4 * own_master)
        return total


def _move_gradient(weight, total):
    if weight.grad is not None:
        total.add_(weight.grad)
        weight.grad = None


def _add_up(weight, total):
    """Moves a gradient as soon as it exists (PyTorch 2.1 and later)."""
    if hasattr(weight, "register_post_accumulate_grad_hook"):
        weight.register_post_accumulate_grad_hook(
            lambda w: _move_gradient(w, total))
