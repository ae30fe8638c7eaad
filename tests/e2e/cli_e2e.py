"""Runs `tangram` as its users do, without a coordinator."""

import csv
import json
import os
import pty
import re
import signal
import socket
import shutil
import subprocess
import time
import unittest

import harness
from harness import (BAD_INPUT, C1, CLUSTER, DEADLINE, Folder, INTERRUPTED, JOB,
                     LONG_JOB, NO_PLAN, OK, TANGRAM, UNAVAILABLE, environment)


class PlanTest(Folder):
    def setUp(self):
        super().setUp()
        self.shown = self.tangram("plan", *CLUSTER, *JOB, "--output",
                                  "plan.json", "--timeline", "trace.json")
        self.plan = json.loads(self.read("plan.json"))

    def rewrite(self, edit):
        plan = json.loads(self.read("plan.json"))
        edit(plan)
        return self.write("edited.json", json.dumps(plan))

    def stage(self, plan, index):
        return plan["plan"]["stages"][index]

    def test_shows_the_plan(self):
        for word in ("T4 x4", "V100-16 x4", "iteration time", "tokens/s",
                     "GPU-hours", "% less", "runs in", "aceso"):
            self.assertIn(word, self.shown)
        self.assertNotIn("\x1b", self.shown)
        self.assertLessEqual(max(map(len, self.shown.splitlines())), 80)

    def test_shows_as_much_as_is_asked(self):
        brief = self.tangram("explain", "plan.json", "--brief")
        self.assertIn("iteration time", brief)
        self.assertNotIn("Islands", brief)
        every = self.tangram("explain", "plan.json", "--verbose")
        for word in ("bubble", "certificate", "any plan at all", "Assumed",
                     "gemm_half_flops"):
            self.assertIn(word, every)
            self.assertNotIn(word, self.shown)
        self.assertLess(brief.count("\n"), 20)
        self.fails(BAD_INPUT, "--brief", "explain", "plan.json", "--brief",
                   "--verbose")

    def test_says_what_training_takes(self):
        seconds = self.plan["evaluation"]["iteration_time_s"]
        tokens_per_s = self.plan["evaluation"]["tokens_per_s"]
        gpus = sum(len(range(part["count"]))
                   for stage in self.plan["plan"]["stages"]
                   for part in stage["gpus"])
        shown = " ".join(self.tangram(
            "explain", "plan.json", "--brief", "--tokens", "1e12", "--prices",
            "t4=1,v100=2").split())
        days = 1e12 / tokens_per_s / 86400
        self.assertGreater(seconds, 0)
        match = re.search(r"1 trillion tokens take ([\d,.]+) days, ([\d,.]+) "
                          r"GPU-hours, cost ([\d,.]+)", shown)
        hours, gpu_hours, cost = (float(text.replace(",", ""))
                                  for text in match.groups())
        self.assertAlmostEqual(hours / days, 1, 2)
        self.assertAlmostEqual(gpu_hours / (days * 24 * gpus), 1, 2)
        groups = {stage["gpus"][0]["node"].split("-")[0]
                  for stage in self.plan["plan"]["stages"]}
        price = sum({"t4": 1, "v100": 2}[group] for group in groups)
        self.assertAlmostEqual(cost / (days * 24 * price), 1, 2)
        for prices, message in (("t4=1", "--prices: no v100"),
                                ("t4=1,v100=x", "--prices: v100=x"),
                                ("t4=1,v100=1,a=1", "--prices: a; expected")):
            self.fails(BAD_INPUT, message, "explain", "plan.json", "--prices",
                       prices)
            self.fails(BAD_INPUT, message, "plan", *CLUSTER, *JOB, "--prices",
                       prices)

    def test_fits_the_width(self):
        for columns in ("80", "100", "200"):
            run = self.run_tangram("explain", "plan.json", "--verbose",
                                   env={"COLUMNS": columns})
            self.assertLessEqual(max(map(len, run.stdout.splitlines())),
                                 int(columns))

    def test_writes_whole_files_and_nothing_else(self):
        self.assertEqual(sorted(os.listdir(self.folder)),
                         ["plan.json", "trace.json"])
        self.assertEqual(self.plan["format_version"], "tangram.plan/v1")
        trace = json.loads(self.read("trace.json"))
        self.assertTrue(trace["traceEvents"])

    def test_evaluates_to_the_same_time(self):
        shown = self.tangram("evaluate", "plan.json", "--output", "again.json")
        again = json.loads(self.read("again.json"))
        self.assertEqual(again["evaluation"], self.plan["evaluation"])
        self.assertIn("iteration time", shown)

    def test_does_not_depend_on_threads(self):
        for threads in ("1", "5"):
            self.tangram("plan", *CLUSTER, *JOB, "--threads", threads,
                         "--output", "again.json")
            again = json.loads(self.read("again.json"))
            again["provenance"] = self.plan["provenance"]
            self.assertEqual(again, self.plan)

    def test_goes_to_standard_output(self):
        shown = self.tangram("plan", *CLUSTER, *JOB, "--output", "-")
        self.assertEqual(json.loads(shown)["plan"], self.plan["plan"])

    def test_is_explained(self):
        shown = self.tangram("explain", "plan.json")
        self.assertIn("Why it is this fast", shown)
        self.assertIn("- redundant", shown)
        self.assertIn("Next-best plans", shown)
        self.tangram("plan", *CLUSTER, *JOB, "--microbatch", "32", "--output",
                     "other.json")
        shown = self.tangram("explain", "plan.json", "--against", "other.json")
        self.assertIn("Against other.json", shown)

    def test_is_not_explained_by_half(self):
        self.fails(BAD_INPUT, "gone.json: no such file", "explain",
                   "plan.json", "--against", "gone.json")

    def test_fits_a_cluster_with_more_nodes(self):
        self.tangram("evaluate", "plan.json", "--cluster", C1)

    def test_needs_its_nodes(self):
        self.fails(BAD_INPUT, "v100-0", "evaluate", "plan.json", "--cluster",
                   C1, "--nodes", "v100=0")

    def test_needs_its_layers(self):
        self.fails(BAD_INPUT, "plan.json: plan.stages", "evaluate", "plan.json",
                   "--model", "gpt3-1.3b", "--layers", "5")

    def plan_two_stages(self):
        self.tangram("plan", *CLUSTER, *JOB, "--pp", "2", "--output",
                     "plan.json")

    def test_must_not_overlap(self):
        self.plan_two_stages()
        def overlap(plan):
            plan["plan"]["stages"][1]["plan"]["begin"] = {"layer": 0, "op": 0}
        self.fails(BAD_INPUT, "edited.json: plan.stages[1].plan.begin",
                   "evaluate", self.rewrite(overlap))

    def test_must_not_use_a_gpu_twice(self):
        self.plan_two_stages()
        def reuse(plan):
            stages = plan["plan"]["stages"]
            stages[1]["gpus"] = stages[0]["gpus"]
            stages[1]["plan"]["parallelism"] = stages[0]["plan"]["parallelism"]
        self.fails(BAD_INPUT, "plan.stages[1].gpus[0]", "evaluate",
                   self.rewrite(reuse), "--output", "out.json")

    def test_must_be_whole(self):
        text = self.read("plan.json")
        self.write("cut.json", text[:len(text) // 2])
        self.fails(BAD_INPUT, "cut.json: not valid JSON", "evaluate",
                   "cut.json")

    def test_must_be_of_this_version(self):
        def age(plan):
            plan["format_version"] = "tangram.plan/v9"
        self.fails(BAD_INPUT, 'expected "tangram.plan/v1"', "explain",
                   self.rewrite(age))

    def test_violations_have_their_own_exit_code(self):
        def shrink(plan):
            for device in plan["cluster"]["devices"]:
                device["memory_bytes"] = 2e9
        run = self.run_tangram("evaluate", self.rewrite(shrink))
        self.assertEqual(run.returncode, NO_PLAN)
        self.assertIn("violation: stage 0", run.stdout)


class NoPlanTest(Folder):
    def test_says_what_is_missing(self):
        run = self.run_tangram("plan", "--cluster", C1, "--nodes",
                               "t4=1,v100=0", "--model", "gpt3-6.7b",
                               "--global-batch", "8", "--output", "none.json")
        self.assertEqual(run.returncode, NO_PLAN)
        self.assertIn("No plan fits", run.stdout)
        self.assertRegex(run.stdout, r"GB short")
        # 56.8 GB short; a T4 has 15.84 GB less 1 GB of reserve.
        self.assertIn("at least 5 more T4", " ".join(run.stdout.split()))
        answer = json.loads(self.read("none.json"))
        self.assertGreater(answer["infeasible"]["bytes_short"], 0)


class BadInputTest(Folder):
    def plan_fails(self, message, cluster, *arguments):
        self.fails(BAD_INPUT, message, "plan", "--cluster", cluster, *JOB,
                   "--output", "plan.json", *arguments)

    def cluster_fails(self, message, group):
        self.write("c.yaml", "name: c\ngroups:\n  - " + group + "\n")
        self.plan_fails(message, "c.yaml")

    def test_unknown_gpu(self):
        self.cluster_fails("XPU-9 is not in the catalogue; known types: T4",
                           "{name: a, gpu: XPU-9, nodes: 1}")

    def test_negative_bandwidth(self):
        self.cluster_fails(
            "c.yaml: groups[0].intra_node.bandwidth: -3",
            "{name: a, gpu: T4, nodes: 1, intra_node: {bandwidth: -3}}")

    def test_nan_bandwidth(self):
        self.cluster_fails(
            "c.yaml: groups[0].inter_node.bandwidth: .nan",
            "{name: a, gpu: T4, nodes: 1, inter_node: {bandwidth: .nan}}")

    def test_zero_nodes(self):
        self.cluster_fails("c.yaml: groups[0].nodes: 0",
                           "{name: a, gpu: T4, nodes: 0}")

    def test_huge_file(self):
        with open(os.path.join(self.folder, "huge.yaml"), "wb") as f:
            f.write(b"# 50 MB\n" * (50_000_000 // 8))
        self.plan_fails("huge.yaml: 50.0 MB", "huge.yaml")

    def test_missing_file(self):
        self.plan_fails("missing.yaml", "missing.yaml")

    def test_too_many_nodes(self):
        self.plan_fails("t4", C1, "--nodes", "t4=99")

    def test_microbatch_that_does_not_divide(self):
        self.plan_fails("--microbatch: 3; expected a divisor", C1,
                        "--microbatch", "3")

    def test_unsupported_model(self):
        self.write("config.json", '{"model_type": "bert"}')
        self.fails(BAD_INPUT, "bert", "plan", *CLUSTER, "--model",
                   "config.json", "--global-batch", "32")

    def test_unknown_model(self):
        self.fails(BAD_INPUT, "gpt3-6.7b", "plan", *CLUSTER, "--model",
                   "gpt9", "--global-batch", "32")

    def test_unknown_parallelizer(self):
        self.plan_fails("expected one of aceso, ", C1,
                        "--parallelizer", "magic")

    def test_unwritable_output(self):
        self.fails(BAD_INPUT, "missing/plan.json", "plan", *CLUSTER, *JOB,
                   "--output", "missing/plan.json")

    def test_usage(self):
        self.fails(BAD_INPUT, "--global-batch: x; expected", "plan",
                   "--global-batch", "x")

    def test_unreachable_coordinator(self):
        with socket.socket() as probe:  # A port that nobody listens on.
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        address = f"127.0.0.1:{port}"
        self.fails(UNAVAILABLE, address, "plan", *CLUSTER, *JOB,
                   "--coordinator", address, "--output", "plan.json")
        self.fails(UNAVAILABLE, address, "health", "--coordinator", address)


class InterruptTest(Folder):
    def interrupt(self, number):
        process = subprocess.Popen(
            [TANGRAM, "plan", "--cluster", C1, *LONG_JOB, "--output",
             "plan.json", "--progress", "always"], cwd=self.folder,
            env=environment(), stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL)
        shown = b""
        while b"slice plans" not in shown:
            shown += process.stderr.read1()
        began = time.monotonic()
        process.send_signal(number)
        _, rest = process.communicate(timeout=30)
        took = time.monotonic() - began
        self.assertEqual(process.returncode, INTERRUPTED, rest)
        self.assertLess(took, 2)  # 1 s, and a busy machine.
        self.assertEqual(os.listdir(self.folder), [])

    def test_sigint(self):
        self.interrupt(signal.SIGINT)

    def test_sigterm(self):
        self.interrupt(signal.SIGTERM)

    def test_deadline(self):
        self.fails(DEADLINE, "no plan within 0.2 s", "plan", "--cluster", C1,
                   *LONG_JOB, "--timeout", "0.2", "--output", "plan.json")


class TerminalTest(Folder):
    def on_terminal(self, *arguments):
        """Returns everything that a terminal receives."""
        try:
            master, slave = pty.openpty()
        except OSError as error:  # A bare chroot mounts no /dev/pts.
            self.skipTest(f"no terminal to be had: {error}")
        process = subprocess.Popen([TANGRAM, *arguments], cwd=self.folder,
                                   env=environment(), stdout=slave,
                                   stderr=slave)
        os.close(slave)
        seen = b""
        try:
            while chunk := os.read(master, 65536):
                seen += chunk
        except OSError:  # The other end is closed.
            pass
        os.close(master)
        self.assertEqual(process.wait(), OK)
        return seen.decode()

    def test_shows_progress_and_colour(self):
        seen = self.on_terminal("plan", *CLUSTER, *JOB)
        self.assertIn("\r\x1b[K", seen)
        self.assertIn("\x1b[1mAnswer", seen)

    def test_progress_can_be_switched_off(self):
        seen = self.on_terminal("plan", *CLUSTER, *JOB, "--progress", "never")
        self.assertNotIn("\r\x1b[K", seen)


class ValidateTest(Folder):
    HEADER = ("row_id,source,framework,gpu,num_gpus,model,layers,hidden,heads,"
              "seq,gbs,mbs,tp,pp,dp,iteration_s,mem_gib\n")

    def setUp(self):
        super().setUp()
        self.write("runs.csv", "# Two runs.\n" + self.HEADER +
                   "a-1,lab,Megatron-LM,A100-80,8,GPT,8,2048,16,1024,64,4,1,1,"
                   "8,1.5,20\n"
                   "a-2,lab,Megatron-LM,A100-80,8,GPT,8,2048,16,1024,64,4,2,2,"
                   "2,1.6,\n"
                   "a-3,lab,Megatron-LM,XPU-9,8,GPT,8,2048,16,1024,64,4,2,2,2,"
                   "1.6,\n")

    def test_shows_scores_and_what_is_left_out(self):
        shown = self.tangram("validate", "runs.csv")
        self.assertRegex(shown, r"lab +A100-80 +2 +[\d.]+ %")
        self.assertIn("Worst rows", shown)
        self.assertIn("Not predicted: 1 row", shown)
        self.assertIn("gpu: XPU-9; not in the device catalogue: a-3", shown)

    def test_writes_a_line_for_each_scored_row(self):
        self.tangram("validate", "runs.csv", "--output", "out.csv")
        self.assertEqual(sorted(os.listdir(self.folder)),
                         ["out.csv", "runs.csv"])
        with open(os.path.join(self.folder, "out.csv"), newline="",
                  encoding="utf-8") as f:
            rows = list(csv.DictReader(f))
        self.assertEqual([row["row_id"] for row in rows], ["a-1", "a-2"])
        self.assertEqual(float(rows[0]["iteration_s"]), 1.5)
        self.assertEqual(rows[1]["memory_bytes"], "")
        for row in rows:
            self.assertGreater(float(row["predicted_s"]), 0)
            self.assertEqual(row["fits"], "1")

    def test_calibrates(self):
        shown = self.tangram("validate", "runs.csv", "--calibrate", "1")
        self.assertRegex(shown, "fitted on 1 rows? of lab")
        self.assertIn("A100-80.gemm_max_fraction: ", shown)

    def test_a_bad_cell_skips_its_row(self):
        text = self.read("runs.csv").replace("64,4,2,2,2,1.6", "64,4,2,2,x,1.6")
        self.write("bad.csv", text)
        run = self.run_tangram("validate", "bad.csv", "--output", "out.csv")
        self.assertEqual(run.returncode, OK)
        self.assertIn("tangram: bad.csv: line 4: dp: x; expected a count, or "
                      "nothing; row skipped\n", run.stderr)
        self.assertIn("Skipped for a bad cell: 2 rows", run.stdout)
        self.assertEqual(len(self.read("out.csv").splitlines()), 2)

    def test_bad_lines_are_named_if_nothing_is_left(self):
        self.write("bad.csv", self.HEADER + "a-1,lab\n")
        self.fails(BAD_INPUT, "no row could be scored of 1 row: bad.csv: line 2: "
                   "2 cells; expected 17",
                   "validate", "bad.csv", "--output", "out.csv")

    def test_sources_are_left_out(self):
        shown = self.tangram("validate", "runs.csv", "--leave-one-source-out",
                             "--residuals", "residuals.csv")
        self.assertRegex(shown, r"lab +2 +[\d.]+ %")
        self.assertIn("Ran: 2 of 2 such runs predicted to fit", shown)
        self.assertRegex(self.read("residuals.csv"),
                         r"(?m)^time,lab,ampere,Megatron-LM,dense,narrow,fast,0,2,")

    def test_constants_of_a_new_gpu_are_fitted_and_planned_with(self):
        self.write("new.yaml", """groups:
  - {name: new, gpu: New-1, nodes: 1, gpus_per_node: 8, memory: 80 GB,
     memory_bandwidth: 2 TB/s, peak_tflops: {fp32: 20, fp16: 312, bf16: 312}}
""")
        self.write("new.csv", self.read("runs.csv").replace("A100-80", "New-1"))
        self.tangram("validate", "new.csv", "--cluster", "new.yaml",
                     "--calibrate", "1", "--output", "constants.yaml")
        self.assertIn("  - gpu: New-1\n    gemm_max_fraction: ",
                      self.read("constants.yaml"))
        shown = self.tangram("plan", "--cluster", "new.yaml", *JOB,
                             "--constants", "constants.yaml",
                             "--verbose")
        self.assertIn("constants of New-1 (constants.yaml): ", shown)
        self.fails(BAD_INPUT, "constants.yaml: for none of the cluster's GPUs",
                   "plan", *CLUSTER, *JOB, "--constants", "constants.yaml")

    def test_output_must_be_writable(self):
        self.fails(BAD_INPUT, "missing/out.csv", "validate", "runs.csv",
                   "--output", "missing/out.csv")


class OtherCommandsTest(Folder):
    def test_islands(self):
        shown = self.tangram("islands", "--cluster", C1)
        self.assertIn("T4 x16", shown)
        self.assertIn("V100-16 x16", shown)
        self.assertIn("spread", shown)
        self.assertIn("groups[t4] (catalogue: T4): ", shown)

    def test_lists(self):
        self.assertIn("gpt3-6.7b", self.tangram("models"))
        self.assertIn("A100-80", self.tangram("devices"))
        self.assertIn("aceso", self.tangram("parallelizers"))
        self.assertRegex(self.tangram("version"), r"\Atangram \d+\.\d+\.\d+")
        self.assertEqual(self.tangram("--version"), self.tangram("version"))
        self.assertIn("Exit codes:", self.tangram("--help"))

    def test_bash_completes_the_command_line(self):
        """Does what pressing the tab key does."""
        self.write("plan.json", "")
        script = f"""source <({TANGRAM} completion bash)
            COMP_WORDS=(%s); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
            compopt() {{ :; }}
            _tangram {TANGRAM} "${{COMP_WORDS[COMP_CWORD]}}"
            echo "${{COMPREPLY[@]}}" """
        for words, expected in (
                ("tangram val", "validate"),
                ("tangram plan --model gpt3-6", "gpt3-6.7b"),
                ("tangram explain pl", "plan.json")):
            shown = subprocess.run(["bash", "-c", script % words], text=True,
                                   cwd=self.folder, capture_output=True,
                                   check=True).stdout
            self.assertEqual(shown.strip(), expected)

    @unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
    def test_zsh_completes_the_command_line(self):
        script = f"""compdef() {{ :; }}
            _describe() {{ print -r -- "${{(@P)2}}"; }}
            source <({TANGRAM} completion zsh)
            words=({TANGRAM} val); CURRENT=2; _tangram"""
        shown = subprocess.run(["zsh", "-fc", script], text=True, check=True,
                               capture_output=True)
        self.assertEqual(shown.stderr, "")
        self.assertRegex(shown.stdout, r"\Avalidate:\w")


if __name__ == "__main__":
    harness.main()
