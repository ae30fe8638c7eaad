"""The daemons as processes on free ports."""

import os
import re
import urllib.request

from daemon import Daemon
from harness import BIN


class Program(Daemon):
    def __init__(self, name, *arguments):
        super().__init__([os.path.join(BIN, name), *arguments])


class Coordinator(Program):
    """A coordinator. `state_dir` is None if --database is given."""

    def __init__(self, *arguments, listen="127.0.0.1:0", state_dir="none"):
        if state_dir is not None:
            arguments = (f"--state_dir={state_dir}", *arguments)
        super().__init__("tangram-coordinator", f"--listen={listen}",
                         "--metrics=", *arguments)
        self.address = "127.0.0.1:" + self.wait_for(r"\bport\W+(\d+)")[1]


class Worker(Program):
    def __init__(self, coordinator, name, *arguments):
        super().__init__("tangram-worker", f"--coordinator={coordinator}",
                         f"--name={name}", "--metrics=", "--threads=1",
                         *arguments)
        self.wait_for("connected")


def answered_queries(daemon):
    """Returns how many answers a daemon with --metrics has so far.

    A worker counts its own answers, a coordinator those that have arrived.
    """
    port = daemon.wait_for(r"metrics_port=(\d+)")[1]
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as page:
        text = page.read().decode()
    return sum(int(float(count)) for count in re.findall(
        r'_queries_total{.*"answered".*} (\S+)', text))
