"""A coordinator that knows its callers by tokens."""

import json
import os
import time
import unittest

import calls
from calls import grpc
from daemons import Coordinator, Worker
from harness import CLUSTER, Folder

ALICE, BOB, OLGA, WALLY = (name * 4 for name in
                           ("alice", "bobby", "olga", "wally"))
TOKENS = f"""# token,name,tenant,roles
{ALICE},alice,team-a,plan
{BOB},bob,team-b,plan
{OLGA},olga,,operate
{WALLY},wally,,work
cert:worker-7,worker-7,,work
"""


def eventually(holds):
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@unittest.skipUnless(grpc, calls.WHY_NOT)
class Secured(Folder):
    """A test with files of tokens."""

    def setUp(self):
        super().setUp()
        self.tokens = self.path(self.write("tokens.csv", TOKENS))
        for name, token in (("alice", ALICE), ("bob", BOB), ("olga", OLGA),
                            ("wally", WALLY)):
            self.write(name, token + "\n")

    def path(self, name):
        return os.path.join(self.folder, name)

    def start(self, *arguments):
        coordinator = Coordinator(f"--auth_tokens_file={self.tokens}",
                                  *arguments)
        self.addCleanup(coordinator.end)
        return coordinator

    def add_worker(self, address, *arguments):
        worker = Worker(address, "w", f"--token_file={self.path('wally')}",
                        *arguments)
        self.addCleanup(worker.end)
        return worker

    def request(self, job_id, layers=6):
        """Returns a job of the small cluster and model."""
        self.tangram("plan", *CLUSTER, "--model", "gpt3-1.3b", "--layers",
                     str(layers), "--global-batch", "32", "--output",
                     "seed.json")
        plan = json.loads(self.read("seed.json"))
        from google.protobuf import json_format
        whole = {name: plan[name] for name in ("cluster", "model", "training")}
        submit = calls.jobs.SubmitJobRequest(job_id=job_id)
        json_format.ParseDict(whole, submit.request, ignore_unknown_fields=True)
        submit.request.parallelizer = "uniform"
        return submit
