"""Times a run from outside: passes of stages, messages over borders, and steps."""

import collections
import dataclasses
import statistics


@dataclasses.dataclass
class Times:
    """Of one rank, in seconds."""
    iterations: list = dataclasses.field(default_factory=list)
    # Each step has: what the optimizer takes, and new weights on their way between ranks;
    # and clock times when adding up gradients began and ended.
    updates: list = dataclasses.field(default_factory=list)
    gathers: list = dataclasses.field(default_factory=list)
    syncs: list = dataclasses.field(default_factory=list)
    # From (pipeline, stage, "forward", "backward" or "weights") to those of each
    # microbatch.
    passes: dict = dataclasses.field(
        default_factory=lambda: collections.defaultdict(list))
    # From (channel, tag, sender, receiver) to clock times of each step, on the machine's
    # clock: when the sender began; when the receiver began to wait and when it had all.
    sent: dict = dataclasses.field(
        default_factory=lambda: collections.defaultdict(list))
    received: dict = dataclasses.field(
        default_factory=lambda: collections.defaultdict(list))


def watch(trainer, clock):
    """Returns the Times that the trainer fills from now on."""
    times = Times()
    for run in trainer.runs.values():
        for kind, name in (("forward", "forward"), ("backward", "backward"),
                           ("weights", "weight_gradients")):
            setattr(run, name, _timed(getattr(run, name), clock, times.passes[
                run.pipeline_index, run.stage.index, kind]))
    trainer.sync = _TimedSync(trainer.sync, clock, times)
    fabric = trainer.fabric
    send, expect = fabric.send, fabric.expect

    def timed_send(tensor, target, tag, channel=None):
        times.sent[channel, tag, fabric.rank, target].append(clock())
        send(tensor, target, tag, channel)

    def timed_expect(size, dtype, source, tag, channel=None):
        take = expect(size, dtype, source, tag, channel)

        def timed_take():
            ready = clock()
            result = take()
            times.received[channel, tag, source, fabric.rank].append((ready, clock()))
            return result
        return timed_take

    fabric.send, fabric.expect = timed_send, timed_expect
    return times


class _TimedSync:
    """A GradientSync whose sums are timed."""

    def __init__(self, sync, clock, times):
        self._sync, self._clock, self._times = sync, clock, times

    def __getattr__(self, name):
        return getattr(self._sync, name)

    def __call__(self):
        before = self._clock()
        self._sync()
        self._times.syncs.append((before, self._clock()))


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
    gathers, gather = [], trainer.fabric.all_gather
    gather_new = trainer.sync.gather_new
    trainer.fabric.all_gather = _timed(gather, clock, gathers)
    trainer.sync.gather_new = _timed(gather_new, clock, gathers)
    trainer.update()
    trainer.fabric.all_gather, trainer.sync.gather_new = gather, gather_new
    end = clock()
    times.iterations.append(end - before)
    times.gathers.append(sum(gathers))
    times.updates.append(end - between - sum(gathers))
    return loss


def sync_seconds(all_times, ranks):
    """Median time in which `ranks` add up gradients and gather new weights: from when
    the last of them is ready."""
    seconds = []
    for syncs, gathers in zip(zip(*(all_times[rank].syncs for rank in ranks)),
                              zip(*(all_times[rank].gathers for rank in ranks))):
        begins, ends = zip(*syncs)
        seconds.append(max(ends) - max(begins) + max(gathers))
    return statistics.median(seconds)


def border_seconds(all_times, pipeline, border):
    """Median time of what one microbatch sends over a border, there and back, from when
    the sender began, where the receiver was waiting: what arrives while it computes has
    no end that it sees. None if it never waits."""
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
                    if ready <= start:
                        slowest[tag, i] = max(slowest[tag, i], end - start)
        if slowest:
            ways.append(statistics.median(slowest.values()))
    return sum(ways) if ways else None
