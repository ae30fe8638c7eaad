"""Faults that can happen: each begins, lasts, and ends."""

import os
import signal
import time

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


# Faults at the same place do not overlap.
ALL = {
    "worker": [WorkerKilled, WorkerStopped, WorkerDrained],
    "link": [WorkerCut, WorkerThrottled],
    "coordinator": [CoordinatorKilled, CoordinatorStopped, CoordinatorDrained],
    "clients": [ClientsReset, ClientsDelayed],
    "disk": [DiskFull],
    "identities": [CertificatesRenewed, AuthorityReplaced],
}
# Places of faults while the coordinator lives.
OF_OTHERS = ("worker", "link", "clients", "identities")


def kinds(service, places=tuple(ALL)):
    """Returns the faults by place. Without TLS, there are none of identities."""
    return {place: ALL[place] for place in places
            if place != "identities" or service.identities is not None}
