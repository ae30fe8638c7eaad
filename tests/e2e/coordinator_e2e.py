"""Runs a coordinator and workers, and plans with `tangram --coordinator`."""

import json
import os
import re
import signal
import subprocess
import threading

import harness
from harness import (BIN, C1, CLUSTER, Folder, INTERRUPTED, JOB, LONG_JOB,
                     TANGRAM, UNAVAILABLE, environment)


class CoordinatorTest(Folder):
    def setUp(self):
        super().setUp()
        log = self.start("tangram-coordinator", "--listen", "127.0.0.1:0",
                         "--metrics", "", "--worker_wait_s", "0")
        port = re.search(r" port=(\d+)", log.wait_for(r" port=\d+"))[1]
        self.address = f"127.0.0.1:{port}"

    def start(self, program, *arguments):
        process = subprocess.Popen([os.path.join(BIN, program), *arguments],
                                   cwd=self.folder, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True)
        self.addCleanup(self.end, process)
        return Log(process)

    def end(self, process):
        process.kill()
        process.wait()
        process.stdout.close()

    def start_workers(self, count):
        for i in range(count):
            self.start("tangram-worker", "--coordinator", self.address,
                       "--name", f"w{i}", "--metrics", "",
                       "--threads", "1").wait_for("connected")

    def plan(self, output, *more):
        self.tangram("plan", *CLUSTER, *JOB, "--output", output, *more)
        return json.loads(self.read(output))

    def test_plans_as_one_process_would(self):
        self.start_workers(2)
        remote = self.plan("remote.json", "--coordinator", self.address)
        local = self.plan("local.json")
        self.assertEqual(remote["provenance"].pop("coordinator"), self.address)
        self.assertEqual(remote["provenance"]["num_workers"], 2)
        del local["provenance"], remote["provenance"]
        self.assertEqual(remote, local)

    def test_is_healthy(self):
        shown = self.tangram("health", "--coordinator", self.address)
        self.assertIn("serves", shown)

    def test_needs_a_worker(self):
        self.fails(UNAVAILABLE, "no worker", "plan", *CLUSTER, *JOB,
                   "--coordinator", self.address, "--output", "plan.json")

    def test_is_interrupted(self):
        self.start_workers(1)
        process = subprocess.Popen(
            [TANGRAM, "plan", "--cluster", C1, *LONG_JOB, "--coordinator",
             self.address, "--output", "plan.json", "--progress", "always"],
            cwd=self.folder, env=environment(), stderr=subprocess.PIPE)
        shown = b""
        while b"slice plans" not in shown:
            shown += process.stderr.read1()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=5)
        self.assertEqual(process.returncode, INTERRUPTED)
        self.assertEqual(os.listdir(self.folder), [])


class Log:
    """Lines of a process, read to the end so that it never blocks."""

    def __init__(self, process):
        self._lines = []
        self._changed = threading.Condition()
        self._ended = False
        threading.Thread(target=self._read, args=(process.stdout,),
                         daemon=True).start()

    def _read(self, stream):
        for line in stream:
            with self._changed:
                self._lines.append(line)
                self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def wait_for(self, pattern):
        """The log, once a line matches."""
        with self._changed:
            found = lambda: re.search(pattern, "".join(self._lines))
            self._changed.wait_for(lambda: found() or self._ended, timeout=30)
            text = "".join(self._lines)
            if not found():
                raise AssertionError(f"no {pattern!r} in {text!r}")
            return text


if __name__ == "__main__":
    harness.main()
