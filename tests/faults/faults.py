"""Faults that can happen: each begins, lasts, and ends."""

import os
import signal
import sqlite3
import time

import hostile

# Daemons look at their files every second.
REREAD_S = 2


class Fault:
    def __init__(self, service, random):
        self.service = service
        self.random = random
        self.worker = random.choice(service.workers)

    def begin(self):
        pass

    def end(self):
        pass


class WorkerKilled(Fault):
    def begin(self):
        self.worker.kill()

    def end(self):
        self.worker.start()


class WorkerStopped(Fault):
    def begin(self):
        self.worker.signal(signal.SIGSTOP)

    def end(self):
        self.worker.signal(signal.SIGCONT)


class WorkerDrained(Fault):
    def begin(self):
        self.worker.drain()

    def end(self):
        self.worker.start()


class WorkerCut(Fault):
    def begin(self):
        self.worker.space.cut()

    def end(self):
        self.worker.space.mend()


class WorkerThrottled(Fault):
    def begin(self):
        self.worker.space.throttle()

    def end(self):
        self.worker.space.unthrottle()


class CoordinatorKilled(Fault):
    def begin(self):
        self.service.coordinator.kill()

    def end(self):
        self.service.coordinator.start()


class CoordinatorStopped(Fault):
    def begin(self):
        self.service.coordinator.signal(signal.SIGSTOP)

    def end(self):
        self.service.coordinator.signal(signal.SIGCONT)


class CoordinatorDrained(Fault):
    def begin(self):
        self.service.coordinator.drain()

    def end(self):
        self.service.coordinator.start()


class ClientsReset(Fault):
    def begin(self):
        self.service.proxy.reset()

    def end(self):
        self.service.proxy.reset()


class ClientsDelayed(Fault):
    def begin(self):
        self.service.proxy.delay_s = 0.3

    def end(self):
        self.service.proxy.delay_s = 0.0


class DiskFull(Fault):
    def begin(self):
        path = os.path.join(self.service.disk, "filler")
        with open(path, "wb", buffering=0) as filler:
            try:
                while filler.write(bytes(1 << 12)):
                    pass
            except OSError:
                pass  # Full.

    def end(self):
        os.remove(os.path.join(self.service.disk, "filler"))


class CertificatesRenewed(Fault):
    def begin(self):
        self.service.identities.renew()

    def end(self):
        self.service.identities.renew()


class AuthorityReplaced(Fault):
    """Replaces an authority as docs/security.md describes.

    A process that is stopped or starts meanwhile may be refused until it reads
    its files again.
    """

    def begin(self):
        self.service.identities.add_authority()

    def end(self):
        time.sleep(REREAD_S)
        self.service.identities.renew()
        time.sleep(REREAD_S)
        self.service.identities.drop_authority()


class HostileWorkerJoins(Fault):
    """A worker of one of many kinds, from a host of its own, that harms until it
    is told to stop."""

    def begin(self):
        kind = self.random.choice(list(hostile.KINDS))
        self.hostile = hostile.KINDS[kind](
            self.service.coordinator_address, "hostile",
            self.service.adapter_version, self.service.hostile_credentials())

    def end(self):
        self.hostile.stop()


class ClockJumps(Fault):
    """The coordinator's clock is wrong, by up to a year in plain text, and with
    TLS by less than certificates last."""

    def begin(self):
        most_s = 3_600 if self.service.identities else 366 * 86_400
        self.ahead_s = self.random.uniform(-most_s, most_s)
        self.service.coordinator.set_clock(self.ahead_s)

    def end(self):
        self.service.coordinator.set_clock(0)
        # As docs/failures.md says, or it reads new certificates only after as
        # long as the clock went back.
        if self.ahead_s > 0 and self.service.identities:
            self.service.coordinator.drain()
            self.service.coordinator.start()


class ClockGoesBack(ClockJumps):
    """Only back, and back to the right time. The kernel does not know of the
    shift: waits of gRPC until a time that is ahead would last as long as the
    clock is ahead, also after it is right again."""

    def begin(self):
        self.ahead_s = -self.random.uniform(0, 3_600)
        self.service.coordinator.set_clock(self.ahead_s)


class RowsDamaged(Fault):
    """What the coordinator must make good is damaged while it is down: answers,
    the ends of leases, counts of progress."""

    def begin(self):
        self.service.coordinator.kill()
        self.damage("answers.db", "answers")
        self.damage("jobs.db", "jobs", ["lease_until_s", "last_event"])

    def end(self):
        self.service.coordinator.start()

    def damage(self, file, table, columns=None):
        path = os.path.join(self.service.disk, "state", file)
        if not os.path.exists(path):
            return
        database = sqlite3.connect(path, timeout=10)
        try:
            with database:
                self.damage_rows(database, table, columns)
        except sqlite3.Error:
            pass  # A disk that is full, or no table yet.
        finally:
            database.close()

    def damage_rows(self, database, table, columns):
        if columns is None:
            columns = [row[1] for row in
                       database.execute(f"PRAGMA table_info({table})")
                       if not row[5]]  # But for the key.
        rows = [row[0] for row in
                database.execute(f"SELECT rowid FROM {table}")]
        for row in self.random.sample(rows, min(len(rows), 5)):
            column = self.random.choice(columns)
            value, = database.execute(
                f"SELECT {column} FROM {table} WHERE rowid = ?",
                (row,)).fetchone()
            database.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?",
                             (self.other(value), row))

    def other(self, value):
        """Returns another value of the same type."""
        if isinstance(value, bytes) and value:
            place = self.random.randrange(len(value))
            return (value[:place] + bytes([value[place] ^ 1])
                    + value[place + 1:])
        if isinstance(value, float):
            return self.random.choice([-1.0, 0.0, 1e300, value + 1e6])
        if isinstance(value, int):
            return self.random.choice([-1, 0, value ^ 1, 2**62])
        return b"x"


# Faults at the same place do not overlap.
ALL = {
    "worker": [WorkerKilled, WorkerStopped, WorkerDrained],
    "link": [WorkerCut, WorkerThrottled],
    "coordinator": [CoordinatorKilled, CoordinatorStopped, CoordinatorDrained,
                    RowsDamaged],
    "clients": [ClientsReset, ClientsDelayed],
    "disk": [DiskFull],
    "hostile": [HostileWorkerJoins],
    "clock": [ClockJumps],
    "identities": [CertificatesRenewed, AuthorityReplaced],
}
# Places of faults while the coordinator lives.
OF_OTHERS = ("worker", "link", "clients", "identities", "hostile", "clock")


def kinds(service, places=tuple(ALL)):
    """Returns the faults by place. Without TLS, there are none of identities,
    and none of the clock if it cannot be shifted."""
    impossible = set()
    if service.identities is None:
        impossible.add("identities")
    if not service.coordinator.has_clock:
        impossible.add("clock")
    found = {place: ALL[place] for place in places if place not in impossible}
    if "coordinator" not in places and "clock" in found:
        found["clock"] = [ClockGoesBack]  # Nobody starts the coordinator anew.
    return found
