"""Exports plans to files of training frameworks and imports them again."""

import json
import os
import re

import harness
from harness import BAD_INPUT, CLUSTER, JOB, MODEL


class Export(harness.Folder):

    def setUp(self):
        super().setUp()
        self.tangram("plan", *CLUSTER, *MODEL, "--runtime", "aceso", "--quiet",
                     "--output", "plan.json")

    def export(self):
        """Aceso's runtime has no data but its own, which is a loss."""
        return self.tangram("export", "plan.json", "--to", "aceso", "-o", "out",
                            "--allow-lossy")

    def test_writes_what_it_says(self):
        said = self.export()
        self.assertIn("data: yours; becomes synthetic", said)
        self.assertNotIn("stages[", said)
        for name in ("flexpipe.json", "hostfile", "launch.sh"):
            self.assertIn(f"out/{name}", said)
            self.assertTrue(os.path.exists(f"{self.folder}/out/{name}"))
        self.assertTrue(os.access(f"{self.folder}/out/launch.sh", os.X_OK))
        self.assertIn("Launch\n  ACESO=", said)

    def test_a_plan_for_a_runtime_is_taken_by_it(self):
        # Galvatron needs GPUs with flash attention.
        a100 = ["--cluster", harness.SOURCE +
                "/deploy/clusters/c3-full-het.yaml", "--nodes",
                "t4=0,v100-16=0,v100-32=0"]
        for runtime, cluster in (("megatron", CLUSTER), ("flagscale", CLUSTER),
                                 ("galvatron", a100)):
            self.tangram("plan", *cluster, *MODEL, "--runtime", runtime,
                         "--bf16-moments", "--quiet", "--output", "for.json")
            self.assertIn(f"asked for: runtime {runtime}",
                          self.tangram("explain", "for.json"))
            self.tangram("export", "for.json", "--to", runtime, "-o",
                         f"out-{runtime}")

    def test_runtime_auto_says_how_to_run_its_plan(self):
        # Large enough for frameworks to differ.
        shown = self.tangram("plan", "--cluster", harness.C1, "--nodes",
                             "t4=2,v100=1", "--model", "gpt3-1.3b", "--layers",
                             "12", "--global-batch", "32", "--output",
                             "auto.json")
        command = re.search(r"\btangram export auto.json --to .*",
                            shown).group().split()
        self.tangram(*command[1:])
        self.assertTrue(os.path.exists(f"{self.folder}/{command[-1]}"))

        answer = json.loads(self.read("auto.json"))
        best_s = answer["evaluation"]["iteration_time_s"]
        times = {entry["runtime"]: entry["iteration_time_s"]
                 for entry in answer["alternatives"]
                 if "iteration_time_s" in entry}
        self.assertLessEqual(times.pop("any"), best_s)
        self.assertEqual(min(times.values()), best_s)
        if "data: yours; becomes synthetic" in shown:
            seconds = min(seconds for name, seconds in times.items()
                          if name != "aceso")
            self.assertRegex(
                " ".join(shown.split()),
                r"--runtime \w+ plans for one that does: [0-9.]+ m?s, "
                rf"{100 * (seconds / best_s - 1):.1f} % longer")
        refused = 0
        for name, seconds in times.items():
            self.assertRegex(" ".join(shown.split()),
                             rf"\b{name} [0-9.]+ m?s")
            run = self.run_tangram("export", "auto.json", "--to", name, "-o",
                                   "out", "--allow-lossy")
            if run.returncode != BAD_INPUT:
                continue
            refused += 1
            self.assertRegex(
                run.stderr, rf"plan with --runtime {name}: [0-9.]+ m?s, "
                rf"{100 * (seconds / best_s - 1):.1f} % longer\n")
        self.assertGreater(refused, 0)

    def test_runtime_auto_is_never_slower_with_more_parallelizers(self):
        workload = ["--cluster", harness.C1, "--nodes", "t4=2,v100=2", "--model",
                    "llama2-7b", "--layers", "8", "--global-batch", "32",
                    "--runtime", "auto", "--quiet", "--output"]
        seconds = []
        for name, more in (("all", []), ("one", ["--parallelizer", "uniform"])):
            self.tangram("plan", *workload, name, *more)
            answer = json.loads(self.read(name))
            seconds.append(answer["evaluation"]["iteration_time_s"])
        self.assertLessEqual(seconds[0], seconds[1])

    def test_comes_back_as_the_same_plan(self):
        self.export()
        self.tangram("import", "plan", "--from", "aceso", "out/flexpipe.json",
                     "out/hostfile", "--like", "plan.json", "-o", "back.json")
        self.assertEqual(self.time("plan.json"), self.time("back.json"))

    def time(self, plan):
        return next(line for line in
                    self.tangram("evaluate", plan).splitlines()
                    if "iteration time" in line)

    def test_needs_no_plan_of_ours(self):
        self.export()
        back = self.tangram("import", "plan", "--from", "aceso",
                            "out/flexpipe.json", "out/hostfile", *CLUSTER,
                            *MODEL, "-o", "back.json")
        self.assertIn("iteration time", back)

    def test_losses_must_be_asked_for(self):
        self.tangram("plan", *CLUSTER, *JOB, "--parallelizer", "uniform",
                     "--bf16-moments", "--planner-option",
                     "polish=false", "--quiet", "--output", "plan.json")
        run = self.run_tangram("export", "plan.json", "--to", "aceso", "-o",
                               "out")
        self.assertEqual(run.returncode, BAD_INPUT)
        self.assertIn("training.bf16_moments: true; becomes false", run.stdout)
        self.assertIn("expected --allow-lossy with it. Or: plan with --runtime "
                      "aceso", run.stderr)
        self.assertFalse(os.path.exists(f"{self.folder}/out"))
        self.assertIn("What aceso will run", self.export())

    def test_refusals_name_the_reason(self):
        self.fails(BAD_INPUT, "deepspeed: stages", "export", "plan.json",
                   "--to", "deepspeed", "-o", "out")
        self.fails(BAD_INPUT, "flash attention does not run on ", "export",
                   "plan.json", "--to", "galvatron", "-o", "out")
        self.fails(BAD_INPUT, "--to: x; expected one of flagscale", "export",
                   "plan.json", "--to", "x", "-o", "out")
        self.fails(BAD_INPUT, "--like: missing", "import", "plan", "--from",
                   "aceso", "plan.json", "-o", "back.json")


if __name__ == "__main__":
    harness.main()
