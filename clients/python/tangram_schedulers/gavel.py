"""Throughputs as Gavel reads them.

Gavel (OSDI 2020) has steps a second by worker type, and by job type with a
number of GPUs: {"v100": {"('gpt', 8)": {"null": 1.5}}}. "null" is a job that
shares its GPUs with no other. Its policies look every job up in every type, so
a type without an answer has 0 steps a second.
"""

import json

from tangram_schedulers.frontier import BadFrontier


def throughputs(jobs, types=None):
    """Returns the table of frontiers by job name.

    `types` renames groups; those of one type are merged, and the faster counts.
    """
    types = types or {}
    steps, keys = {}, set()
    for job, frontier in jobs.items():
        if "'" in job or "\\" in job or not job.isprintable():
            raise BadFrontier(f"job {job!r}; expected a name without quotes")
        for group in frontier.groups:
            steps.setdefault(types.get(group, group), {})
        for group, _, allocation in frontier.homogeneous():
            if allocation.state == "pending" and allocation.best_s is None:
                raise BadFrontier(f"{job}: {allocation.text()} is pending; "
                                  "expected an answer for each allocation")
            key = f"('{job}', {allocation.gpus})"
            keys.add(key)
            of_type = steps[types.get(group, group)]
            rate = 1 / allocation.best_s if allocation.best_s else 0.0
            of_type[key] = max(rate, of_type.get(key, 0.0))
    if not keys:
        raise BadFrontier("no allocation of one group; Gavel knows no others")
    return {kind: {key: {"null": of_type.get(key, 0.0)} for key in sorted(keys)}
            for kind, of_type in steps.items()}


def as_json(table):
    return json.dumps(table, indent=1, allow_nan=False) + "\n"
