"""Tests clients of two coordinators on one database, of which one is killed
under load: behind a proxy (haproxy), and with balancing in the client.

With TANGRAM_FAILOVER_S=SECONDS, each test runs for so long before and after and
prints latencies.
"""

import functools
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest

import harness
from daemons import Coordinator, Worker
from harness import BIN, C1, SOURCE, TANGRAM
from postgres import Postgres

sys.path[:0] = [os.path.join(os.path.dirname(BIN), "python"),
                os.path.join(SOURCE, "clients/python")]
try:
    import grpc
    import tangram_client
except ImportError:
    grpc = None

HAPROXY = shutil.which("haproxy", path=os.environ["PATH"] + ":/usr/sbin")
SECONDS = float(os.environ.get("TANGRAM_FAILOVER_S", 0))
NUM_CLIENTS = 8
WORST_S = 120  # Any wait: the machine may be busy.


def free_port(*addresses):
    """Returns a port that is free on all addresses."""
    while True:
        with socket.socket() as first:
            first.bind((addresses[0], 0))
            port = first.getsockname()[1]
            try:
                for address in addresses[1:]:
                    with socket.socket() as other:
                        other.bind((address, port))
                return port
            except OSError:
                continue


@functools.cache
def request(layers):
    return tangram_client.request(
        cluster=C1, nodes="t4=1,v100=1", model="gpt3-1.3b", layers=layers,
        global_batch=16, runtime="any", parallelizer="uniform", program=TANGRAM)


class Clients:
    """Clients that ask for plans and jobs until they are told to stop. Each
    repeats a call that fails with UNAVAILABLE, and gives up at any other
    error."""

    def __init__(self, address):
        self.address = address
        self.changed = threading.Condition()
        self.plans = {}  # layers -> the different answers
        self.jobs = []
        self.errors = []
        self.took_s = []  # (when it ended, how long it took, repeats included)
        self.must_stop = False
        self.threads = [threading.Thread(target=self.ask, args=(i,), daemon=True)
                        for i in range(NUM_CLIENTS)]
        for thread in self.threads:
            thread.start()

    def ask(self, number):
        with tangram_client.Client(self.address) as client:
            for i in range(sys.maxsize):
                if self.must_stop:
                    return
                began = time.monotonic()
                # Mostly known plans, and now and then a job.
                if i % 20 == 7:
                    name = f"c{number}-{i}"
                    self.repeat(lambda: client.submit(request(5), name))
                    self.jobs.append(name)
                else:
                    layers = 4 + i % 3
                    plan = self.repeat(lambda: client.plan(request(layers)))
                    self.plans.setdefault(layers, set()).add(
                        plan.iteration_time_s)
                with self.changed:
                    now = time.monotonic()
                    self.took_s.append((now, now - began))
                    self.changed.notify_all()

    def repeat(self, call):
        while True:
            try:
                return call()
            except tangram_client.TangramError as error:
                with self.changed:
                    self.errors.append(error)
                if error.code != grpc.StatusCode.UNAVAILABLE:
                    raise
                time.sleep(0.1)

    def await_answers(self, number):
        with self.changed:
            goal = len(self.took_s) + number
            came = self.changed.wait_for(lambda: len(self.took_s) >= goal,
                                         WORST_S)
        assert came, f"{len(self.took_s)} of {goal} answers; {self.errors}"
        time.sleep(SECONDS)

    def stop(self):
        self.must_stop = True
        for thread in self.threads:
            thread.join(WORST_S)
            assert not thread.is_alive()

    def p99_s(self, begin, end):
        took = sorted(s for at, s in self.took_s if begin <= at < end)
        return took[int(0.99 * len(took))] if took else float("nan")


@unittest.skipUnless(grpc, "python3-grpcio or python3-protobuf is not installed")
class FailoverTest(unittest.TestCase):
    ADDRESSES = "127.0.0.1", "127.0.0.2"

    @classmethod
    def setUpClass(cls):
        cls.postgres = Postgres()
        cls.addClassCleanup(cls.postgres.close)

    def setUp(self):
        self.port = free_port(*self.ADDRESSES)
        self.listen = [f"{a}:{self.port}" for a in self.ADDRESSES]
        self.coordinators = []
        for address in self.listen:
            self.coordinators.append(Coordinator(
                f"--database={self.postgres.connection}", listen=address,
                state_dir=None))
            self.addCleanup(self.coordinators[-1].end)
        worker = Worker(",".join(self.listen), "w")
        self.addCleanup(worker.end)
        for address in self.listen:
            worker.wait_for(f"connected.*{address}")

    def behind_haproxy(self):
        if not HAPROXY:
            self.skipTest("haproxy is not installed")
        address = f"127.0.0.1:{free_port('127.0.0.1')}"
        proxy = subprocess.Popen(
            [HAPROXY, "-db", "-f", f"{SOURCE}/deploy/haproxy/haproxy.cfg"],
            env={**os.environ, "LISTEN": address,
                 "COORDINATOR_1": self.listen[0],
                 "COORDINATOR_2": self.listen[1]},
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(proxy.wait)
        self.addCleanup(proxy.kill)
        deadline = time.monotonic() + WORST_S
        while subprocess.run([TANGRAM, "health", "--coordinator", address],
                             capture_output=True).returncode != harness.OK:
            self.assertLess(time.monotonic(), deadline)
            self.assertIsNone(proxy.poll())
        return address

    def kill_one_under(self, address):
        clients = Clients(address)
        self.addCleanup(clients.stop)
        began = time.monotonic()
        clients.await_answers(100)
        killed = time.monotonic()
        self.coordinators[0].process.send_signal(signal.SIGKILL)
        clients.await_answers(200)
        ended = time.monotonic()
        clients.stop()
        self.assertEqual({error.code for error in clients.errors} -
                         {grpc.StatusCode.UNAVAILABLE}, set(), clients.errors)
        # No answer of one coordinator differs from those of the other.
        self.assertEqual({layers: len(plans) for layers, plans in
                          clients.plans.items()}, {4: 1, 5: 1, 6: 1})
        self.check_jobs(clients.jobs, address)
        if SECONDS:
            print(f"{self.id()}: {len(clients.took_s)} answers, "
                  f"{len(clients.errors)} errors; p99 "
                  f"{clients.p99_s(began, killed):.3f} s before; after the kill: "
                  + ", ".join(
                      f"{clients.p99_s(killed + s, killed + s + 1):.3f}"
                      for s in range(int(ended - killed))))

    def check_jobs(self, names, address):
        """None is lost and none is there twice."""
        with tangram_client.Client(self.listen[1]) as client:
            for name in names:
                self.assertTrue(client.wait(name).fits, name)
            kept = [job.job_id for job in client.list()]
            self.assertEqual(len(kept), len(set(kept)))
            self.assertLessEqual(set(names), set(kept))

    def test_behind_a_proxy(self):
        self.kill_one_under(self.behind_haproxy())

    def test_balanced_by_the_client(self):
        # As a name resolves that has both addresses.
        self.kill_one_under("ipv4:" + ",".join(self.listen))

    def test_the_command_goes_on_with_the_other(self):
        self.coordinators[0].process.send_signal(signal.SIGKILL)
        for _ in range(3):
            run = subprocess.run(
                [TANGRAM, "plan", "--cluster", C1, "--nodes", "t4=1,v100=1",
                 "--model", "gpt3-1.3b", "--layers", "4", "--global-batch", "16",
                 "--runtime", "any", "--parallelizer", "uniform",
                 "--coordinator", "ipv4:" + ",".join(self.listen)],
                capture_output=True, text=True, timeout=WORST_S)
            self.assertEqual(run.returncode, harness.OK, run.stderr)


if __name__ == "__main__":
    harness.main()
