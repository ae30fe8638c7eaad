"""The paper's workloads, in this process and through a coordinator.

plan_matrix.py <bin folder> <source folder>

Every row must give a valid plan, and the same bytes in this process and on 1, 2
and 4 workers (provenance apart). Prints the predicted iteration times beside
the paper's.
"""

import json
import os
import subprocess
import tempfile
import unittest

import harness
from daemons import Coordinator, Worker
from harness import SOURCE, TANGRAM

CLUSTERS = os.path.join(SOURCE, "deploy/clusters")


def job(cluster, nodes, model, *more):
    arguments = ["--cluster", f"{CLUSTERS}/{cluster}.yaml", "--model", model,
                 "--global-batch", "128", "--runtime", "any", *more]
    return arguments + (["--nodes", nodes] if nodes else [])


def dense(cluster, nodes, model):
    return job(cluster, nodes, model, "--seq", "2048", "--parallelizer",
               "aceso")


def experts(cluster, model, sequence, nodes=""):
    return job(cluster, nodes, model, "--seq", sequence, "--parallelizer",
               "uniform")


C1, C2, C3 = "c1-compute-het", "c2-modern-het", "c3-full-het"
# From name to arguments and the iteration time in the paper (seconds).
ROWS = {
    "GPT-3 6.7B, C1 16:0": (dense(C1, "t4=4,v100=0", "gpt3-6.7b"), 47),
    "GPT-3 6.7B, C1 12:4": (dense(C1, "t4=3,v100=1", "gpt3-6.7b"), None),
    "GPT-3 6.7B, C1 8:8": (dense(C1, "t4=2,v100=2", "gpt3-6.7b"), None),
    "GPT-3 6.7B, C1 4:12": (dense(C1, "t4=1,v100=3", "gpt3-6.7b"), None),
    "GPT-3 6.7B, C1 0:16": (dense(C1, "t4=0,v100=4", "gpt3-6.7b"), 26),
    "GPT-3 13B, C3 A100": (
        dense(C3, "t4=0,v100-16=0,v100-32=0", "gpt3-13b"), 32),
    "GPT-3 13B, C3 +V100-32": (dense(C3, "t4=0,v100-16=0", "gpt3-13b"), 20),
    "GPT-3 13B, C3 +V100-16": (dense(C3, "t4=0", "gpt3-13b"), 20),
    "GPT-3 13B, C3 all": (dense(C3, "", "gpt3-13b"), None),
    "GShard-MoE 7.1B, C1 8:8": (
        experts(C1, "gshard-moe-7.1b", "1024", "t4=2,v100=2"), 5.8),
    "Mixtral-8x7B, C2": (experts(C2, "mixtral-8x7b", "4096"), 23),
    "Qwen3-30B-A3B, C2": (experts(C2, "qwen3-30b-a3b", "4096"), 16),
}
# Each row of a chain adds GPUs, or swaps slow for fast ones.
CHAINS = [[f"GPT-3 6.7B, C1 {r}" for r in ("16:0", "12:4", "8:8", "4:12", "0:16")],
          [f"GPT-3 13B, C3 {r}" for r in ("A100", "+V100-32", "+V100-16", "all")]]


def plan(arguments, *more):
    """Returns the plan file without provenance."""
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "plan.json")
        subprocess.run([TANGRAM, "plan", *arguments, *more, "--quiet",
                        "--output", file], check=True, timeout=300)
        with open(file, encoding="utf-8") as f:
            document = json.load(f)
    del document["provenance"]
    return document


class PlanMatrix(unittest.TestCase):
    plans = {}

    @classmethod
    def setUpClass(cls):
        cls.plans = {name: plan(arguments)
                     for name, (arguments, _) in ROWS.items()}

    def seconds(self, name):
        return self.plans[name]["evaluation"]["iteration_time_s"]

    def test_every_row_has_a_valid_plan(self):
        print(f"\n{'workload':26} {'predicted':>10} {'paper':>7} {'ratio':>6}")
        for name, (_, paper_s) in ROWS.items():
            with self.subTest(name):
                self.assertIn("plan", self.plans[name])
                self.assertFalse(self.plans[name]["evaluation"]["violations"])
                beside = (f"{paper_s:5} s {self.seconds(name) / paper_s:6.2f}"
                          if paper_s else "")
                print(f"{name:26} {self.seconds(name):8.2f} s {beside}")

    def test_more_or_faster_gpus_are_never_slower(self):
        for chain in CHAINS:
            times = [self.seconds(name) for name in chain]
            self.assertEqual(times, sorted(times, reverse=True), chain)

    def test_workers_change_nothing(self):
        for num_workers in (1, 2, 4):
            coordinator = Coordinator()
            self.addCleanup(coordinator.end)
            for i in range(num_workers):
                self.addCleanup(Worker(coordinator.address, f"w{i}").end)
            for name, (arguments, _) in ROWS.items():
                with self.subTest(name, workers=num_workers):
                    remote = plan(arguments, "--coordinator", coordinator.address)
                    self.assertEqual(json.dumps(remote),
                                     json.dumps(self.plans[name]))


if __name__ == "__main__":
    harness.main()
