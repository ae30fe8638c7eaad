"""Exports come back as plans that train the same.

The files that a framework reads are imported again. What training depends on
must be as it was, and the plan that came back trains as one process does.
"""

import importlib.util
import json
import os
import unittest

import harness
import read_exports

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


# Those that nothing imports; read_exports.py reads them.
READ = [
    ("sailor", T4_V100, "llama2-7b", 6),
    ("sailor", T4_V100, "gpt3-6.7b", 6),
    ("flashflex", T4_V100, "llama2-7b", 6),
    ("flashflex", T4, "llama2-7b", 4),
    ("torchtitan", A100, "llama2-13b", 8, "--precision", "bf16"),
    ("torchtitan", cluster("c2-modern-het", ""), "llama2-13b", 40,
     "--precision", "bf16"),
    ("alpa", T4_V100, "gpt3-6.7b", 6),
    ("alpa", T4, "llama2-7b", 4),
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


ALL_OPERATORS = 1023  # Ten of a dense layer.


def gpus_of(placed):
    return sorted((g["node"], g["first"] + i) for g in placed["gpus"]
                  for i in range(g["count"]))


def read_as(document, read):
    """Returns of a plan file what `read`, from read_exports, tells."""
    plan, batch = document["plan"], document["training"]["global_batch_size"]
    masks = [mask for placed in plan["stages"]
             for mask in recomputed(placed["plan"])]
    said = {"schedule": plan.get("schedule", "1f1b").lower(),
            "recomputed": set(masks[1:-1]) == {ALL_OPERATORS},
            "microbatch": plan["pipeline_microbatch_size"], "batch": batch,
            "microbatches": batch // plan["pipeline_microbatch_size"]}
    return {
        **{name: said[name] for name in read if name != "stages"},
        "stages": [{"end": placed["plan"]["end"]["layer"],
                    "tp": placed["plan"]["parallelism"]["tp_degree"],
                    "dp": placed["plan"]["parallelism"]["dp_degree"],
                    "gpus": told["gpus"] and gpus_of(placed)}
                   for placed, told in zip(plan["stages"], read["stages"],
                                           strict=True)]}


class Reimport(harness.Folder):

    maxDiff = None

    def exported(self, target, where, model, layers, *options):
        """Plans for a target and exports; returns the plan."""
        # On GPUs that are as small as the plans allow.
        self.tangram("plan", *where, "--memory-margin", "0", "--model", model, "--layers", str(layers),
                     "--global-batch", "32", "--runtime", target, *options,
                     "--quiet", "--output", "plan.json")
        self.tangram("export", "plan.json", "--to", target, "-o", target,
                     "--allow-lossy")
        return json.loads(self.read("plan.json"))

    def comes_back(self, target, *arguments):
        """Exports a plan for a target and imports it; returns both."""
        return self.exported(target, *arguments), self.import_again(target)

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

    def test_files_that_nothing_imports_say_the_same(self):
        for target, *arguments in READ:
            with self.subTest(f"{target}, {arguments[1:]}"):
                plan = self.exported(target, *arguments)
                read = read_exports.READERS[target](
                    os.path.join(self.folder, target))
                self.assertEqual(read, read_as(plan, read))

    def test_a_changed_file_is_another_plan(self):
        plan, _ = self.comes_back("aceso", T4, "gpt3-6.7b", 4)
        config = json.loads(self.read("aceso/flexpipe.json"))
        config["checkpoint_activations"][0] = True
        config["recompute_ops"][0][14:27] = [1] * 13  # The second layer.
        self.write("aceso/flexpipe.json", json.dumps(config))
        back = self.import_again("aceso")
        self.assertNotEqual(trained(back), trained(plan))
        self.assertEqual(trained(back)["stages"][0]["recomputed"][2],
                         ALL_OPERATORS)

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
