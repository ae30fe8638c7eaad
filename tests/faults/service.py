"""A coordinator and workers that can be ended and started again."""

import os
import re
import signal
import struct
import time

from daemon import Daemon

LOG_TIMEOUT_S = 10


class Supervised:
    """A daemon that is run again and again."""

    def __init__(self, command):
        self.command = command
        self.crashes = []
        self._runs = []
        self._current = None

    def start(self):
        if self._current is None:
            self._current = Daemon(self.command)
            self._runs.append(self._current)

    @property
    def starts(self):
        return len(self._runs)

    def signal(self, number):
        if self._current is not None:
            self._current.process.send_signal(number)

    def kill(self):
        self._end(signal.SIGKILL)

    def drain(self):
        self._end(signal.SIGTERM)

    def _end(self, how):
        if self._current is not None:
            ended, self._current = self._current, None
            ended.end(how)

    def supervise(self):
        """Restarts the daemon if it gave up, as systemd and Kubernetes would.

        A coordinator gives up if it cannot open its database.
        """
        code = None if self._current is None else self._current.process.poll()
        if code is None:
            return
        if code <= 0:
            self.crashes.append(code)
        self._current = None
        self.start()

    def log(self):
        return "".join(run.log() for run in self._runs)

    def count(self, pattern, awaited=0):
        """Returns how often the log has a text. The last lines may be on their
        way."""
        deadline = time.monotonic() + LOG_TIMEOUT_S
        while True:
            found = len(re.findall(pattern, self.log()))
            if found >= awaited or time.monotonic() > deadline:
                return found
            time.sleep(0.05)

    def _about(self, what):
        return f"/proc/{self._current.process.pid}/{what}"

    def open_files(self):
        return len(os.listdir(self._about("fd")))

    def memory_bytes(self):
        with open(self._about("statm"), encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def kept_bytes(self):
        """Returns the memory that stays. What the last messages took, a
        hostile peer's among them, goes back to the system every 5 s."""
        readings = []
        for _ in range(24):
            readings.append(self.memory_bytes())
            time.sleep(0.25)
        return min(readings)


def tls_flags(identity):
    """Returns the flags of TLS; none in plain text."""
    if identity is None:
        return []
    return [f"--tls_cert_file={identity.cert}",
            f"--tls_key_file={identity.key}", f"--tls_ca_file={identity.ca}"]


class Worker(Supervised):
    """A worker. `space` is a network namespace.

    The process is a child of `ip`, which becomes it.
    """

    def __init__(self, program, coordinator, name, space, identity):
        super().__init__([*space.command, program, "--metrics=",
                          "--threads=1", f"--coordinator={coordinator}",
                          f"--name={name}", *tls_flags(identity)])
        self.space = space


class Coordinator(Supervised):
    """A coordinator whose clock can be set (shifted_clock.cc). `clock` is a file
    with the difference."""

    def __init__(self, program, listen, state_dir, identity, clock):
        library = os.path.join(os.path.dirname(program), "libshifted_clock.so")
        self.has_clock = os.path.exists(library)
        self._clock = clock
        with open(clock, "xb") as file:
            file.write(bytes(8))
        fake = (["env", f"LD_PRELOAD={library}", f"TANGRAM_CLOCK_FILE={clock}"]
                if self.has_clock else [])
        super().__init__([*fake, program, "--metrics=", f"--listen={listen}",
                          "--drain_s=1", f"--state_dir={state_dir}",
                          *tls_flags(identity)])

    def set_clock(self, seconds):
        # In place, as the coordinator has mapped the file.
        with open(self._clock, "r+b") as file:
            file.write(struct.pack("=q", round(seconds)))
