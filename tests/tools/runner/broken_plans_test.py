"""Runs that break a plan on purpose: each is found, with the stage where it breaks.

Ten faults, of the middle one of three stages unless they say otherwise, in two plans.
"""

import contextlib
import unittest
from unittest import mock

import harness
from plans import chain, degrees

if harness.HAS_TORCH:
    import torch
    import trains
    from tangram_runner import border, parameters, stage_run, sync

BROKEN = 1


def plans():
    return {
        "tensor and data parallel": chain(
            [(1, 3), (2, 1)], [degrees(tp=2), degrees(tp=2, dp=2, sp=True),
                               degrees(dp=2)], global_batch=6),
        "context parallel, ZeRO and recomputation": chain(
            [(1, 6), (2, 4)], [degrees(dp=2), degrees(tp=2, cp=2, sp=True, zero=2),
                               degrees(tp=4)], mask=0x0ff, global_batch=6),
    }


def in_run(name, change, stage=BROKEN):
    """Replaces a method of the run of one stage: change(original, run, *arguments)."""
    original = getattr(stage_run.StageRun, name)

    def wrong(self, *arguments):
        if self.stage.index != stage:
            return original(self, *arguments)
        return change(lambda *a: original(self, *a), self, *arguments)

    return mock.patch.object(stage_run.StageRun, name, wrong)


def scaled_value():
    def wrong(original, run, microbatch, inputs):
        outputs = original(microbatch, inputs)
        return {**outputs, "x": outputs["x"] * 1.000001}
    return in_run("forward", wrong)


def scaled_gradient():
    def wrong(original, run, microbatch, gradients):
        return {name: 2 * tensor for name, tensor in
                original(microbatch, gradients).items()}
    return in_run("backward", wrong)


def mean_instead_of_sum():
    def wrong(original, run, microbatch, gradients):
        return original(microbatch, {name: tensor / 2
                                     for name, tensor in gradients.items()})
    return in_run("backward", wrong)


def another_microbatch():
    """The second microbatch gets the tensors of the first."""
    first = []

    def wrong(original, run, microbatch, inputs):
        first.append({name: tensor.clone() for name, tensor in inputs.items()})
        return original(microbatch, first[0])
    return in_run("forward", wrong)


def targets_of_another_microbatch():
    def wrong(original, run, microbatch):
        return original((microbatch + 1) % run.pipeline.num_microbatches)
    return in_run("_read_tokens", wrong, stage=2)


def only_the_last_microbatch():
    add = parameters.Shard.add_gradient

    def wrong(self, gradient):
        if self.name.startswith("1.mlp_down"):
            self.clear()
        add(self, gradient)
    return mock.patch.object(parameters.Shard, "add_gradient", wrong)


@contextlib.contextmanager
def no_sum_over_replicas():
    within_team, sum_part = sync.GradientSync._within_team, parameters.Split.sum_part

    def wrong(self, run):
        if run.stage.index != BROKEN:
            within_team(self, run)

    def wrong_part(self, flat):
        # Only the broken stage may have ZeRO 2.
        return self.part(flat)

    with mock.patch.object(sync.GradientSync, "_within_team", wrong), \
            mock.patch.object(parameters.Split, "sum_part", wrong_part):
        yield


def swapped_shards():
    """The two tp ranks have each other's part of a weight."""
    def wrong(original, run, layer, op):
        place = run.place
        if run.plan.layers[layer].operators[op] == "mlp_down":
            run.place = place._replace(tp=1 - place.tp)
        try:
            cut, operator, context, shards = original(layer, op)
        finally:
            run.place = place
        context.place = place
        return cut, operator, context, shards
    return in_run("_operator", wrong)


def mixed_up_tokens():
    """What the broken stage sends does not fit what the next one expects."""
    send = border.Exchange.send

    def wrong(self, fabric, tensors):
        if self.channel == (0, BROKEN, 0):
            tensors = {name: tensor.flip(1) for name, tensor in tensors.items()}
        send(self, fabric, tensors)
    return mock.patch.object(border.Exchange, "send", wrong)


def gradients_of_another_sample():
    """Likewise for gradients, between replicas."""
    send = border.Exchange.send

    def wrong(self, fabric, tensors):
        if self.channel == (0, BROKEN - 1, 1):
            tensors = {name: tensor.roll(1, 1) for name, tensor in tensors.items()}
        send(self, fabric, tensors)
    return mock.patch.object(border.Exchange, "send", wrong)


# From fault to the stage that the report names.
FAULTS = {scaled_value: 1, scaled_gradient: 1, mean_instead_of_sum: 1,
          another_microbatch: 1, targets_of_another_microbatch: 2,
          only_the_last_microbatch: 1, no_sum_over_replicas: 1, swapped_shards: 1,
          mixed_up_tokens: 1, gradients_of_another_sample: 1}


@unittest.skipUnless(harness.HAS_TORCH, harness.NO_TORCH)
class BrokenPlansTest(unittest.TestCase):

    def test_each_fault_is_found_in_its_stage(self):
        for name, data in plans().items():
            for fault, stage in FAULTS.items():
                with self.subTest(f"{fault.__name__}: {name}"):
                    with fault():
                        code, text = trains.run(data, small=True)
                    self.assertEqual(code, 1, text)
                    self.assertRegex(
                        text, rf"(stage {stage} is the first that goes wrong|"
                        rf"all borders are right; wrong inside stage {stage}\n)")


if __name__ == "__main__":
    harness.main()
