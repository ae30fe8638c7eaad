"""No answer with a violation is a success: in this process, by call, as a job.

Random clusters, models and adapters, whose GPUs have so little memory that many
plans do not fit. One adapter is a program whose word on memory is wrong. The
exit codes of the three ways, the files, the figures of `tangram evaluate` and
the state of the job must agree.

TANGRAM_ANSWER_CASES sets the number of cases; 500 take minutes.
"""

import collections
import importlib.util
import json
import os
import random
import unittest

import harness
from daemons import Coordinator, Worker
from harness import BIN, INTERNAL, NO_PLAN, OK, SOURCE, Folder

NUM_CASES = int(os.environ.get("TANGRAM_ANSWER_CASES", "12"))
BOASTFUL = ("exec:PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="
            f"{os.path.dirname(BIN)}/python:{SOURCE}/clients/python "
            "/usr/bin/python3 "
            f"{SOURCE}/tests/integration/programs/boastful_adapter.py")
HAS_GRPC = importlib.util.find_spec("grpc") is not None
GPUS = ["T4", "V100-16", "V100-32", "A100-40", "L4"]
DENSE = ["aceso", "alpa", "galvatron", "hypertron", "mist", "uniform"]
# Beside the runtime's reserve of about 1.2 GB.
LEAST_BYTES, MOST_BYTES = 1.4e9, 9e9


def random_cluster(rng):
    groups = []
    for number in range(rng.randint(1, 3)):
        memory = LEAST_BYTES * (MOST_BYTES / LEAST_BYTES) ** rng.random()
        groups.append({"name": f"g{number}", "gpu": rng.choice(GPUS),
                       "nodes": rng.randint(1, 2),
                       "gpus_per_node": rng.choice([1, 2, 4]),
                       "memory": f"{memory / 1e9:.3f} GB",
                       "intra_node": {"bandwidth": "10 GB/s"},
                       "inter_node": {"bandwidth": "3 GB/s"}})
    names = [group["name"] for group in groups]
    links = [{"from": a, "to": b, "bandwidth": "1 GB/s"}
             for i, a in enumerate(names) for b in names[i + 1:]]
    return {"name": "random", "groups": groups, "links": links}


class AnswersFitTest(Folder):
    def setUp(self):
        super().setUp()
        # Wrong answers are refused, but the worker stays for the next case.
        coordinator = Coordinator("--worker_wait_s=0", "--quarantine_after=0",
                                  state_dir=f"{self.folder}/state")
        self.addCleanup(coordinator.end)
        self.address = coordinator.address
        adapter = ["--adapter", BOASTFUL] if HAS_GRPC else []
        worker = Worker(self.address, "w", *adapter, "--adapters",
                        ",".join(DENSE))
        self.addCleanup(worker.end)

    def arguments(self, rng):
        """Returns the adapter and the arguments of a random case."""
        self.write("cluster.yaml", json.dumps(random_cluster(rng)))
        experts = rng.random() < 0.15
        model = "gshard-moe-2.4b" if experts else "gpt3-1.3b"
        # Half of the dense cases ask the program.
        adapter = ("uniform" if experts else
                   "boastful" if HAS_GRPC and rng.random() < 0.5 else
                   rng.choice(DENSE))
        return adapter, [
            "plan", "--cluster", "cluster.yaml", "--model", model,
            "--layers", str(rng.randint(2, 6)), "--seq", "512",
            "--global-batch", str(rng.choice([4, 8])), "--effort", "64",
            "--runtime", "any",
            "--planner",
            "whole-cluster" if rng.random() < 0.25 else "tangram", "--quiet"]

    def outcome(self, output, *arguments):
        """Runs a plan. Returns its exit code and its file; checks that they
        agree, and that a plan has no violation."""
        run = self.run_tangram(*arguments, "--output", output)
        self.assertIn(run.returncode, (OK, NO_PLAN, INTERNAL), run.stderr)
        if not os.path.exists(os.path.join(self.folder, output)):
            self.assertNotEqual(run.returncode, OK, run.stderr)
            return run.returncode, None
        document = json.loads(self.read(output))
        self.assertEqual("plan" in document, run.returncode == OK)
        self.assertEqual("infeasible" in document, run.returncode == NO_PLAN)
        if run.returncode == OK:
            self.assertFalse(document["evaluation"].get("violations"))
            # Trust nothing in the answer.
            again = self.run_tangram("evaluate", output)
            self.assertEqual(again.returncode, OK, again.stderr)
        del document["provenance"]
        os.remove(os.path.join(self.folder, output))
        return run.returncode, document

    def job_states(self):
        listed = self.tangram("job", "list", "--coordinator", self.address,
                              "--limit", str(NUM_CASES))
        return dict(line.split()[:2] for line in listed.splitlines()
                    if line.strip())

    def test_an_answer_with_a_plan_fits(self):
        counts = collections.Counter()
        codes = {}
        for seed in range(NUM_CASES):
            rng = random.Random(seed)
            adapter, arguments = self.arguments(rng)
            local = BOASTFUL if adapter == "boastful" else adapter
            remote = ["--coordinator", self.address, "--parallelizer", adapter]
            name = f"case-{seed}"
            with self.subTest(name, adapter=adapter):
                here, plan = self.outcome("here.json", *arguments,
                                          "--parallelizer", local)
                called, by_call = self.outcome("call.json", *arguments, *remote)
                codes[name], as_job = self.outcome("job.json", *arguments,
                                                   *remote, "--job", name)
                self.assertEqual(codes[name], called)
                self.assertEqual(as_job, by_call)
                if adapter != "boastful":
                    self.assertEqual((called, by_call), (here, plan))
                kind = "program" if adapter == "boastful" else "built in"
                counts.update([f"{kind}, here: exit {here}",
                               f"{kind}, call and job: exit {called}"])
        states = self.job_states()
        for name, code in codes.items():
            # An answer is a success of the job, with or without a plan.
            self.assertEqual(states[name] == "succeeded",
                             code in (OK, NO_PLAN), states[name])
        print()
        for what, count in sorted(counts.items()):
            print(f"{what}: {count}")
        self.assertTrue(any("exit 0" in what for what in counts))
        self.assertTrue(any("exit 3" in what for what in counts))


if __name__ == "__main__":
    harness.main()
