"""Reads a hand-written plan of several pipelines as users do."""

import json
import pathlib

import harness
from harness import BAD_INPUT, Folder, OK

EXAMPLE = str(pathlib.Path(__file__).parents[2] /
              "examples/plans/two-pipelines.json")
DIFFER = 6


class ReplicatedPlanTest(Folder):

    def edit(self, name, edit):
        plan = json.loads(pathlib.Path(EXAMPLE).read_text(encoding="utf-8"))
        edit(plan["replicated_plan"])
        return self.write(name, json.dumps(plan))

    def test_evaluate_scores_all_pipelines_together(self):
        self.tangram("evaluate", EXAMPLE, "--output", "out.json")
        plan = json.loads(self.read("out.json"))
        self.assertNotIn("plan", plan)
        evaluation = plan["replicated_evaluation"]
        alone = [p["iteration_time_s"] for p in evaluation["pipelines"]]
        self.assertEqual(len(alone), 2)
        # The exchange of gradients over the slow link comes after the passes.
        self.assertGreater(evaluation["exposed_replica_sync_s"], 1)
        self.assertGreater(evaluation["iteration_time_s"], max(alone))
        again = self.run_tangram("evaluate", "out.json", "--output", "-")
        self.assertEqual(again.stdout, self.read("out.json"))

    def test_explain_names_the_pipelines(self):
        text = self.tangram("explain", EXAMPLE)
        for part in ("Pipeline 1: 14 samples of the batch (21.9 %)",
                     "pipeline 0 (4 x V100-16) trains 78.1 %",
                     "gradient exchange all-reduce"):
            self.assertIn(part, text)

    def test_report_has_a_page_for_each_pipeline(self):
        self.tangram("report", EXAMPLE, "--output", "page.html")
        self.assertIn("two-pipelines.json, pipeline 1", self.read("page.html"))

    def test_diff_compares_pipeline_by_pipeline(self):
        other = self.edit("b.json", lambda plan: plan["pipelines"][1]["plan"]
                          .update(warm_up={"passes": [6, 4, 2, 1]}))
        same = self.run_tangram("diff", EXAMPLE, EXAMPLE)
        self.assertEqual(same.returncode, OK)
        run = self.run_tangram("diff", EXAMPLE, other)
        self.assertEqual(run.returncode, DIFFER)
        self.assertIn("pipelines[1].stages[0].peak", run.stdout)
        self.assertIn("pipelines[1].warm up", run.stdout)

    def test_errors_name_the_pipeline(self):
        bad = self.edit("bad.json", lambda plan: plan["pipelines"][1]
                        .update(num_microbatches=15))
        self.fails(BAD_INPUT, "replicated_plan.pipelines.num_microbatches: 65 "
                   "samples; expected the global batch size, 64", "evaluate",
                   bad)
        bad = self.edit("bad.json", lambda plan: plan["pipelines"][1]["plan"]
                        ["stages"][0]["gpus"][0].update(node="v100-0"))
        self.fails(BAD_INPUT, "replicated_plan.pipelines[1].plan.stages[0]"
                   ".gpus[0]: GPU 0 of node v100-0, which pipelines[0] uses",
                   "evaluate", bad)

    def test_export_refuses_and_says_why(self):
        run = self.run_tangram("export", EXAMPLE, "--to", "flashflex",
                               "--output", "out")
        self.assertNotEqual(run.returncode, OK)
        self.assertIn("flashflex: replicated_plan: several pipelines; expected "
                      "one pipeline", run.stderr)


if __name__ == "__main__":
    harness.main()
