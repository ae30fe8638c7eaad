"""Starts the ranks: as processes of this machine, or as torchrun started them."""

import ctypes
import dataclasses
import os
import re
import signal
import socket
import sys
import traceback
from multiprocessing import connection

import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing

from .errors import CannotMeet, PlanError, say
from .fabric import Fabric


# Ranks that fail for want of another say so this much earlier than the kernel tells the
# end of that one, at most.
GRACE_S = 5


def started_by_torchrun():
    return "RANK" in os.environ or "WORLD_SIZE" in os.environ


def check_world(num_ranks):
    """Raises PlanError if torchrun, or who does as it does, started another number of
    ranks, or did not say what a rank must know."""
    if not started_by_torchrun():
        return
    started = os.environ.get("WORLD_SIZE", "not set")
    if started != str(num_ranks):
        raise PlanError("WORLD_SIZE", started, f"{num_ranks}, as many as the plan's GPUs")
    _check_number("RANK", 0, num_ranks - 1)
    _check_number("LOCAL_RANK", 0, num_ranks - 1)
    _check_number("MASTER_PORT", 1, 65535)
    if not os.environ.get("MASTER_ADDR"):
        raise PlanError("MASTER_ADDR", "not set", "the host of rank 0")


def _check_number(name, least, most):
    text = os.environ.get(name, "0" if name == "LOCAL_RANK" else "not set")
    if not (re.fullmatch("[0-9]{1,9}", text) and least <= int(text) <= most):
        raise PlanError(name, text[:60], f"an integer from {least} to {most}")


def device_of(local_rank):
    """The rank's GPU, which ranks share if they outnumber the GPUs, or the CPU."""
    if torch.cuda.is_available():
        torch.cuda.set_device(local_rank % torch.cuda.device_count())
        return torch.device("cuda", torch.cuda.current_device())
    return torch.device("cpu")


def join(work):
    """Runs `work(fabric)` as one rank of the environment's process group."""
    device = device_of(int(os.environ.get("LOCAL_RANK", 0)))
    # NCCL wants a GPU for each rank.
    own_gpu = (device.type == "cuda" and torch.cuda.device_count()
               >= int(os.environ.get("LOCAL_WORLD_SIZE", 1)))
    try:
        dist.init_process_group("nccl" if own_gpu else "gloo")
    except RuntimeError as error:
        address = "{MASTER_ADDR}:{MASTER_PORT}".format_map(os.environ)
        reason = str(error).splitlines()[0]
        raise CannotMeet(f"rank {os.environ['RANK']}: cannot meet the other ranks at "
                         f"{address}: {reason}") from error
    result = work(Fabric(device))
    # Not after an error, which this rank is to report before others miss it.
    dist.destroy_process_group()
    return result


def _die_with_parent():
    """Has the kernel kill this process when its parent ends, however it ends."""
    if not sys.platform.startswith("linux"):
        return
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)
    # The parent may have ended before the kernel started to watch it.
    if os.getppid() != multiprocessing.parent_process().pid:
        raise SystemExit(1)


def _keep_freed_memory():
    """Has the C library reuse what is freed: new pages cost more than most sums do."""
    m_trim_threshold, m_mmap_threshold = -1, -3
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):
        library.mallopt(m_mmap_threshold, 1 << 30)
        library.mallopt(m_trim_threshold, (1 << 31) - 1)


@dataclasses.dataclass(frozen=True)
class Failure:
    """The answer of a rank that failed. The reason is empty if nobody is to hear it."""
    reason: str
    # Whether another rank that ended may be why.
    may_miss_another: bool = False


def _one_of(rank, num_ranks, port, work, results, enter):
    _die_with_parent()
    _keep_freed_memory()
    # A rank is one thread: processes share the cores.
    torch.set_num_threads(1)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port),
                      RANK=str(rank), LOCAL_RANK=str(rank),
                      WORLD_SIZE=str(num_ranks), LOCAL_WORLD_SIZE=str(num_ranks))
    try:
        enter(rank)
        results.put((rank, join(work)))
    except BrokenPipeError:
        # Nobody reads the output any more. The parent ends all ranks; until then others
        # do not miss this one.
        results.put((rank, Failure("")))
        signal.pause()
    except PlanError as error:
        results.put((rank, Failure(str(error))))
        signal.pause()
    except (CannotMeet, OSError) as error:
        results.put((rank, Failure(str(error), may_miss_another=True)))
        signal.pause()
    except Exception:
        reason = f"rank {rank}: {traceback.format_exc().rstrip()}"
        results.put((rank, Failure(reason, may_miss_another=True)))
        signal.pause()


def spawn(num_ranks, work, enter=lambda rank: None):
    """Runs `work(fabric)` on `num_ranks` processes and returns what rank 0
    returned. Returns None if a rank failed, after ending the others. Each calls
    `enter(rank)` first, which may move it and change how it reaches the others."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # Forked children do not import PyTorch again, which takes most of the time
    # of a small run.
    context = multiprocessing.get_context("fork")
    results = context.SimpleQueue()
    ranks = [context.Process(target=_one_of, daemon=True,
                             args=(rank, num_ranks, port, work, results, enter))
             for rank in range(num_ranks)]
    for process in ranks:
        process.start()
    return _answer(ranks, results)


def _answer(ranks, results):
    """What rank 0 put into `results`, or None once a process failed.

    The ends of the processes are watched too: one that a signal kills, as the
    kernel does when memory runs out, puts nothing.
    """
    answer, running = None, list(ranks)
    while running:
        connection.wait([results._reader, *(process.sentinel for process in running)])
        running = [process for process in running if process.is_alive()]
        failures = []
        while not results.empty():
            rank, result = results.get()
            if isinstance(result, Failure):
                failures.append(result)
            elif rank == 0:
                answer = result
        if failures or any(process.exitcode for process in ranks):
            _end(ranks, failures)
            return None
    return answer


def _end(ranks, failures):
    """Ends all ranks. Names those that a signal has killed, as others fail for want of
    them; otherwise says why the first one failed."""
    # A killed rank loses its connections first, then its sentinel, and only then can its
    # parent see its exit code.
    may_come = any(failure.may_miss_another for failure in failures)
    if may_come and all(process.is_alive() for process in ranks):
        ends = connection.wait([process.sentinel for process in ranks], timeout=GRACE_S)
        for process in ranks:
            if process.sentinel in ends:
                process.join()
    codes = [process.exitcode or 0 for process in ranks]
    killed = [(rank, -code) for rank, code in enumerate(codes) if code < 0]
    ended = [(rank, code) for rank, code in enumerate(codes) if code > 0]
    for process in ranks:
        process.kill()
    for process in ranks:
        process.join()
    for rank, number in killed:
        say(_killed(rank, number))
    if killed:
        return
    if failures:
        if failures[0].reason:
            say(failures[0].reason)
        return
    for rank, code in ended:
        say(f"rank {rank}: ended with exit code {code}")


def _killed(rank, number):
    cause = (", as the kernel does when memory runs out"
             if number == signal.SIGKILL else "")
    try:
        name = signal.Signals(number).name
    except ValueError:  # A real-time signal.
        name = f"signal {number}"
    return f"rank {rank}: killed by {name}{cause}"
