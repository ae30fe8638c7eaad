"""Runs `tangram diff` as its users do."""

import json

import harness
from harness import BAD_INPUT, CLUSTER, Folder, JOB, MODEL, OK

DIFFER = 6


class DiffTest(Folder):

    def setUp(self):
        super().setUp()
        self.tangram("plan", *CLUSTER, *JOB, "--output", "a.json", "--quiet")

    def edit(self, name, edit):
        plan = json.loads(self.read("a.json"))
        edit(plan)
        return self.write(name, json.dumps(plan))

    def diff(self, *arguments):
        """Returns the exit code and the answer."""
        run = self.run_tangram("diff", *arguments)
        self.assertEqual(run.stderr, "")
        return run.returncode, run.stdout

    def test_the_same_plan_is_the_same(self):
        def remake(plan):
            plan["provenance"]["wall_s"] = 1000
            plan["cluster"]["name"] = "renamed"
            plan["evaluation"]["iteration_time_s"] = 1  # Evaluated anew.
        self.edit("b.json", remake)
        self.assertEqual(self.diff("a.json", "b.json"),
                         (OK, "a.json and b.json are the same plan\n"))

    def test_says_what_differs(self):
        def recompute(plan):
            # The second of three layers is whole: its core is operator 2.
            stage = [s["plan"] for s in plan["plan"]["stages"]
                     if sum(run["num_layers"]
                            for run in s["plan"]["recompute"]) > 2][0]
            masks = [run["mask"] for run in stage["recompute"]
                     for _ in range(run["num_layers"])]
            masks[1] ^= 1 << 2
            stage["recompute"] = [{"num_layers": 1, "mask": mask}
                                  for mask in masks]
            plan["training"]["sequence_length"] = 1024
        code, text = self.diff("a.json", self.edit("b.json", recompute))
        self.assertEqual(code, DIFFER)
        self.assertRegex(text, r"\n  iteration time +\S+ m?s +\S+ m?s +\S+ %\n")
        self.assertRegex(text, r"\n  training: sequence length +2,048 +1,024\n")
        self.assertRegex(text, r"\n  layers +stage +recompute\n"
                         r"  \S+ +\d+ +\S.* -> \S.*\n")
        self.assertLessEqual(max(map(len, text.splitlines())), 100)

    def test_answers_in_json(self):
        self.tangram("plan", *CLUSTER, *JOB, "--microbatch", "32", "--output",
                     "b.json", "--quiet")
        code, text = self.diff("a.json", "b.json", "--format", "json")
        self.assertEqual(code, DIFFER)
        answer = harness.valid_answer(text)
        self.assertEqual(
            (answer["format_version"], answer["a"], answer["b"],
             answer["same"]), ("tangram.diff/v1", "a.json", "b.json", False))
        fields = {d["field"]: d for d in answer["plan"]}
        self.assertEqual(fields["pipeline_microbatch_size"]["b"], 32)
        for name, side in ("a.json", "a"), ("b.json", "b"):
            plan = json.loads(self.read(name))
            time = [d for d in answer["prediction"]
                    if d["field"] == "iteration_time_s"][0]
            self.assertEqual(time[side],
                             plan["evaluation"]["iteration_time_s"])
            stages = plan["plan"]["stages"]
            self.assertEqual(
                sorted({s["stage_" + side] for s in answer["stages"]}),
                list(range(len(stages))))
        # The parts follow each other from the first layer to the last.
        parts = answer["stages"]
        for before, after in zip(parts, parts[1:]):
            self.assertEqual(before["end"], after["begin"])

        code, text = self.diff("a.json", "a.json", "--format=json")
        self.assertEqual((code, json.loads(text)["same"]), (OK, True))

    def test_compares_with_a_frameworks_files(self):
        self.tangram("plan", *CLUSTER, *MODEL, "--runtime", "aceso", "--quiet",
                     "--output", "a.json")
        self.tangram("export", "a.json", "--to", "aceso", "-o", "out",
                     "--allow-lossy")
        files = ("out/flexpipe.json", "out/hostfile", "--from", "aceso")
        self.assertEqual(
            self.diff("a.json", *files),
            (OK, "a.json and out/flexpipe.json are the same plan\n"))
        self.tangram("plan", *CLUSTER, *JOB, "--parallelizer", "aceso",
                     "--microbatch", "16", "--quiet", "--output", "b.json")
        code, text = self.diff("b.json", *files)
        self.assertEqual(code, DIFFER)
        self.assertRegex(text, r"\n  pipeline microbatch size +16 ")

    def test_says_which_has_no_plan(self):
        def drop(plan):
            del plan["plan"], plan["evaluation"]
            plan["infeasible"] = {"reason": "too big", "bytes_short": 1e9}
        code, text = self.diff("a.json", self.edit("b.json", drop))
        self.assertEqual(code, DIFFER)
        self.assertIn("no plan fits: too big", text)

    def test_bad_input_is_told_as_elsewhere(self):
        self.fails(BAD_INPUT, "missing.json: no such file", "diff", "a.json",
                   "missing.json")
        self.fails(BAD_INPUT, "other", "diff", "a.json")
        self.fails(BAD_INPUT, "expected one plan to compare with", "diff",
                   "a.json", "a.json", "a.json")
        self.fails(BAD_INPUT, "excel; expected one of flagscale", "diff", "a.json", "a.json", "--from",
                   "excel")


if __name__ == "__main__":
    harness.main()
