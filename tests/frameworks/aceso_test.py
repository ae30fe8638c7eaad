"""Aceso's runtime parses the exports and makes its process groups from them.

Needs PyTorch. Groups are recorded, not made.
"""

import contextlib
import importlib.util
import io
import json
import os
import sys
import unittest

import upstream


class AcesoRuntime(upstream.Exports):

    @classmethod
    def setUpClass(cls):
        runtime = os.path.join(upstream.checkout("SuperScaler"), "runtime")
        if importlib.util.find_spec("torch") is None:
            raise unittest.SkipTest("no Python package torch")
        upstream.stub_module("megatron", __path__=[f"{runtime}/megatron"],
                             get_args=lambda: cls.args)
        cls.arguments = cls.load(f"{runtime}/megatron/arguments.py",
                                 "megatron.arguments")
        upstream.stub_module("megatron.global_vars",
                             get_args=lambda: cls.args)
        upstream.stub_module("megatron.mpu",
                             __path__=[f"{runtime}/megatron/mpu"])
        cls.load(f"{runtime}/megatron/mpu/utils.py", "megatron.mpu.utils")
        cls.initialize_file = f"{runtime}/megatron/mpu/initialize.py"
        super().setUpClass()

    @staticmethod
    def load(path, name):
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        return module

    def ranks(self, folder):
        """Returns the groups of each rank: (data parallel, tensor parallel)."""
        import torch
        config = json.loads(upstream.read(folder, "flexpipe.json"))
        world = sum(config["num_gpus"])
        program, *words = upstream.launched(
            folder, "ACESO", "SuperScaler", LOG_PATH=f"{folder}/logs/")
        self.assertEqual(program, "pretrain_gpt.py")
        found = []
        for rank in range(world):
            os.environ.update(RANK=str(rank), WORLD_SIZE=str(world))
            sys.argv = [program, *words]
            with contextlib.redirect_stdout(io.StringIO()):
                type(self).args = self.arguments.parse_args()
            torch.distributed.is_initialized = lambda: True
            torch.distributed.get_rank = (
                lambda rank=rank, **_: rank)
            torch.distributed.get_world_size = lambda *_, **__: world
            torch.distributed.new_group = self.new_group(world)
            mpu = self.load(self.initialize_file, "megatron.mpu.initialize")
            with contextlib.redirect_stdout(io.StringIO()):
                mpu.initialize_model_parallel_flexpipe()
            found.append((list(mpu._DATA_PARALLEL_RANKS[0]),
                          list(mpu._TENSOR_MODEL_PARALLEL_RANKS[0]),
                          mpu._FLEXPIPE_NEXT_RANKS))
        return found

    @staticmethod
    def new_group(world):
        def make(ranks, **_):
            if any(rank >= world for rank in ranks):
                raise ValueError("rank out of range")
            return tuple(ranks)
        return make

    def test_makes_the_groups_of_two_islands(self):
        ranks = self.ranks(self.export("aceso", self.two_islands(tp=4, dp=2),
                                       "--allow-lossy"))
        self.assertEqual(ranks[0][:2], ([0, 4], [0, 1, 2, 3]))
        self.assertEqual(ranks[8][:2], ([8, 12], [8, 9, 10, 11]))

    def check(self, folder, plan):
        """Checks that ranks are in groups of their stages' sizes."""
        ranks = self.ranks(folder)
        sizes = [(p["dp_degree"], p["tp_degree"])
                 for stage in plan["plan"]["stages"]
                 for p in [stage["plan"]["parallelism"]]
                 for _ in range(p["dp_degree"] * p["tp_degree"])]
        self.assertEqual([(len(dp), len(tp)) for dp, tp, _ in ranks], sizes)
        for rank, (dp, tp, _) in enumerate(ranks):
            self.assertIn(rank, dp)
            self.assertIn(rank, tp)

    def test_plans_of_the_table(self):
        upstream.check_table(self, "aceso", self.check)


if __name__ == "__main__":
    upstream.main()
