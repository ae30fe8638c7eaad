"""The parts of tests/bench/emulated_islands that need no islands, and where the machine
can emulate them, a short run. What it measures is not looked at."""

import importlib.util
import itertools
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import harness

BENCH = harness.ROOT / "tests/bench/emulated_islands"
TANGRAM = harness.BINARIES / "tangram"
SKIPPED = 77
sys.path.append(str(BENCH))

import draw  # noqa: E402
import islands  # noqa: E402


def bench():
    spec = importlib.util.spec_from_file_location("bench", BENCH / "__main__.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class DrawTest(unittest.TestCase):

    def test_a_seed_draws_the_same_unlike_plans(self):
        for model, ranks in itertools.product(draw.MODELS, (1, 2)):
            first, second = (draw.plans(model, 20, 1, ranks, ("fast", "slow"))
                             for _ in range(2))
            self.assertEqual(first, second)
            self.assertEqual(len({json.dumps(one) for one in first}), 20)
            self.assertNotEqual(first, draw.plans(model, 20, 2, ranks, ("fast", "slow")))

    @unittest.skipUnless(TANGRAM.exists(), "the command is not built")
    def test_the_evaluator_accepts_them(self):
        main = bench()
        names = ("fast", "slow")
        for i, (ranks, one) in enumerate((ranks, one) for ranks in (1, 2)
                                         for one in draw.plans("llama", 40, 3, ranks, names)):
            both = [islands.Island(name, (0.5,) * ranks) for name in names]
            with self.subTest(i), tempfile.TemporaryDirectory() as folder:
                predicted = main.predict(TANGRAM, pathlib.Path(folder), {
                    **one, "cluster": main.stand_in(both)}, [])
                self.assertGreater(main.seconds_of(predicted), 0)


class ReportTest(unittest.TestCase):

    def test_tau(self):
        tau = bench().tau
        self.assertEqual(tau([(1, 2), (2, 3), (3, 9)]), 1)
        self.assertEqual(tau([(1, 9), (2, 3), (3, 2)]), -1)
        self.assertAlmostEqual(tau([(1, 1), (2, 3), (3, 2)]), 1 / 3)

    def test_seats_are_in_the_order_of_ranks(self):
        both = [islands.Island(name, (0.5, 0.5)) for name in ("fast", "slow")]
        stages = [{"gpus": [{"node": "slow", "first": 1, "count": 1}]},
                  {"gpus": [{"node": "fast", "first": 0, "count": 2}]},
                  {"gpus": [{"node": "slow", "first": 1, "count": 1}]}]
        self.assertEqual(bench().seats_of({"plan": {"stages": stages}}, both),
                         [(1, 1), (0, 0), (0, 1)])


class EmulationTest(unittest.TestCase):

    def test_each_core_has_room_for_its_ranks(self):
        cores = len(islands.os.sched_getaffinity(0))
        whole = islands.Emulation([islands.Island("one", (0.5,) * 2 * cores)], 1e8)
        self.assertEqual(sorted(whole.cores.values()),
                         sorted(2 * sorted(islands.os.sched_getaffinity(0))))
        with self.assertRaises(islands.CannotEmulate):
            islands.Emulation([islands.Island("one", (0.6,) * 2 * cores)], 1e8)


@unittest.skipUnless(harness.HAS_TORCH, harness.NO_TORCH)
@unittest.skipUnless(TANGRAM.exists(), "the command is not built")
class CommandTest(unittest.TestCase):

    def test_a_short_run(self):
        done = subprocess.run(
            ["/usr/bin/python3", BENCH, "--tangram", TANGRAM, "--model", "small",
             "--plans", "2", "--rounds", "1", "--sweeps", "1", "--ranks", "2"],
            capture_output=True, text=True, check=False)
        if done.returncode == SKIPPED:
            self.skipTest(done.stdout.strip())
        self.assertIn(done.returncode, (0, 1), done.stderr)
        self.assertRegex(done.stdout, r"2 plans: Kendall's tau -?\d\.\d\d")


if __name__ == "__main__":
    harness.main()
