"""What can go wrong: each fault begins, lasts, and is over."""

import os
import signal
import time

# Files are looked at every second.
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
    """As docs/security.md has it. Who is stopped or starts meanwhile may find
    himself a stranger until he reads again."""

    def begin(self):
        self.service.identities.add_authority()

    def end(self):
        time.sleep(REREAD_S)
        self.service.identities.renew()
        time.sleep(REREAD_S)
        self.service.identities.drop_authority()


# Faults that need the same thing to be up do not overlap.
ALL = {
    "worker": [WorkerKilled, WorkerStopped, WorkerDrained],
    "link": [WorkerCut, WorkerThrottled],
    "coordinator": [CoordinatorKilled, CoordinatorStopped, CoordinatorDrained],
    "clients": [ClientsReset, ClientsDelayed],
    "disk": [DiskFull],
    "identities": [CertificatesRenewed, AuthorityReplaced],
}
# What befalls a coordinator that is to live for long.
OF_OTHERS = ("worker", "link", "clients", "identities")


def kinds(service, places=tuple(ALL)):
    """By place; without identities where everybody speaks in plain text."""
    return {place: ALL[place] for place in places
            if place != "identities" or service.identities is not None}
