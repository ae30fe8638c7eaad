"""Tests jobs through a coordinator that is killed and comes back."""

import json
import signal
import subprocess
import time

import harness
from daemons import Coordinator, Worker, answered_queries
from harness import (C1, CLUSTER, Folder, INTERRUPTED, JOB, LONG_JOB, OK,
                     TANGRAM, environment)

# Takes a second or two on one worker.
SLOW_JOB = ["--cluster", C1, "--model", "gpt3-1.3b", "--global-batch", "128",
            "--runtime", "any", "--parallelizer", "aceso",
            "--effort", "4096"]


class JobsTest(Folder):
    def setUp(self):
        super().setUp()
        self.coordinator = self.start()
        self.address = self.coordinator.address

    def start(self, more=(), **options):
        coordinator = Coordinator(*more, state_dir=f"{self.folder}/state",
                                  **options)
        self.addCleanup(coordinator.end)
        return coordinator

    def restart(self):
        self.coordinator.end()
        self.coordinator = self.start(listen=self.address)

    def add_worker(self, name="w"):
        worker = Worker(self.address, name)
        self.addCleanup(worker.end)
        return worker

    def on(self, *arguments):
        return [*arguments, "--coordinator", self.address]

    def submit(self, name, job, *more):
        return self.tangram("plan", *job, *self.on("--job", name, "--detach",
                                                   *more))

    def watch(self, name):
        self.tangram("job", "watch", name, *self.on("--output", "watched.json"))
        return json.loads(self.read("watched.json"))

    def state(self, name):
        shown = self.tangram("job", "list", *self.on())
        return next((line.split()[1] for line in shown.splitlines()
                     if line.split()[0] == name), None)

    def test_a_job_has_the_plan_of_a_call(self):
        self.add_worker()
        self.tangram("plan", *CLUSTER, *JOB, *self.on("--output", "call.json"))
        self.tangram("plan", *CLUSTER, *JOB,
                     *self.on("--output", "job.json", "--job", "nightly"))
        call, job = (json.loads(self.read(name))
                     for name in ("call.json", "job.json"))
        del call["provenance"], job["provenance"]
        self.assertEqual(job, call)
        self.assertEqual(self.state("nightly"), "succeeded")

    def test_submitting_again_is_the_same_job(self):
        self.submit("a", [*CLUSTER, *JOB])
        self.submit("a", [*CLUSTER, *JOB])
        other = self.run_tangram(
            "plan", *SLOW_JOB, *self.on("--job", "a", "--detach"))
        self.assertIn("another request", other.stderr)
        self.assertEqual(self.tangram("job", "list", *self.on()).count("\n"), 2)

    def test_jobs_wait_for_workers_and_outlive_the_coordinator(self):
        self.submit("a", [*CLUSTER, *JOB], "--priority", "3")
        self.restart()
        self.add_worker()
        self.assertIn("plan", self.watch("a"))
        self.restart()
        shown = self.tangram("job", "show", "a", *self.on())
        self.assertIn("iteration time", shown)

    def test_a_killed_coordinator_goes_on_where_it_was(self):
        """Answers of workers are not asked again."""
        self.add_worker()
        whole = json.loads(self.tangram("plan", *SLOW_JOB, "--output", "-"))
        self.submit("a", SLOW_JOB)
        self.coordinator.wait_for("job started")
        time.sleep(0.3)  # Whenever: some answers have arrived by then.
        self.restart()
        broken = self.watch("a")
        self.assertGreater(int(broken["provenance"]["cache_hits"]), 0)
        for plan in whole, broken:
            del plan["provenance"], plan["notes"]
        self.assertEqual(broken, whole)

    def test_whoever_watches_sees_the_job_through_a_restart(self):
        self.add_worker()
        watcher = subprocess.Popen(
            [TANGRAM, "plan", *SLOW_JOB,
             *self.on("--job", "a", "--output", "plan.json", "--quiet")],
            cwd=self.folder, env=environment())
        self.coordinator.wait_for("job started")
        self.restart()
        self.assertEqual(watcher.wait(timeout=300), OK)
        self.assertIn("plan", json.loads(self.read("plan.json")))

    def test_a_running_job_is_cancelled(self):
        self.add_worker()
        self.submit("a", ["--cluster", C1, *LONG_JOB])
        self.coordinator.wait_for("job started")
        self.tangram("job", "cancel", "a", *self.on())
        self.coordinator.wait_for("job ended")
        self.assertEqual(self.state("a"), "cancelled")

    def test_interrupting_the_client_leaves_the_job_alone(self):
        client = subprocess.Popen(
            [TANGRAM, "plan", *CLUSTER, *JOB, *self.on("--job", "a")],
            cwd=self.folder, env=environment(), stderr=subprocess.PIPE,
            text=True)
        self.coordinator.wait_for("job started")
        client.send_signal(signal.SIGINT)
        self.assertIn("job a goes on", client.communicate(timeout=10)[1])
        self.assertEqual(client.returncode, INTERRUPTED)
        self.add_worker()
        self.assertIn("plan", self.watch("a"))

    def test_draining_puts_jobs_back(self):
        self.add_worker()
        self.coordinator.end()
        self.coordinator = self.start(listen=self.address, more=["--drain_s=0"])
        self.submit("a", ["--cluster", C1, *LONG_JOB])
        self.coordinator.wait_for("job started")
        self.assertEqual(self.coordinator.end(signal.SIGTERM), OK)
        self.assertIn("job put back", self.coordinator.log())
        self.coordinator = self.start(listen=self.address)
        self.coordinator.wait_for("job started")

    def test_a_lost_node_is_prepared_for(self):
        worker = Worker(self.address, "w", "--metrics=127.0.0.1:0")
        self.addCleanup(worker.end)

        def asked_for(nodes, *more):
            before = answered_queries(worker)
            self.tangram("plan", "--cluster", C1, "--nodes", nodes, *JOB,
                         *self.on(*more))
            return answered_queries(worker) - before

        asked_for("t4=2,v100=1", "--job", "a", "--prepare-node-loss")
        for group in "t4", "v100":
            self.watch(f"a-without-{group}")
        self.assertEqual(asked_for("t4=1,v100=1"), 0)
        self.assertGreater(asked_for("t4=3,v100=1"), 0)

    def test_too_many_losses_are_refused_before_anything_is_planned(self):
        groups = "".join(f"  - {{name: g{i}, gpu: T4, nodes: 1}}\n"
                         for i in range(33))
        self.write("groups.yaml", f"groups:\n{groups}")
        refused = self.run_tangram(
            "plan", "--cluster", "groups.yaml", *JOB,
            *self.on("--job", "a", "--prepare-node-loss", "--detach"))
        self.assertIn("33 groups of nodes; expected at most 32",
                      refused.stderr)
        self.assertEqual(self.tangram("job", "list", *self.on()).count("\n"), 1)

    def test_a_job_is_kept_for_some_time_after_its_end(self):
        self.coordinator.end()
        self.coordinator = self.start(
            listen=self.address, more=["--keep_jobs_days=0.00001"])  # 0.9 s.
        self.add_worker()
        self.submit("a", [*CLUSTER, *JOB])
        self.coordinator.wait_for("job ended")
        deadline = time.monotonic() + 60
        shown = ""
        while "\"a\" is unknown" not in shown:
            self.assertLess(time.monotonic(), deadline)
            shown = self.run_tangram("job", "show", "a", *self.on()).stderr

    def test_bad_requests_are_refused_before_they_are_kept(self):
        bad = self.run_tangram("plan", *CLUSTER, *JOB,
                               *self.on("--job", "a b", "--detach"))
        self.assertIn("job_id: \"a b\"; expected", bad.stderr)
        self.assertEqual(self.tangram("job", "list", *self.on()).count("\n"), 1)
        missing = self.run_tangram("job", "show", "nothing", *self.on())
        self.assertIn("\"nothing\" is unknown", missing.stderr)


if __name__ == "__main__":
    harness.main()
