"""Plans through a service while its parts fail.

usage: run.py BIN SOURCE [--runs N] [--first-seed N] | [--soak-minutes M]

In each run, clients of all kinds submit jobs. Meanwhile workers are killed,
stopped, cut off and throttled, others join that harm the service, the
coordinator is killed and stopped, its rows are damaged and its clock jumps,
connections are reset and delayed, and the disk fills up. In half of the runs,
all use mutual TLS, and certificates and authorities are replaced. Then all
faults end, and every job must end once, with the plan that it has without
faults. A soak is one long run in which the coordinator lives. Its memory
and open files must not grow.
"""

import argparse
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.append(os.path.join(os.path.dirname(__file__), "../e2e"))

import calls
import faults
from identities import Identities
from network import Network, Proxy
from service import Coordinator, Worker

# Exit codes of `tangram`.
OK, NO_PLAN, UNAVAILABLE, DEADLINE = 0, 3, 4, 5
SKIPPED = 77  # As in Automake and CTest.
NUM_WORKERS = 3
PORT = 7070
# The disk of a run, which a fault fills up, and that of a soak: kept answers and their
# journal alone take some 60 MB.
DISK_BYTES, SOAK_DISK_BYTES = 64 << 20, 1 << 30
# Time of a call after which the client gives up and asks again.
CALL_TIMEOUT_S = 60
# Time after the faults end. Leases, backoffs and one plan fit in it.
MEND_TIMEOUT_S = 120
C1 = "deploy/clusters/c1-compute-het.yaml"
SMALL = ["--nodes", "t4=1,v100=1", "--model", "gpt3-1.3b", "--layers", "6",
         "--global-batch", "32"]
ANY_KIND = ["--runtime", "any", "--parallelizer", "aceso"]
REQUESTS = [
    SMALL,
    [*SMALL, "--parallelizer", "galvatron"],
    # No plan fits.
    ["--nodes", "t4=1,v100=0", "--model", "gpt3-13b", "--global-batch", "32"],
    # Takes a second or two.
    [*ANY_KIND, "--model", "gpt3-6.7b", "--global-batch", "128", "--effort",
     "512"],
    [*ANY_KIND, "--model", "gpt3-1.3b", "--global-batch", "64", "--effort",
     "512"],
]


def plan_of(text):
    """Returns the content of a plan file without how it was found."""
    plan = json.loads(text)
    # A hostile worker may be the first that offers a parallelizer, in a version of
    # its own. A plan that began with it counts as truncated, whatever came then.
    if any(" was replaced by version " in note for note in plan.get("notes", [])):
        plan["stats"]["truncated"] = False
    return {key: value for key, value in plan.items()
            if key not in ("provenance", "notes")}


class Service:
    def __init__(self, binaries, source, by_tls, adapter_version,
                 disk_bytes=DISK_BYTES):
        self.binaries = os.path.abspath(binaries)
        self.cluster = os.path.abspath(os.path.join(source, C1))
        self.folder = tempfile.mkdtemp(prefix="tangram-faults-")
        self.disk = os.path.join(self.folder, "disk")
        os.mkdir(self.disk)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={disk_bytes}",
                        "tmpfs", self.disk], check=True)
        self.network = Network()
        address = self.coordinator_address = f"{self.network.address}:{PORT}"
        self.adapter_version = adapter_version
        self.proxy = Proxy(address)
        names = [f"w{i}" for i in range(NUM_WORKERS)]
        self.identities = Identities(
            f"{self.folder}/tls", ["coordinator", "client", "hostile", *names],
            ["127.0.0.1", self.network.address]) if by_tls else None
        self.coordinator = Coordinator(self.program("tangram-coordinator"),
                                       address, f"{self.disk}/state",
                                       self.identity("coordinator"),
                                       f"{self.folder}/clock")
        self.workers = [
            Worker(self.program("tangram-worker"), address, name,
                   self.network.add_space(), self.identity(name))
            for name in names]
        self.daemons = [self.coordinator, *self.workers]
        for daemon in self.daemons:
            daemon.start()

    def program(self, name):
        return os.path.join(self.binaries, name)

    def identity(self, name):
        return self.identities[name] if self.identities else None

    def hostile_credentials(self):
        """Those of a worker that joins; none in plain text."""
        identity = self.identity("hostile")
        if identity is None:
            return None
        def read(path):
            with open(path, "rb") as file:
                return file.read()
        return calls.grpc.ssl_channel_credentials(
            read(identity.ca), read(identity.key), read(identity.cert))

    def tangram(self, *arguments):
        client = self.identity("client")
        secure = [] if client is None else [
            "--tls-cert", client.cert, "--tls-key", client.key, "--tls-ca",
            client.ca]
        return subprocess.run(
            [self.program("tangram"), *arguments, "--coordinator",
             self.proxy.address, *secure], cwd=self.folder,
            stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=CALL_TIMEOUT_S)

    def remove(self):
        for daemon in self.daemons:
            daemon.kill()
        self.proxy.close()
        self.network.remove()
        subprocess.run(["umount", self.disk], check=True)
        shutil.rmtree(self.folder)


class Client(threading.Thread):
    """Sees one job through, as a scheduler would.

    Repeats whatever fails temporarily, under the same name.
    """

    def __init__(self, service, name, request, waits):
        super().__init__(daemon=True)
        self.service = service
        self.name = name
        self.request = request
        self.waits = waits
        self.calls = 0
        self.plan = None
        self.problem = None

    def run(self):
        submit = ["plan", "--cluster", self.service.cluster, *self.request,
                  "--job", self.name]
        if self._until_done([*submit, "--quiet", "--output", self._file()]
                            if self.waits else [*submit, "--detach"]):
            if not self.waits:
                self._until_done(["job", "watch", self.name, "--output",
                                  self._file()])
        if self.problem is None:
            with open(os.path.join(self.service.folder, self._file()),
                      encoding="utf-8") as file:
                self.plan = plan_of(file.read())

    def _file(self):
        return f"{self.name}.json"

    def _until_done(self, arguments):
        while True:
            self.calls += 1
            try:
                run = self.service.tangram(*arguments)
            except subprocess.TimeoutExpired:
                continue  # The call was cut off. Asking again is harmless.
            if run.returncode in (UNAVAILABLE, DEADLINE):
                time.sleep(0.2)
                continue
            # "No plan fits" is an answer too, in the same file.
            if run.returncode not in (OK, NO_PLAN):
                self.problem = f"{self.name}: {run.stderr.strip()}"
            return self.problem is None


def wait_for(service, clients):
    """Waits until all have ended, or the time for that is up."""
    deadline = time.monotonic() + MEND_TIMEOUT_S
    for client in clients:
        while client.is_alive() and time.monotonic() < deadline:
            for daemon in service.daemons:
                daemon.supervise()
            client.join(0.5)


def inject(service, kinds, rng, seconds):
    """Begins and ends faults at random until the time is up."""
    end = time.monotonic() + seconds
    under_way = {}
    while time.monotonic() < end:
        place = rng.choice(list(kinds))
        if place in under_way:
            under_way.pop(place).end()
        else:
            under_way[place] = rng.choice(kinds[place])(service, rng)
            under_way[place].begin()
        time.sleep(rng.uniform(0, 1.5))
    for fault in under_way.values():
        fault.end()


def check(service, clients, expected):
    """Returns what is wrong after a run."""
    for client in clients:
        if client.is_alive():
            yield f"{client.name} did not end"
        elif client.problem:
            yield client.problem
        elif client.plan != expected[tuple(client.request)]:
            yield f"{client.name} has another plan than without faults"
        # A coordinator may be killed between keeping a result and logging it.
        least = 1 if service.coordinator.starts == 1 else 0
        ends = service.coordinator.count(
            rf"info job ended job={client.name}\n", least)
        if not least <= ends <= 1:
            yield f"{client.name} ended {ends} times"
    for daemon in service.daemons:
        if daemon.crashes:
            yield f"{daemon.command} exited with {daemon.crashes}"


def show_logs(service):
    for daemon in service.daemons:
        print(*daemon.command, sep=" ")
        print(*daemon.log().splitlines()[-100:], sep="\n")


def one_run(options, seed, expected):
    rng = random.Random(seed)
    service = Service(options.bin, options.source, rng.random() < 0.5,
                      options.adapter_version)
    try:
        clients = [Client(service, f"job-{i}", rng.choice(REQUESTS),
                          rng.random() < 0.5)
                   for i in range(rng.randint(2, 4))]
        begin = time.monotonic()
        for client in clients:
            client.start()
        inject(service, faults.kinds(service), rng, rng.uniform(2, 8))
        mended = time.monotonic()
        wait_for(service, clients)
        problems = list(check(service, clients, expected))
        print(f"seed {seed}: {'TLS' if service.identities else 'plain'}, "
              f"{len(clients)} jobs, "
              f"{sum(client.calls for client in clients)} calls, "
              f"{service.coordinator.starts} coordinators, "
              f"{sum(w.starts for w in service.workers)} workers, "
              f"{time.monotonic() - begin:.1f} s, the last "
              f"{time.monotonic() - mended:.1f} s mended: "
              f"{'; '.join(problems) or 'ok'}", flush=True)
        if problems or options.verbose:
            show_logs(service)
        return problems
    finally:
        service.remove()


def soak(options, expected):
    """Submits jobs without end while workers and connections fail."""
    rng = random.Random(options.first_seed)
    service = Service(options.bin, options.source, True,
                      options.adapter_version, SOAK_DISK_BYTES)
    end = time.monotonic() + 60 * options.soak_minutes
    problems, seen, jobs = [], [], 0
    try:
        while time.monotonic() < end and not problems:
            clients = [Client(service, f"job-{jobs + i}", rng.choice(REQUESTS),
                              rng.random() < 0.5) for i in range(4)]
            jobs += len(clients)
            for client in clients:
                client.start()
            inject(service, faults.kinds(service, faults.OF_OTHERS), rng, 5)
            wait_for(service, clients)
            problems = list(check(service, clients, expected))
            passing = service.coordinator.memory_bytes()
            seen.append((service.coordinator.kept_bytes(),
                         service.coordinator.open_files()))
            if len(seen) % 10 == 0:
                print(f"{jobs} jobs: {seen[-1][0] / 1e6:.0f} MB "
                      f"({passing / 1e6:.0f} MB at first), "
                      f"{seen[-1][1]} files open, "
                      f"{shutil.disk_usage(service.disk).used / 1e6:.0f} MB "
                      "on disk", flush=True)
        # Caches fill in the first quarter.
        quarter = max(1, len(seen) // 4)
        early, late = (
            [max(values) for values in zip(*part)]
            for part in (seen[quarter:2 * quarter] or seen, seen[-quarter:]))
        if late[0] > 1.2 * early[0]:
            problems.append(f"memory grew from {early[0]} to {late[0]} bytes")
        if late[1] > early[1] + 4:
            problems.append(f"open files grew from {early[1]} to {late[1]}")
        print(f"{jobs} jobs, {seen[0][0] / 1e6:.0f} MB after the first, "
              f"{seen[-1][0] / 1e6:.0f} MB after the last: "
              f"{'; '.join(problems) or 'ok'}", flush=True)
        if problems or options.verbose:
            show_logs(service)
        return problems
    finally:
        service.remove()


def without_faults(options):
    """Returns the plans that jobs must reach, from the planner in this
    process."""
    plans = {}
    for request in REQUESTS:
        run = subprocess.run(
            [os.path.join(options.bin, "tangram"), "plan", "--cluster",
             os.path.join(options.source, C1), *request, "--quiet",
             "--output", "-"], capture_output=True, text=True, check=False)
        plans[tuple(request)] = plan_of(run.stdout)
    return plans


def adapter_version(options):
    """Returns the version that hostile workers offer."""
    run = subprocess.run(
        [os.path.join(options.bin, "tangram"), "plan", "--cluster",
         os.path.join(options.source, C1), *SMALL, "--parallelizer", "aceso",
         "--quiet", "--output", "-"], capture_output=True, text=True, check=True)
    return re.search(r'"parallelizer": *"aceso (\S+?)"', run.stdout)[1]


def why_not_here():
    if os.geteuid() != 0:
        return "network namespaces and mounts need root"
    for program in "ip", "tc", "mount":
        if shutil.which(program) is None:
            return f"{program} is not installed"
    if calls.grpc is None:
        return calls.WHY_NOT
    try:
        Network().remove()
    except subprocess.CalledProcessError as error:
        return error.stderr.decode().strip()
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bin")
    parser.add_argument("source")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--soak-minutes", type=float)
    parser.add_argument("--verbose", action="store_true",
                        help="print logs of runs that went well too")
    options = parser.parse_args()
    # Raises an exception, so that links and mounts are removed.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    reason = why_not_here()
    if reason:
        print(f"skipped: {reason}")
        return SKIPPED
    expected = without_faults(options)
    options.adapter_version = adapter_version(options)
    if options.soak_minutes:
        return bool(soak(options, expected))
    failed = [seed for seed in range(options.first_seed,
                                     options.first_seed + options.runs)
              if one_run(options, seed, expected)]
    print(f"{options.runs} runs, failed seeds: {failed or 'none'}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
