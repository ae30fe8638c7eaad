"""Reads a hand-written plan of several pipelines as users do."""

import json
import pathlib

import harness
from harness import BAD_INPUT, CLUSTER, Folder, MODEL, OK, SOURCE

EXAMPLE = str(pathlib.Path(__file__).parents[2] /
              "examples/plans/two-pipelines.json")
DIFFER = 6
C2 = str(pathlib.Path(SOURCE) / "deploy/clusters/c2-modern-het.yaml")


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

    def test_explain_advises_only_shares_that_shorten_the_iteration(self):
        # More balanced passes delay the exchange over the slow link.
        self.assertNotIn("shares of", self.tangram("explain", EXAMPLE))

    def test_timeline_has_the_exchange_between_pipelines(self):
        self.tangram("evaluate", EXAMPLE, "--timeline", "trace.json")
        events = json.loads(self.read("trace.json"))["traceEvents"]
        processes = {e["args"]["name"] for e in events
                     if e["name"] == "process_name"}
        self.assertEqual(processes, {"pipeline 0, GPUs: 4 x V100-16",
                                     "pipeline 1, GPUs: 4 x T4"})
        exchanges = [e for e in events if e.get("cat") == "exchange"]
        passes = [e for e in events if e.get("cat") in ("forward", "backward")]
        self.assertTrue(exchanges)
        end = max(e["ts"] + e["dur"] for e in passes)
        self.assertGreater(max(e["ts"] for e in exchanges), end / 2)

    def test_zero2_exchanges_beside_the_passes(self):
        def share(plan):
            plan["sync"] = "zero2"
            for pipeline in plan["pipelines"]:
                pipeline["state_fraction"] = 0.5
        other = self.edit("zero2.json", share)
        self.tangram("evaluate", other, "--output", "out.json")
        evaluation = json.loads(self.read("out.json"))["replicated_evaluation"]
        self.assertLess(evaluation["replica_sync_start_s"],
                        evaluation["replica_sync_end_s"] / 2)

    def test_report_has_a_page_for_each_pipeline(self):
        self.tangram("report", EXAMPLE, "--output", "page.html")
        page = self.read("page.html")
        self.assertIn("two-pipelines.json, pipeline 1", page)
        # A page has the sentences about its own pipeline, and the first one
        # those about all.
        for sentence in ["pipeline 0 (4 x V100-16) trains",
                         "pipeline 1 (4 x T4) trains",
                         "the pipelines exchange gradients"]:
            self.assertEqual(page.count(sentence), 1, sentence)

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
        run = self.run_tangram("export", EXAMPLE, "--to", "flagscale",
                               "--output", "out")
        self.assertNotEqual(run.returncode, OK)
        self.assertIn("flagscale: replicated_plan: several pipelines; expected "
                      "one pipeline, as the runtime runs no more", run.stderr)
        for target in "flashflex", "hetu":  # They have several, but no GPT-3.
            run = self.run_tangram("export", EXAMPLE, "--to", target,
                                   "--output", "out")
            self.assertNotEqual(run.returncode, OK)
            self.assertIn(f"{target}: model.layers[1]: an MLP without a gate; "
                          "expected a layer of Llama", run.stderr)
        one = self.edit("one.json", lambda plan: plan.update(
            pipelines=plan["pipelines"][:1]))
        run = self.run_tangram("export", one, "--to", "flashflex",
                               "--output", "out")
        self.assertIn("flashflex: replicated_plan: one pipeline; expected it "
                      "as plan", run.stderr)


class PlannedPipelinesTest(Folder):
    """C2 has as many A100 as H100, with 10 GB/s between them."""

    JOB = ["plan", "--cluster", C2, "--model", "gpt3-1.3b", "--global-batch",
           "1024", "--runtime", "any", "--parallelizer", "uniform"]

    def seconds(self, name):
        plan = json.loads(self.read(name))
        key = ("replicated_evaluation" if "replicated_plan" in plan
               else "evaluation")
        return plan[key]["iteration_time_s"]

    def test_unlike_gpus_share_the_batch_where_that_is_faster(self):
        self.tangram(*self.JOB, "--output", "one.json")
        text = self.tangram(*self.JOB, "--planner-option", "max_pipelines=4",
                            "--output", "two.json")
        self.assertIn("\nPipeline 1: ", text)
        self.assertIn("several pipelines:", text)
        self.assertLess(self.seconds("two.json") * 1.02,
                        self.seconds("one.json"))
        plan = json.loads(self.read("two.json"))
        replicas = plan["replicated_plan"]["pipelines"]
        self.assertEqual(1024, sum(
            r["num_microbatches"] * r["plan"]["pipeline_microbatch_size"]
            for r in replicas))
        self.tangram("evaluate", "two.json", "--output", "again.json")
        self.assertEqual(self.seconds("two.json"), self.seconds("again.json"))

    def test_threads_change_nothing(self):
        for threads in "1", "2":
            self.tangram(*self.JOB, "--planner-option", "max_pipelines=4",
                         "--threads", threads, "--output", threads + ".json")
        one, two = (json.loads(self.read(name))
                    for name in ("1.json", "2.json"))
        for plan in one, two:
            del plan["provenance"]
        self.assertEqual(one, two)

    def test_one_pipeline_stays_where_links_are_slow(self):
        self.tangram("plan", *MODEL, *CLUSTER, "--runtime", "any",
                     "--planner-option", "max_pipelines=2", "--output",
                     "plan.json")
        self.assertIn("plan", json.loads(self.read("plan.json")))

    def test_numbers_out_of_range_are_refused(self):
        self.fails(BAD_INPUT, "planner_options.max_pipelines: 0; expected a "
                   "whole number from 1 to 16", *self.JOB, "--planner-option",
                   "max_pipelines=0")


MIXED = str(pathlib.Path(EXAMPLE).parent / "mixed-stages.json")


class MixedStagesTest(Folder):

    def edit(self, edit):
        plan = json.loads(pathlib.Path(MIXED).read_text(encoding="utf-8"))
        edit(plan["plan"]["stages"])
        return self.write("edited.json", json.dumps(plan))

    def test_evaluate_writes_the_figures_of_each_group(self):
        self.tangram("evaluate", MIXED, "--output", "out.json",
                     "--timeline", "trace.json")
        plan = json.loads(self.read("out.json"))
        self.assertEqual([s["mixed"]["sharing"]
                          for s in plan["plan"]["stages"]],
                         ["routed", "lock-step"])
        self.assertNotIn("parallelism", plan["plan"]["stages"][0]["plan"])
        routed, lock_step = plan["evaluation"]["stages"]
        fast, slow = routed["replicas"]["groups"]
        self.assertLess(fast["forward_s"], slow["forward_s"])
        self.assertEqual(
            lock_step["forward_s"],
            max(g["forward_s"] for g in lock_step["replicas"]["groups"]))
        again = self.run_tangram("evaluate", "out.json", "--output", "-")
        self.assertEqual(again.stdout, self.read("out.json"))
        names = [e["args"]["name"] for e in
                 json.loads(self.read("trace.json"))["traceEvents"]
                 if e["name"] == "thread_name"]
        self.assertIn("stage 0 group 1: 2 x T4, tp 2", names)

    def test_explain_says_what_each_group_takes(self):
        text = " ".join(self.tangram("explain", MIXED).split())
        for part in ("stage 0 routes 12, 4 microbatches to its groups",
                     "stage 1 gives its groups 3, 1 samples of each microbatch",
                     "Stage 0 has replicas that differ (routed): group 0 "
                     "(2 x V100-16, tp 2) takes 12 of 16 microbatches, each"):
            self.assertIn(part, text)

    def test_report_has_the_groups(self):
        self.tangram("report", MIXED, "--output", "page.html")
        self.assertIn('"sharing":"routed"', self.read("page.html"))

    def test_diff_compares_group_by_group(self):
        def share(stages):
            first, second = stages[0]["mixed"]["groups"]
            first["share"], second["share"] = 13, 3
        run = self.run_tangram("diff", MIXED, self.edit(share))
        self.assertEqual(run.returncode, DIFFER)
        self.assertRegex(run.stdout, r"0 +groups\[0\].share +12 +13")

    def test_errors_name_the_group(self):
        def share(stages):
            stages[0]["mixed"]["groups"][1]["share"] = 5
        self.fails(BAD_INPUT, "plan.stages[0].mixed.groups.share: a sum of 17; "
                   "expected the number of microbatches, 16", "evaluate",
                   self.edit(share))

    def test_every_export_refuses_and_says_why(self):
        targets = ("aceso", "alpa", "deepspeed", "flagscale", "flashflex",
                   "galvatron", "hetu", "megatron", "nanotron", "nnscaler",
                   "sailor", "torchtitan")
        for target in targets:
            run = self.run_tangram("export", MIXED, "--to", target,
                                   "--output", "out")
            self.assertNotEqual(run.returncode, OK)
            self.assertIn(f"{target}: stages[0].mixed: 2 routed groups; "
                          "expected none", run.stderr)


if __name__ == "__main__":
    harness.main()
