"""What operators do about a worker that lies and a tenant that leaves."""

import json
import os
import re
import sys
import time
import unittest

import calls
import harness
from calls import grpc
from harness import BAD_INPUT, CLUSTER, JOB, OK
from secured import Secured, TOKENS

sys.path.append(os.path.join(harness.SOURCE, "tests/faults"))
if grpc:
    import hostile

TIMEOUT_S = 60
SEARCH = ["--parallelizer", "aceso", "--runtime", "any"]


class OperatorsTest(Secured):
    def setUp(self):
        super().setUp()
        self.write("tokens.csv",
                   TOKENS + f"{hostile.token_of('mallory')},mallory,,work\n")
        self.coordinator = self.start("--plan_cache_mb=0", "--cache_mb=0",
                                      f"--state_dir={self.path('state')}")
        self.address = self.coordinator.address

    def command(self, caller, *arguments):
        return [*arguments, "--coordinator", self.address, "--token-file",
                caller]

    def ask(self, caller, *arguments):
        return self.json_answer(*self.command(caller, *arguments))

    def states(self):
        return {worker["source"]: worker["state"]
                for worker in self.ask("olga", "worker", "list")["workers"]}

    def test_a_liar_is_released_once_it_is_repaired(self):
        self.add_worker(self.address, "--adapters=aceso")
        local = json.loads(self.tangram("plan", *CLUSTER, *JOB[:-2], *SEARCH,
                                        "--quiet", "-o", "-"))
        version = re.fullmatch(r"aceso (\S+)",
                               local["provenance"]["parallelizer"])[1]
        liar = hostile.Liar(self.address, "mallory", version)
        self.addCleanup(liar.stop)
        self.coordinator.wait_for("worker joined.*mallory")
        source = "mallory@127.0.0.1"
        deadline = time.monotonic() + TIMEOUT_S
        while self.states()[source] != "quarantined":
            self.assertLess(time.monotonic(), deadline)
            plan = json.loads(self.tangram(*self.command(
                "alice", "plan", *CLUSTER, *JOB[:-2], *SEARCH, "--quiet", "-o",
                "-")))
            self.assertEqual(plan["plan"], local["plan"])
        taken = liar.taken
        done = self.ask("olga", "worker", "release", source)
        self.assertEqual((done["done"], done["what"], done["names"]),
                         ("released", "worker", [source]))
        self.assertNotEqual(self.states()[source], "quarantined")
        # Not by a planner, and not twice.
        for caller in "alice", "olga":
            self.assertNotEqual(self.run_tangram(*self.command(
                caller, "worker", "release", source)).returncode, OK)
        self.tangram(*self.command("alice", "plan", *CLUSTER, *JOB[:-2],
                                   *SEARCH, "--quiet", "-o", "x.json"))
        self.assertGreater(liar.taken, taken)

    def test_a_tenant_that_leaves_is_erased(self):
        self.add_worker(self.address)
        for caller, name in ("alice", "a"), ("alice", "b"), ("bob", "c"):
            self.tangram(*self.command(caller, "plan", *CLUSTER, *JOB, "--job",
                                       name, "--quiet", "-o", f"{name}.json"))
        self.fails(BAD_INPUT, "expected --yes",
                   *self.command("olga", "tenant", "erase", "team-a"))
        self.assertNotEqual(self.run_tangram(*self.command(
            "alice", "tenant", "erase", "team-b", "--yes")).returncode, OK)
        done = self.ask("olga", "tenant", "erase", "team-a", "--yes")
        self.assertEqual((done["done"], done["what"], done["count"]),
                         ("erased", "job", 2))
        self.assertEqual(self.ask("alice", "job", "list")["jobs"], [])
        self.assertEqual([job["job"] for job in
                          self.ask("bob", "job", "list")["jobs"]], ["c"])


if __name__ == "__main__":
    harness.main()
