"""Tests coordinators whose databases a person or a disk has damaged."""

import contextlib
import json
import os
import random
import signal
import sqlite3
import subprocess
import urllib.request

import harness
from daemons import Coordinator, Worker
from harness import BIN, CLUSTER, INTERNAL, JOB, Folder

PLAN = [*CLUSTER, *JOB, "--parallelizer", "uniform"]
SCHEMA = """CREATE TABLE tangram_schema (
    name TEXT PRIMARY KEY, version BIGINT NOT NULL);"""
# The formats before the present ones, as coordinators wrote them.
PREVIOUS_ANSWERS = SCHEMA + """
INSERT INTO tangram_schema VALUES ('answers', 1);
CREATE TABLE answers (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    version TEXT NOT NULL,
    key BIGINT NOT NULL,
    answer BLOB NOT NULL,
    UNIQUE (version, key));"""
PREVIOUS_JOBS = SCHEMA + """
INSERT INTO tangram_schema VALUES ('jobs', 4);
CREATE TABLE jobs (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    request BLOB NOT NULL,
    priority BIGINT NOT NULL,
    state BIGINT NOT NULL,
    cancel_requested BIGINT NOT NULL DEFAULT 0,
    attempts BIGINT NOT NULL DEFAULT 0,
    owner TEXT NOT NULL DEFAULT '',
    lease_until_s DOUBLE PRECISION NOT NULL DEFAULT 0,
    submitted_s DOUBLE PRECISION NOT NULL,
    started_s DOUBLE PRECISION NOT NULL DEFAULT 0,
    finished_s DOUBLE PRECISION NOT NULL DEFAULT 0,
    result BLOB NOT NULL DEFAULT '',
    error_code BIGINT NOT NULL DEFAULT 0,
    error_message BLOB NOT NULL DEFAULT '');
CREATE INDEX jobs_to_run ON jobs (state, priority DESC, sequence);
CREATE TABLE events (
    job_id TEXT NOT NULL,
    number BIGINT NOT NULL,
    progress BLOB NOT NULL,
    PRIMARY KEY (job_id, number));
ALTER TABLE jobs ADD COLUMN share_key TEXT NOT NULL DEFAULT '';
ALTER TABLE jobs ADD COLUMN last_event BIGINT NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN losses BIGINT NOT NULL DEFAULT 0;
CREATE INDEX jobs_of_key ON jobs (share_key, sequence);
CREATE INDEX jobs_ended ON jobs (finished_s) WHERE state > 1;"""

# Later formats have other names for these columns of jobs.
RENAMED = {"attempts": "num_attempts", "cancel_requested": "cancel_wanted"}


def flip_bits(content):
    rng = random.Random(1)
    for _ in range(2000):
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    return content


def halve(content):
    return content[:len(content) // 2]


def overwrite(_):
    return b"not a database" * 500


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
        for number, change in enumerate([overwrite, halve, flip_bits]):
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
        # SQLite takes the last two for new databases.
        for change in (overwrite, halve, lambda sound: sound[:1],
                       lambda _: b""):
            self.damage(self.jobs, lambda _, change=change: change(sound))
            self.assert_jobs_stop_the_coordinator()
        os.remove(self.jobs)
        self.plan()

    def assert_jobs_stop_the_coordinator(self):
        ended = self.run_coordinator()
        self.assertEqual(ended.returncode, 1, ended.stderr)
        self.assertIn(f"{self.jobs}: the database of jobs is damaged",
                      ended.stderr)
        self.assertTrue(os.path.exists(self.jobs))
        self.assertNotIn("SELECT", ended.stderr)
        return ended.stderr

    def test_damaged_tables_of_jobs_stop_the_coordinator(self):
        for damage, text in (
                ("DROP TABLE events", "no such table: events;"),
                ("DROP INDEX jobs_waiting; ALTER TABLE jobs DROP COLUMN owner",
                 "no such column: owner;"),
                ("INSERT INTO sqlite_sequence VALUES "
                 "('jobs', 9223372036854775807)",
                 "jobs.sequence: 9223372036854775807; expected at most")):
            with contextlib.suppress(FileNotFoundError):
                os.remove(self.jobs)
            Coordinator(state_dir=self.state).end(signal.SIGTERM)
            with contextlib.closing(sqlite3.connect(self.jobs)) as database:
                database.executescript(damage)
            self.assertIn(text, self.assert_jobs_stop_the_coordinator())

    def test_bytes_of_a_damaged_file_do_not_reach_the_terminal(self):
        self.plan()
        self.damage(self.jobs, lambda sound: sound.replace(
            b"AUTOINCREMENT", b"AUTOINCREM\xff\x9bT"))
        self.assertIn(r"\xff", self.assert_jobs_stop_the_coordinator())

    def change_job(self, name, column, change):
        with contextlib.closing(sqlite3.connect(self.jobs)) as database:
            [(value,)] = database.execute(
                f"SELECT {column} FROM jobs WHERE id = ?", (name,)).fetchall()
            database.execute(f"UPDATE jobs SET {column} = ? WHERE id = ?",
                             (change(value), name))
            database.commit()

    def test_a_damaged_job_fails_and_the_others_go_on(self):
        names = ["result", "request", "error", "attempts", "state", "sound"]
        coordinator = Coordinator(state_dir=self.state)
        worker = Worker(coordinator.address, "w")
        for name in names:
            self.tangram("plan", *PLAN, "--coordinator", coordinator.address,
                         "--job", name, "--output", f"{name}.json")
        worker.end()
        for name in ("waiting", "flagged", "stuck", "unnamed"):
            self.tangram("plan", *PLAN, "--coordinator", coordinator.address,
                         "--job", name, "--detach")
        coordinator.end()

        rng = random.Random(4)

        def flip(content):
            content = bytearray(content)
            content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
            return bytes(content)

        self.change_job("result", "result", flip)
        self.change_job("request", "request", flip)
        self.change_job("error", "error_code", lambda _: 1000)
        self.change_job("attempts", "num_attempts", lambda _: 1 << 62)
        self.change_job("state", "state", lambda _: 1)
        self.change_job("waiting", "num_attempts", lambda _: (1 << 63) - 1)
        self.change_job("flagged", "cancel_wanted", lambda _: 1)
        # SQLite reads it as 7; "abc" would be 0, "queued", as the checksum may
        # say.
        self.change_job("stuck", "state", lambda _: "7abc")
        self.change_job("unnamed", "id", lambda _: b"\xff\xfe")
        coordinator = Coordinator(state_dir=self.state)
        self.addCleanup(coordinator.end)
        self.addCleanup(Worker(coordinator.address, "w").end)
        on = ["--coordinator", coordinator.address]
        for name in ["waiting", "flagged", "stuck", *names[:-1]]:
            self.fails(INTERNAL, f'job "{name}" is damaged in the database: ',
                       "job", "watch", name, *on)
            # Neither a plan nor a new job under the name; the coordinator
            # goes on.
            self.fails(INTERNAL, f'job "{name}" is damaged in the database: ',
                       "plan", *PLAN, *on, "--job", name, "--detach")
        self.tangram("job", "watch", "sound", *on, "--output", "again.json")
        again, sound = (json.loads(self.read(name))["plan"]
                        for name in ("again.json", "sound.json"))
        self.assertEqual(again, sound)
        # A list reads neither requests nor results.
        listed = self.tangram("job", "list", *on)
        self.assertEqual(listed.count("succeeded"), 3)
        self.assertIn("damaged:", listed)
        coordinator.wait_for("a stored job is damaged")

    def test_whatever_is_in_the_place_of_answers_is_set_aside(self):
        before, _ = self.plan()
        for number, make in enumerate([os.mkdir, os.mkfifo], 1):
            os.remove(self.answers)
            make(self.answers)
            after, log = self.plan()
            self.assertEqual(after, before)
            self.assertIn(f"answers.db.damaged-{number}", log)
            self.assertTrue(os.path.isfile(self.answers))

    def test_without_a_database_of_answers_plans_go_on(self):
        before, _ = self.plan()
        os.remove(self.answers)
        os.makedirs(f"{self.answers}/full")
        # They cannot be replaced.
        for number in (1, 2, 3):
            os.makedirs(f"{self.answers}.damaged-{number}/full")
        after, log = self.plan()
        self.assertEqual(after, before)
        self.assertIn("no database of answers", log)
        self.assertIn(self.answers, log)
        coordinator = Coordinator("--metrics=127.0.0.1:0", state_dir=self.state)
        self.addCleanup(coordinator.end)
        port = coordinator.wait_for(r"metrics_port=(\d+)")[1]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as page:
            self.assertIn("tangram_answer_database_missing 1",
                          page.read().decode())

    def write_previous_answers(self):
        """Replaces the answers by some of the previous format."""
        os.remove(self.answers)
        rng = random.Random(3)
        with contextlib.closing(sqlite3.connect(self.answers)) as database:
            database.executescript(PREVIOUS_ANSWERS)
            database.executemany(
                "INSERT INTO answers (version, key, answer) VALUES (?, ?, ?)",
                [("0.1.0", number, rng.randbytes(200))
                 for number in range(500)])
            database.commit()

    def test_answers_of_the_previous_format_are_asked_again(self):
        before, _ = self.plan()
        count = self.count()
        self.write_previous_answers()
        after, log = self.plan()
        self.assertEqual(after, before)
        self.assertIn("answers of an earlier format were deleted", log)
        self.assertEqual(self.count(), count)

    def test_damaged_answers_of_the_previous_format_change_no_plan(self):
        before, _ = self.plan()
        count = self.count()
        for change in (overwrite, halve, flip_bits):
            self.write_previous_answers()
            self.damage(self.answers, change)
            for _ in range(2):
                self.assertEqual(self.plan()[0], before)
            self.assertEqual(self.count(), count)

    def plan_as_job(self):
        """Makes a job, and rewrites its database in the previous format."""
        coordinator = Coordinator(state_dir=self.state)
        worker = Worker(coordinator.address, "w")
        try:
            plan = self.tangram("plan", *PLAN, "--coordinator",
                                coordinator.address, "--job", "a",
                                "--output", "-")
        finally:
            worker.end()
            coordinator.end(signal.SIGTERM)
        previous = os.path.join(self.folder, "previous.db")
        with contextlib.closing(sqlite3.connect(previous)) as database:
            database.executescript(PREVIOUS_JOBS)
            database.execute("ATTACH ? AS present", (self.jobs,))
            for table in ("jobs", "events"):
                columns = [row[1] for row in database.execute(
                    f"PRAGMA main.table_info({table})")]
                now = [RENAMED.get(name, name) for name in columns]
                database.execute(
                    f"INSERT INTO main.{table} ({', '.join(columns)}) "
                    f"SELECT {', '.join(now)} FROM present.{table}")
            database.commit()
        os.replace(previous, self.jobs)
        return json.loads(plan)

    def test_jobs_of_the_previous_format_are_kept(self):
        plan = self.plan_as_job()
        coordinator = Coordinator(state_dir=self.state)
        self.addCleanup(coordinator.end)
        on = ["--coordinator", coordinator.address]
        self.assertRegex(self.tangram("job", "list", *on), r"(?m)^\s*a\b")
        self.tangram("job", "watch", "a", *on, "--output", "plan.json")
        again = json.loads(self.read("plan.json"))
        # The address of the coordinator.
        del again["provenance"], plan["provenance"]
        self.assertEqual(again, plan)

    def test_damaged_jobs_of_the_previous_format_stop_the_coordinator(self):
        self.plan_as_job()
        with open(self.jobs, "rb") as file:
            sound = file.read()
        for change in (overwrite, halve):
            self.damage(self.jobs, lambda _, change=change: change(sound))
            self.assert_jobs_stop_the_coordinator()

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
