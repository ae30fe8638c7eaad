"""Tests adapters in separate programs, as docs/writing-an-adapter.md
describes."""

import importlib.util
import json
import os
import re
import time
import unittest

import harness
from daemons import Coordinator, Worker
from harness import BAD_INPUT, BIN, CLUSTER, Folder, JOB, SOURCE

EVEN_SPLIT = os.path.join(SOURCE, "examples/adapters/even_split.py")
BAD = os.path.join(SOURCE, "tests/integration/programs/bad_adapter.py")
PYTHON = ("exec:PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="
          f"{os.path.dirname(BIN)}/python:{SOURCE}/clients/python "
          "/usr/bin/python3 ")
HAS_GRPC = importlib.util.find_spec("grpc") is not None
SMALL = [*CLUSTER, *JOB]


def adapters_of(worker):
    """Returns the processes whose parent is the worker."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == worker and fields[0] != "Z":
            found.append(int(pid))
    return found


@unittest.skipUnless(HAS_GRPC, "python3-grpcio is not installed")
class AdapterTest(Folder):
    def setUp(self):
        super().setUp()
        coordinator = Coordinator("--worker_wait_s=0")
        self.addCleanup(coordinator.end)
        self.address = coordinator.address

    def start_adapter(self, command, *more):
        worker = Worker(self.address, "w", "--adapter", PYTHON + command, *more)
        self.addCleanup(worker.end)
        return worker

    def plan_small(self, output, *more):
        self.tangram("plan", *SMALL, "--output", output, *more)
        return json.loads(self.read(output))

    def test_one_process_plans_with_a_program(self):
        plan = self.plan_small("plan.json", "--parallelizer",
                               PYTHON + EVEN_SPLIT)
        self.assertEqual(plan["provenance"]["parallelizer"], "even-split 1")
        self.assertEqual(plan["plan"]["stages"][0]["made_by"], "even-split")

    def test_the_guide_works(self):
        with open(os.path.join(SOURCE, "docs/writing-an-adapter.md"),
                  encoding="utf-8") as file:
            program = re.search(r"```python\n(.*?)```", file.read(), re.S)[1]
        path = os.path.join(self.folder, self.write("one_stage.py", program))
        run = self.run_tangram("plan", *SMALL, "--parallelizer", PYTHON + path)
        self.assertEqual((run.returncode, run.stderr), (harness.OK, ""))
        self.assertIn("made by one-stage", run.stdout)

    def test_a_worker_offers_a_program(self):
        self.start_adapter(EVEN_SPLIT)
        remote = self.plan_small("remote.json", "--coordinator", self.address,
                                 "--parallelizer", "even-split")
        local = self.plan_small("local.json", "--parallelizer",
                                PYTHON + EVEN_SPLIT)
        del local["provenance"], remote["provenance"]
        self.assertEqual(remote, local)

    def test_a_program_beside_what_is_built_in(self):
        self.start_adapter(EVEN_SPLIT, "--adapters", "uniform")
        for name in "even-split", "uniform":
            plan = self.plan_small(f"{name}.json", "--coordinator",
                                   self.address, "--parallelizer", name)
            self.assertIn(name, plan["provenance"]["parallelizer"])

    def test_its_worker_outlives_it(self):
        worker = self.start_adapter(f"{BAD} die")
        for _ in range(2):
            run = self.run_tangram("plan", *SMALL, "--coordinator",
                                   self.address, "--parallelizer", "bad")
            self.assertEqual(run.returncode, harness.INTERNAL)
            self.assertRegex(run.stderr, r"bad: was killed by signal 9 \(Kil")
        self.assertIsNone(worker.process.poll())

    def shows(self, job, text):
        """Waits until `job show` says the text."""
        deadline = time.monotonic() + 60
        while True:
            shown = self.tangram("job", "show", job, "--coordinator",
                                 self.address)
            if text in shown:
                return
            self.assertLess(time.monotonic(), deadline, shown)
            time.sleep(0.2)

    def test_a_job_waits_for_a_worker_that_offers_its_adapter(self):
        other = self.start_adapter(EVEN_SPLIT)
        time.sleep(8)  # A fleet at rest: nobody else seems to come.
        self.tangram("plan", *SMALL, "--coordinator", self.address,
                     "--parallelizer", "bad", "--job", "a", "--detach")
        self.shows("a", "waits: no worker has offered it yet")
        other.end()
        self.start_adapter(f"{BAD} honest")
        self.tangram("job", "wait", "a", "--coordinator", self.address)

    def test_a_job_outlasts_a_worker_that_gives_nothing_but_errors(self):
        broken = self.start_adapter(f"{BAD} know_nothing")
        time.sleep(8)
        # Whoever asks for a plan at once hears of it at once.
        run = self.run_tangram("plan", *SMALL, "--coordinator", self.address,
                               "--parallelizer", "bad")
        self.assertEqual(run.returncode, BAD_INPUT, run.stderr)
        self.tangram("plan", *SMALL, "--coordinator", self.address,
                     "--parallelizer", "bad", "--job", "a", "--detach")
        self.shows("a", "waits: only workers that never gave a right answer")
        broken.end()
        self.start_adapter(f"{BAD} honest")
        self.tangram("job", "wait", "a", "--coordinator", self.address)

    def test_it_dies_with_its_worker(self):
        worker = self.start_adapter(EVEN_SPLIT)
        adapters = adapters_of(worker.process.pid)
        self.assertTrue(adapters)
        worker.process.kill()
        worker.process.wait()
        deadline = time.monotonic() + 30
        while any(os.path.exists(f"/proc/{pid}") for pid in adapters):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)

    def test_a_program_that_is_no_adapter_is_refused(self):
        self.fails(BAD_INPUT, "exec:exit 3: not an adapter: exited with code 3",
                   "plan", *SMALL, "--parallelizer", "exec:exit 3")

    def test_programs_do_not_run_at_the_coordinator(self):
        self.fails(BAD_INPUT, "--parallelizer: exec: runs a program here",
                   "plan", *SMALL, "--coordinator", self.address,
                   "--parallelizer", "exec:true")


def upstream(name):
    """Returns the checkout of another system, and a decorator that skips
    without it."""
    checkout = os.environ.get(f"TANGRAM_{name.upper()}_CHECKOUT")
    return unittest.skipUnless(
        HAS_GRPC and checkout,
        f"TANGRAM_{name.upper()}_CHECKOUT is not set"), checkout


needs_aceso, ACESO = upstream("aceso")
needs_galvatron, GALVATRON = upstream("galvatron")


class UpstreamTest(Folder):
    """The search programs of other systems plan on unlike islands."""

    def plan_with(self, name, checkout):
        program = os.path.join(SOURCE, f"examples/adapters/upstream/{name}.py")
        self.tangram("plan", *CLUSTER, "--model", "gpt3-1.3b", "--global-batch",
                     "64", "--microbatch", "4", "--effort", "200", "--runtime",
                     "any", "--output", "plan.json", "--parallelizer",
                     f"{PYTHON}{program} --checkout {checkout} "
                     "--layers-per-atom 6")
        plan = json.loads(self.read("plan.json"))
        self.assertEqual({stage["made_by"] for stage in plan["plan"]["stages"]},
                         {f"{name}-upstream"})
        self.assertEqual(plan["evaluation"].get("violations", []), [])

    @needs_aceso
    def test_aceso(self):
        self.plan_with("aceso", ACESO)

    @needs_galvatron
    def test_galvatron(self):
        self.plan_with("galvatron", GALVATRON)


if __name__ == "__main__":
    harness.main()
