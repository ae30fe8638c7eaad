"""Plans beside workers that harm the service as much as the protocol lets them.

usage: hostile_workers.py BIN SOURCE [--pairs] [--kinds KIND...] [--quick]

For each kind of hostile worker, alone or with another one, a new coordinator
gets them, then one good worker, then a plan. The plan must be that of the good
worker alone and take at most three times as long. Plans go on until each
hostile worker that was asked anything is in quarantine, and the list of
workers, the log and a metric say so.
"""

import argparse
import itertools
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "../e2e"))
arguments, sys.argv[1:] = sys.argv[1:], sys.argv[1:3]
import calls  # noqa: E402  Reads the first two arguments.
import harness  # noqa: E402
from calls import grpc  # noqa: E402
from daemons import Coordinator, Program  # noqa: E402
from hostile import ADAPTER, KINDS, token_of  # noqa: E402

SKIPPED = 77  # As in Automake and CTest.
# The plan takes some 5 s with one good worker of one slot, or 1 s.
LONG = ["--model", "gpt3-6.7b", "--global-batch", "128", "--effort", "512"]
SHORT = ["--model", "gpt3-1.3b", "--layers", "6", "--global-batch", "32"]
MOST_TIMES = 3
# The small plan takes a second, as long as a new worker is waited for.
MOST_TIMES_OF_SMALL = 12
# Plans go on so long until all are in quarantine.
QUARANTINE_S = 90
TIMEOUT_S = 300
CALLERS = ("user", "operator", "good", "bad1", "bad2")
ROLES = {"user": "team,plan", "operator": ",operate"}


# Several kinds that take seconds together.
QUICK = (["HandBack", "Silent"], ["FailFast", "Claims"])


def write_tokens(folder):
    with open(os.path.join(folder, "tokens.csv"), "w") as tokens:
        for caller in CALLERS:
            roles = ROLES.get(caller, ",work")
            tokens.write(f"{token_of(caller)},{caller},{roles}\n")
            with open(os.path.join(folder, caller), "w") as file:
                file.write(token_of(caller))


class Service:
    def __init__(self, folder, request):
        self.folder = folder
        self.request = request
        self.coordinator = Coordinator(
            f"--auth_tokens_file={folder}/tokens.csv", "--plan_cache_mb=0",
            "--cache_mb=0", "--metrics=127.0.0.1:0")
        self.address = self.coordinator.address
        self.worker = None

    def add_good_worker(self):
        self.worker = Program(
            "tangram-worker", f"--coordinator={self.address}", "--name=good",
            f"--token_file={self.folder}/good", "--metrics=", "--threads=1",
            f"--adapters={ADAPTER}")
        self.worker.wait_for("connected")

    def tangram(self, caller, *command):
        return subprocess.run(
            [harness.TANGRAM, *command, "--coordinator", self.address,
             "--token-file", f"{self.folder}/{caller}"],
            capture_output=True, text=True, timeout=TIMEOUT_S)

    def plan(self):
        """Returns the plan, without how it was found, and the seconds."""
        began = time.monotonic()
        run = self.tangram("user", "plan", "--cluster", harness.C1,
                           "--runtime", "any", "--parallelizer", ADAPTER,
                           *self.request, "--quiet", "--output", "-")
        seconds = time.monotonic() - began
        if run.returncode:
            return run.stderr, seconds
        plan = json.loads(run.stdout)
        # True also if a version was replaced on the way.
        plan["stats"].pop("truncated", None)
        return {key: value for key, value in plan.items()
                if key not in ("provenance", "notes")}, seconds

    def workers(self):
        return self.tangram("operator", "worker", "list").stdout

    def metric(self, name):
        port = self.coordinator.wait_for(r"metrics_port=(\d+)")[1]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as page:
            text = page.read().decode()
        return sum(float(value) for value in
                   re.findall(rf"^{name}(?:{{.*}})? (\S+)$", text, re.M))

    def end(self):
        if self.worker is not None:
            self.worker.end()
        self.coordinator.end()


def difference(plan, expected):
    if isinstance(plan, str):
        return plan.strip()
    return {key: (plan.get(key), expected.get(key))
            for key in {*plan, *expected}
            if plan.get(key) != expected.get(key)}


def named(service, caller):
    """Whether the log and the list of workers name the caller as held.

    One that was held for a while may be free again.
    """
    source = f"{caller}@127.0.0.1"
    log = service.coordinator.log()
    return (re.search(rf"worker quarantined .*source={source}", log)
            and (source in service.workers()
                 or re.search(rf"worker released .*source={source}", log)))


def alone(folder, request):
    service = Service(folder, request)
    try:
        service.add_good_worker()
        return service.plan()
    finally:
        service.end()


def run(folder, request, kinds, good_version, expected, alone_s):
    """Returns what is wrong."""
    most_times = MOST_TIMES_OF_SMALL if request is SHORT else MOST_TIMES
    service = Service(folder, request)
    hostile = []
    problems = []
    try:
        for i, kind in enumerate(kinds):
            hostile.append(KINDS[kind](service.address, f"bad{i + 1}",
                                       good_version))
        service.coordinator.wait_for("worker joined")
        time.sleep(0.5)
        service.add_good_worker()
        plan, seconds = service.plan()
        if plan != expected:
            problems.append(f"another plan: {difference(plan, expected)}")
        if seconds > most_times * alone_s:
            problems.append(f"took {seconds / alone_s:.1f} times as long")
        began = time.monotonic()
        free = list(hostile)
        most_s = seconds
        while time.monotonic() - began < QUARANTINE_S:
            free = [worker for worker in hostile
                    if worker.taken and not named(service, worker.caller)]
            if not free:
                break
            plan, later_s = service.plan()
            most_s = max(most_s, later_s)
            if plan != expected:
                problems.append("another plan later: "
                                f"{difference(plan, expected)}")
                break
        quarantined_s = time.monotonic() - began
        for worker in free:
            problems.append(f"{type(worker).__name__} is not in quarantine")
        if any(worker.taken for worker in hostile) and not service.metric(
                "tangram_quarantines_total"):
            problems.append("no metric of the quarantine")
        if most_s > most_times * alone_s and not problems:
            problems.append(f"a later plan took {most_s / alone_s:.1f} times "
                            "as long")
        print(f"{' + '.join(kinds):32} {seconds:6.2f} s = "
              f"{seconds / alone_s:4.2f} x, later at most "
              f"{most_s / alone_s:4.2f} x, leases "
              f"{'+'.join(str(w.taken) for w in hostile)}, in quarantine "
              f"{quarantined_s:.0f} s later: {'; '.join(problems) or 'ok'}",
              flush=True)
        if problems and os.environ.get("SHOW_LOG"):
            print(service.coordinator.log()[-6000:])
        return problems
    finally:
        for worker in hostile:
            worker.stop()
        service.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bin")
    parser.add_argument("source")
    parser.add_argument("--pairs", action="store_true",
                        help="all pairs too, which takes an hour")
    parser.add_argument("--kinds", nargs="+", choices=KINDS,
                        help="one run with these, two at most")
    parser.add_argument("--quick", action="store_true",
                        help="a few pairs and a small plan")
    options = parser.parse_args(arguments)
    if grpc is None:
        print(f"skipped: {calls.WHY_NOT}")
        return SKIPPED
    request = SHORT if options.quick else LONG
    with tempfile.TemporaryDirectory() as folder:
        write_tokens(folder)
        (expected, first_s), *others = [
            alone(folder, request) for _ in range(1 if options.quick else 3)]
        alone_s = statistics.median([first_s, *(s for _, s in others)])
        good_version = re.search(
            rf"{ADAPTER} (\S+)",
            subprocess.run([harness.TANGRAM, "plan", "--cluster", harness.C1,
                            "--runtime", "any", "--parallelizer", ADAPTER,
                            *SHORT, "--quiet", "--output", "-"],
                           capture_output=True, text=True,
                           check=True).stdout)[1].strip('",')
        print(f"alone: {alone_s:.2f} s, adapter {ADAPTER} {good_version}")
        runs = [[kind] for kind in KINDS]
        if options.pairs:
            runs += [list(pair) for pair in itertools.combinations(KINDS, 2)]
        if options.quick:
            runs = QUICK
        if options.kinds:
            runs = [options.kinds]
        bad = [kinds for kinds in runs
               if run(folder, request, kinds, good_version, expected, alone_s)]
    print(f"{len(runs)} runs, not as expected: {bad or 'none'}")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
