"""FlashFlex's own parser and check accept pipelines and options.

PyTorch is a stub.
"""

import argparse
import json
import os
import sys
import unittest

import upstream

sys.path.append(os.path.join(upstream.SOURCE, "tests/testing"))
import trained_by_gpu  # noqa: E402


def load(root):
    """Returns its parser, with options of its Megatron-LM, and its check."""
    upstream.Stubs(root, ["torch", "third_party", "llama", "hexiscale"],
                   ["third_party.megatron.arguments", "llama.arguments",
                    "hexiscale.process_args"])
    import torch.distributed
    from hexiscale import process_args
    from llama.arguments import add_arguments
    from third_party.megatron.arguments import parse_args
    return torch.distributed, process_args, lambda: parse_args(add_arguments)


class FlashFlex(upstream.Exports):

    plan_arguments = [
        "--cluster", f"{upstream.CLUSTERS}/c1-compute-het.yaml", "--nodes",
        "t4=2,v100=2", "--model", "llama2-7b", "--layers", "16", "--seq",
        "4096", "--global-batch", "128", "--runtime", "any",
        "--parallelizer", "uniform"]

    @classmethod
    def setUpClass(cls):
        cls.root = upstream.checkout("FlashFlex")
        cls.distributed, cls.process, parse = load(cls.root)
        cls.parse = staticmethod(parse)
        super().setUpClass()

    def check(self, folder, plan):
        """Returns its arguments after its check."""
        world = sum(g["count"]
                    for pipeline, _ in trained_by_gpu.replicas_of(plan)
                    for s in pipeline["stages"] for g in s["gpus"])
        self.distributed.get_world_size = lambda: world
        os.environ.update(RANK="0", WORLD_SIZE=str(world))
        sys.argv = upstream.launched(folder, "FLASHFLEX", "FlashFlex")
        self.assertEqual(
            sys.argv[0], f"{folder}/weigh_pipelines.py"
            if os.path.exists(f"{folder}/weigh_pipelines.py")
            else "llama_train.py")
        args = self.parse()
        # It takes the heads from the named model only.
        params = json.loads(upstream.read(
            f"{self.root}/llama/llama-config/{args.model_size}",
            "params.json"))
        config = argparse.Namespace(n_head=params["n_heads"])
        self.process.update_args(args, config)
        self.process.validate_args(args, config)
        layer = plan["model"]["layer_types"][1]
        self.assertEqual((params["dim"], params["n_heads"]),
                         (layer["hidden_size"], layer["num_heads"]))
        self.assertEqual(args.fp16, plan["training"]["precision"] == "FP16")
        self.assertEqual(config.n_layer, sum(
            run["count"] for run in plan["model"]["layers"]) - 2)
        self.assertEqual(args.seq_length, plan["training"]["sequence_length"])
        self.assertEqual(sum(args.global_bsz_size),
                         plan["training"]["global_batch_size"])
        self.assertEqual(
            sorted(rank for pipeline in args.pp_layouts for stage in pipeline
                   for rank in stage), list(range(world)))
        return args

    def test_pipelines_of_two_degrees(self):
        plan = self.two_islands()
        plan["plan"]["stages"] = [
            upstream.stage(0, 6, 4, 2, [("t4-0", 0, 4), ("t4-1", 0, 4)]),
            upstream.stage(6, 18, 2, 2, [("v100-0", 0, 4)])]
        args = self.check(self.export("flashflex", plan, "--allow-lossy"), plan)
        self.assertEqual(args.pp_layouts[1], [[8, 9, 10, 11], [6, 7]])

    def test_several_pipelines(self):
        for make in upstream.uneven, upstream.three_shapes, upstream.equal:
            with self.subTest(make.__name__):
                plan = self.of_pipelines(make(8))
                folder = self.export("flashflex", plan, "--allow-lossy")
                args = self.check(folder, plan)
                self.assertEqual(len(args.global_bsz_size),
                                 len(args.hetero_configs))
                self.assertEqual(trained_by_gpu.flashflex(folder),
                                 trained_by_gpu.plan(plan))

    def of_pipelines(self, pipelines):
        base = upstream.make_plan(self.folder, upstream.PIPELINES_OF)
        return upstream.several(base, pipelines)

    def test_plans_of_the_table(self):
        upstream.check_table(self, "flashflex", self.check)


if __name__ == "__main__":
    upstream.main()
