"""Runs `tangram report` as its users do. tests/browser looks at the pages."""

import json
import os
import re
import shlex

import harness
from harness import BAD_INPUT, CLUSTER, Folder, JOB, MODEL, OK


class ReportTest(Folder):
    def setUp(self):
        super().setUp()
        self.tangram("plan", *CLUSTER, *JOB, "--output", "plan.json", "--quiet")

    def edit(self, name, edit):
        plan = json.loads(self.read("plan.json"))
        edit(plan)
        return self.write(name, json.dumps(plan))

    def data(self, name):
        """Returns the data that the page shows."""
        page = self.read(name)
        found = re.findall(
            r'<script type="application/json" id="data">(.*)</script>', page)
        self.assertEqual(len(found), 1)
        return json.loads(found[0])

    def test_is_one_small_page(self):
        self.assertEqual(self.tangram("report", "plan.json", "-o", "r.html"), "")
        self.assertEqual(sorted(os.listdir(self.folder)),
                         ["plan.json", "r.html"])
        page = self.read("r.html")
        self.assertTrue(page.startswith("<!doctype html>"))
        self.assertLess(len(page), 200_000)
        self.assertNotRegex(page, r'(src|href)="?(http|/)')

    def test_shows_what_the_plan_file_says(self):
        self.tangram("report", "plan.json", "-o", "r.html")
        plan = json.loads(self.read("plan.json"))
        [shown] = self.data("r.html")["plans"]
        self.assertEqual(shown["name"], "plan.json")
        self.assertEqual(len(shown["plan"]["stages"]),
                         len(plan["plan"]["stages"]))
        prediction = shown["plan"]["prediction"]
        self.assertEqual(prediction["iteration_time_s"],
                         plan["evaluation"]["iteration_time_s"])
        self.assertEqual(shown["planning"]["pairs"],
                         int(plan["stats"]["pairs"]))
        self.assertEqual([i["name"] for i in shown["islands"]],
                         [i["name"] for i in plan["islands"]])

    def test_has_commands_that_run_the_plan_whatever_its_file_is_called(self):
        name = "it's a plan; x.json"
        self.tangram("plan", *CLUSTER, *MODEL, "--quiet", "--output", name)
        self.tangram("report", name, "-o", "r.html")
        runs = self.data("r.html")["plans"][0]["run"]
        self.assertTrue(runs)
        for run in runs:
            program, *arguments = shlex.split(run["command"])
            self.assertEqual(program, "tangram")
            self.assertIn(run["framework"], arguments)
            self.tangram(*arguments)
            self.assertEqual("--allow-lossy" in arguments, bool(run["losses"]))
        # No framework runs a plan that is cut inside layers.
        self.tangram("report", "plan.json", "-o", "r.html")
        self.assertEqual(self.data("r.html")["plans"][0]["run"], [])

    def test_timeline_has_every_pass(self):
        self.tangram("report", "plan.json", "-o", "r.html")
        shown = self.data("r.html")["plans"][0]["plan"]
        passes = {}
        for track in shown["timeline"]:
            key = track["stage"], track["kind"]
            passes[key] = sum(run[1] for run in track["runs"])
        for stage in range(len(shown["stages"])):
            for kind in ("forward", "backward"):
                self.assertEqual(passes[stage, kind],
                                 shown["num_microbatches"])

    def test_compares_several(self):
        self.tangram("plan", *CLUSTER, *JOB, "--microbatch", "32", "--output",
                     "other.json", "--quiet")
        self.tangram("report", "plan.json", "other.json", "-o", "r.html")
        first, other = self.data("r.html")["plans"]
        self.assertNotIn("against", first)
        self.assertEqual(other["against"]["plan"], 0)
        self.assertRegex(other["against"]["differences"][0], "iteration time")

    def test_goes_to_standard_output_and_is_the_same(self):
        self.tangram("report", "plan.json", "-o", "r.html")
        self.assertEqual(self.tangram("report", "plan.json", "-o", "-"),
                         self.read("r.html"))

    def test_shows_why_there_is_no_plan(self):
        self.edit("none.json", lambda plan: (
            plan.pop("plan"), plan.pop("evaluation"),
            plan.update(infeasible={"reason": "too big", "bytes_short": 1e9})))
        run = self.run_tangram("report", "none.json", "-o", "r.html")
        self.assertEqual((run.returncode, run.stderr), (OK, ""))
        [shown] = self.data("r.html")["plans"]
        self.assertNotIn("plan", shown)
        self.assertEqual(shown["infeasible"]["reason"], "too big")

    def test_hostile_names_stay_data(self):
        name = "</script><script>alert(1)</script><!--"
        def rename(plan):
            plan["cluster"]["name"] = plan["model"]["name"] = name
            plan["notes"] = [name + "\u2028"]
        self.tangram("report", self.edit("x<b>.json", rename), "-o", "r.html")
        page = self.read("r.html")
        self.assertNotIn("alert(1)</script>", page)
        self.assertNotIn("<b>.json", page)
        self.assertNotIn("\u2028", page)
        [shown] = self.data("r.html")["plans"]
        self.assertEqual(shown["cluster"]["name"], name)

    def test_leaves_nothing_where_a_plan_is_bad(self):
        self.write("bad.json", "{")
        self.fails(BAD_INPUT, "bad.json: not valid JSON", "report", "plan.json",
                   "bad.json", "-o", "r.html")

        self.tangram("plan", *CLUSTER, *JOB, "--pp", "2", "--output",
                     "plan.json", "--quiet")

        def overlap(plan):
            plan["plan"]["stages"][1]["plan"]["begin"] = {"layer": 0, "op": 0}
        self.fails(BAD_INPUT, "edited.json: plan.stages[1].plan.begin",
                   "report", self.edit("edited.json", overlap), "-o", "r.html")

    def test_goes_to_standard_output_without_a_file(self):
        self.assertTrue(self.tangram("report", "plan.json")
                        .startswith("<!doctype html>"))

    def test_needs_plans_and_a_place_that_exists(self):
        self.fails(BAD_INPUT, "plans", "report", "-o", "r.html")
        self.fails(BAD_INPUT, "missing.json", "report", "missing.json", "-o",
                   "r.html")
        self.fails(BAD_INPUT, "no/r.html", "report", "plan.json", "-o",
                   "no/r.html")


if __name__ == "__main__":
    harness.main()
