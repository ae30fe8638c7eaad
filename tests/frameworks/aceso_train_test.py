"""Aceso's runtime trains the exports as it trains the model in one process.

Needs PyTorch. flexpipe_ranks.py says what it replaces.
"""

import importlib.util
import json
import os
import subprocess
import unittest

import flexpipe
import upstream
from upstream import stage

LAYER = 13  # FlexPipe's operators in a layer.


def hand_made(plan, *stages):
    """Returns the plan with these stages on its GPUs, 2 samples a
    microbatch."""
    return {**plan, "plan": {"pipeline_microbatch_size": 2,
                             "stages": list(stages)}}


def move_border(config, stage, count):
    """Moves operators from the begin of the next stage to the end of this."""
    config["num_ops_in_each_stage"][stage] += count
    config["num_ops_in_each_stage"][stage + 1] -= count
    for name in ("model_parallel_size_of_each_op",
                 "data_parallel_size_of_each_op", "recompute_ops",
                 "algo_of_each_op"):
        lists = config[name]
        lists[stage] = lists[stage] + lists[stage][-1:] * count
        lists[stage + 1] = lists[stage + 1][count:]


class AcesoTrains(upstream.Exports):

    plan_arguments = ["--cluster", f"{upstream.CLUSTERS}/c1-compute-het.yaml",
                      "--nodes", "t4=1,v100=0", "--model", "gpt3-6.7b",
                      "--layers", "4", "--global-batch", "128",
                      "--runtime", "aceso"]

    @classmethod
    def setUpClass(cls):
        upstream.checkout("SuperScaler")
        if importlib.util.find_spec("torch") is None:
            raise unittest.SkipTest("no Python package torch")
        super().setUpClass()

    def check(self, folder):
        wrong, count, greatest = flexpipe.compare_export(folder)
        print(f"{count} gradients, greatest difference {greatest:.1e}")
        self.assertFalse(wrong)
        self.assertGreater(count, 0)

    def planned(self, name, *arguments):
        """Exports what tangram plans for aceso with these arguments."""
        file = os.path.join(self.folder, f"{name}.json")
        subprocess.run([upstream.TANGRAM, "plan", "--quiet", "--runtime",
                        "aceso", "--global-batch", "128", *arguments,
                        "--output", file], check=True, timeout=120)
        with open(file, encoding="utf-8") as f:
            return self.export("aceso", json.load(f), "--allow-lossy")

    def test_the_plan_of_four_gpus(self):
        self.check(self.export("aceso", None, "--allow-lossy"))

    def test_plans_of_eight_gpus(self):
        for nodes in "t4=1,v100=1", "t4=0,v100=2":
            with self.subTest(nodes):
                self.check(self.planned(
                    "eight", "--cluster",
                    f"{upstream.CLUSTERS}/c1-compute-het.yaml", "--nodes",
                    nodes, "--model", "gpt3-6.7b", "--layers", "6"))

    def test_the_plan_of_sixteen_gpus(self):
        self.check(self.planned(
            "sixteen", "--cluster",
            f"{upstream.CLUSTERS}/c1-compute-het.yaml", "--nodes",
            "t4=2,v100=2", "--model", "gpt3-6.7b"))

    def two_stages(self, tp, dp, recomputed=False):
        """Returns a plan of two stages of these degrees."""
        return hand_made(
            self.plan, stage(0, 3, tp, dp, [("t4-0", 0, tp * dp)], recomputed),
            stage(3, 6, tp, dp, [("t4-0", tp * dp, tp * dp)]))

    def test_borders_between_attention_and_mlp(self):
        plan = self.two_stages(1, 2)
        first, second = (s["plan"] for s in plan["plan"]["stages"])
        first["end"] = second["begin"] = {"layer": 2, "op": 5}
        second["recompute"] = [{"num_layers": 4}]
        folder = self.export("aceso", plan, "--allow-lossy")
        config = json.loads(upstream.read(folder, "flexpipe.json"))
        self.assertEqual(config["num_ops_in_each_stage"][0] % LAYER, 9)
        self.check(folder)

    def test_recomputed_layers(self):
        self.check(self.export("aceso", self.two_stages(1, 2, True),
                               "--allow-lossy"))

    def test_degrees_that_differ(self):
        self.check(self.export("aceso", hand_made(
            self.plan, stage(0, 2, 1, 1, [("t4-0", 0, 1)]),
            stage(2, 4, 2, 1, [("t4-0", 1, 2)], True),
            stage(4, 6, 1, 1, [("t4-0", 3, 1)])), "--allow-lossy"))

    def broken(self, edit, plan=None):
        """Returns what is wrong if the exported file is edited."""
        folder = self.export("aceso", plan or self.two_stages(2, 1),
                             "--allow-lossy")
        file = os.path.join(folder, "flexpipe.json")
        config = json.loads(upstream.read(folder, "flexpipe.json"))
        edit(config)
        with open(file, "w", encoding="utf-8") as f:
            json.dump(config, f)
        return flexpipe.compare_export(folder)[0]

    def test_borders_inside_attention_or_the_mlp_train_wrongly(self):
        self.assertFalse(self.broken(lambda config: None))
        for count in 2, 10:  # Before the attention core, the activation.
            with self.subTest(count):
                wrong = self.broken(
                    lambda config, n=count: move_border(config, 0, n))
                self.assertIn("0.word_embeddings.weight", wrong)

    def test_open_recomputed_segments_train_wrongly(self):
        def edit(config):  # The norm and QKV of the first layer.
            config["checkpoint_activations"][0] = True
            config["recompute_ops"][0][1:3] = [1, 1]

        self.assertIn("0.position_embeddings.weight", self.broken(edit))

    def test_unlike_dp_trains_wrongly(self):
        def edit(config):
            for name, degree in (("model_parallel_size_of_each_op", 1),
                                 ("data_parallel_size_of_each_op", 2)):
                config[name][1] = [degree] * len(config[name][1])

        self.assertIn("0.position_embeddings.weight", self.broken(edit))


if __name__ == "__main__":
    upstream.main()
