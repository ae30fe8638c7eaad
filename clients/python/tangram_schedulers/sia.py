"""Configurations and rates of jobs, as Sia's program needs them.

Sia (SOSP 2023) chooses one configuration (type, nodes, GPUs) a job. A bundle
is a configuration of several types; each is one more column of the program,
with one coefficient for each type that it takes.
"""

import json

from tangram_schedulers.frontier import BadFrontier

FORMAT = "tangram.sia/v1"


def configurations(jobs, types=None, most_bundles=100):
    """Returns the document of frontiers by job name.

    `types` renames groups, such as parts of a node to its type. A job has at
    most `most_bundles` bundles: those on its front first, then the fastest.
    """
    types = types or {}
    names = sorted({types.get(g, g) for f in jobs.values() for g in f.groups})
    return {"format_version": FORMAT, "types": names,
            "jobs": {name: _job(frontier, types, most_bundles)
                     for name, frontier in jobs.items()}}


def _job(frontier, types, most_bundles):
    alone, mixed = {}, {}
    for allocation in frontier.allocations:
        if allocation.best_s is None:
            continue
        gpus, nodes = {}, 0
        for group, count in allocation.used.items():
            if group not in frontier.gpus_per_node:
                raise BadFrontier(f"groups: {group} is only in allocations with "
                                  "other groups; expected one of it alone")
            kind = types.get(group, group)
            gpus[kind] = (gpus.get(kind, 0)
                          + count * frontier.gpus_per_node[group])
            nodes += count
        key = tuple(sorted(gpus.items()))
        row = {"nodes": nodes, "gpus": gpus,
               "iterations_per_s": 1 / allocation.best_s,
               "on_front": allocation.on_front}
        if len(gpus) > 1 and allocation.envelope_at not in (None,
                                                            allocation.nodes):
            continue  # Fewer nodes are as fast.
        rows = alone if len(gpus) == 1 else mixed
        if (key not in rows or rows[key]["iterations_per_s"]
                < row["iterations_per_s"]):
            rows[key] = row
    bundles = sorted(mixed.values(), key=lambda row: (
        not row["on_front"], -row["iterations_per_s"], row["nodes"]))
    for row in [*alone.values(), *bundles]:
        del row["on_front"]
    return {"tokens_per_iteration": frontier.tokens_per_iteration,
            "configurations": [
                {"type": next(iter(row["gpus"])), "nodes": row["nodes"],
                 "gpus": next(iter(row["gpus"].values())),
                 "iterations_per_s": row["iterations_per_s"]}
                for row in alone.values()],
            "bundles": bundles[:most_bundles]}


def as_json(document):
    return json.dumps(document, indent=1, allow_nan=False) + "\n"
