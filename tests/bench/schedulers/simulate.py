"""Rounds of a cluster, and what becomes of its jobs."""

import dataclasses
import math
import random
from typing import Dict, List, Optional

from tables import Kind

ROUND_S = 60
_MOST_ROUNDS = 1_000_000


@dataclasses.dataclass
class Job:
    """A job of a trace."""

    number: int
    kind: Kind
    submit_s: float
    gpus: int  # Of policies that fix them.
    fixed: Dict[int, int]  # Choice of so many GPUs, by type.
    iterations: float  # Left.
    restart_s: float
    choice: Optional[int] = None  # In the last round.
    ran: bool = False
    restarts: int = 0
    age_s: float = 0  # Since it was submitted.
    finish_s: Optional[float] = None
    gpu_s: List[float] = dataclasses.field(default_factory=list)  # By type.


@dataclasses.dataclass
class Result:
    """A replay; `solver_s` are CPU seconds of each solution."""

    policy: str
    jct_s: List[float]
    makespan_s: float
    gpu_s: List[float]  # By type.
    restarts: int
    rounds: int
    most_jobs: int
    solver_s: List[float]


def jobs_of(arrivals, kinds, types, reference, seed, restart_s):
    """Makes jobs: each arrival is a job of a kind that the seed draws, with as
    many iterations as its GPU-seconds do on the type `reference`."""
    if reference not in types:
        raise ValueError(f"reference: {reference}; expected one of "
                         f"{', '.join(types)}")
    index = types.index(reference)
    draw = random.Random(f"kinds {seed}")
    able = [k for k in kinds if by_gpus(k, index)]
    if not able:
        raise ValueError(f"reference: {reference}: no job fits it")
    jobs = []
    for number, arrival in enumerate(arrivals):
        kind = draw.choice(able)
        there = by_gpus(kind, index)
        gpus = min((g for g in there if g >= arrival.gpus), default=max(there))
        gpu_s = arrival.gpus * arrival.duration_s
        fixed = {t: by_gpus(kind, t)[gpus] for t in range(len(types))
                 if gpus in by_gpus(kind, t)}
        jobs.append(Job(
            number, kind, arrival.submit_s, gpus, fixed,
            gpu_s / (gpus * kind.choices[there[gpus]].predicted_s), restart_s,
            gpu_s=[0.0] * len(types)))
    return jobs


def by_gpus(kind, index):
    """Choices of one type by their GPUs."""
    return {c.gpus[index]: i for i, c in enumerate(kind.choices)
            if not c.is_mixed and c.gpus[index] > 0}


def replay(jobs, policy, capacity):
    """Runs jobs to their ends, and returns a Result. Jobs are changed."""
    time_s, rounds, most = 0.0, 0, 0
    waiting = sorted(jobs, key=lambda j: (j.submit_s, j.number))
    active = []
    while waiting or active:
        if not active:  # To the round in which somebody arrives.
            time_s = max(time_s, math.ceil(waiting[0].submit_s / ROUND_S)
                         * ROUND_S)
        while waiting and waiting[0].submit_s <= time_s:
            active.append(waiting.pop(0))
        for job in active:
            job.age_s = time_s - job.submit_s
        chosen = policy.assign(active, capacity)
        _check(active, chosen, capacity)
        for job, choice in zip(active, chosen):
            _run(job, choice, time_s)
        active = [j for j in active if j.finish_s is None]
        time_s += ROUND_S
        rounds += 1
        most = max(most, len(chosen))
        if rounds > _MOST_ROUNDS:
            raise RuntimeError("jobs do not end")
    return Result(
        policy.name, [j.finish_s - j.submit_s for j in jobs],
        max((j.finish_s for j in jobs), default=0),
        [sum(j.gpu_s[t] for j in jobs) for t in range(len(capacity))],
        sum(j.restarts for j in jobs), rounds, most, policy.solver_s)


def _check(active, chosen, capacity):
    used = [sum(job.kind.choices[c].gpus[t]
                for job, c in zip(active, chosen) if c is not None)
            for t in range(len(capacity))]
    if any(u > c for u, c in zip(used, capacity)):
        raise RuntimeError(f"{used} GPUs are assigned; there are {capacity}")


def _run(job, choice, time_s):
    """Runs a job for a round. After a change it restarts first."""
    left_s = ROUND_S
    if choice is not None and job.ran and choice != job.choice:
        left_s = max(0.0, ROUND_S - job.restart_s)
        job.restarts += 1
        # Seconds beyond this round are lost as iterations.
        job.iterations += (max(0.0, job.restart_s - ROUND_S)
                           / job.kind.choices[choice].true_s)
    job.choice = choice
    if choice is None:
        return
    job.ran = True
    of = job.kind.choices[choice]
    needed_s = job.iterations * of.true_s
    ran_s = min(left_s, needed_s)
    job.iterations -= ran_s / of.true_s
    used_s = ROUND_S - left_s + ran_s
    for t, gpus in enumerate(of.gpus):
        job.gpu_s[t] += gpus * used_s
    if needed_s <= left_s:
        job.finish_s = time_s + used_s
