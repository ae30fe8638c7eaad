"""Exports whose arguments Megatron-LM's own parser and validator accept."""

import importlib.util
import unittest

import megatron_arguments
import upstream


class MegatronArguments(upstream.Exports):

    @classmethod
    def setUpClass(cls):
        root = upstream.checkout("Megatron-LM")
        if importlib.util.find_spec("torch") is None:
            raise unittest.SkipTest("no Python package torch")
        cls.arguments = megatron_arguments.load(root)
        super().setUpClass()

    def validated(self, folder, world_size):
        words = upstream.read(folder, "megatron.args").split()
        # What is not the plan's.
        words += ["--lr", "0.0001", "--train-iters", "10", "--mock-data"]
        return megatron_arguments.validated(self.arguments, words, 0,
                                            world_size)

    def test_degrees_and_batch_are_those_of_the_plan(self):
        plan = self.two_islands()
        t4, v100 = (stage["gpus"] for stage in plan["plan"]["stages"])
        plan["plan"]["stages"] = [
            upstream.stage(0, 6, 4, 2, upstream.spans(t4)),
            upstream.stage(6, 18, 4, 2, upstream.spans(v100))]
        args = self.validated(self.export("megatron", plan), 16)
        self.assertEqual(
            (args.tensor_model_parallel_size, args.pipeline_model_parallel_size,
             args.data_parallel_size, args.micro_batch_size,
             args.global_batch_size), (4, 2, 2, 2, 128))
        with self.assertRaises(AssertionError):
            self.validated(self.export("megatron", plan), 12)


if __name__ == "__main__":
    upstream.main()
"""Arguments that Megatron-LM's own parser and validation accept.

Needs PyTorch. What the arguments do not need of Megatron-LM is stubs.
"""

import contextlib
import importlib
import importlib.util
import io
import os
import sys
import typing
import unittest
import warnings

import upstream

REAL = [
    "megatron.core.activations", "megatron.core.distributed."
    "distributed_data_parallel_config", "megatron.core.enums",
    "megatron.core.fault_injector", "megatron.core.model_parallel_config",
    "megatron.core.models.hybrid.hybrid_layer_allocation",
    "megatron.core.msc_utils", "megatron.core.optimizer.optimizer_config",
    "megatron.core.quantization", "megatron.core.rerun_state_machine",
    "megatron.core.telemetry", "megatron.core.transformer.cuda_graph_config",
    "megatron.core.transformer.enums", "megatron.core.transformer."
    "heterogeneous.heterogeneous_config", "megatron.core.transformer."
    "pipeline_parallel_layer_layout", "megatron.core.transformer.spec_utils",
    "megatron.core.transformer.transformer_config",
    "megatron.core.typed_torch", "megatron.training.argument_utils",
    "megatron.training.arguments", "megatron.training.config",
    "megatron.training.models"]


def set_use_dist_ckpt(args):
    args.use_dist_ckpt = args.ckpt_format != "torch"


def load(root):
    """megatron.training.arguments on a machine like one of A100s."""
    upstream.Stubs(root, ["megatron"], REAL)
    if not hasattr(typing, "override"):  # Before Python 3.12.
        typing.override = lambda function: function
    import megatron.core.distributed as distributed
    import megatron.core.extensions.kitchen as kitchen
    import megatron.core.optimizer as optimizer
    import megatron.core.transformer as transformer
    import megatron.core.utils as utils
    import megatron.training.utils as training_utils
    utils.is_torch_min_version = lambda *_: True
    utils.is_te_min_version = lambda *_, **__: True
    utils.get_torch_version = lambda: None
    training_utils.get_device_arch_version = lambda: 8
    training_utils.update_use_dist_ckpt = set_use_dist_ckpt
    kitchen.HAVE_KITCHEN = False
    config = transformer.transformer_config
    transformer.TransformerConfig = config.TransformerConfig
    transformer.MLATransformerConfig = config.MLATransformerConfig
    distributed.DistributedDataParallelConfig = (
        distributed.distributed_data_parallel_config
        .DistributedDataParallelConfig)
    optimizer.OptimizerConfig = optimizer.optimizer_config.OptimizerConfig
    import megatron.training.arguments as arguments
    return arguments


def has_bf16(plan):
    """Whether all GPUs of the plan do, as those of compute capability 8 and
    later."""
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
        cls.arguments = load(root)
        super().setUpClass()

    def parse(self, folder, world, capability=7):
        """The arguments and the model's configuration that it trains with."""
        sys.argv = ["pretrain_gpt.py",
                    *upstream.read(folder, "megatron.args").split(),
                    "--mock-data", "--tokenizer-type", "NullTokenizer",
                    "--train-iters", "3", "--lr", "0.0001"]
        torch = importlib.import_module("torch")
        torch.cuda.get_device_capability = lambda: (capability, 0)
        os.environ.update(RANK="0", WORLD_SIZE=str(world),
                          CUDA_DEVICE_MAX_CONNECTIONS="1")
        with contextlib.redirect_stdout(io.StringIO()), \
                warnings.catch_warnings(record=True):
            args = self.arguments.parse_args()
            self.arguments.validate_args(args)
            return args, self.arguments.core_transformer_config_from_args(args)

    def check(self, folder, plan):
        """That it trains the plan's stages, batch and model."""
        stages = plan["plan"]["stages"]
        args, config = self.parse(
            folder, sum(g["count"] for s in stages for g in s["gpus"]),
            8 if has_bf16(plan) else 7)
        self.assertEqual(args.pipeline_model_parallel_size, len(stages))
        self.assertEqual(
            args.micro_batch_size * args.data_parallel_size,
            plan["plan"]["pipeline_microbatch_size"])
        # Its layers of each stage.
        names = [[layer.name for layer in stage[0]]
                 for stage in config.pipeline_model_parallel_layout.layout]
        bounds = [0, *(s["plan"]["end"]["layer"] for s in stages)]
        bounds[1:-1] = [cut - 1 for cut in bounds[1:-1]]
        bounds[-1] -= 2
        self.assertEqual([stage.count("decoder") for stage in names],
                         [end - begin for begin, end in zip(bounds,
                                                            bounds[1:])])
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
