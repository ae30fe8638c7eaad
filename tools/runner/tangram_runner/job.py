"""What each rank does: train for some steps, print, and compare if asked."""

import sys

import torch

from .check import Comparison, Recorder, Reference
from .trainer import Settings, Trainer

RIGHT, WRONG = 0, 1


class Job:
    """Called on each rank with its fabric."""

    def __init__(self, plan, options, out=sys.stdout):
        self.plan = plan
        self.out = out
        self.steps = options.steps
        self.check = options.check
        name = options.dtype or ("float64" if options.check else "float32")
        self.settings = Settings(options.seed, getattr(torch, name))
        self.tolerance = options.tolerance or (1e-9 if name == "float64" else 1e-3)

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
            if self.check:
                ranks = fabric.gather_objects(recorder.take())
                if fabric.rank == 0 and not self._compare(reference, step, loss, ranks):
                    result = WRONG
            trainer.update()
        return result

    def _print(self, text):
        print(text, file=self.out, flush=True)

    def _compare(self, reference, step, loss, ranks):
        expected = reference.step(step)
        comparison = Comparison(self.plan, reference, loss, expected, ranks,
                                self.tolerance)
        self._print("\n".join(comparison.lines()))
        reference.trainer.update()
        return comparison.is_right
