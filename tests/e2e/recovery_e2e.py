"""A coordinator that is killed again and again while it plans for four islands.

How often is RECOVERY_KILLS; more than the few by default take a minute.
"""

import json
import os
import random
import time

import harness
from daemons import Coordinator, Worker, answered_queries
from harness import SOURCE, Folder

KILLS = int(os.environ.get("RECOVERY_KILLS", "3"))
FOUR_ISLANDS = ["--cluster",
                os.path.join(SOURCE, "deploy/clusters/c3-full-het.yaml"),
                "--model", "gpt3-6.7b", "--global-batch", "128"]
# May be on their way, from or to a worker, when the coordinator dies: what its
# two threads work on and what they were leased ahead.
IN_FLIGHT = 16


class RecoveryTest(Folder):
    def start(self, address="127.0.0.1:0"):
        self.coordinator = Coordinator(state_dir=f"{self.folder}/state",
                                       listen=address)
        self.addCleanup(self.coordinator.end)

    def run_job(self, kill_at):
        """The plan of a job, and what the worker answered for it. The
        coordinator is killed when so many queries are answered."""
        self.folder = os.path.join(self.folder, "run")
        os.mkdir(self.folder)
        self.start()
        address = self.coordinator.address
        worker = Worker(address, "w", "--metrics=127.0.0.1:0", "--threads=2")
        self.addCleanup(worker.end)
        on = ["--coordinator", address]
        self.tangram("plan", *FOUR_ISLANDS, *on, "--job", "a", "--detach")
        for count in kill_at:
            while answered_queries(worker) < count:
                time.sleep(0.005)
            self.coordinator.end()
            self.start(address)
        self.tangram("job", "watch", "a", *on, "--output", "plan.json")
        plan = json.loads(self.read("plan.json"))
        del plan["provenance"], plan["notes"]
        return plan, answered_queries(worker)

    def test_what_was_answered_is_not_asked_again(self):
        whole, needed = self.run_job([])
        draw = random.Random(7)
        kill_at = sorted(draw.sample(range(1, needed), KILLS))
        plan, answered = self.run_job(kill_at)
        again = answered - needed
        print(f"{KILLS} kills, {needed} queries, {again} asked again")
        self.assertEqual(plan, whole)
        self.assertLessEqual(again, max(0.01 * needed, IN_FLIGHT))


if __name__ == "__main__":
    harness.main()
