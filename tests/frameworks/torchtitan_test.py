"""torchtitan's own manager, trainer and meshes accept the configurations.

PyTorch and tyro are stubs: torchtitan needs a newer PyTorch than Debian's, and
its command line contains nothing of the plan.
"""

import os
import sys
import types
import unittest

import upstream


def load(root):
    """Loads torchtitan's configuration and its checks; the rest are stubs."""
    upstream.Stubs(
        root, ["torchtitan", "torch", "tyro", "spmd_types"],
        ["torchtitan.config", "torchtitan.trainer",
         "torchtitan.distributed.activation_checkpoint",
         "torchtitan.distributed.parallel_dims"])
    from torchtitan.config.manager import ConfigManager
    from torchtitan.distributed.parallel_dims import ParallelDims
    from torchtitan.trainer import Trainer
    upstream.stub_module("torchtitan.models", __path__=[],
                         _supported_models=frozenset())
    upstream.stub_module("torchtitan.experiments",
                         _supported_experiments=frozenset())
    registry = upstream.stub_module("torchtitan.models.llama3.config_registry")
    record = types.SimpleNamespace

    def set_layers(layers):
        registry.llama3_8b = lambda: Trainer.Config(
            model_spec=record(model=record(layers=[None] * layers)))

    return ConfigManager, ParallelDims, set_layers


class TorchTitan(upstream.Exports):

    plan_arguments = [
        "--cluster", f"{upstream.CLUSTERS}/het-1024.yaml", "--nodes",
        "v100-32=0,a100-40=2,a100-80=0,h100=0", "--model", "llama2-7b", "--layers", "16",
        "--seq", "4096", "--global-batch", "128", "--precision", "bf16",
        "--runtime", "any", "--parallelizer", "uniform"]

    @classmethod
    def setUpClass(cls):
        root = upstream.checkout("torchtitan")
        cls.manager, cls.dims, set_layers = load(root)
        cls.set_layers = staticmethod(set_layers)
        super().setUpClass()
        os.environ["TORCHTITAN_CONFIG"] = "llama3.llama3_8b"

    def config(self, folder):
        """Returns the configuration with which torchtitan would train."""
        option, program, *words = upstream.launched(
            folder, "TORCHTITAN", "torchtitan")
        self.assertEqual((option, program), ("-m", "torchtitan.train"))
        sys.modules.pop("tangram_plan", None)
        sys.path.insert(0, folder)
        try:
            config, left = self.manager()._load_config(words)
        finally:
            sys.path.remove(folder)
        self.assertEqual(left, [])
        return config

    def check(self, folder, plan):
        """Checks that it trains the plan's stages, batch and layers."""
        self.set_layers(upstream.num_layers(plan))
        config = self.config(folder)
        stages = plan["plan"]["stages"]
        world = sum(g["count"] for s in stages for g in s["gpus"])
        dims = self.dims.from_config(config.parallelism, world)
        self.assertEqual(dims.pp, len(stages))
        parts = config.parallelism.module_fqns_per_model_part
        modules = [module for part in parts for module in part]
        layers = upstream.num_layers(plan)
        self.assertEqual(modules, ["tok_embeddings",
                                   *(f"layers.{i}" for i in range(layers)),
                                   "norm", "lm_head"])
        # Trainer.__init__ computes them in the same way.
        step = (config.training.num_tokens_per_microbatch_per_dp_rank *
                config.parallelism.num_pp_microbatches *
                dims.dp_replicate * dims.dp_shard)
        self.assertEqual(config.training.num_tokens_per_train_step, step)
        self.assertEqual(step, plan["training"]["global_batch_size"] *
                         plan["training"]["sequence_length"])
        return config, dims

    def test_uneven_layers(self):
        plan = self.two_islands()
        stage = upstream.stage
        plan["plan"]["stages"] = [
            stage(0, 6, 4, 2, [("a100-40-0", 0, 8)], True),
            stage(6, 18, 4, 2, [("a100-40-1", 0, 8)])]
        config, dims = self.check(
            self.export("torchtitan", plan, "--allow-lossy"), plan)
        self.assertEqual((dims.tp, dims.dp_replicate, dims.dp_shard),
                         (4, 2, 1))
        self.assertEqual(config.parallelism.num_pp_microbatches, 32)
        self.set_layers(32)
        with self.assertRaisesRegex(SystemExit, "32 layers; expected 16"):
            self.config(self.export("torchtitan", plan, "--allow-lossy"))
        self.assertEqual(type(config.activation_checkpoint).__qualname__,
                         "FullAC.Config")

    def test_plans_of_the_table(self):
        upstream.check_table(self, "torchtitan", self.check)


if __name__ == "__main__":
    upstream.main()
