"""What each rank does: train for some steps, print, and compare if asked."""

import dataclasses
import sys

import torch

from .check import TOLERANCES, Comparison, Recorder, Reference
from .memory import DEVICE, HOST, KINDS
from .trainer import Settings, Trainer

RIGHT, WRONG = 0, 1
DTYPES = {"FP32": "float32", "FP16": "float16", "BF16": "bfloat16"}


def settings_of(plan, seed, dtype):
    return Settings(seed, getattr(torch, dtype), plan.fp32_gradients, plan.bf16_moments)


class Job:
    """Called on each rank with its fabric."""

    def __init__(self, plan, options, out=sys.stdout):
        self.plan = plan
        self.out = out
        self.steps = options.steps
        self.check = options.check
        self.memory = options.memory
        name = options.dtype or ("float64" if options.check else DTYPES[plan.precision])
        self.settings = settings_of(plan, options.seed, name)
        self.tolerances = TOLERANCES[name]
        if options.tolerance is not None:
            self.tolerances = dataclasses.replace(self.tolerances,
                                                  of_tensors=options.tolerance)

    def __call__(self, fabric):
        """Returns the exit code, the same on all ranks but for a comparison,
        which rank 0 makes."""
        trainer = Trainer(self.plan, fabric, self.settings)
        reference = recorder = None
        if self.check:
            recorder = Recorder(trainer)
            if fabric.rank == 0:
                reference = Reference(self.plan, self.settings, fabric.device)
        result = RIGHT
        for step in range(self.steps):
            loss = trainer.gradients(step)
            if fabric.rank == 0:
                self._print(f"step {step}: loss {loss:.6f}")
            found = fabric.gather_objects(recorder.take()) if self.check else None
            overflows = not trainer.update()
            if overflows and fabric.rank == 0:
                self._print(f"step {step}: gradients overflow, no update; loss scale "
                            f"{trainer.loss_scale.value:g}")
            if overflows or not self.check:  # Infinite gradients equal none.
                continue
            weights = fabric.gather_objects(recorder.weights())
            if fabric.rank == 0 and not self._compare(reference, step, loss, found,
                                                      weights):
                result = WRONG
        if self.memory:
            self._print_memory(fabric.gather_objects(trainer.memory()))
        return result

    def _compare(self, reference, step, loss, found, weights):
        """Compares a step with that of the one process. Returns whether it is right."""
        comparison = Comparison(self.plan, reference, loss, reference.step(step), found,
                                self.tolerances)
        if self.tolerances.of_weights is None:
            reference.take_weights(weights)
        else:
            reference.trainer.update()
            comparison.add_weights(reference, weights)
        self._print("\n".join(comparison.lines()))
        return comparison.is_right

    def _print_memory(self, ranks):
        if ranks is None:
            return
        stages = {}
        for stage, memory in (pair for rank in ranks for pair in rank):
            stages.setdefault(stage, []).append(memory)
        for (pipeline, stage), all_of in sorted(stages.items()):
            self._print(self.plan.stage_name(pipeline, stage) + ", most of a rank:")
            for kind in KINDS:
                device, host = (max(m.peak[place, kind] for m in all_of)
                                for place in (DEVICE, HOST))
                moved = max(m.moved[HOST, kind] + m.moved[DEVICE, kind] for m in all_of)
                self._print(f"  {kind}: {device} B, on the host {host} B, copied {moved} B")

    def _print(self, text):
        print(text, file=self.out, flush=True)
