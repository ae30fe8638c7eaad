"""Policies: which choice each job has in a round.

`assign(jobs, capacity)` returns the index of a choice for each job, or None.
Jobs are simulate.Job; a policy sees predicted times only.
"""

import time

import numpy as np

import programs


class Policy:
    """Keeps the seconds and the number of its solutions."""

    def __init__(self):
        self.solver_s = []

    def timed(self, solve, *arguments, **options):
        start = time.process_time()
        try:
            return solve(*arguments, **options)
        finally:
            self.solver_s.append(time.process_time() - start)


class Fifo(Policy):
    """Each job waits in the queue of one type for its GPUs, and keeps them: the
    type whose queue would then be empty first."""

    name = "FIFO, one type"

    def __init__(self):
        super().__init__()
        self._queues = {}  # Choice by job.

    def assign(self, jobs, capacity):
        for job in jobs:
            if job.number not in self._queues:
                self._queues[job.number] = self._choose(job, jobs, capacity)
        free = list(capacity)
        blocked = set()
        chosen = {}
        running = [j for j in jobs if j.choice is not None]
        for job in running + [j for j in jobs if j.choice is None]:
            choice = self._queues[job.number]
            kind, gpus = _one(job.kind.choices[choice].gpus)
            if kind in blocked or gpus > free[kind]:
                blocked.add(kind)
                chosen[job.number] = None
                continue
            free[kind] -= gpus
            chosen[job.number] = choice
        return [chosen[j.number] for j in jobs]

    def _choose(self, job, jobs, capacity):
        load_s = [0.0] * len(capacity)  # GPU-seconds by GPU.
        for other in jobs:
            if other.number in self._queues:
                kind, seconds = self._seconds(
                    other, self._queues[other.number], capacity)
                load_s[kind] += seconds

        def empty_s(choice):
            kind, seconds = self._seconds(job, choice, capacity)
            return load_s[kind] + seconds
        return min(job.fixed.values(), key=lambda c: (empty_s(c), c))

    def _seconds(self, job, choice, capacity):
        of = job.kind.choices[choice]
        kind, gpus = _one(of.gpus)
        return kind, job.iterations * of.predicted_s * gpus / capacity[kind]


class Gavel(Policy):
    """Fractions of time by a linear program, and rounds in which the jobs that
    lag most behind theirs go first.

    A restart may take as long as a round here, so a round of Gavel is several,
    as its authors and Sia's run it: 360 s.
    """

    def __init__(self, fair, rounds=6):
        super().__init__()
        self.name = "Gavel max-min" if fair else "Gavel max-sum"
        self._fair = fair
        self._fractions, self._for = {}, None
        self._had = {}  # Rounds by (job, type).
        self._rounds, self._round = rounds, 0

    def assign(self, jobs, capacity):
        self._round += 1
        if (self._round - 1) % self._rounds and any(
                j.choice is not None for j in jobs):
            return [j.choice for j in jobs]
        self._round = 1
        return self._decide(jobs, capacity)

    def _decide(self, jobs, capacity):
        numbers = tuple(j.number for j in jobs)
        if numbers != self._for:
            self._solve(jobs, capacity)
            self._for = numbers
        wishes = []
        for job in jobs:
            rounds = sum(self._had.get((job.number, t), 0)
                         for t in range(len(capacity))) or 1
            for t, choice in job.fixed.items():
                fraction = self._fractions[job.number][t]
                if fraction > 1e-6:
                    had = self._had.get((job.number, t), 0) / rounds
                    wishes.append((-fraction / (had + 1e-9), job.number, t,
                                   choice, job))
        free, chosen = list(capacity), {}
        for _, number, t, choice, job in sorted(wishes, key=lambda w: w[:3]):
            if number not in chosen and job.gpus <= free[t]:
                free[t] -= job.gpus
                chosen[number] = choice
                self._had[number, t] = self._had.get((number, t), 0) + 1
        return [chosen.get(j.number) for j in jobs]

    def _solve(self, jobs, capacity):
        rates = np.zeros((len(jobs), len(capacity)))
        for j, job in enumerate(jobs):
            for t, choice in job.fixed.items():
                rates[j, t] = 1 / job.kind.choices[choice].predicted_s
        scale = np.array([j.gpus for j in jobs], float)
        solved = self.timed(programs.gavel, rates, scale, capacity,
                            fair=self._fair)
        self._fractions = {j.number: x for j, x in zip(jobs, solved)}


class Sia(Policy):
    """One choice a job by Sia's integer program."""

    def __init__(self, mixed):
        super().__init__()
        self.name = "Sia with bundles" if mixed else "Sia"
        self._mixed = mixed
        # Objective of each round with bundles, without, and the most by which
        # either may miss the optimum.
        self.objectives = []

    def assign(self, jobs, capacity):
        alone = [j.kind.alone() for j in jobs]
        columns = ([range(len(j.kind.choices)) for j in jobs] if self._mixed
                   else alone)
        objective, chosen = self.timed(_solve, jobs, columns, capacity)
        if self._mixed:
            self.objectives.append((objective, _solve(jobs, alone, capacity)[0],
                                    programs.tolerance(len(jobs))))
        return [columns[j][c] if c >= 0 else None for j, c in enumerate(chosen)]


def _solve(jobs, columns, capacity):
    return programs.sia(
        [_weights(job, of) for job, of in zip(jobs, columns)],
        [np.array([job.kind.choices[c].gpus for c in of])
         for job, of in zip(jobs, columns)], capacity)


def _weights(job, columns):
    """Costs of Sia's program: rates relative to the least of a job, which counts
    as many as it has GPUs; those of a change are less by what restarts took."""
    choices = job.kind.choices
    slowest = max((choices[c] for c in job.kind.alone()),
                  key=lambda c: c.predicted_s)
    rates = np.array([slowest.predicted_s / choices[c].predicted_s
                      for c in columns]) * sum(slowest.gpus)
    if job.choice is not None:
        keep = (max(job.age_s - job.restarts * job.restart_s, 0)
                / (job.age_s + job.restart_s))
        rates *= [1 if c == job.choice else max(keep, 1e-3) for c in columns]
    return rates ** programs.POWER


def _one(gpus):
    """Returns the type and the number of GPUs of a choice of one type."""
    (kind, number), = ((t, n) for t, n in enumerate(gpus) if n > 0)
    return kind, number
