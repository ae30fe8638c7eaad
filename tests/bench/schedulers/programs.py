"""The programs that policies solve, in HiGHS.

Gavel: D. Narayanan et al., OSDI 2020, sections 3 and 4. Sia: S. Jayaram
Subramanya et al., SOSP 2023, section 3.
"""

import numpy as np
import scipy.optimize
import scipy.sparse


class NoSolution(Exception):
    """The solver found none."""


def gavel(rates, scale_factors, workers, fair):
    """Returns the fractions of time X[job, type] of Gavel's policies.

    `rates`[job, type] are steps a second; `scale_factors` and `workers` GPUs of
    a job and of a type. `fair`: the least of the jobs' normalised rates is as
    large as possible; otherwise the sum of the rates is.
    """
    jobs, types = rates.shape
    columns = jobs * types
    share = np.zeros((jobs, columns + 1))  # The last column is the least rate.
    for j in range(jobs):
        share[j, j * types:(j + 1) * types] = 1
    use = np.zeros((types, columns + 1))
    for t in range(types):
        use[t, t:columns:types] = scale_factors
    objective = np.zeros(columns + 1)
    rows, limits = [share, use], [np.ones(jobs), np.asarray(workers, float)]
    if fair:
        objective[-1] = -1
        least = np.zeros((jobs, columns + 1))
        normal = rates * (scale_factors / proportional(rates, workers))[:, None]
        for j in range(jobs):
            least[j, j * types:(j + 1) * types] = -normal[j]
        least[:, -1] = 1
        rows.append(least)
        limits.append(np.zeros(jobs))
    else:
        objective[:-1] = -rates.ravel()
    solved = scipy.optimize.linprog(
        objective, A_ub=scipy.sparse.csr_matrix(np.vstack(rows)),
        b_ub=np.concatenate(limits), bounds=(0, None), method="highs")
    if solved.status != 0:
        raise NoSolution(solved.message)
    return solved.x[:-1].reshape(rates.shape).clip(0, 1)


def proportional(rates, workers):
    """The rate of each job if each has the same part of every type."""
    part = np.asarray(workers, float) / len(rates)
    return (rates * (part / part.sum())).sum(axis=1)


# Sia's parameters: the power of fairness, and the cost of a job left out.
POWER, LEFT_OUT = -0.5, 1.1
# A solution is optimal within this part of the costs saved by what is chosen.
GAP = 1e-4


def tolerance(jobs):
    """The most that an objective of so many jobs may be above the optimum."""
    return GAP * LEFT_OUT * jobs


def sia(weights, gpus, capacity, gap=GAP, limit_s=30):
    """Chooses at most one column of each job.

    `weights`[j] and `gpus`[j] are arrays of the columns of job j: cost, and
    GPUs of each type; the latter add up to at most `capacity`. Minimises the
    costs of the chosen columns, and LEFT_OUT for each job without one. Returns
    the objective, and the index of the column, or -1, of each job.
    """
    if not weights:
        return 0.0, []
    kept = [undominated(w, g) for w, g in zip(weights, gpus)]
    weights = [w[k] for w, k in zip(weights, kept)]
    gpus = [g[k] for g, k in zip(gpus, kept)]
    counts = [len(w) for w in weights]
    columns = sum(counts)
    of_job = np.repeat(np.arange(len(counts)), counts)
    one = scipy.sparse.csr_matrix(
        (np.ones(columns), (of_job, np.arange(columns))))
    use = scipy.sparse.csr_matrix(np.vstack(gpus).T.astype(float))
    cost = np.concatenate(weights) - LEFT_OUT
    solved = scipy.optimize.milp(
        cost, integrality=np.ones(columns), bounds=scipy.optimize.Bounds(0, 1),
        constraints=[scipy.optimize.LinearConstraint(one, ub=1),
                     scipy.optimize.LinearConstraint(use, ub=capacity)],
        options={"mip_rel_gap": gap, "time_limit": limit_s})
    if solved.x is None:
        raise NoSolution(solved.message)
    chosen = [-1] * len(counts)
    starts = np.concatenate(([0], np.cumsum(counts)))
    for c in np.flatnonzero(solved.x > 0.5):
        chosen[of_job[c]] = int(c - starts[of_job[c]])
    objective = LEFT_OUT * len(counts) + sum(
        cost[starts[j] + c] for j, c in enumerate(chosen) if c >= 0)
    return objective, [int(kept[j][c]) if c >= 0 else -1
                       for j, c in enumerate(chosen)]


def undominated(weights, gpus):
    """Returns the columns of a job that no other beats: none costs as little
    with as few GPUs of each type, but the first of equal ones."""
    beats = ((gpus[:, None] <= gpus[None]).all(axis=2)
             & (weights[:, None] <= weights[None]))
    first = np.arange(len(weights))[:, None] < np.arange(len(weights))[None]
    return np.flatnonzero(~(beats & (first | ~beats.T)).any(axis=0))
