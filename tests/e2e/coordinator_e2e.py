"""Runs a coordinator and workers, and plans with `tangram --coordinator`."""

import json
import os
import signal
import subprocess

import harness
from daemons import Coordinator, Worker
from harness import (BAD_INPUT, BIN, C1, CLUSTER, Folder, INTERRUPTED, JOB,
                     LONG_JOB, MODEL, TANGRAM, UNAVAILABLE, environment)


class CoordinatorTest(Folder):
    def setUp(self):
        super().setUp()
        coordinator = Coordinator("--worker_wait_s=0")
        self.addCleanup(coordinator.end)
        self.address = coordinator.address

    def start_workers(self, count):
        for i in range(count):
            self.addCleanup(Worker(self.address, f"w{i}").end)

    def plan(self, output, *more):
        self.tangram("plan", *CLUSTER, *MODEL, "--output", output, *more)
        return json.loads(self.read(output))

    def test_plans_as_one_process_would(self):
        self.start_workers(2)
        any_kind = ["--runtime", "any"]
        remote = self.plan("remote.json", "--coordinator", self.address,
                           *any_kind)
        local = self.plan("local.json", *any_kind)
        self.assertEqual(remote["provenance"].pop("coordinator"), self.address)
        self.assertEqual(remote["provenance"]["num_workers"], 2)
        del local["provenance"], remote["provenance"]
        self.assertEqual(remote, local)

    def test_keeps_to_constraints_as_one_process_would(self):
        self.start_workers(1)
        wanted = ["--tp", "2", "--max-stages", "3", "--pin", "emb-2=v100",
                  "--runtime", "aceso"]
        remote = self.plan("remote.json", "--coordinator", self.address,
                           *wanted)
        local = self.plan("local.json", *wanted)
        self.assertEqual(remote["constraints"]["runtime"], "aceso")
        self.assertEqual({stage["plan"]["parallelism"]["tp_degree"]
                          for stage in remote["plan"]["stages"]}, {2})
        del local["provenance"], remote["provenance"]
        self.assertEqual(remote, local)
        self.fails(BAD_INPUT, "--exclude-island: x; expected",
                   "plan", *CLUSTER, *JOB, "--coordinator", self.address,
                   "--exclude-island", "x", "--output", "bad.json")

    def test_plans_for_any_framework_as_one_process_would(self):
        self.start_workers(2)
        remote = self.plan("remote.json", "--coordinator", self.address)
        local = self.plan("local.json")
        del local["provenance"], remote["provenance"]
        self.assertEqual(remote["constraints"]["runtime"], "auto")
        self.assertEqual(remote, local)

    def test_is_healthy(self):
        shown = self.tangram("health", "--coordinator", self.address)
        self.assertIn("serves", shown)
        self.assertTrue(json.loads(self.tangram(
            "health", "--coordinator", self.address, "--format",
            "json"))["serves"])

    def test_sizes_that_cannot_be_are_refused(self):
        # 2^63 bytes = 8796093022208 MB.
        for size in -1, 8796093022208:
            for flag in "--cache_mb", "--plan_cache_mb", "--stored_answers_mb":
                run = subprocess.run(
                    [os.path.join(BIN, "tangram-coordinator"),
                     f"{flag}={size}"],
                    capture_output=True, text=True, timeout=60)
                self.assertEqual(run.returncode, BAD_INPUT)
                self.assertIn(f"{flag}: {size}; expected 0 to 8796093022207",
                              run.stderr)

    def test_needs_a_worker(self):
        self.fails(UNAVAILABLE, "no worker", "plan", *CLUSTER, *JOB,
                   "--coordinator", self.address, "--output", "plan.json")

    def test_is_interrupted(self):
        self.start_workers(1)
        process = subprocess.Popen(
            [TANGRAM, "plan", "--cluster", C1, *LONG_JOB, "--coordinator",
             self.address, "--output", "plan.json", "--progress", "always"],
            cwd=self.folder, env=environment(), stderr=subprocess.PIPE)
        shown = b""
        while b"slice plans" not in shown:
            shown += process.stderr.read1()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=5)
        self.assertEqual(process.returncode, INTERRUPTED)
        self.assertEqual(os.listdir(self.folder), [])


class BudgetTest(Folder):
    """Plans that take more than they may end, and the coordinator lives."""

    def start(self, *flags):
        coordinator = Coordinator("--plan_cache_mb=0", *flags)
        self.addCleanup(coordinator.end)
        worker = Worker(coordinator.address, "w")
        self.addCleanup(worker.end)
        return coordinator

    def test_plans_over_their_memory_end_alone(self):
        coordinator = self.start("--plan_memory_mb=1")
        at = ["--coordinator", coordinator.address]
        large = ["--cluster", C1, "--model", "gpt3-1.3b", "--global-batch", "64",
                 "--runtime", "any", "--parallelizer", "uniform"]
        for plan in [*CLUSTER, *JOB, "--parallelizer", "uniform"], large:
            for job in [], ["--job", f"job-{len(plan)}"]:
                self.fails(UNAVAILABLE, "more memory than --plan_memory_mb "
                           "allows: 1 MiB", "plan", *plan, *at, *job)
        self.assertIsNone(coordinator.process.poll())
        self.tangram("health", *at)

    def test_plans_over_their_time_end_alone(self):
        coordinator = self.start("--plan_cpu_s=0.001")
        self.fails(UNAVAILABLE, "--plan_cpu_s allows: 0.001 s", "plan", *CLUSTER,
                   *JOB, "--parallelizer", "uniform", "--coordinator",
                   coordinator.address)
        self.assertIsNone(coordinator.process.poll())


if __name__ == "__main__":
    harness.main()
