"""Files of earlier versions keep their meaning: docs/file-formats.md.

Usage: compatibility_test.py <tangram> <sources>

With TANGRAM_UPDATE_EXPECTED=1, writes expected.json anew, which is right where
the cost model changed. The kept files are never changed.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

TANGRAM, SOURCE = sys.argv[1:3]
sys.path.append(f"{SOURCE}/tests/testing")
import report_skips  # noqa: E402
ROOT = pathlib.Path(SOURCE) / "tests/compatibility"
EXPECTED = ROOT / "expected.json"
BAD_INPUT = 2
# Covers floating-point sums in another order.
TOLERANCE = 1e-9

PLANS = sorted(p for p in ROOT.glob("v*/*.json"))
CLUSTERS = sorted(ROOT.glob("v*/*.yaml"))
# Parts of a plan file that describe the request and the answer, without its
# maker and the estimates of today's cost model.
KEPT = ("format_version", "cluster", "model", "training", "islands", "plan",
        "replicated_plan", "infeasible")


def run(*arguments):
    return subprocess.run([TANGRAM, *map(str, arguments)], text=True,
                          stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=120, check=False)


def evaluated(path, *options):
    """Returns the plan file that `tangram evaluate` makes. Its exit code is 0,
    or 3 if the plan does not fit (any more)."""
    done = run("evaluate", path, *options, "--output", "-")
    if done.returncode not in (0, 3):
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)


def name_of(path):
    return str(path.relative_to(ROOT))


def has_plan(path):
    plan = json.loads(path.read_text(encoding="utf-8"))
    return "plan" in plan or "replicated_plan" in plan


def evaluation_of(plan):
    return plan.get("evaluation") or plan["replicated_evaluation"]


class Files(unittest.TestCase):
    """Has a folder for edited files."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def edited(self, path, edit):
        plan = json.loads(path.read_text(encoding="utf-8"))
        edit(plan)
        copy = self.folder / path.name
        copy.write_text(json.dumps(plan), encoding="utf-8")
        return copy

    def refused(self, message, *arguments):
        done = run(*arguments)
        self.assertEqual((done.returncode, done.stdout), (BAD_INPUT, ""))
        self.assertEqual(done.stderr, f"tangram: {message}\n")

    def assert_within(self, old, new, path):
        """Checks that `new` has everything in `old`; it may have more."""
        if isinstance(old, dict):
            for key, value in old.items():
                self.assertIn(key, new, path)
                self.assert_within(value, new[key], f"{path}.{key}")
        elif isinstance(old, list):
            self.assertEqual(len(old), len(new), path)
            for i, pair in enumerate(zip(old, new)):
                self.assert_within(*pair, f"{path}[{i}]")
        else:
            self.assertEqual(old, new, path)


class PlanFilesTest(Files):

    def test_there_are_some_of_every_kind(self):
        self.assertGreaterEqual(len(PLANS), 7)
        self.assertIn(False, map(has_plan, PLANS))
        texts = [path.read_text(encoding="utf-8") for path in PLANS]
        for kind in ('"replicated_plan": {', '"lock-step"', '"routed"'):
            self.assertTrue(any(kind in text for text in texts), kind)

    def test_nothing_that_they_say_is_lost(self):
        for path in filter(has_plan, PLANS):
            with self.subTest(name_of(path)):
                old = json.loads(path.read_text(encoding="utf-8"))
                new = evaluated(path)
                self.assert_within({k: old[k] for k in KEPT if k in old}, new,
                                   "")

    def test_they_evaluate_to_the_same(self):
        times = {name_of(path):
                 evaluation_of(evaluated(path))["iteration_time_s"]
                 for path in filter(has_plan, PLANS)}
        if os.environ.get("TANGRAM_UPDATE_EXPECTED"):
            EXPECTED.write_text(json.dumps(times, indent=2) + "\n",
                                encoding="utf-8")
        expected = json.loads(EXPECTED.read_text(encoding="utf-8"))
        self.assertEqual(expected.keys(), times.keys())
        for name, time in times.items():
            self.assertAlmostEqual(time / expected[name], 1, delta=TOLERANCE,
                                   msg=name)

    def test_they_say_why_there_is_none(self):
        for path in PLANS:
            if has_plan(path):
                continue
            done = run("explain", path)
            self.assertEqual((done.returncode, done.stderr), (3, ""))
            self.assertIn("No plan fits\n", done.stdout)

    def test_newer_versions_are_refused(self):
        def renew(plan):
            plan["format_version"] = "tangram.plan/v2"
            plan["what_it_brings"] = {"x": [1]}
        for path in PLANS:
            copy = self.edited(path, renew)
            self.refused(f'{copy}: format_version: "tangram.plan/v2"; expected '
                         '"tangram.plan/v1"', "evaluate", copy)

    def test_unknown_fields_are_named_not_ignored(self):
        path = ROOT / "v1/two-islands.json"

        def extend(plan):
            plan["plan"]["stages"][0]["colour"] = "red"
        copy = self.edited(path, extend)
        done = run("evaluate", copy)
        self.assertEqual(done.returncode, BAD_INPUT)
        self.assertRegex(done.stderr, r"\Atangram: [^\n]*colour[^\n]*\n\Z")

    def test_what_was_added_later_may_be_missing(self):
        path = ROOT / "v1/two-islands.json"

        def strip(plan):
            for name in ("runners_up", "alternatives", "explanation", "notes",
                         "stats", "provenance", "unused_islands", "islands"):
                plan.pop(name, None)
            for stage in plan["plan"]["stages"]:
                stage.pop("island")
                stage.pop("made_by")
        copy = self.edited(path, strip)
        self.assertEqual(evaluated(copy)["evaluation"]["iteration_time_s"],
                         evaluated(path)["evaluation"]["iteration_time_s"])


class ClusterFilesTest(Files):

    def test_there_are_some(self):
        self.assertGreaterEqual(len(CLUSTERS), 2)

    def test_they_are_read(self):
        for path in CLUSTERS:
            done = run("islands", "--cluster", path)
            self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_they_mean_what_plans_made_with_them_say(self):
        for path in filter(has_plan, PLANS):
            with self.subTest(name_of(path)):
                old = json.loads(path.read_text(encoding="utf-8"))
                groups = {"slow": 2, "fast": 1}
                nodes = ",".join(
                    f"{g}={n if g in old['cluster']['groups'] else 0}"
                    for g, n in groups.items())
                new = evaluated(path, "--cluster", path.parent / "cluster.yaml",
                                "--nodes", nodes)
                self.assert_within(old["cluster"], new["cluster"], "cluster")
                self.assertEqual(evaluation_of(new),
                                 evaluation_of(evaluated(path)))

    def test_newer_versions_are_refused(self):
        text = (ROOT / "v1/cluster.yaml").read_text(encoding="utf-8")
        copy = self.folder / "c.yaml"
        copy.write_text("tangram_cluster: 2\nwhat_it_brings: {x: [1]}\n" + text,
                        encoding="utf-8")
        self.refused(f"{copy}: tangram_cluster: 2; expected 1, the version of "
                     "the cluster format", "islands", "--cluster", copy)

    def test_unknown_keys_are_named_not_ignored(self):
        text = (ROOT / "v1/cluster.yaml").read_text(encoding="utf-8")
        copy = self.folder / "c.yaml"
        copy.write_text(text.replace("nodes: 2", "nodes: 2\n    colour: red"),
                        encoding="utf-8")
        done = run("islands", "--cluster", copy)
        self.assertEqual(done.returncode, BAD_INPUT)
        self.assertIn("groups[0].colour: unknown key", done.stderr)


if __name__ == "__main__":
    report_skips.main(verbosity=2)
