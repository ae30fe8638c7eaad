"""Islands of unlike processes on one machine: a share of a core for each rank, and a
slow link between islands.

A rank is pinned to a core and belongs to a control group with a quota, so that it
computes like a slower core. Other processes get the rest of the core, and what they leave
goes to one that does nothing. The kernel hands the quota out anew every few milliseconds:
what takes longer feels the share, what is shorter may not. Each island is a network
namespace. A pair of virtual network cards joins the two, with a token bucket at each end;
all that ranks of unlike islands say passes through these.
"""

import ctypes
import os
import pathlib
import subprocess
import sys
from typing import NamedTuple

PERIOD_US = 5000
LEAST_QUOTA_US = 1000  # Of the kernel.
# Large, because a packet costs its ranks compute time. Two may pass at full speed.
PACKET_BYTES = 9000
WINDOW_BYTES = 1 << 18
NETWORK = "10.77.0."
FILLER = """
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
os.sched_setaffinity(0, {int(sys.argv[1])})
os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
while True:
    pass
"""
CLONE_NEWNET = 0x40000000
CGROUPS = pathlib.Path("/sys/fs/cgroup")


class CannotEmulate(Exception):
    """Says what this machine lacks."""


class Island(NamedTuple):
    name: str
    shares: tuple  # Of a core, for each of its ranks.


class Seat(NamedTuple):
    """A rank's place: which island, and which of its ranks."""
    island: int
    index: int


class _Version1:
    """CPU quotas of control groups, version 1."""
    root = CGROUPS / "cpu"

    @staticmethod
    def limit(group, quota_us):
        (group / "cpu.cfs_period_us").write_text(str(PERIOD_US))
        (group / "cpu.cfs_quota_us").write_text(str(quota_us))
        (group / "cpu.shares").write_text("262144")


class _Version2:
    root = CGROUPS

    @classmethod
    def limit(cls, group, quota_us):
        (cls.root / "cgroup.subtree_control").write_text("+cpu")
        (group / "cpu.max").write_text(f"{quota_us} {PERIOD_US}")
        (group / "cpu.weight").write_text("10000")


def _quotas():
    for version, mark in ((_Version1, "cpu.cfs_quota_us"), (_Version2, "cgroup.controllers")):
        if (version.root / mark).exists():
            return version
    raise CannotEmulate(f"{CGROUPS} has no control groups with CPU quotas")


def _run(*command):
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
    except FileNotFoundError as error:
        raise CannotEmulate(f"{command[0]} is missing (Debian: iproute2)") from error
    except subprocess.CalledProcessError as error:
        raise CannotEmulate(f"{' '.join(command)}: {error.stderr.strip()}") from error


class Emulation:
    """Makes the islands, and removes them when left."""

    def __init__(self, islands, link_bits_per_s):
        self.islands = islands
        self.link_bits_per_s = link_bits_per_s
        self.name = f"tg{os.getpid()}"
        self.groups = {}  # From seat to its control group.
        self._netns, self._fillers = [], []
        cores = sorted(os.sched_getaffinity(0))
        if sum(sum(island.shares) for island in islands) > len(cores):
            raise CannotEmulate(f"the shares of all ranks are more than {len(cores)} cores")
        self.cores = self._seated(cores)

    def _seated(self, cores):
        """From seat to core: the largest share first, to the core with most left."""
        left = dict.fromkeys(cores, 1.0)
        result = {}
        for seat in sorted(self.seats(), key=self.share, reverse=True):
            core = max(left, key=left.get)
            left[core] -= self.share(seat)
            result[seat] = core
        if min(left.values()) < -1e-9:
            raise CannotEmulate("some core cannot give its ranks their shares")
        return result

    def seats(self):
        return [Seat(i, k) for i, island in enumerate(self.islands)
                for k in range(len(island.shares))]

    def share(self, seat):
        return self.islands[seat.island].shares[seat.index]

    def __enter__(self):
        if os.geteuid():
            raise CannotEmulate("only root may limit cores and make networks")
        try:
            self._make_groups()
            self._make_network()
            self._fill()
        except OSError as error:
            self.__exit__()
            raise CannotEmulate(str(error)) from error
        except CannotEmulate:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for process in self._fillers:
            process.kill()
            process.wait()
        self._fillers = []
        for group in self.groups.values():
            try:
                group.rmdir()
            except OSError:
                pass  # A process that was killed may still be ending.
        for name in self._netns:
            subprocess.run(["ip", "netns", "delete", name], check=False,
                           capture_output=True)
        self.groups, self._netns = {}, []

    def _fill(self):
        """Keeps the cores busy with what gives way to everything else. A core that halts
        takes long to come back, and makes its neighbour faster."""
        for core in set(self.cores.values()):
            self._fillers.append(subprocess.Popen(
                [sys.executable, "-c", FILLER, str(core)]))

    def _make_groups(self):
        version = _quotas()
        for seat in self.seats():
            group = version.root / f"{self.name}-{seat.island}-{seat.index}"
            group.mkdir()
            self.groups[seat] = group
            quota_us = round(self.share(seat) * PERIOD_US)
            version.limit(group, max(LEAST_QUOTA_US, quota_us))

    def _make_network(self):
        cards = [f"{self.name}v{i}" for i in range(len(self.islands))]
        if len(cards) != 2:
            raise CannotEmulate(f"{len(cards)} islands; expected 2, which one link joins")
        for i in range(len(cards)):
            _run("ip", "netns", "add", f"{self.name}n{i}")
            self._netns.append(f"{self.name}n{i}")
        _run("ip", "link", "add", cards[0], "netns", self._netns[0], "type", "veth",
             "peer", "name", cards[1], "netns", self._netns[1])
        for i, (netns, card) in enumerate(zip(self._netns, cards)):
            inside = ("ip", "-netns", netns)
            _run(*inside, "link", "set", "lo", "up")
            _run(*inside, "link", "set", card, "mtu", str(PACKET_BYTES),
                 "gso_max_size", str(PACKET_BYTES))
            _run(*inside, "address", "add", f"{NETWORK}{i + 1}/24", "dev", card)
            _run(*inside, "link", "set", card, "up")
            # Little is on its way at once, so that what goes back is not stuck behind it.
            _run(*inside, "route", "replace", f"{NETWORK}0/24", "dev", card,
                 "window", str(WINDOW_BYTES))
            _run("tc", "-netns", netns, "qdisc", "add", "dev", card, "root", "tbf",
                 "rate", f"{self.link_bits_per_s:.0f}bit", "burst", str(2 * PACKET_BYTES),
                 "limit", str(1 << 24))
        self.cards = cards

    def enter(self, seat, first):
        """Moves this process to the core and network of its seat. `first` is the seat of
        rank 0, which the others call first."""
        os.sched_setaffinity(0, {self.cores[seat]})
        libc = ctypes.CDLL(None, use_errno=True)
        with open(f"/run/netns/{self._netns[seat.island]}", encoding="ascii") as netns:
            if libc.setns(netns.fileno(), CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), "setns")
        os.environ["MASTER_ADDR"] = f"{NETWORK}{first.island + 1}"
        os.environ["GLOO_SOCKET_IFNAME"] = self.cards[seat.island]

    def limit(self, seat):
        """Gives this process the share of its seat from now on."""
        (self.groups[seat] / "cgroup.procs").write_text(str(os.getpid()))
