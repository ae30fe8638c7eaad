"""The package tangram_schedulers, without the command.

Usage: exports_test.py <repository root>
"""

import contextlib
import io
import json
import math
import os
import pathlib
import sys
import tempfile
import time
import types
import unittest

ROOT = pathlib.Path(sys.argv.pop(1))
sys.path[:0] = [str(ROOT / "tests/testing"), str(ROOT / "clients/python")]
import report_skips  # noqa: E402
from tangram_schedulers import __main__ as command  # noqa: E402
from tangram_schedulers import gavel, sia, skypilot  # noqa: E402
from tangram_schedulers.frontier import (BadFrontier, Frontier,  # noqa: E402
                                         NoAnswer, ask)


def document(points, groups=("a", "b"), gpus=(4, 8)):
    """A frontier of {nodes: seconds, or None without a plan}."""
    allocations = []
    for nodes, time_s in points.items():
        point = {"nodes": dict(zip(groups, nodes)), "state": "no_plan",
                 "gpus": sum(n * g for n, g in zip(nodes, gpus))}
        if time_s is not None:
            point.update(state="planned", iteration_time_s=time_s)
        within = [(t, other) for other, t in points.items() if t is not None
                  and all(o <= n for o, n in zip(other, nodes))]
        if within:
            point["envelope_s"], at = min(within)
            point["envelope_at"] = dict(zip(groups, at))
        allocations.append(point)
    return {"format_version": "tangram.frontier/v1", "groups": list(groups),
            "tokens_per_iteration": 1000, "a_new_field": 1,
            "allocations": allocations}


POINTS = {(0, 1): 2.0, (1, 0): None, (1, 1): 1.0, (2, 0): 4.0, (2, 1): 1.5}
# The two nodes of a bring nothing beside that of b.
IDLE = {(0, 1): 2.0, (1, 1): 2.0, (2, 0): 4.0}


def frontier(points=None):
    return Frontier.parse(json.dumps(document(points or POINTS)))


class FrontierTest(unittest.TestCase):

    def test_allocations_are_found_by_their_nodes(self):
        self.assertEqual(frontier().at({"a": 1, "b": 1}).iteration_time_s, 1.0)
        self.assertEqual(frontier().at({"b": 1}).iteration_time_s, 2.0)
        self.assertIsNone(frontier().at({"b": 7}))
        self.assertEqual(frontier().at({"a": 2, "b": 1}).best_s, 1.0)
        self.assertEqual(frontier().gpus_per_node, {"a": 4, "b": 8})

    def test_gpus_of_nodes_are_told_by_mixtures_too(self):
        self.assertEqual(frontier({(1, 0): 1.0, (1, 2): 1.0}).gpus_per_node,
                         {"a": 4, "b": 8})
        self.assertEqual(frontier({(1, 2): 1.0}).gpus_per_node, {})

    def test_the_nearest_needs_the_fewest_more_nodes(self):
        nearest = frontier().nearest_that_fits({"a": 1, "b": 0})
        self.assertEqual(nearest.text(), "a=1,b=1")
        self.assertIsNone(frontier({(1, 0): None}).nearest_that_fits({"a": 1}))

    def test_bad_documents_name_the_field(self):
        def changed(change):
            of = document(POINTS)
            change(of)
            return json.dumps(of)

        def point(name, value):
            return changed(lambda d: d["allocations"][0].update({name: value}))

        cases = {
            json.dumps(document(POINTS))[:-40]: "not JSON",
            "": "not JSON", "[]": "expected an object", "7": "expected an object",
            b"\xff\xfe{": "not JSON", "[" * 100_000: "nested too deeply",
            changed(lambda d: d.update(format_version="x")): "format_version: ",
            changed(lambda d: d.update(groups=["a", "a"])): "groups: ",
            changed(lambda d: d.update(groups=[])): "groups: ",
            changed(lambda d: d.update(tokens_per_iteration=0)):
                "tokens_per_iteration: 0; expected an integer of at least 1",
            changed(lambda d: d.update(tokens_per_iteration=True)):
                "tokens_per_iteration: true",
            changed(lambda d: d.update(allocations={})): "allocations: ",
            changed(lambda d: d["allocations"].append(d["allocations"][0])):
                "allocations[5].nodes: a=0,b=1 again",
            changed(lambda d: d["allocations"].append([])):
                "allocations[5]: []; expected an object",
            point("nodes", {"a": 1}): "allocations[0].nodes: ",
            point("nodes", {"a": 1.5, "b": 0}): "allocations[0].nodes.a: 1.5",
            point("nodes", {"a": -1, "b": 0}): "allocations[0].nodes.a: -1",
            point("gpus", 0): "allocations[0].gpus: 0",
            point("gpus", 7): "allocations: a=1,b=1 has 12 gpus; expected",
            point("state", "maybe"): 'allocations[0].state: "maybe"',
            point("iteration_time_s", None): "allocations[0].iteration_time_s: ",
            point("iteration_time_s", -1): "expected a positive number",
            point("iteration_time_s", 0): "expected a positive number",
            point("iteration_time_s", "1"): "expected a positive number",
            point("iteration_time_s", math.nan): "NaN is not a number of JSON",
            point("envelope_s", math.inf): "Infinity is not a number of JSON",
            json.dumps(document(POINTS)).replace(": 2.0", ": 1e999", 1):
                "allocations[0].iteration_time_s: Infinity; expected",
            point("envelope_at", {"a": 1}): "allocations[0].envelope_at: ",
            point("price_per_hour", -1): "allocations[0].price_per_hour: -1",
        }
        for text, message in cases.items():
            with self.subTest(message):
                with self.assertRaises(BadFrontier) as raised:
                    Frontier.parse(text)
                self.assertIn(message, str(raised.exception))


class GavelTest(unittest.TestCase):

    def test_rates_are_by_type_and_gpus(self):
        # 1 / 2 s with 8 GPUs of b, 1 / 4 s with 8 of a; none with 4 of a.
        self.assertEqual(gavel.throughputs({"j": frontier()}), {
            "a": {"('j', 4)": {"null": 0.0}, "('j', 8)": {"null": 0.25}},
            "b": {"('j', 4)": {"null": 0.0}, "('j', 8)": {"null": 0.5}}})

    def test_the_faster_of_merged_groups_counts(self):
        self.assertEqual(gavel.throughputs({"j": frontier()},
                                           {"a": "x", "b": "x"}),
                         {"x": {"('j', 4)": {"null": 0.0},
                                "('j', 8)": {"null": 0.5}}})

    def test_what_gavel_cannot_read_is_refused(self):
        mixed = frontier({(1, 2): 1.0})
        for jobs, message in (({"it's": frontier()}, "without quotes"),
                              ({"j": mixed}, "no allocation of one group")):
            with self.assertRaisesRegex(BadFrontier, message):
                gavel.throughputs(jobs)
        half = document(POINTS)
        half["allocations"][1]["state"] = "pending"
        with self.assertRaisesRegex(BadFrontier, "a=1,b=0 is pending"):
            gavel.throughputs({"j": Frontier.parse(json.dumps(half))})


class SiaTest(unittest.TestCase):

    def test_bundles_are_those_that_need_all_their_nodes(self):
        made = sia.configurations({"j": frontier()})["jobs"]["j"]
        self.assertEqual(made["configurations"], [
            {"type": "b", "nodes": 1, "gpus": 8, "iterations_per_s": 0.5},
            {"type": "a", "nodes": 2, "gpus": 8, "iterations_per_s": 0.25}])
        # a=2,b=1 is slower than a=1,b=1, which is part of it.
        self.assertEqual(made["bundles"], [
            {"nodes": 2, "gpus": {"a": 4, "b": 8}, "iterations_per_s": 1.0}])
        self.assertEqual(sia.configurations({"j": frontier(IDLE)})[
            "jobs"]["j"]["bundles"], [])
        self.assertEqual(sia.configurations({"j": frontier()}, None, 0)[
            "jobs"]["j"]["bundles"], [])

    def test_parts_of_a_node_are_of_its_type(self):
        made = sia.configurations({"j": frontier()}, {"a": "x", "b": "x"})
        self.assertEqual(made["types"], ["x"])
        # 8 GPUs in one node of b and in two of a: the faster counts.
        self.assertEqual([(c["gpus"], c["iterations_per_s"]) for c in
                          made["jobs"]["j"]["configurations"]],
                         [(8, 0.5), (12, 1.0), (16, 1.0)])

    def test_unknown_gpus_are_refused(self):
        with self.assertRaisesRegex(BadFrontier, "groups: a is only in"):
            sia.configurations({"j": frontier({(1, 2): 1.0})})


def task(*accelerators, num_nodes=1):
    """As much of a sky.Task as the optimizer's estimates use."""
    made = types.SimpleNamespace(num_nodes=num_nodes, func=None, resources=[
        types.SimpleNamespace(accelerators=a) for a in accelerators])
    made.set_time_estimator = lambda func: setattr(made, "func", func)
    return made


class SkyPilotTest(unittest.TestCase):
    GROUPS = {"A": "a", "B": "b"}

    def test_times_are_those_of_the_tasks_nodes(self):
        of = task({"A": 4}, {"A": 4}, num_nodes=2)
        self.assertTrue(skypilot.set_estimator(
            of, frontier(), tokens=1e6, groups=self.GROUPS))
        # A million tokens are 1,000 iterations of 4 s.
        self.assertEqual(of.func(of.resources[0]), 4000)

    def test_what_does_not_fit_takes_for_ever(self):
        of = task({"A": 4}, {"B": 8})
        self.assertTrue(skypilot.set_estimator(
            of, frontier(), tokens=1e6, groups=self.GROUPS))
        self.assertEqual(of.func(of.resources[1]), 2000)
        self.assertGreater(of.func(of.resources[0]), 1e9)
        self.assertTrue(math.isfinite(of.func(of.resources[0])))

    def test_without_all_answers_there_is_no_estimator(self):
        for of, known in ((task({"A": 4}, {"C": 8}), frontier()),
                          (task({"A": 4}, None), frontier()),
                          (task({"A": 4}, {"B": 4}), frontier()),
                          (task({"B": 8}, num_nodes=9), frontier()),
                          (task({"B": 8}), None)):
            with self.assertLogs(level="WARNING") if known else (
                    contextlib.nullcontext()):
                self.assertFalse(skypilot.set_estimator(
                    of, known, tokens=1e6, groups=self.GROUPS))
            self.assertIsNone(of.func)
        for tokens in (0, -1, math.nan, math.inf):
            with self.assertRaises(ValueError):
                skypilot.set_estimator(task(), frontier(), tokens=tokens,
                                       groups={})


class CommandTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.file = self.write("f.json", json.dumps(document(POINTS)))

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def run_command(self, *arguments):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = command.main(arguments)
        return code, out.getvalue(), err.getvalue()

    def test_files_are_written_as_a_whole(self):
        out = os.path.join(self.folder, "out.json")
        for _ in range(2):
            self.assertEqual(self.run_command("gavel", f"j={self.file}", "-o",
                                              out), (0, "", ""))
        with open(out, encoding="utf-8") as file:
            self.assertEqual(file.read(),
                             self.run_command("gavel", f"j={self.file}")[1])
        bad = self.write("bad.json", "{")
        self.assertEqual(self.run_command("gavel", f"j={bad}", "-o", out)[0], 2)
        self.assertEqual(sorted(os.listdir(self.folder)),
                         ["bad.json", "f.json", "out.json"])

    def test_refusals_name_the_file(self):
        bad = self.write("bad.json", "{")
        for arguments, message in (
                ((f"j={bad}",), "bad.json: not JSON"),
                (("j=/nowhere",), "/nowhere"),
                ((self.file,), "expected JOB=FRONTIER.json"),
                ((f"j={self.file}", f"j={self.file}"), "given twice"),
                ((f"j={self.file}", "--type", "a"), "expected GROUP=TYPE")):
            code, out, err = self.run_command("sia", *arguments)
            self.assertEqual((code, out), (2, ""))
            self.assertIn(message, err)


class AskTest(CommandTest):

    def ask(self, script, timeout_s=30):
        program = self.write("tangram", "#!/bin/sh\n" + script)
        os.chmod(program, 0o755)
        return ask(["--x"], timeout_s=timeout_s, program=program)

    def test_answers_are_read(self):
        self.assertEqual(self.ask(f"cat {self.file}; exit 3").groups, ("a", "b"))

    def test_no_answer_is_told_from_a_refusal(self):
        def error(code, number):
            return ("echo '{\"error\":{\"code\":\"%s\",\"message\":\"m\"}}' >&2;"
                    "exit %d" % (code, number))
        for script, kind, message in (
                (error("UNAVAILABLE", 4), NoAnswer, "^m$"),
                (error("UNIMPLEMENTED", 2), NoAnswer, "^m$"),
                (error("INVALID_ARGUMENT", 2), ValueError, "^m$"),
                ("exit 1", NoAnswer, "ended with 1"),
                ("echo oh >&2; exit 4", NoAnswer, "^oh$"),
                ("kill -9 $$", NoAnswer, "ended with -9"),
                ("echo half {", BadFrontier, "not JSON"),
                (f"head -c 300 {self.file}", BadFrontier, "not JSON")):
            with self.subTest(script), self.assertRaisesRegex(kind, message):
                self.ask(script)
        with self.assertRaisesRegex(NoAnswer, "No such file"):
            ask([], timeout_s=1, program="/nowhere/tangram")

    def test_a_command_that_hangs_ends_with_its_children(self):
        with self.assertRaisesRegex(NoAnswer, "within 0.2 s"):
            self.ask(f"sleep 1000 & echo $! > {self.folder}/pid; wait", 0.2)
        pid = int(pathlib.Path(self.folder, "pid").read_text())
        # Death by SIGKILL takes a moment on a busy machine.
        end_s = time.monotonic() + 10
        while self.runs(pid) and time.monotonic() < end_s:
            time.sleep(0.01)
        self.assertFalse(self.runs(pid))

    @staticmethod
    def runs(pid):
        """Whether a process runs; a zombie that nobody waits for does not."""
        try:
            stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
        except (FileNotFoundError, ProcessLookupError):
            return False
        return ") Z " not in stat


if __name__ == "__main__":
    report_skips.main(sys.argv[1:])
