"""Answers of `tangram frontier`, to the files of schedulers and the replay."""

import importlib.util
import json
import os
import subprocess
import sys
import unittest

import harness
from harness import BIN, C1, MODEL, SOURCE

BENCH = os.path.join(SOURCE, "tests/bench/schedulers")
HAS_SCIPY = importlib.util.find_spec("scipy") is not None


class SchedulersTest(harness.Folder):

    def python(self, *arguments, code=0):
        run = subprocess.run(
            [sys.executable, *arguments], cwd=self.folder, capture_output=True,
            text=True, timeout=120, check=False,
            env=dict(os.environ, PYTHONPATH=f"{SOURCE}/clients/python"))
        self.assertEqual(run.returncode, code, run.stderr)
        return run.stdout if code == 0 else run.stderr

    def test_exports_have_the_times_of_the_frontier(self):
        text = self.tangram(
            "frontier", "--cluster", C1, *MODEL, "--runtime", "any",
            "--parallelizer", "uniform", "--planner-option", "polish=false",
            "--nodes", "t4=0|1,v100=0|1", "--format", "json")
        self.write("f.json", text)
        time_s = {tuple(p["nodes"].values()): p["iteration_time_s"]
                  for p in json.loads(text)["allocations"]}
        table = json.loads(self.python("-m", "tangram_schedulers", "gavel",
                                       "gpt=f.json"))
        self.assertEqual(table, {
            "t4": {"('gpt', 4)": {"null": 1 / time_s[1, 0]}},
            "v100": {"('gpt', 4)": {"null": 1 / time_s[0, 1]}}})
        job = json.loads(self.python("-m", "tangram_schedulers", "sia",
                                     "gpt=f.json"))["jobs"]["gpt"]
        rates = {tuple(b["gpus"].values()): b["iterations_per_s"]
                 for b in job["bundles"]}
        # The planner leaves the T4 idle beside the V100.
        self.assertEqual(time_s[1, 1], time_s[0, 1])
        self.assertEqual(rates, {})

    @unittest.skipUnless(HAS_SCIPY, "no python3-scipy")
    def test_a_replay_of_planned_jobs(self):
        self.python(f"{BENCH}/frontiers.py", BIN, "--nodes",
                    "t4:T4:4:2,a100:A100-40:4:1", "--kinds", "gpt3-1.3b:16",
                    "--option=--runtime=any", "--option=--parallelizer=uniform",
                    "--option=--planner-option=polish=false")
        replay = (f"{BENCH}/replay.py", "jobs.json", "--gpus")
        self.write("trace.csv", "gpu_num,submit_time,duration\n" + "".join(
            f"{1 << i % 3},2020-04-01 00:{3 * i:02}:00,{300 + 200 * i}\n"
            for i in range(6)))
        table = self.python(*replay, "t4=8,a100=4", "--reference", "a100",
                            "--trace", "trace.csv")
        for policy in ("FIFO, one type", "Gavel max-sum", "Gavel max-min",
                       "Sia", "Sia with bundles"):
            self.assertRegex(table, rf"(?m)^\| {policy} \| \d+\.\d\d \|")
        self.assertRegex(table, r"(?m)^Objective with bundles: .* more in 0 of ")
        self.assertIn("--gpus: no a100", self.python(*replay, "t4=8", code=2))
        self.assertIn("--gpus: x=1", self.python(*replay, "x=1", code=2))
        for option in ("--hours=nan", "--hours=0", "--rate=0", "--error=nan",
                       "--restart=-1", "--most-jobs=0", "--reference=x"):
            self.assertIn(option.split("=")[0][2:], self.python(
                *replay, "t4=8,a100=4", option, code=2))
        self.write("jobs.json", self.read("jobs.json")[:-20])
        self.assertIn("replay.py: ", self.python(*replay, "t4=8", code=2))


if __name__ == "__main__":
    harness.main()
