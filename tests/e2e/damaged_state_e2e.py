"""Tests coordinators whose databases a person or a disk has damaged."""

import contextlib
import json
import os
import random
import signal
import sqlite3
import subprocess

import harness
from daemons import Coordinator, Worker
from harness import BIN, CLUSTER, JOB, Folder

PLAN = [*CLUSTER, *JOB, "--parallelizer", "uniform"]


class DamagedStateTest(Folder):
    def setUp(self):
        super().setUp()
        self.state = os.path.join(self.folder, "state")
        self.answers = os.path.join(self.state, "answers.db")
        self.jobs = os.path.join(self.state, "jobs.db")

    def plan(self):
        """Returns the plan of a new coordinator over the state, and its log."""
        coordinator = Coordinator(state_dir=self.state)
        worker = Worker(coordinator.address, "w")
        try:
            text = self.tangram("plan", *PLAN, "--coordinator",
                                coordinator.address, "--output", "-")
        finally:
            worker.end()
            coordinator.end(signal.SIGTERM)
        plan = json.loads(text)
        del plan["provenance"], plan["notes"]
        return plan, coordinator.log()

    def run_coordinator(self, *arguments):
        return subprocess.run(
            [os.path.join(BIN, "tangram-coordinator"), "--listen=127.0.0.1:0",
             "--metrics=", f"--state_dir={self.state}", *arguments],
            capture_output=True, text=True, timeout=60)

    def count(self):
        with contextlib.closing(sqlite3.connect(self.answers)) as database:
            return database.execute("SELECT COUNT(*) FROM answers").fetchone()[0]

    def damage(self, path, change):
        with open(path, "r+b") as file:
            content = bytearray(file.read())
            content = change(content)
            file.seek(0)
            file.truncate()
            file.write(content)

    def test_a_damaged_database_of_answers_is_set_aside(self):
        before, _ = self.plan()
        rng = random.Random(1)

        def flip(content):
            for _ in range(2000):
                content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
            return content

        for number, change in enumerate([
                lambda content: b"not a database" * 500,
                lambda content: content[:len(content) // 2],
                flip]):
            self.damage(self.answers, change)
            after, log = self.plan()
            self.assertEqual(after, before)
            if number < 2:
                self.assertIn("is damaged and was set aside", log)
                self.assertIn(f"answers.db.damaged-{number + 1}", log)
        self.assertEqual(self.plan()[0], before)

    def test_changed_rows_change_no_plan(self):
        before, _ = self.plan()
        with contextlib.closing(sqlite3.connect(self.answers)) as database:
            rows = database.execute(
                "SELECT sequence, answer FROM answers").fetchall()
            rng = random.Random(2)
            for sequence, answer in rows:
                answer = bytearray(answer)
                answer[rng.randrange(len(answer))] ^= 1 << rng.randrange(8)
                database.execute(
                    "UPDATE answers SET answer = ? WHERE sequence = ?",
                    (bytes(answer), sequence))
            database.commit()
        after, log = self.plan()
        self.assertEqual(after, before)
        self.assertIn("a stored answer was dropped", log)
        self.assertEqual(self.plan()[0], before)

    def test_a_damaged_database_of_jobs_stops_the_coordinator(self):
        self.plan()
        with open(self.jobs, "rb") as file:
            sound = file.read()
        for change in (lambda content: b"not a database" * 500,
                       lambda content: content[:len(content) // 2]):
            self.damage(self.jobs, lambda _, change=change: change(sound))
            ended = self.run_coordinator()
            self.assertEqual(ended.returncode, 1, ended.stderr)
            self.assertIn(f"{self.jobs}: the database of jobs is damaged",
                          ended.stderr)
            self.assertTrue(os.path.exists(self.jobs))

    def test_answers_are_purged(self):
        before, _ = self.plan()
        count = self.count()
        self.assertGreater(count, 10)
        ended = self.run_coordinator("--purge-answers")
        self.assertEqual((ended.returncode, ended.stdout),
                         (0, f"deleted {count} answers\n"), ended.stderr)
        self.assertEqual(self.count(), 0)
        coordinator = Coordinator(state_dir=self.state)
        self.addCleanup(coordinator.end)
        in_use = self.run_coordinator("--purge_answers")
        self.assertEqual(in_use.returncode, 1)
        self.assertIn("locked", in_use.stderr)
        coordinator.end()
        self.assertEqual(self.plan()[0], before)


if __name__ == "__main__":
    harness.main()
