"""Workers that harm the service as much as the protocol lets them."""

import contextlib
import hashlib
import queue
import threading

import calls
from calls import grpc

WORK = "/tangram.v1.WorkerPool/Work"
ADAPTER = "aceso"


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

    def __init__(self, address, caller, good_version, credentials=None):
        """`credentials`: of TLS; none in plain text."""
        settings = [("grpc.max_send_message_length", -1),
                    ("grpc.use_local_subchannel_pool", 1)]
        self.channel = (
            grpc.insecure_channel(address, settings) if credentials is None
            else grpc.secure_channel(address, credentials, settings))
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
