"""Backward passes in two halves do the work of whole ones, no more."""

import collections
import unittest

import harness
from plans import DEEPSEEK, GPT, LLAMA, chain, degrees, model

if harness.HAS_TORCH:
    import torch
    from torch.profiler import ProfilerActivity, profile
    from tangram_runner import pieces
    from tangram_runner.job import settings_of
    from tangram_runner.operators import live_tensors
    from tangram_runner.read_plan import plan_of
    from tangram_runner.silent import Silent
    from tangram_runner.stage_run import StageRun

    class Counted(Silent):
        """Counts what is said."""

        def __init__(self):
            super().__init__(0, torch.device("cpu"))
            self.calls = collections.Counter()

        def __getattribute__(self, name):
            if name in ("all_reduce", "reduce_scatter", "all_gather", "all_to_all"):
                self.calls[name] += 1
            return super().__getattribute__(name)


def flops(work):
    """Of the products of matrices in `work()`."""
    with profile(activities=[ProfilerActivity.CPU], with_flops=True) as found:
        work()
    return sum(event.flops for event in found.events() if event.name in
               ("aten::mm", "aten::bmm", "aten::addmm"))


@unittest.skipUnless(harness.HAS_TORCH, harness.NO_TORCH)
class HalvesTest(unittest.TestCase):

    def work(self, schedule, of, parallelism, mask):
        """FLOPs of a pass's halves, or of all of it and None, and what they say."""
        plan = plan_of(chain([(1, 0)], [degrees(), parallelism], of=of, mask=mask,
                             schedule=schedule))
        stage, fabric = plan.pipelines[0].stages[1], Counted()
        fabric.rank = stage.teams[0].ranks[0]
        run = StageRun(plan, 0, stage, stage.teams[0], fabric,
                       live_tensors(plan.layers), settings_of(plan, 1, "float32"))
        run.forward(0, pieces._values(run, stage.begin, run.live))
        fabric.calls.clear()
        first, second = flops(lambda: run.backward(0, {})), 0
        if schedule == "zb-h1":
            second = flops(lambda: run.weight_gradients(0))
        return first, second, fabric.calls

    def test_they_repeat_no_product_and_no_talk(self):
        for of, parallelism in ((GPT, degrees()), (GPT, degrees(tp=2)),
                                (LLAMA, degrees(tp=2, sp=True)),
                                (LLAMA, degrees(tp=4, tp_y_degree=2))):
            for mask in 0, 0x3ff, 0x0c6:
                with self.subTest(str((of, parallelism, mask))):
                    whole, _, said = self.work("1f1b", model(**of), parallelism, mask)
                    *halves, again = self.work("zb-h1", model(**of), parallelism, mask)
                    self.assertEqual(sum(halves), whole)
                    self.assertEqual(again, said)

    def test_the_first_makes_no_gradients_of_weights(self):
        # A product of inputs and weights has two of the same size in the backward pass;
        # that of queries and keys needs both at once.
        for of in (GPT, LLAMA):
            first, second, _ = self.work("zb-h1", model(**of), degrees(), 0)
            self.assertLess(second, first)
            self.assertGreater(second, 0.4 * (first + second))

    def test_latent_attention_repeats_little(self):
        whole, _, said = self.work("1f1b", model(**DEEPSEEK), degrees(), 0)
        *halves, again = self.work("zb-h1", model(**DEEPSEEK), degrees(), 0)
        self.assertLess(sum(halves), 1.1 * whole)
        self.assertEqual(again, said)


if __name__ == "__main__":
    harness.main()
