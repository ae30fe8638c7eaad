"""Kills a coordinator repeatedly while it plans for four islands.

RECOVERY_KILLS sets the number of kills. Many take a minute.
"""

import contextlib
import json
import os
import random
import sqlite3

import harness
from daemons import Coordinator, Worker, answered_queries
from harness import SOURCE, Folder

KILLS = int(os.environ.get("RECOVERY_KILLS", "3"))
FOUR_ISLANDS = ["--cluster",
                os.path.join(SOURCE, "deploy/clusters/c3-full-het.yaml"),
                "--model", "gpt3-6.7b", "--global-batch", "128",
                "--runtime", "any", "--parallelizer", "aceso",
                "--effort", "4096"]
# Somewhat fewer answers than the plan takes.
ENOUGH = 700


class RecoveryTest(Folder):
    def start(self, address="127.0.0.1:0"):
        self.coordinator = Coordinator("--metrics=127.0.0.1:0",
                                       state_dir=f"{self.folder}/state",
                                       listen=address)
        self.addCleanup(self.coordinator.end)

    def kept(self):
        """Returns the number of answers in the database of a dead coordinator."""
        with contextlib.closing(
                sqlite3.connect(f"{self.folder}/state/answers.db")) as database:
            return database.execute("SELECT COUNT(*) FROM answers").fetchone()[0]

    def kill_at(self, count):
        """Kills when this many answers are kept or have arrived.

        Returns the number that arrived, and how many of all are lost. The job
        may end before that.
        """
        before = self.kept_before
        arrived = 0
        while before + arrived < count and not self.is_done():
            arrived = answered_queries(self.coordinator)
        self.coordinator.end()
        self.kept_before = self.kept()
        self.start(self.address)
        return arrived, max(0, before + arrived - self.kept_before)

    def is_done(self):
        return "job ended" in self.coordinator.log()

    def test_answers_that_had_arrived_are_not_asked_again(self):
        self.start()
        self.address = self.coordinator.address
        self.kept_before = 0
        worker = Worker(self.address, "w", "--threads=2",
                        "--metrics=127.0.0.1:0")
        self.addCleanup(worker.end)
        on = ["--coordinator", self.address]
        self.tangram("plan", *FOUR_ISLANDS, *on, "--job", "a", "--detach")
        draw = random.Random(7)
        all_arrived = all_lost = 0
        for count in sorted(draw.sample(range(1, ENOUGH), KILLS)):
            arrived, lost = self.kill_at(count)
            all_arrived += arrived
            all_lost += lost
        self.tangram("job", "watch", "a", *on, "--output", "plan.json")
        given = answered_queries(worker)
        self.coordinator.end()
        print(f"{KILLS} kills: {all_lost} of {all_arrived} answers lost; "
              f"{given} given, {self.kept()} kept")
        self.assertEqual(all_lost, 0)
        self.assertEqual(self.plan_of(self.read("plan.json")), self.plan_of(
            self.tangram("plan", *FOUR_ISLANDS, "--output", "-")))

    @staticmethod
    def plan_of(text):
        plan = json.loads(text)
        del plan["provenance"], plan["notes"]
        return plan


if __name__ == "__main__":
    harness.main()
