"""Gavel reads its export, and its own policies decide by it.

They solve the same programs as tests/bench/schedulers/programs.py. Sia's own
configurations are those that tests/bench/schedulers/frontiers.py asks.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
import unittest

import upstream

sys.path[:0] = [os.path.join(upstream.SOURCE, folder) for folder in
                ("clients/python", "tests/bench/schedulers", "tests/frameworks")]
from tangram_schedulers import gavel  # noqa: E402
from tangram_schedulers.frontier import Frontier  # noqa: E402

try:
    import linear_cvxpy
    import numpy as np
    import programs
    WHY_NOT = ""
except ImportError as error:
    WHY_NOT = str(error)

WORKERS = {"t4": 8, "v100": 8}


@unittest.skipIf(WHY_NOT, WHY_NOT)
class GavelTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        sys.path.insert(0, os.path.join(upstream.checkout("gavel"), "scheduler"))
        sys.modules["cvxpy"] = linear_cvxpy.module()
        upstream.stub_module("psutil")
        import job_id_pair
        import utils
        cls.utils, cls.JobId = utils, job_id_pair.JobIdPair
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.jobs = {f"gpt (batch size {batch})": cls.frontier(batch)
                    for batch in (32, 64)}
        cls.file = f"{folder.name}/throughputs.json"
        with open(cls.file, "w", encoding="utf-8") as file:
            file.write(gavel.as_json(gavel.throughputs(cls.jobs)))

    @staticmethod
    def frontier(batch):
        return Frontier.parse(subprocess.run(
            [upstream.TANGRAM, "--format=json", "frontier", "--cluster",
             f"{upstream.CLUSTERS}/c1-compute-het.yaml", "--nodes",
             "t4=0|1|2,v100=0|1|2", "--model", "gpt3-1.3b", "--layers", "6",
             f"--global-batch={batch}", "--runtime", "any", "--parallelizer",
             "uniform", "--planner-option", "polish=false"],
            check=True, capture_output=True).stdout)

    def test_its_reader_finds_each_allocation(self):
        table = self.utils.read_all_throughputs_json_v2(self.file)
        self.assertEqual(set(table), set(WORKERS))
        found = 0
        for job, frontier in self.jobs.items():
            for group, _, allocation in frontier.homogeneous():
                rate = table[group][job, allocation.gpus]["null"]
                self.assertAlmostEqual(rate * allocation.best_s, 1)
                found += 1
        self.assertEqual(found, sum(len(of) for of in table.values()))
        # It writes the same file again.
        with open(self.file, encoding="utf-8") as file:
            self.assertEqual(self.utils.stringify_throughputs(table),
                             json.load(file))

    def test_its_policies_decide_as_the_programs_of_the_replay(self):
        table = self.utils.read_all_throughputs_json_v2(self.file)
        draw = random.Random(1)
        for _ in range(20):
            keys = [draw.choice(sorted(table["t4"]))
                    for _ in range(draw.randint(1, 7))]
            self.assert_same(table, keys)

    def assert_same(self, table, keys):
        types = sorted(WORKERS)
        ids = [self.JobId(i, None) for i in range(len(keys))]
        rates = {i: {t: table[t][key]["null"] for t in types}
                 for i, key in zip(ids, keys)}
        scale = {i: key[1] for i, key in zip(ids, keys)}
        array = np.array([[rates[i][t] for t in types] for i in ids])
        workers = [WORKERS[t] for t in types]
        for name, fair, more in (
                ("max_sum_throughput_perf", False, ()),
                ("max_min_fairness_perf", True, ({i: 1.0 for i in ids},))):
            policy = self.utils.get_policy(name, solver="ECOS")
            theirs = policy.get_allocation(rates, scale, *more, WORKERS)
            theirs = np.array([[theirs[i][t] for t in types] for i in ids])
            ours = programs.gavel(array, np.array([scale[i] for i in ids],
                                                  float), workers, fair)
            for x in (theirs, ours):
                self.assertTrue((x.sum(axis=1) <= 1 + 1e-9).all())
            value = self.value(array, scale, ids, workers, fair)
            self.assertAlmostEqual(value(theirs), value(ours), places=6)

    @staticmethod
    def value(rates, scale, ids, workers, fair):
        normal = programs.proportional(rates, workers)

        def of(x):
            reached = (rates * x).sum(axis=1)
            if not fair:
                return reached.sum()
            return (reached * [scale[i] for i in ids] / normal).min()
        return of


@unittest.skipIf(WHY_NOT, WHY_NOT)
class SiaTest(unittest.TestCase):

    def test_its_configurations_are_asked(self):
        sys.path.insert(0, os.path.join(upstream.checkout("sia"),
                                        "sia-simulator"))
        upstream.stub_module("cvxpy")
        upstream.stub_module("speedup")
        import frontiers
        import sia
        for nodes, gpus in ((6, 4), (16, 4), (256, 4), (3, 8), (2, 8), (128, 8)):
            policy = sia.SiaPolicy()
            policy.populate_valid_configs({"a": nodes}, {"a": gpus},
                                          {"a": nodes})
            theirs = {(int(n), int(g))
                      for _, n, g in policy.idx_to_config_map.values()}
            whole = frontiers._counts(nodes, gpus, 0).split("|")[1:]
            ours = ({(int(n), int(n) * gpus) for n in whole}
                    | {(1, part) for part in frontiers._parts(gpus)})
            self.assertEqual(ours, theirs)


if __name__ == "__main__":
    upstream.main()
