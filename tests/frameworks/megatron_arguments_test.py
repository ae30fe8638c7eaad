"""Megatron-LM's own parser and validation accept the arguments."""

import importlib.util
import itertools
import unittest

import megatron_arguments
import upstream


def has_bf16(plan):
    """Returns whether all GPUs of the plan do, as compute capability 8 and
    later does."""
    cluster = plan["cluster"]
    device_of = {name: cluster["devices"][group["device"]]
                 for group in cluster["nodes"] for name in group["names"]}
    return all(device_of[gpu["node"]]["peak_flops"]["bf16"] > 0
               for stage in plan["plan"]["stages"] for gpu in stage["gpus"])


class MegatronArguments(upstream.Exports):

    @classmethod
    def setUpClass(cls):
        root = upstream.checkout("Megatron-LM")
        if importlib.util.find_spec("torch") is None:
            raise unittest.SkipTest("no Python package torch")
        cls.arguments = megatron_arguments.load(root)
        super().setUpClass()

    def parse(self, folder, world, capability=7):
        _, *words = upstream.launched(folder, "MEGATRON_LM", "Megatron-LM")
        words += ["--mock-data", "--tokenizer-type", "NullTokenizer",
                  "--train-iters", "3", "--lr", "0.0001"]
        return megatron_arguments.parse(self.arguments, words, 0, world,
                                        capability)

    def check(self, folder, plan):
        """Checks that it trains the plan's stages, batch and model."""
        stages = plan["plan"]["stages"]
        args, config = self.parse(
            folder, sum(g["count"] for s in stages for g in s["gpus"]),
            8 if has_bf16(plan) else 7)
        self.assertEqual(args.pipeline_model_parallel_size, len(stages))
        self.assertEqual(
            args.micro_batch_size * args.data_parallel_size,
            plan["plan"]["pipeline_microbatch_size"])
        names = [[layer.name for layer in stage[0]]
                 for stage in config.pipeline_model_parallel_layout.layout]
        ends = list(itertools.accumulate(
            stage.count("decoder") for stage in names))
        self.assertEqual(ends[-1], upstream.num_layers(plan))
        for end, stage in zip(ends[:-1], stages):
            cut = stage["plan"]["end"]  # Inside a layer, it moves to an end.
            self.assertIn(end, range(cut["layer"] - 1, cut["layer"] +
                                     bool(cut.get("op", 0))))
        layer = plan["model"]["layer_types"][1]
        self.assertEqual(config.num_moe_experts or 0,
                         layer.get("num_experts", 0))
        self.assertEqual(config.gated_linear_unit,
                         layer.get("gated_mlp", False))
        return args, config

    def test_uneven_layers(self):
        plan = self.two_islands()
        _, config = self.check(
            self.export("megatron", plan, "--allow-lossy"), plan)
        self.assertEqual(config.tensor_model_parallel_size, 4)
        self.assertEqual(config.recompute_method, "block")

    def test_is_a_check(self):
        folder = self.export("megatron", self.two_islands(), "--allow-lossy")
        with self.assertRaises(AssertionError):
            self.parse(folder, 12)

    def test_plans_of_the_table(self):
        upstream.check_table(self, "megatron", self.check)


if __name__ == "__main__":
    upstream.main()
