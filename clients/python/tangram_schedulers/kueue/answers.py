"""What a check says of a Workload that has its quota. Without Kubernetes."""

import dataclasses
import math
import re
import time
from typing import Callable, Mapping, Sequence, Tuple

from tangram_schedulers.frontier import BadFrontier, NoAnswer

PREFIX = "tangram.dev/"
# Annotations of pods that are options of `tangram frontier`.
OPTIONS = ("model", "layers", "global-batch", "seq", "precision", "optimizer",
           "recompute", "microbatch", "planner", "parallelizer", "runtime",
           "effort")
LEAST_RATE = "min-tokens-per-s"
GPU = "nvidia.com/gpu"
_MOST_MESSAGE = 1000


@dataclasses.dataclass(frozen=True)
class Settings:
    """`flavors` has, by ResourceFlavor, a group of the cluster file and the GPUs
    of its nodes. `ask` takes options of `tangram frontier` and `timeout_s`, as
    frontier.ask does."""

    flavors: Mapping[str, Tuple[str, int]]
    ask: Callable
    options: Sequence[str] = ()  # All questions have these.
    retry_after_s: int = 600


@dataclasses.dataclass(frozen=True)
class Verdict:
    """A state of an admission check, and what it adds to the pods."""

    state: str  # "Ready", "Retry" or "Rejected".
    message: str
    annotations: Mapping[str, str] = dataclasses.field(default_factory=dict)
    requeue_after_s: int = 0


class NoOpinion(Exception):
    """Nothing is known of this Workload; the message says why."""


def verdict_of(workload, settings, deadline):
    """Returns the Verdict of a Workload. `deadline` is a time.monotonic() by
    which there must be one: without an answer it is Ready."""
    try:
        return _verdict_of(workload, settings, deadline)
    except (NoOpinion, NoAnswer, BadFrontier, ValueError) as error:
        why = str(error)
    except (AttributeError, KeyError, TypeError, IndexError) as error:
        # The Workload is not what its schema says.
        why = f"the Workload cannot be read: {error!r}"
    return Verdict("Ready", f"no opinion: {why}"[:_MOST_MESSAGE])


def pod_set_updates(workload, annotations):
    """Returns podSetUpdates. Kueue refuses keys that pods have already."""
    updates = []
    for pod_set in workload["spec"]["podSets"]:
        there = _annotations(pod_set)
        new = {k: v for k, v in annotations.items() if k not in there}
        if new:
            updates.append({"name": pod_set.get("name", "main"),
                            "annotations": new})
    return updates


def _verdict_of(workload, settings, deadline):
    asked = _annotations_of(workload)
    question = _question_of(asked)
    gpus = _gpus_of(workload, settings.flavors)
    nodes = {}
    for (group, per_node), number in gpus.items():
        if number % per_node != 0:
            raise NoOpinion(f"{number} GPUs of {group}; expected whole nodes of "
                            f"{per_node}")
        nodes[group] = number // per_node
    frontier = _ask(settings, question, deadline, nodes)
    allocation = frontier.at(nodes)
    if allocation is None or allocation.state == "pending":
        raise NoAnswer("not all answers in time")
    if allocation.gpus != sum(gpus.values()):
        raise NoOpinion(f"{allocation.text()} has {allocation.gpus} GPUs; "
                        f"expected {sum(gpus.values())}, by --flavor")
    if allocation.state == "no_plan":
        return _rejected(allocation, settings, question, deadline)
    return _ready_or_retry(allocation, frontier, asked, settings)


def _ready_or_retry(allocation, frontier, asked, settings):
    time_s = allocation.iteration_time_s
    rate = frontier.tokens_per_iteration / time_s
    if LEAST_RATE in asked:
        least = _positive(asked[LEAST_RATE], LEAST_RATE)
        if rate < least:
            return Verdict(
                "Retry", f"{rate:.6g} tokens/s on {allocation.text()}; expected "
                f"{least:g}", requeue_after_s=settings.retry_after_s)
    return Verdict("Ready", f"{time_s:.6g} s an iteration, {rate:.6g} tokens/s",
                   {PREFIX + "nodes": allocation.text(),
                    PREFIX + "iteration-time-s": f"{time_s:.6g}"})


def _rejected(allocation, settings, question, deadline):
    message = f"no plan fits {allocation.text()}: {allocation.reason}"
    try:  # Says what would fit, if there is time.
        wider = _ask(settings, question, deadline, dict.fromkeys(
            allocation.used))
        nearest = wider.nearest_that_fits(allocation.nodes)
    except (NoAnswer, ValueError):
        nearest = None
    if nearest is not None:
        message = f"{message}; {nearest.text()} fits"
    return Verdict("Rejected", message[:_MOST_MESSAGE])


def _ask(settings, question, deadline, nodes):
    """Asks for these nodes; None: each number of nodes of that group."""
    left_s = deadline - time.monotonic()
    if left_s <= 0:
        raise NoAnswer("no time left")
    named = {f"{group}=0" for group, _ in settings.flavors.values()
             if group not in nodes} | {
        f"{group}={number}" for group, number in nodes.items()
        if number is not None}
    lattice = ["--nodes", ",".join(sorted(named))] if named else []
    return settings.ask(
        # Leaves time to print what is known then.
        [*settings.options, *question, *lattice, "--timeout",
         f"{0.9 * left_s:.3f}", "--progress", "never"], timeout_s=left_s)


def _annotations(pod_set):
    return ((pod_set.get("template") or {}).get("metadata") or {}).get(
        "annotations") or {}


def _annotations_of(workload):
    """Returns the annotations of ours, of all pod sets, without the prefix."""
    found = {}
    for pod_set in workload["spec"]["podSets"]:
        for name, value in _annotations(pod_set).items():
            if not name.startswith(PREFIX):
                continue
            name = name[len(PREFIX):]
            if found.setdefault(name, value) != value:
                raise NoOpinion(f"{PREFIX}{name}: {found[name]} and {value}; "
                                "expected one value in all pod sets")
    if "model" not in found:
        raise NoOpinion(f"no annotation {PREFIX}model")
    return found


def _question_of(asked):
    question = []
    for name in OPTIONS:
        if name not in asked:
            continue
        # One word, and no path out of the folder of models.
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._+-]*", asked[name]):
            raise NoOpinion(f"{PREFIX}{name}: {asked[name]!r}; expected a word")
        question.append(f"--{name}={asked[name]}")
    return question


def _gpus_of(workload, flavors):
    """Returns the GPUs of each (group, GPUs of a node)."""
    gpus = {}
    for assignment in workload["status"]["admission"]["podSetAssignments"]:
        name = assignment.get("name", "main")
        flavor = (assignment.get("flavors") or {}).get(GPU)
        if flavor is None:
            continue  # Pods without GPUs, such as a launcher.
        if flavor not in flavors:
            raise NoOpinion(f"{name}: flavor {flavor}; expected one of "
                            f"{', '.join(flavors)}")
        number = _quantity(assignment["resourceUsage"][GPU], name)
        gpus[flavors[flavor]] = gpus.get(flavors[flavor], 0) + number
    if not any(gpus.values()):
        raise NoOpinion(f"no pods with {GPU}")
    return gpus


def _quantity(value, name):
    """Returns a number of GPUs. Quantities of Kubernetes may be text."""
    text = str(value)
    if not re.fullmatch(r"[0-9]{1,9}", text):
        raise NoOpinion(f"{name}: {GPU} {text[:40]!r}; expected a whole number")
    return int(text)


def _positive(text, name):
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (value > 0 and math.isfinite(value)):
        raise NoOpinion(f"{PREFIX}{name}: {text!r}; expected a positive number")
    return value
