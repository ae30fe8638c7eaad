"""Exports come back as plans that train the same.

The files that a framework reads are imported again. What training depends on
must be as it was, and the plan that came back trains as one process does.
"""

import importlib.util
import json
import os
import unittest

import harness

HAS_TORCH = importlib.util.find_spec("torch") is not None
FILES = {"flagscale": ["train/plan.yaml", "hostfile"],
         "aceso": ["flexpipe.json", "hostfile"],
         "megatron": ["megatron.args", "hostfile"],
         "galvatron": ["galvatron.json", "runtime.yaml", "hostfile"]}


def cluster(name, nodes):
    return ["--cluster", f"{harness.SOURCE}/deploy/clusters/{name}.yaml",
            "--nodes", nodes]


T4_V100 = cluster("c1-compute-het", "t4=1,v100=1")
T4 = cluster("c1-compute-het", "t4=1,v100=0")
A100 = cluster("c3-full-het", "t4=0,v100-16=0,v100-32=0")
# Small enough to train on a CPU at once: targets, cluster, model, layers.
PLANS = [
    (["flagscale", "aceso", "megatron"], T4, "gpt3-6.7b", 4),
    (["flagscale", "aceso", "megatron"], T4_V100, "gpt3-6.7b", 6),
    (["flagscale", "megatron"], T4_V100, "llama2-7b", 6),
    (["flagscale", "megatron"], T4_V100, "mixtral-8x7b", 4),
    (["galvatron", "megatron"], A100, "gpt3-13b", 8),
    (["galvatron", "flagscale"], A100, "llama2-13b", 8),
]


def recomputed(stage):
    """Returns the recomputed operators of each layer of a stage."""
    masks = []
    for run in stage["recompute"]:
        masks += [run.get("mask", 0)] * run["num_layers"]
    return masks


def position(cut):
    return cut["layer"], cut.get("op", 0)


def trained(document):
    """Returns all of a plan file on which training depends."""
    plan = document["plan"]
    return {
        "training": document["training"],
        "layer types": document["model"]["layer_types"],
        **{name: value for name, value in plan.items() if name != "stages"},
        "stages": [{"begin": position(stage["begin"]),
                    "end": position(stage["end"]),
                    "recomputed": recomputed(stage),
                    "offload": stage.get("offload"),
                    "gpus": placed["gpus"], **stage["parallelism"]}
                   for placed in plan["stages"]
                   for stage in [placed["plan"]]]}


class Reimport(harness.Folder):

    maxDiff = None

    def comes_back(self, target, where, model, layers):
        """Plans for a target, exports, imports; returns both plans."""
        self.tangram("plan", *where, "--model", model, "--layers", str(layers),
                     "--global-batch", "32", "--runtime", target, "--quiet",
                     "--output", "plan.json")
        self.tangram("export", "plan.json", "--to", target, "-o", target,
                     "--allow-lossy")
        return json.loads(self.read("plan.json")), self.import_again(target)

    def import_again(self, target):
        self.tangram("import", "plan", "--from", target,
                     *(os.path.join(target, name) for name in FILES[target]),
                     "--like", "plan.json", "-o", "back.json")
        return json.loads(self.read("back.json"))

    def test_what_training_depends_on_is_as_it_was(self):
        for targets, *arguments in PLANS:
            for target in targets:
                with self.subTest(f"{target}, {arguments[1:]}"):
                    plan, back = self.comes_back(target, *arguments)
                    self.assertEqual(trained(back), trained(plan))

    def test_a_changed_file_is_another_plan(self):
        plan, _ = self.comes_back("aceso", T4, "gpt3-6.7b", 4)
        config = json.loads(self.read("aceso/flexpipe.json"))
        config["checkpoint_activations"][0] = True
        config["recompute_ops"][0][14:27] = [1] * 13  # The second layer.
        self.write("aceso/flexpipe.json", json.dumps(config))
        back = self.import_again("aceso")
        self.assertNotEqual(trained(back), trained(plan))
        self.assertEqual(trained(back)["stages"][0]["recomputed"][2], 1023)

    @unittest.skipUnless(HAS_TORCH, "python3-torch is not installed")
    def test_it_trains_as_one_process_does(self):
        for targets, *arguments in PLANS:
            target = targets[0]
            with self.subTest(f"{target}, {arguments[1:]}"):
                self.comes_back(target, *arguments)
                self.assertIn("right: loss and", self.tangram(
                    "run", "back.json", "--tiny", "--check"))


if __name__ == "__main__":
    harness.main()
