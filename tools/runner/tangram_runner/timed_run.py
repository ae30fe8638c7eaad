"""Times a run from outside: passes of stages, messages over borders, and steps."""

import collections
import dataclasses
import statistics


@dataclasses.dataclass
class Times:
    """Of one rank, in seconds."""
    iterations: list = dataclasses.field(default_factory=list)
    updates: list = dataclasses.field(default_factory=list)
    # From (pipeline, stage, "forward" or "backward") to those of each microbatch.
    passes: dict = dataclasses.field(
        default_factory=lambda: collections.defaultdict(list))
    # From (channel, tag, sender, receiver) to clock times of each step, on the machine's
    # clock: when the sender began; when the receiver was ready and when it had all.
    sent: dict = dataclasses.field(
        default_factory=lambda: collections.defaultdict(list))
    received: dict = dataclasses.field(
        default_factory=lambda: collections.defaultdict(list))


def watch(trainer, clock):
    """Returns the Times that the trainer fills from now on."""
    times = Times()
    for run in trainer.runs.values():
        for kind in ("forward", "backward"):
            setattr(run, kind, _timed(getattr(run, kind), clock, times.passes[
                run.pipeline_index, run.stage.index, kind]))
    fabric = trainer.fabric
    send, receive = fabric.send, fabric.receive

    def timed_send(tensor, target, tag, channel=None):
        times.sent[channel, tag, fabric.rank, target].append(clock())
        send(tensor, target, tag, channel)

    def timed_receive(size, dtype, source, tag, channel=None):
        ready = clock()
        result = receive(size, dtype, source, tag, channel)
        times.received[channel, tag, source, fabric.rank].append((ready, clock()))
        return result

    fabric.send, fabric.receive = timed_send, timed_receive
    return times


def _timed(function, clock, seconds):
    def wrapped(*arguments):
        before = clock()
        result = function(*arguments)
        seconds.append(clock() - before)
        return result
    return wrapped


def step(trainer, times, number, clock):
    """Trains one step. Returns the loss."""
    before = clock()
    loss = trainer.gradients(number)
    between = clock()
    trainer.update()
    times.iterations.append(clock() - before)
    times.updates.append(clock() - between)
    return loss


def border_seconds(all_times, pipeline, border):
    """Median time of what one microbatch sends over a border, there and back: from when
    the sender began and the receiver was ready. None if nothing is sent."""
    ways = []
    for direction in (0, 1):
        slowest = collections.defaultdict(float)
        for sender in all_times:
            for key, began in sender.sent.items():
                channel, tag, _, receiver = key
                if channel != (pipeline, border, direction):
                    continue
                for i, (start, (ready, end)) in enumerate(
                        zip(began, all_times[receiver].received[key])):
                    slowest[tag, i] = max(slowest[tag, i], end - max(start, ready))
        if slowest:
            ways.append(statistics.median(slowest.values()))
    return sum(ways) if ways else None
