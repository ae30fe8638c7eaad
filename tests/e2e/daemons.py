"""The daemons as processes on free ports."""

import os
import re
import signal
import subprocess
import threading
import urllib.request

from harness import BIN


class Daemon:
    """A process, whose log is read to the end so that it never blocks."""

    def __init__(self, program, *arguments):
        self.process = subprocess.Popen(
            [os.path.join(BIN, program), *arguments], text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT)
        self._lines = []
        self._changed = threading.Condition()
        self._ended = False
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.process.stdout:
            with self._changed:
                self._lines.append(line)
                self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def log(self):
        with self._changed:
            return "".join(self._lines)

    def wait_for(self, pattern, timeout_s=30):
        """The match, once the log has one."""
        with self._changed:
            found = lambda: re.search(pattern, "".join(self._lines))
            self._changed.wait_for(lambda: found() or self._ended, timeout_s)
            match = found()
            if not match:
                raise AssertionError(f"no {pattern!r} in {self._lines!r}")
            return match

    def end(self, how=signal.SIGKILL):
        """Its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        code = self.process.wait(timeout=60)
        self._reader.join()
        self.process.stdout.close()
        return code


class Coordinator(Daemon):
    """`state_dir` is None where --database is among the arguments."""

    def __init__(self, *arguments, listen="127.0.0.1:0", state_dir="none"):
        if state_dir is not None:
            arguments = (f"--state_dir={state_dir}", *arguments)
        super().__init__("tangram-coordinator", f"--listen={listen}",
                         "--metrics=", *arguments)
        self.address = "127.0.0.1:" + self.wait_for(r"\bport\W+(\d+)")[1]


class Worker(Daemon):
    def __init__(self, coordinator, name, *arguments):
        super().__init__("tangram-worker", f"--coordinator={coordinator}",
                         f"--name={name}", "--metrics=", "--threads=1",
                         *arguments)
        self.wait_for("connected")


def answered_queries(daemon):
    """How many queries a daemon with --metrics has answers of so far: a worker
    its own, a coordinator those that have arrived."""
    port = daemon.wait_for(r"metrics_port=(\d+)")[1]
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as page:
        text = page.read().decode()
    return sum(int(float(count)) for count in re.findall(
        r'_queries_total{.*"answered".*} (\S+)', text))
