"""The replay of tests/bench/schedulers: its programs, rounds and traces.

Usage: replay_test.py <repository root>
"""

import importlib.util
import itertools
import pathlib
import random
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv.pop(1))
sys.path[:0] = [str(ROOT / "tests/testing"), str(ROOT / "tests/bench/schedulers")]
import report_skips  # noqa: E402
import traces  # noqa: E402

HAS_SCIPY = importlib.util.find_spec("scipy") is not None
if HAS_SCIPY:
    import numpy as np
    import policies
    import programs
    import simulate
    import tables
needs_scipy = unittest.skipUnless(HAS_SCIPY, "no python3-scipy")


def document(seed, kinds=4):
    """Jobs on types a and b whose rates grow with GPUs, and bundles."""
    draw = random.Random(seed)
    jobs = {}
    for k in range(kinds):
        speed = {t: draw.uniform(0.5, 2) for t in "ab"}
        power = draw.uniform(0.5, 1)
        jobs[f"k{k}"] = {
            "tokens_per_iteration": 1,
            "configurations": [
                {"type": t, "nodes": 1, "gpus": g,
                 "iterations_per_s": speed[t] * g ** power}
                for t in "ab" for g in (1, 2, 4, 8) if g > k % 3],
            "bundles": [
                {"nodes": 2, "gpus": {"a": a, "b": b}, "iterations_per_s":
                 0.9 * (speed["a"] * a + speed["b"] * b) ** power}
                for a in (4, 8) for b in (4, 8)]}
    return {"format_version": "tangram.sia/v1", "types": ["a", "b"],
            "jobs": jobs}


@needs_scipy
class ProgramsTest(unittest.TestCase):

    def test_sias_program_is_that_of_all_choices(self):
        draw = random.Random(1)
        for _ in range(40):
            jobs = draw.randint(1, 4)
            weights = [np.array([draw.uniform(0.1, 1.3) for _ in range(3)])
                       for _ in range(jobs)]
            gpus = [np.array([[draw.randint(0, 3), draw.randint(0, 3)]
                              for _ in range(3)]) for _ in range(jobs)]
            capacity = [draw.randint(0, 6), draw.randint(0, 6)]
            best = min(
                sum(programs.LEFT_OUT if c < 0 else weights[j][c]
                    for j, c in enumerate(chosen))
                for chosen in itertools.product(range(-1, 3), repeat=jobs)
                if all(sum(gpus[j][c][t] for j, c in enumerate(chosen) if c >= 0)
                       <= capacity[t] for t in range(2)))
            objective, chosen = programs.sia(weights, gpus, capacity, gap=0)
            self.assertAlmostEqual(objective, best, places=5)
            self.assertEqual(len(chosen), jobs)
        self.assertEqual(programs.sia([], [], [1]), (0.0, []))

    def test_gavels_programs_by_hand(self):
        # Two jobs of one GPU; the first is twice as fast on the only GPU of a.
        rates = np.array([[2.0, 1.0], [1.0, 1.0]])
        one, workers = np.array([1.0, 1.0]), [1, 1]
        x = programs.gavel(rates, one, workers, fair=False)
        self.assertAlmostEqual((rates * x).sum(), 3)
        # With half of its time on each type, a job has 1.5 and 1. The second
        # cannot have more than 1, as it is as slow on both types.
        x = programs.gavel(rates, one, workers, fair=True)
        self.assertAlmostEqual(min((rates * x).sum(axis=1) / [1.5, 1]), 1)
        # Jobs of one and of two GPUs on two GPUs: both have as much of them.
        x = programs.gavel(np.array([[1.0], [1.0]]), np.array([1.0, 2.0]), [2],
                           fair=True)
        self.assertAlmostEqual(x[0, 0], 1)
        self.assertAlmostEqual(x[1, 0], 0.5)
        # Four GPUs on a type of two: no time at all.
        x = programs.gavel(np.array([[1.0]]), np.array([4.0]), [2], fair=False)
        self.assertAlmostEqual(x[0, 0], 0.5)


@needs_scipy
class ReplayTest(unittest.TestCase):

    def jobs(self, seed=1):
        types, kinds = tables.kinds_of(document(seed), seed, 0.08, 0.18)
        return simulate.jobs_of(traces.drawn(seed, 0.5, 20), kinds, types, "a",
                                seed, restart_s=30)

    def replay(self, policy, **options):
        jobs = self.jobs(**options)
        result = simulate.replay(jobs, policy, [16, 16])
        self.assertEqual(len(result.jct_s), len(jobs))
        self.assertTrue(all(j.finish_s >= j.submit_s for j in jobs))
        self.assertTrue(all(j.iterations < 1e-6 for j in jobs))
        return result

    def test_bundles_make_no_round_worse(self):
        for seed in (1, 2):
            policy = policies.Sia(True)
            self.replay(policy, seed=seed)
            self.assertGreater(len(policy.objectives), 10)
            for mixed, alone, off in policy.objectives:
                self.assertLessEqual(mixed, alone + off)
            self.assertTrue(any(m < a - off for m, a, off in policy.objectives))

    def test_every_policy_ends_every_job_the_same_each_time(self):
        for make in (policies.Fifo, lambda: policies.Gavel(False),
                     lambda: policies.Gavel(True), lambda: policies.Sia(False)):
            first, again = self.replay(make()), self.replay(make())
            self.assertEqual(first.jct_s, again.jct_s)
            self.assertGreater(sum(first.gpu_s), 0)

    def test_one_job_takes_its_true_time(self):
        types, kinds = tables.kinds_of(document(1, kinds=1), 1, 0.08, 0.18)
        arrival = traces.Arrival(0.0, 8, 1000.0)
        job, = simulate.jobs_of([arrival], kinds, types, "a", 1, 30)
        there = next(c for c in kinds[0].choices if c.gpus == (8, 0))
        self.assertAlmostEqual(job.iterations * there.predicted_s, 1000)
        self.assertNotAlmostEqual(there.true_s, there.predicted_s)
        policy = policies.Fifo()
        iterations = job.iterations
        result = simulate.replay([job], policy, [8, 0.001])
        self.assertAlmostEqual(result.jct_s[0], iterations * there.true_s)
        self.assertAlmostEqual(result.gpu_s[0], 8 * result.jct_s[0])

    def test_a_change_costs_a_restart(self):
        class Change(policies.Policy):
            name = "change"

            def assign(self, jobs, capacity):
                return [0 if j.age_s < 60 else 1 for j in jobs]
        types, kinds = tables.kinds_of(document(1, kinds=1), 1, 0, 0)
        job, = simulate.jobs_of([traces.Arrival(0.0, 1, 120.0)], kinds, types,
                                "a", 1, 30)
        # One GPU for a minute, then two: what is left after their restart.
        one, two = kinds[0].choices[:2]
        self.assertEqual([one.gpus, two.gpus], [(1, 0), (2, 0)])
        expected_s = 60 + 30 + (job.iterations - 60 / one.true_s) * two.true_s
        result = simulate.replay([job], Change(), [2, 2])
        self.assertEqual(result.restarts, 1)
        self.assertAlmostEqual(result.jct_s[0], expected_s)

    def test_too_many_gpus_are_noticed(self):
        class Greedy(policies.Policy):
            name = "greedy"

            def assign(self, jobs, capacity):
                return [0] * len(jobs)
        with self.assertRaisesRegex(RuntimeError, "are assigned; there are"):
            simulate.replay(self.jobs(), Greedy(), [0, 0])

    def test_errors_have_the_size_that_is_asked(self):
        _, kinds = tables.kinds_of(document(1, kinds=200), 1, 0.08, 0.18)
        for mixed, size in ((False, 0.08), (True, 0.18)):
            off = [abs(c.true_s / c.predicted_s - 1) for k in kinds
                   for c in k.choices if c.is_mixed == mixed]
            self.assertAlmostEqual(sum(off) / len(off), size, delta=0.2 * size)

    def test_documents_are_checked(self):
        def job(**row):
            row = {"type": "a", "gpus": 1, "iterations_per_s": 1.0, **row}
            return {"jobs": {"j": {"configurations": [row], "bundles": []}}}
        for change, message in (
                ({"format_version": "x"}, "format_version: expected"),
                ({"jobs": {"j": {"configurations": [], "bundles": []}}},
                 "fits no type alone"),
                ({"jobs": {"j": {}}}, "j: .*expected configurations"),
                ({"jobs": {"j": []}}, "j: .*expected configurations"),
                (job(type="x"), "j: gpus: 'x': 1"),
                (job(gpus=-1), "j: gpus: 'a': -1"),
                (job(gpus=1.5), "j: gpus: 'a': 1.5"),
                (job(iterations_per_s=float("nan")), "iterations_per_s: nan"),
                (job(iterations_per_s=0), "iterations_per_s: 0"),
                (job(iterations_per_s="1"), "iterations_per_s: '1'")):
            with self.assertRaisesRegex(ValueError, message):
                tables.kinds_of({**document(1), **change}, 1, 0, 0)
        tables.kinds_of({**document(1), **job()}, 1, 0, 0)


HELIOS = """job_id,user,gpu_num,cpu_num,node_num,state,submit_time,start_time,\
end_time,duration,queue
1,u,8,1,1,COMPLETED,2020-04-01 00:01:00,x,y,3600,0
2,u,0,1,1,COMPLETED,2020-04-01 00:00:00,x,y,60,0
3,u,1,1,1,FAILED,2020-04-01 00:00:30,x,y,60,0
4,u,1,1,1,CANCELLED,2020-04-01 00:00:10,,,,0
"""


class TracesTest(unittest.TestCase):

    def read(self, text, **options):
        with tempfile.NamedTemporaryFile() as file:
            file.write(text if isinstance(text, bytes) else text.encode())
            file.flush()
            return [(a.submit_s, a.gpus, a.duration_s)
                    for a in traces.read(file.name, **options)]

    def test_formats_are_told_apart(self):
        self.assertEqual(self.read(HELIOS), [(0, 1, 60), (30, 8, 3600)])
        self.assertEqual(self.read(HELIOS, most=1), [(0, 1, 60)])
        acme = HELIOS.replace("00:01:00", "00:01:00+08:00").replace(
            "00:00:30", "00:00:30+08:00")
        self.assertEqual(self.read(acme), [(0, 1, 60), (30, 8, 3600)])
        self.assertEqual(
            self.read('[{"submitted_time": "2017-10-08 03:07:35", "attempts": [{'
                      '"start_time": "2017-10-08 03:08:00", "end_time": '
                      '"2017-10-08 03:09:40", "detail": [{"ip": "m1", "gpus": '
                      '["gpu0", "gpu1"]}]}]}]'), [(0, 2, 100)])
        start = ["LM", "cd x", "-n", "1"]
        self.assertEqual(
            self.read("\t".join(start + ["500", "7.5", "4"]) + "\n"),
            [(0, 4, 500)])
        self.assertEqual(
            self.read("\t".join(["LM", "cd x", "w", "-n", "1", "500", "4", "1.0",
                                 "-1.0", "7.5"]) + "\n"), [(0, 4, 500)])
        with self.assertRaisesRegex(traces.BadTrace, "row 2: 2 fields"):
            self.read("\t".join(start + ["500", "7.5", "4"]) + "\na\tb\n")
        sia = self.read("time,application,num_replicas,batch_size\n"
                        "60,bert,2,1\n0,yolo,0,1\n")
        self.assertEqual([(s, g) for s, g, _ in sia], [(0, 1), (60, 2)])

    def test_bad_rows_are_named(self):
        for old, new, message in (
                ("1,u,8", "1,u,eight", "row 2: gpu_num: 'eight'"),
                ("1,u,8", "1,u,nan", "row 2: gpu_num: 'nan'"),
                ("1,u,8", "1,u,-8", "row 2: gpu_num: '-8'"),
                ("1,u,8", "1,u,1e9", "row 2: gpu_num: '1e9'"),
                ("3600", "inf", "row 2: duration: 'inf'"),
                ("2020-04-01 00:01:00", "yesterday", "row 2: submit_time: "),
                ("1,u,8", "1", "submit_time")):
            with self.subTest(message):
                with self.assertRaisesRegex(traces.BadTrace, message):
                    self.read(HELIOS.replace(old, new, 1))
        for text, message in (("", "expected columns"), ("[", "Expecting"),
                              ("[1]", "job 1: attempts"),
                              ('[{"attempts": [{}]}]', "expected detail"),
                              (b"\xff\xfe\x00", "can't decode"),
                              (HELIOS.partition("\n")[0] + "\n",
                               "no job with GPUs"),
                              ("[" * 100_000, "")):
            with self.subTest(text[:20]):
                with self.assertRaisesRegex(traces.BadTrace, message):
                    self.read(text)

    def test_drawn_arrivals_are_those_of_the_seed(self):
        first = traces.drawn(1, 10, 30)
        self.assertEqual(first, traces.drawn(1, 10, 30))
        self.assertNotEqual(first, traces.drawn(2, 10, 30))
        self.assertAlmostEqual(len(first), 300, delta=60)
        self.assertEqual(sorted(first, key=lambda a: a.submit_s), first)


if __name__ == "__main__":
    report_skips.main(sys.argv[1:])
