"""Plans beside workers that harm the service as much as the protocol lets them.

usage: hostile_workers.py BIN SOURCE [--pairs] [--kinds KIND...] [--quick]

For each kind of hostile worker, alone or with another one, a new coordinator
gets them, then one good worker, then a plan. The plan must be that of the good
worker alone and take at most three times as long. Plans go on until each
hostile worker that was asked anything is in quarantine, and the list of
workers, the log and a metric say so.
"""

import argparse
import contextlib
import itertools
import json
import os
import queue
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "../e2e"))
arguments, sys.argv[1:] = sys.argv[1:], sys.argv[1:3]
import calls  # noqa: E402  Reads the first two arguments.
import harness  # noqa: E402
from calls import grpc  # noqa: E402
from daemons import Coordinator, Program  # noqa: E402

SKIPPED = 77  # As in Automake and CTest.
WORK = "/tangram.v1.WorkerPool/Work"
ADAPTER = "aceso"
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


def token_of(caller):
    return f"the-token-of-{caller}"


class Stream:
    """One connection of a worker."""

    def __init__(self, worker, hello=None):
        self.worker = worker
        self._outgoing = queue.Queue()
        self.messages = worker.channel.stream_stream(WORK)(
            iter(self._outgoing.get, None), metadata=worker.metadata)
        if hello is not None:
            self.send(hello)

    def send(self, message):
        self._outgoing.put(message if isinstance(message, bytes)
                           else message.SerializeToString())

    def leases(self):
        """The leases as they come, until the stream ends."""
        for data in self.messages:
            yield from calls.pool.CoordinatorMessage.FromString(data).leases

    def end(self):
        self._outgoing.put(None)
        self.messages.cancel()


class Hostile:
    """Joins and harms until it is told to stop."""

    name = "bad"
    capacity = 1
    version = None  # Of the adapter; by default that of the good worker.

    def __init__(self, address, caller, good_version):
        self.channel = grpc.insecure_channel(
            address, options=[("grpc.max_send_message_length", -1),
                              ("grpc.use_local_subchannel_pool", 1)])
        self.metadata = [("authorization", f"Bearer {token_of(caller)}")]
        self.caller = caller
        self.good_version = good_version
        self.taken = 0  # Leases.
        self.stopping = threading.Event()
        self._streams = []
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def hello(self):
        message = calls.pool.WorkerMessage()
        message.hello.name = self.name
        message.hello.version = "1"
        message.hello.capacity = self.capacity
        message.hello.adapters.add(name=ADAPTER,
                                   version=self.version or self.good_version)
        return message

    def _run(self):
        while not self.stopping.is_set():
            stream = Stream(self, self.hello())
            self._streams = [stream]
            with contextlib.suppress(grpc.RpcError):
                self.work(stream)
            stream.end()
            self.stopping.wait(self.pause_s)

    pause_s = 0.1  # Before it dials again.

    def work(self, stream):
        """Does what it does until the stream ends."""
        threading.Thread(target=self.beat, args=(stream,), daemon=True).start()
        for lease in stream.leases():
            self.taken += 1
            self.take(stream, lease)

    def beat(self, stream):
        while not self.stopping.wait(5):
            stream.send(b"")

    def take(self, stream, lease):
        pass

    def answer(self, lease):
        message = calls.pool.WorkerMessage()
        message.answers.add(id=lease.id)
        return message

    def stop(self):
        self.stopping.set()
        for stream in self._streams:
            stream.end()
        self._thread.join()
        self.channel.close()


def sealed(message):
    """Adds the digests that the protocol wants."""
    import hashlib
    for answer in message.answers:
        answer.digest = hashlib.sha256(
            answer.SerializeToString(deterministic=True)).digest()[:16]
    return message


class HandBack(Hostile):
    """Hands everything back."""

    def take(self, stream, lease):
        stream.send(calls.pool.WorkerMessage(handed_back=[lease.id]))


class HandBackAndLeave(HandBack):
    """Hands back, leaves and dials again at once."""
    pause_s = 0

    def take(self, stream, lease):
        super().take(stream, lease)
        stream.end()


class Silent(Hostile):
    """Takes leases and only sends heartbeats."""


class FailFast(Hostile):
    """Answers everything with an error at once."""

    def take(self, stream, lease):
        message = self.answer(lease)
        message.answers[0].error.code = 13
        message.answers[0].error.message = "x" * 100_000
        stream.send(sealed(message))


class Slow(Hostile):
    """Answers everything, but after 20 s, with an error at last."""

    def take(self, stream, lease):
        def answer_late():
            if not self.stopping.wait(20):
                message = self.answer(lease)
                message.answers[0].error.code = 8
                stream.send(sealed(message))
        threading.Thread(target=answer_late, daemon=True).start()


class Liar(Hostile):
    """Answers everything with plans that are none."""

    def take(self, stream, lease):
        message = self.answer(lease)
        kind = lease.WhichOneof("query")
        getattr(message.answers[0], kind).SetInParent()
        if kind == "parallelize":
            plan = message.answers[0].parallelize.plans.add()
            plan.made_by = ADAPTER
            plan.stages.add()
        stream.send(sealed(message))


class Claims(Hostile):
    """Says that it has a later version and 4,096 slots, and does nothing."""
    capacity = 4096
    version = "99"


class Garbage(Hostile):
    """Sends what is no message once it has a lease."""

    def take(self, stream, lease):
        stream.send(b"\xff" * 1000)


class Huge(Hostile):
    """Sends messages of 32 MB once it has a lease."""

    def take(self, stream, lease):
        stream.send(b"\x12\x00" * (16 << 20))


class ReconnectStorm(Hostile):
    """Dials, takes leases, hangs up and dials again, as fast as it can."""
    pause_s = 0

    def take(self, stream, lease):
        stream.end()


class StaleVersion(Hostile):
    """Speaks as version 0.1.0 did, which sent no digests."""
    version = None

    def take(self, stream, lease):
        message = self.answer(lease)
        getattr(message.answers[0], lease.WhichOneof("query")).SetInParent()
        stream.send(message)


class DuplicateName(Silent):
    """Has the name of the good worker and as many slots as it likes."""
    name = "good"
    capacity = 64


class HalfOpen(Hostile):
    """Takes leases and is never heard again."""

    def beat(self, stream):
        pass


KINDS = {kind.__name__: kind for kind in (
    HandBack, HandBackAndLeave, Silent, FailFast, Slow, Liar, Claims, Garbage,
    Huge, ReconnectStorm, StaleVersion, DuplicateName, HalfOpen)}
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
