"""Run times for SkyPilot's optimizer.

    task = sky.Task(run=..., num_nodes=4)
    task.set_resources({sky.Resources(accelerators="A100-80GB:8"),
                        sky.Resources(accelerators="H100:8")})
    tangram_schedulers.skypilot.set_estimator(
        task, frontier, tokens=1e9, groups={"H100": "h100",
                                            "A100-80GB": "a100-80"})

SkyPilot takes one hour for each resource of a task without an estimator, so a
mixture of estimates and hours would compare unlike things. There is an
estimator if all resources have an answer, and none otherwise.
"""

import logging
import math

# Longer than any training; SkyPilot wants a number, and infinity times the
# price of an idle reservation, 0, is none.
DOES_NOT_FIT_S = 1e12


def seconds(frontier, group, nodes, gpus_per_node, tokens):
    """Returns the seconds that `tokens` take on nodes of one group, or None if
    the frontier does not tell."""
    if frontier.gpus_per_node.get(group) != gpus_per_node:
        return None
    allocation = frontier.at({group: nodes})
    if allocation is None or allocation.state == "pending":
        return None
    if allocation.best_s is None:
        return DOES_NOT_FIT_S
    return tokens / frontier.tokens_per_iteration * allocation.best_s


def set_estimator(task, frontier, *, tokens, groups):
    """Gives a sky.Task a time estimator, and returns whether it did.

    `frontier` is a Frontier, or None if nobody answered. `groups` are groups of
    the cluster by SkyPilot's names of accelerators. SkyPilot does not tell an
    estimator the number of nodes: it is that of the task now.
    """
    if not (tokens > 0 and math.isfinite(tokens)):
        raise ValueError(f"tokens: {tokens}; expected a positive number")
    if frontier is None:
        return False
    nodes = task.num_nodes

    def estimate(resources):
        accelerators = resources.accelerators or {}
        if len(accelerators) != 1:
            return None
        (name, count), = accelerators.items()
        group = groups.get(name)
        return group and seconds(frontier, group, nodes, count, tokens)

    unknown = [r for r in task.resources if estimate(r) is None]
    if unknown:
        logging.getLogger(__name__).warning(
            "tangram: no estimates; %d of the resources have no answer: %s",
            len(unknown), unknown[0])
        return False
    task.set_time_estimator(estimate)
    return True
