"""ZeRO, host offload, dropped activations and 16-bit training: they train as one
process does, and take the bytes that they say."""

import re
import unittest
from unittest import mock

import harness
from plans import LLAMA, chain, degrees, model

if harness.HAS_TORCH:
    import torch
    import trains
    from tangram_runner import data as tokens
    from tangram_runner import kept, launch, memory, parameters, room, sync, trainer
    from tangram_runner.job import DTYPES, settings_of
    from tangram_runner.read_plan import plan_of

DROP_OUTPUTS = 1 << 31
EVERYTHING = {"weights": 1, "gradients": 1, "optimizer": 1, "activations": 1}


def offloaded(data, **fractions):
    for stage in data["plan"]["stages"]:
        stage["plan"]["offload"] = dict(fractions)
    return data


def two_pipelines(sync_name, fractions, parallelism):
    """Of three stages and of two, with unlike cuts."""
    first = chain([(1, 3), (2, 1)], [degrees(tp=2), parallelism, degrees()])
    second = chain([(2, 4)], [parallelism, degrees(tp=4)])
    for stage in second["plan"]["stages"]:
        stage["gpus"][0]["node"] = "m"
    data = {**first, "replicated_plan": {"sync": sync_name, "pipelines": [
        {"plan": first.pop("plan"), "num_microbatches": 3,
         "state_fraction": fractions[0]},
        {"plan": second.pop("plan"), "num_microbatches": 2,
         "state_fraction": fractions[1]}]}}
    data.pop("plan")
    data["training"]["global_batch_size"] = 10
    return data


@unittest.skipUnless(harness.HAS_TORCH, harness.NO_TORCH)
class TrainsRightTest(unittest.TestCase):

    def test_zero_stages(self):
        for zero in 2, 3:
            with self.subTest(zero):
                trains.right(self, chain([(1, 3)], [
                    degrees(tp=2, dp=2, sp=True, zero=zero),
                    degrees(tp=2, cp=2, zero=zero)], mask=0x0f6), steps=3)

    def test_zero_with_split_backward_passes(self):
        trains.right(self, chain([(1, 3)], [degrees(dp=2, zero=3), degrees(dp=2, zero=2)],
                                 mask=0x0f6, schedule="zb-h1"), steps=3)

    def test_pipelines_that_share_state(self):
        for name in "zero1", "zero2":
            for fractions in (0.7, 0.3), (0.001, 0.999):
                for zero in 0, 3:
                    with self.subTest(f"{name} {fractions} {zero}"):
                        trains.right(self, two_pipelines(
                            name, fractions, degrees(dp=2, zero=zero)), steps=3)

    def test_offload(self):
        trains.right(self, offloaded(
            chain([(1, 3)], [degrees(dp=2, zero=3), degrees(tp=2)], mask=0x0f6,
                  of=model(**LLAMA)),
            weights=0.3, gradients=0.5, optimizer=1, activations=0.7), steps=3)

    def test_dropped_outputs(self):
        for mask in 0x001, 0x0a1, 0x3ff:
            with self.subTest(mask):
                trains.right(self, chain([(1, 7)], [degrees(tp=2, sp=True), degrees()],
                                         mask=mask | DROP_OUTPUTS), steps=2)


@unittest.skipUnless(harness.HAS_TORCH, harness.NO_TORCH)
class BytesTest(unittest.TestCase):

    def bytes(self, data):
        """From kind to bytes on the device, on the host, and copied, of stage 0."""
        code, text = trains.run(data, "--memory", "--steps", "2")
        self.assertEqual(code, 0, text)
        return {kind: [int(n) for n in numbers] for kind, *numbers in re.findall(
            r"  (\w+): (\d+) B, on the host (\d+) B, copied (\d+) B",
            text.split("stage 1")[0])}

    def test_what_is_said_before_a_run_is_what_it_takes(self):
        for data in (chain([(1, 3)], [degrees(tp=2, dp=2, zero=1), degrees()]),
                     chain([], [degrees(dp=2, zero=3)], of=model(**LLAMA)),
                     chain([], [degrees(tp=2, dp=2, zero=2)], mask=0x3ff)):
            plan = plan_of(data)
            settings = settings_of(plan, 1, "float32")

            def work(fabric):
                one = trainer.Trainer(plan, fabric, settings)
                one.gradients(0)
                one.update()
                found = fabric.gather_objects([held for _, held in one.memory()])
                return sum(held.peak[memory.DEVICE, kind] for rank in found or ()
                           for held in rank for kind in memory.KINDS[:3])

            taken = launch.spawn(plan.num_ranks, work)
            # Parts of ZeRO are padded, and tp ranks hold some vectors of a part.
            self.assertAlmostEqual(room.state_bytes(plan, settings, False), taken,
                                   delta=0.01 * taken)

    def test_zero_shares_what_its_stage_says(self):
        whole = self.bytes(chain([], [degrees(dp=2)]))
        self.assertEqual(whole["optimizer"][0], 2 * whole["weights"][0])
        for zero, kinds in (1, ["optimizer"]), (2, ["optimizer", "gradients"]), (
                3, ["optimizer", "gradients", "weights"]):
            shared = self.bytes(chain([], [degrees(dp=2, zero=zero)]))
            for kind in ("optimizer", "gradients", "weights"):
                parts = 2 if kind in kinds else 1
                self.assertEqual(shared[kind][0] * parts, whole[kind][0], (zero, kind))

    def test_offload_moves_its_fraction(self):
        for one in EVERYTHING:
            whole = self.bytes(chain([], [degrees()]))[one]
            self.assertEqual(whole[1:], [0, 0])
            for fraction in 0.5, 1:
                device, host, copied = self.bytes(
                    offloaded(chain([], [degrees()]), **{one: fraction}))[one]
                if one != "activations":
                    self.assertEqual(device + host, whole[0])
                self.assertLess(abs(device - (1 - fraction) * (device + host)), 200)
                self.assertLess(device, whole[0])
                self.assertGreater(copied, 2 * host)

    def test_recomputation_and_dropped_outputs_keep_less(self):
        kept_bytes = [self.bytes(chain([], [degrees()], mask=mask))["activations"][0]
                      for mask in (0, 0x081, 0x081 | DROP_OUTPUTS)]
        self.assertLess(kept_bytes[1], kept_bytes[0])
        self.assertLess(kept_bytes[2], kept_bytes[1])


@unittest.skipUnless(harness.HAS_TORCH, harness.NO_TORCH)
class PrecisionTest(unittest.TestCase):

    def losses(self, precision, *options, **training):
        data = chain([(1, 3)], [degrees(dp=2, zero=2), degrees(tp=2)])
        data["training"].update(precision=precision, **training)
        code, text = trains.run(data, "--steps", "4", "--memory", *options, check=False)
        self.assertEqual(code, 0, text)
        return [float(loss) for loss in re.findall(r"loss (\d\S+)\n", text)], text

    def test_16_bits_train_as_32_do(self):
        batch = tokens.batch

        def same(seed, step, *rest):
            return batch(seed, 0, *rest)

        with mock.patch.object(tokens, "batch", same):
            expected, _ = self.losses("FP32")
            self.assertLess(expected[-1], expected[0] - 0.05)
            for precision in "FP16", "BF16":
                for more in {}, {"fp32_gradients": True, "bf16_moments": True}:
                    found, text = self.losses(precision, **more)
                    self.assertNotIn("overflow", text)
                    for a, b in zip(found, expected):
                        self.assertAlmostEqual(a, b, delta=0.02)

    def changes(self, precision):
        """What three steps of SGD change of each parameter, in the copy that steps."""
        content = chain([(1, 3)], [degrees(dp=2, zero=1), degrees(dp=2)])
        content["training"].update(precision=precision, optimizer="SGD")
        plan = plan_of(content)

        def work(fabric):
            run = trainer.Trainer(plan, fabric, settings_of(plan, 1, DTYPES[precision]))
            before = {}
            for step in range(3):
                run.gradients(step)
                run.update()
                for optimizer in run.optimizers:
                    for name, state in optimizer.states.items():
                        before.setdefault(name, []).append(state.master.get())
            return {name: (values[-1] - values[0]).tolist()
                    for name, values in before.items()}

        return {name: torch.tensor(change, dtype=torch.float64)
                for name, change in launch.spawn(plan.num_ranks, work).items()}

    def test_masters_change_by_gradients_without_the_scale_of_the_loss(self):
        """Both types have one scale, 2^16 or none. Steps are too small for 16 bits."""
        half, brain = self.changes("FP16"), self.changes("BF16")
        self.assertEqual(set(half), set(brain))
        for name, change in half.items():
            with self.subTest(name):
                size = float(change.norm())
                if name.endswith("k.bias"):  # A rounding error.
                    continue
                self.assertGreater(size, 0)
                self.assertLess(float((change - brain[name]).norm()), 0.1 * size)

    def test_a_comparison_in_16_bits(self):
        content = chain([(1, 3), (2, 1)], [degrees(tp=2, sp=True), degrees(dp=2, zero=2),
                                           degrees(cp=2)], mask=0x0c6)
        for dtype in "float16", "bfloat16":
            code, text = trains.run(content, "--steps", "2", "--dtype", dtype)
            self.assertEqual(code, 0, text)
            self.assertEqual(text.count("right: loss and"), 2)

    def test_a_comparison_goes_on_after_an_overflow(self):
        content = chain([(1, 3)], [degrees(tp=2), degrees(dp=2, zero=1)])
        with mock.patch.object(trainer.LossScale, "FIRST", 2.0 ** 40):
            code, text = trains.run(content, "--steps", "30", "--dtype", "float16")
        self.assertEqual(code, 0, text)
        self.assertIn("gradients overflow, no update", text)
        self.assertIn("right: loss and", text)

    def test_a_comparison_in_16_bits_finds_a_wrong_gradient(self):
        add = parameters.Shard.add_gradient

        def wrong(self, gradient):
            add(self, 1.5 * gradient if self.settings.has_masters else gradient)

        content = chain([(1, 3)], [degrees(tp=2), degrees(dp=2)])
        with mock.patch.object(parameters.Shard, "add_gradient", wrong):
            for dtype in "float16", "bfloat16":
                code, text = trains.run(content, "--dtype", dtype)
                self.assertEqual(code, 1, text)

    def test_weights_have_16_bits_and_masters_32(self):
        def weights_and_optimizer(precision):
            _, text = self.losses(precision)
            return [int(re.search(rf"{kind}: (\d+) B", text).group(1))
                    for kind in ("weights", "optimizer")]
        wide, narrow = weights_and_optimizer("FP32"), weights_and_optimizer("FP16")
        self.assertEqual(narrow[0] * 2, wide[0])
        self.assertEqual(narrow[1] * 2, wide[1] * 3)

    def test_steps_that_overflow_are_left_out(self):
        with mock.patch.object(trainer.LossScale, "FIRST", 2.0 ** 40):
            losses, text = self.losses("FP16")
        self.assertIn("step 0: gradients overflow, no update; loss scale 5.49756e+11",
                      text)
        self.assertEqual(len(losses), 4)

    def test_gradients_too_small_for_16_bits_are_scaled(self):
        tiny = torch.tensor(2.0 ** -30)
        self.assertEqual(float(tiny.half()), 0)
        self.assertGreater(float((tiny * trainer.LossScale.FIRST).half()), 0)


@unittest.skipUnless(harness.HAS_TORCH, harness.NO_TORCH)
class FaultTest(unittest.TestCase):
    """Faults of stage 1 alone are found there."""

    def setUp(self):
        self.data = offloaded(chain([(1, 3), (2, 1)], [
            degrees(tp=2), degrees(tp=2, dp=2, sp=True, zero=3), degrees(dp=2)],
            mask=0x080 | DROP_OUTPUTS), activations=0.5, gradients=0.5)

    def finds(self, *texts, steps=1):
        code, text = trains.run(self.data, "--steps", str(steps))
        self.assertEqual(code, 1, text)
        trains.finds(self, text, *texts)

    def test_parts_that_replicas_do_not_add_up(self):
        with mock.patch.object(parameters.Split, "sum_part",
                               lambda self, flat: self.part(flat)):
            self.finds("all borders are right; wrong inside stage 1")

    def test_parts_gathered_in_another_order(self):
        def wrong(self, part):
            if len(self.ranks) == 1:
                return part
            return torch.cat(self.fabric.all_gather(part, self.ranks)[::-1])[:self.size]

        with mock.patch.object(parameters.Split, "whole", wrong):
            self.finds("stage 1 is the first that goes wrong: the value of")

    def test_an_activation_that_comes_back_wrong(self):
        get = kept._Kept.get

        def wrong(self):
            part = get(self)
            return part.neg() if self.stage == 1 and part.is_floating_point() else part

        keep = kept.Keeper.keep

        def mark(self, tensor):
            result = keep(self, tensor)
            result.stage = 1 if self.fraction == 0.25 else 0
            return result

        self.data["plan"]["stages"][1]["plan"]["offload"]["activations"] = 0.25
        with mock.patch.object(kept._Kept, "get", wrong), \
                mock.patch.object(kept.Keeper, "keep", mark):
            self.finds(trains.SAME_LOSS, "stage 1 is the first that goes "
                       "wrong: the gradient of")

    def test_a_dropped_output_of_another_run(self):
        output = kept.Segment.output
        self.data["plan"]["stages"][2]["plan"]["recompute"] = [
            {"num_layers": 2, "mask": 0}]
        with mock.patch.object(kept.Segment, "output",
                               lambda self, name: 2 * output(self, name)):
            self.finds(trains.SAME_LOSS, "all borders are right; wrong inside "
                       "stage 1", "gradient of 1.mlp_down.weight")

    def test_gradients_that_stay_on_the_host(self):
        get = memory.Held.get

        def wrong(self):
            values = get(self)
            if self.kind == memory.GRADIENTS and 0 < self.on_host < self.size * 0.4:
                values[:self.on_host] = 0
            return values

        self.data["plan"]["stages"][1]["plan"]["offload"]["gradients"] = 0.25
        with mock.patch.object(memory.Held, "get", wrong):
            self.finds("all borders are right; wrong inside stage 1")

    def test_a_region_that_no_pipeline_adds_up(self):
        region = sync.region

        def wrong(plan, pipeline, parameter, box):
            found = region(plan, pipeline, parameter, box)
            if pipeline == 1 and parameter.name == "positions":
                return tuple((begin, begin) for begin, _ in found)
            return found

        self.data = two_pipelines("zero1", (0.7, 0.3), degrees())
        with mock.patch.object(sync, "region", wrong), \
                mock.patch("tangram_runner.stage_run.region", wrong):
            self.finds("gradient of 0.embedding.positions: no rank has")

    def test_new_weights_that_are_not_kept(self):
        """One step: no gradient is wrong yet."""
        def wrong(self, part):
            pass

        with mock.patch.object(parameters.Shard, "set_part", wrong):
            self.finds("0 of 36 gradients differ",
                       "all borders are right; wrong inside stage 1",
                       re.compile("new value of 1.* stage 1: differs by"))

    def test_new_weights_that_do_not_arrive(self):
        receive = sync.GradientSync.gather_new

        def wrong(self):
            held = {run: {name: shard.whole().clone()
                          for name, shard in run.shards.items()} for run in self.runs}
            receive(self)
            for run in self.runs:
                for name, shard in run.shards.items():
                    if (run.pipeline_index, run.stage.index) == (0, 1):
                        shard.set_box(held[run][name])

        self.data = two_pipelines("zero1", (0.3, 0.7), degrees())
        with mock.patch.object(sync.GradientSync, "gather_new", wrong):
            self.finds("pipeline 0 stage 1 is the first that goes wrong: the value of",
                       steps=2)


if __name__ == "__main__":
    harness.main()
