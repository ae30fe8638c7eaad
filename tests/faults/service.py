"""A coordinator and workers, each in its place, that can be ended and started
again."""

import os
import re
import signal
import subprocess
import threading


class Daemon:
    def __init__(self, command):
        self.command = command
        self.log = []
        self.starts = 0
        self.crashes = []
        self._process = None

    def start(self):
        if self._process is not None:
            return
        self.starts += 1
        self._process = subprocess.Popen(
            self.command, text=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        threading.Thread(target=self._read, args=(self._process,),
                         daemon=True).start()

    def _read(self, process):
        with process.stdout:
            self.log.extend(process.stdout)

    def signal(self, number):
        if self._process is not None:
            self._process.send_signal(number)

    def kill(self):
        self._end(signal.SIGKILL)

    def drain(self):
        self._end(signal.SIGTERM)

    def _end(self, how):
        if self._process is None:
            return
        # One that is stopped acts on nothing else.
        self._process.send_signal(signal.SIGCONT)
        self._process.send_signal(how)
        try:
            self._process.wait(timeout=30)
        except subprocess.TimeoutExpired as error:
            self._process.kill()
            raise AssertionError(f"{self.command} did not end") from error
        finally:
            self._process = None

    def supervise(self):
        """Starts it again if it gave up, as systemd and Kubernetes would: a
        coordinator does where it cannot open its database."""
        code = None if self._process is None else self._process.poll()
        if code is None:
            return
        if code <= 0:
            self.crashes.append(code)
        self._process = None
        self.start()

    def count(self, pattern):
        return len(re.findall(pattern, "".join(self.log)))

    def open_files(self):
        return len(os.listdir(f"/proc/{self._process.pid}/fd"))

    def memory_bytes(self):
        with open(f"/proc/{self._process.pid}/statm", encoding="ascii") as f:
            return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Worker(Daemon):
    """`space` is a network namespace, so the process is a child of `ip`, which
    becomes it."""

    def __init__(self, program, coordinator, name, space):
        super().__init__([*space.command, program, "--metrics=",
                          "--threads=1", f"--coordinator={coordinator}",
                          f"--name={name}"])
        self.space = space


class Coordinator(Daemon):
    def __init__(self, program, listen, state_dir):
        super().__init__([program, "--metrics=", f"--listen={listen}",
                          "--drain_s=1", f"--state_dir={state_dir}"])
