"""A process that runs until it is ended."""

import re
import signal
import subprocess
import threading


class Daemon:
    """Reads the log of the process to the end, so that it never blocks."""

    def __init__(self, command):
        self.process = subprocess.Popen(
            command, text=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
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
        """Returns the match once the log has one."""
        with self._changed:
            found = lambda: re.search(pattern, "".join(self._lines))
            self._changed.wait_for(lambda: found() or self._ended, timeout_s)
            match = found()
            if not match:
                raise AssertionError(f"no {pattern!r} in {self._lines!r}")
            return match

    def end(self, how=signal.SIGKILL):
        """Ends the process and returns its exit code."""
        if self.process.poll() is None:
            # A stopped process acts on no other signal.
            self.process.send_signal(signal.SIGCONT)
            self.process.send_signal(how)
        try:
            code = self.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        self._reader.join()
        self.process.stdout.close()
        return code
