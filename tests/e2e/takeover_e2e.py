"""Tests two coordinators over one PostgreSQL database. One goes away."""

import functools
import json
import re
import signal
import subprocess
import time

import harness
from daemons import Coordinator, Worker, answered_queries
from harness import (C1, CLUSTER, Folder, JOB, LONG_JOB, OK, TANGRAM,
                     environment)
from postgres import Postgres



def slow_job(effort):
    """Takes some seconds on two workers. Answers for other efforts do not help
    it."""
    return ["--cluster", C1, "--model", "gpt3-1.3b", "--global-batch", "128",
            "--runtime", "any", "--parallelizer", "aceso", "--effort",
            str(effort)]


class TakeoverTest(Folder):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.postgres = Postgres()
        cls.addClassCleanup(cls.postgres.close)

    def setUp(self):
        super().setUp()
        self.coordinators = [
            Coordinator(f"--database={self.postgres.connection}",
                        "--worker_wait_s=300", state_dir=None)
            for _ in range(2)]
        for coordinator in self.coordinators:
            self.addCleanup(coordinator.end)
        self.workers = []

    def add_worker(self):
        worker = Worker(",".join(c.address for c in self.coordinators),
                        f"w{len(self.workers)}", "--metrics=127.0.0.1:0")
        self.addCleanup(worker.end)
        self.workers.append(worker)
        for coordinator in self.coordinators:
            worker.wait_for(f"connected.*{coordinator.address}")

    def on(self, coordinator, *arguments):
        return [*arguments, "--coordinator", coordinator.address]

    def submit(self, coordinator, name, job):
        self.tangram("plan", *job, *self.on(coordinator, "--job", name,
                                            "--detach"))

    def owner_of(self, name):
        """Returns the coordinator that runs the job, and the other."""
        a, b = self.coordinators
        started = re.compile(f"job started.*{name}")
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            for one, other in (a, b), (b, a):
                if started.search(one.log()):
                    return one, other
            time.sleep(0.01)
        raise AssertionError(f"nobody began {name}")

    def result(self, coordinator, name):
        self.tangram("job", "watch", name,
                     *self.on(coordinator, "--output", f"{name}.json"))
        return self.plan_of(self.read(f"{name}.json"))

    @staticmethod
    def plan_of(text):
        """Returns the plan without the parts that differ from run to run."""
        plan = json.loads(text)
        hits = int(plan["provenance"].get("cache_hits", 0))
        del plan["provenance"], plan["notes"]
        return plan, hits

    def shown(self, coordinator, name):
        """Returns the state and attempts of a job."""
        listed = self.tangram("job", "list", *self.on(coordinator))
        return next(line.split() for line in listed.splitlines()
                    if line.split()[0] == name)

    def queries(self):
        return sum(answered_queries(worker) for worker in self.workers)

    @classmethod
    @functools.cache
    def undisturbed(cls, effort):
        return cls.plan_of(subprocess.run(
            [TANGRAM, "plan", *slow_job(effort), "--output", "-"], check=True,
            env=environment(), stdout=subprocess.PIPE, text=True).stdout)[0]

    def take_over(self, name, how, effort):
        """Ends the owner in the middle of a job. Returns the seconds until the
        other coordinator has it."""
        self.add_worker()
        self.add_worker()
        self.submit(self.coordinators[0], name, slow_job(effort))
        owner, heir = self.owner_of(name)
        deadline = time.monotonic() + 60
        while self.queries() < 30:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        owner.process.send_signal(how)
        left = time.monotonic()
        heir.wait_for(f"job started.*{name}", timeout_s=120)
        seconds = time.monotonic() - left
        print(f"taken over {seconds:.1f} s after {how.name}")
        plan, hits = self.result(heir, name)
        self.assertEqual(plan, self.undisturbed(effort))
        self.assertGreater(hits, 0)
        return owner, heir

    def test_a_killed_coordinators_job_is_taken_over(self):
        _, heir = self.take_over("killed", signal.SIGKILL, 4096)
        self.assertIn("succeeded", self.shown(heir, "killed"))

    def test_a_stopped_coordinator_has_lost_its_job(self):
        owner, heir = self.take_over("stopped", signal.SIGSTOP, 4095)
        before = self.shown(heir, "stopped")
        owner.process.send_signal(signal.SIGCONT)
        owner.wait_for("job lost.*stopped", timeout_s=120)
        self.assertEqual(self.shown(owner, "stopped"), before)
        self.assertEqual(self.result(owner, "stopped"),
                         self.result(heir, "stopped"))

    def test_any_coordinator_will_do(self):
        a, b = self.coordinators
        self.submit(a, "any", ["--cluster", C1, *LONG_JOB])
        self.submit(b, "any", ["--cluster", C1, *LONG_JOB])
        owner, other = self.owner_of("any")
        self.add_worker()
        watcher = subprocess.Popen(
            [TANGRAM, "job", "watch", "any", *self.on(other)],
            cwd=self.folder, env=environment(), stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True)
        self.tangram("job", "cancel", "any", *self.on(other))
        owner.wait_for("job ended.*any")
        self.assertIn("cancelled", watcher.communicate(timeout=60)[0])
        for coordinator in a, b:
            self.assertIn("cancelled", self.shown(coordinator, "any"))
        self.assertNotIn("job started", other.log())

    def test_a_coordinator_without_workers_leaves_jobs_to_others(self):
        able, unable = self.coordinators
        worker = Worker(able.address, "w")
        self.addCleanup(worker.end)
        for i in range(3):
            self.submit(unable, f"left{i}",
                        [*CLUSTER, *JOB, "--parallelizer", "aceso", "--seq",
                         str(100 * (i + 1))])
        for i in range(3):
            self.result(unable, f"left{i}")
        self.assertNotIn("job started", unable.log())

    def test_a_database_that_is_away_for_a_while_costs_nothing(self):
        self.add_worker()
        self.submit(self.coordinators[0], "away", slow_job(4094))
        owner, _ = self.owner_of("away")
        self.postgres.stop(signal.SIGINT)
        failed = self.run_tangram("job", "show", "away", *self.on(owner))
        self.assertIn("database", failed.stderr)
        self.assertEqual(failed.returncode, harness.UNAVAILABLE)
        self.postgres.start()
        self.assertTrue(self.result(owner, "away"))

    def test_jobs_are_shared_out(self):
        self.add_worker()
        for i in range(6):
            self.submit(self.coordinators[i % 2], f"shared{i}",
                        [*CLUSTER, *JOB, "--parallelizer", "aceso", "--seq",
                         str(128 * (i + 1))])
        for i in range(6):
            self.result(self.coordinators[0], f"shared{i}")
        logs = "".join(c.log() for c in self.coordinators)
        for i in range(6):
            self.assertEqual(len(re.findall(f"job started.*shared{i}", logs)), 1)
        for coordinator in self.coordinators:
            self.assertEqual(coordinator.end(signal.SIGTERM), OK)


if __name__ == "__main__":
    harness.main()
