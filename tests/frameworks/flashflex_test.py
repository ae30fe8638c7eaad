"""Pipelines that FlashFlex's own check of its arguments accepts."""

import argparse
import importlib.util
import json
import unittest

import upstream


class FlashFlex(upstream.Exports):

    plan_arguments = [
        "--cluster", f"{upstream.CLUSTERS}/c1-compute-het.yaml", "--nodes",
        "t4=2,v100=2", "--model", "llama2-7b", "--layers", "16", "--seq",
        "4096", "--global-batch", "128", "--parallelizer", "uniform"]

    @classmethod
    def setUpClass(cls):
        root = upstream.checkout("FlashFlex")
        upstream.stub_module("torch")
        cls.dist = upstream.stub_module("torch.distributed")
        spec = importlib.util.spec_from_file_location(
            "process_args", f"{root}/hexiscale/process_args.py")
        cls.module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(cls.module)
        super().setUpClass()

    def test_pipelines_of_two_degrees(self):
        plan = self.two_islands()
        plan["plan"]["stages"] = [
            upstream.stage(0, 6, 4, 2, [("t4-0", 0, 4), ("t4-1", 0, 4)]),
            upstream.stage(6, 18, 2, 2, [("v100-0", 0, 4)])]
        folder = self.export("flashflex", plan)
        self.dist.get_world_size = lambda: 12
        args = argparse.Namespace(
            all_hetero_configs_path=f"{folder}/flashflex.json",
            hetero_configs=None, pp_layouts=None, learning_rate=1e-4,
            total_layer_num=16, global_bsz_size=[64, 64], chunks=[32, 32],
            run_iter=1, accum_iter=1)
        config = argparse.Namespace(n_head=32)
        self.module.update_args(args, config)
        self.module.validate_args(args, config)
        self.assertEqual(args.seq_length,
                         json.loads(json.dumps(plan))["training"][
                             "sequence_length"])
        self.assertEqual(args.pp_layouts[1], [[4, 5, 6, 7], [10, 11]])


if __name__ == "__main__":
    upstream.main()
