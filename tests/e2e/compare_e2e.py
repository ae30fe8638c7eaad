"""Runs `tangram compare` and `tangram profile export` as their users do."""

import json
import os
import re

import harness
from daemons import Coordinator
from harness import BAD_INPUT, CLUSTER, Folder, MODEL, NO_PLAN

# One that takes no long search on so small a cluster.
FAST = "amp,megatron-uniform"


def figures(answer):
    """The figures of an answer without those of this run."""
    return [{key: value for key, value in planner.items()
             if key != "planning_s"} for planner in answer["planners"]]


class CompareTest(Folder):

    def compare(self, *arguments):
        return self.json_answer("compare", *CLUSTER, *MODEL, *arguments)

    def test_compares_all_planners_by_one_judge(self):
        answer = self.compare("-o", "out")
        self.assertEqual(answer["format_version"], "tangram.comparison/v1")
        planners = answer["planners"]
        known = re.findall(r"^  ([a-z-]+)  .*", self.tangram("planners")
                           .split("\n\n")[0], re.M)[1:]
        self.assertEqual(sorted(p["planner"] for p in planners), sorted(known))
        # The first is the fastest, and no planner beats ours.
        self.assertEqual(planners[0]["planner"], "tangram")
        times = [p["iteration_time_s"] for p in planners if p["has_plan"]]
        self.assertEqual(times, sorted(times))
        self.assertGreaterEqual(len(times), len(known) - 2)
        report = self.read("out/report.html")
        for planner in planners:
            name = f"{planner['planner']}.json"
            plan = json.loads(self.read("out/" + name))
            if not planner["has_plan"]:
                self.assertTrue(planner["reason"])
                continue
            self.assertEqual(plan["planner"], planner["planner"])
            self.assertIn(name, report)
            self.tangram("evaluate", "out/" + name, "--output", "again.json")
            again = json.loads(self.read("again.json"))
            evaluation = again.get("evaluation") or again[
                "replicated_evaluation"]
            self.assertEqual(evaluation["iteration_time_s"],
                             planner["iteration_time_s"])
            self.assertLessEqual(planner["memory_fraction"], 1)

    def test_prints_a_table(self):
        text = self.tangram("compare", *CLUSTER, *MODEL, "--planners", FAST)
        self.assertRegex(text, r"(?m)^  -\d+/\+\d+ % in 90.0 % of runs")
        self.assertRegex(text, r"(?m)^  amp +\S+ m?s +\S+ m?s, \S+ % ")
        self.assertRegex(text, r"\n  \S+ is \S+ % faster than \S+: ")
        self.assertLessEqual(max(map(len, text.splitlines())), 100)

    def test_a_coordinator_without_workers_answers_the_same(self):
        coordinator = Coordinator("--worker_wait_s=0")
        self.addCleanup(coordinator.end)
        remote = self.compare("--planners", FAST, "--coordinator",
                              coordinator.address)
        self.assertEqual(figures(remote),
                         figures(self.compare("--planners", FAST)))

    def test_a_planner_may_have_no_plan(self):
        run = self.run_tangram(
            "compare", *CLUSTER, "--model", "gpt3-175b", "--global-batch", "4",
            "--planners", FAST, "--runtime", "any")
        self.assertEqual((run.returncode, run.stderr), (NO_PLAN, ""))
        self.assertRegex(run.stdout, r"Without a plan\n  amp: \S")
        # Those that plan for no framework say so.
        answer = self.compare("--planners", "tangram,amp", "--runtime",
                              "megatron")
        self.assertEqual([p["has_plan"] for p in answer["planners"]],
                         [True, False])
        self.assertIn("planner amp plans for no framework",
                      answer["planners"][1]["reason"])

    def test_bad_input_is_named(self):
        for message, *arguments in (
                ("planner: nobody; expected", "--planners", "nobody"),
                ("--planner-option: amp; expected PLANNER.NAME=VALUE",
                 "--planner-option", "amp"),
                ("planner_options.modus: x; expected an option of",
                 "--planner-option", "amp.modus=x"),
                ("--global-batch", "--global-batch", "0")):
            with self.subTest(message):
                self.fails(BAD_INPUT, message, "compare", *CLUSTER, *MODEL,
                           *arguments)

    def test_nothing_is_written_if_something_cannot_be(self):
        os.makedirs(os.path.join(self.folder, "out", "report.html"))
        self.fails(BAD_INPUT, "out/report.html", "compare", *CLUSTER, *MODEL,
                   "--planners", FAST, "-o", "out")
        self.assertEqual(os.listdir(os.path.join(self.folder, "out")),
                         ["report.html"])


class ProfileExportTest(Folder):

    def test_writes_files_that_the_importer_reads(self):
        text = self.tangram("profile", "export", "--to", "metis", *CLUSTER,
                            "--model", "gpt3-1.3b", "--global-batch", "32",
                            "-o", "metis")
        self.assertIn("wrote 26 files into metis", text)
        names = [f"metis/profiles/{name}" for name in
                 sorted(os.listdir(os.path.join(self.folder, "metis/profiles")))
                 if "T4" in name]
        self.tangram("import", "profile", "--from", "metis", *names, "--device",
                     "T4", "--model", "gpt3-1.3b", "--precision", "fp16",
                     "--seq", "2048", "--output", "t4.json")
        # Plans on the imported times take as long as on the times themselves.
        plan = ("plan", *CLUSTER, "--model", "gpt3-1.3b", "--global-batch",
                "32", "--planner", "amp", "--quiet", "--output")
        self.tangram(*plan, "a.json")
        self.tangram(*plan, "b.json", "--profile", "t4.json")
        times = [json.loads(self.read(name))["evaluation"]["iteration_time_s"]
                 for name in ("a.json", "b.json")]
        self.assertAlmostEqual(times[0] / times[1], 1, delta=0.02)

    def test_bad_input_is_named(self):
        self.fails(BAD_INPUT, "--to: nobody; expected one of amp, metis",
                   "profile", "export", "--to", "nobody", *CLUSTER, "--model",
                   "gpt3-1.3b", "--global-batch", "32", "-o", "out")


if __name__ == "__main__":
    harness.main()
