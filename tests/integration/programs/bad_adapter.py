"""An adapter that misbehaves when it is asked to parallelize, in a given way.

Usage: bad_adapter.py <how> [<file>]
"""

import os
import signal
import socket
import subprocess
import sys

INHERITED = sorted(os.listdir("/proc/self/fd"))

import tangram_adapter  # noqa: E402  After a look at what was inherited.


def one_stage(query, **degrees):
    return tangram_adapter.answer([tangram_adapter.plan(
        [tangram_adapter.stage(0, len(query.layers), **degrees)])])


def announce(number):
    """Writes the number to the file, all of it at once."""
    with open(FILE + ".new", "w", encoding="utf-8") as file:
        file.write(str(number))
    os.rename(FILE + ".new", FILE)


def wait_for_ever():
    reader, _ = os.pipe()
    os.read(reader, 1)


def die(_):
    print("about to die", file=sys.stderr)
    os.kill(os.getpid(), signal.SIGKILL)


def leave(_):
    os._exit(7)


def hang(_):
    wait_for_ever()


def wait_once(query):
    """The first process waits; who finds the file of the first answers."""
    if not os.path.exists(FILE):
        announce(os.getpid())
        wait_for_ever()
    return one_stage(query)


def hang_with_child(_):
    # In a separate process group.
    announce(subprocess.Popen(["sleep", "1000"], preexec_fn=os.setpgrp).pid)
    wait_for_ever()


def eat(_):
    eaten = []
    while True:
        eaten.append(bytearray(16 << 20))


def fail(_):
    raise RuntimeError("cannot think")


def refuse(_):
    raise ValueError('device: "T4"; expected another')


def tell(_):
    raise RuntimeError(f"{sorted(os.environ)} {INHERITED}")


class Nonsense:
    """No message."""

    def SerializeToString(self):  # pylint: disable=invalid-name
        return b"\xff\xff\xff"


def some_times(query):
    answer = one_stage(query)
    answer.plans.add().CopyFrom(answer.plans[0])
    answer.plans[0].stages[0].time_s = 1e-9
    answer.plans[0].max_trailing_stages = 1 << 20
    return answer


def zero(query):
    """Shards optimizer states, which is not among its features."""
    answer = one_stage(query, dp=2)
    answer.plans[0].stages[0].plan.parallelism.zero_stage = 3
    return answer


HOW = {
    "die": die, "leave": leave, "hang": hang, "wait_once": wait_once,
    "hang_with_child": hang_with_child, "eat": eat, "fail": fail,
    "refuse": refuse, "tell": tell,
    "bytes": lambda query: Nonsense(),
    "degree": lambda query: one_stage(query, tp=-1),
    "gpus": lambda query: one_stage(query, dp=2 * query.num_gpus),
    "times": some_times, "zero": zero,
    "honest": one_stage, "know_nothing": one_stage,
}


class Bad(tangram_adapter.Adapter):
    name = "bad"
    version = "1"
    features = {"data_parallel"}

    def slice_model(self, model):
        if sys.argv[1] == "know_nothing":
            raise ValueError("model: none is known")
        return super().slice_model(model)

    def parallelize(self, query):
        return HOW[sys.argv[1]](query)


def make_noise():
    """Listens, but speaks something else."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(os.environ["TANGRAM_ADAPTER_SOCKET"])
    listener.listen()
    while True:
        listener.accept()[0].sendall(b"220 mail.example.org ESMTP\r\n" * 100)


if __name__ == "__main__":
    FILE = sys.argv[2] if len(sys.argv) > 2 else None
    if sys.argv[1] == "noise":
        make_noise()
    tangram_adapter.serve(Bad())
