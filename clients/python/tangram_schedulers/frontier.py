"""Frontiers: answers of `tangram frontier --format json`."""

import dataclasses
import json
import math
import os
import signal
import subprocess
from typing import Mapping, Optional

FORMAT = "tangram.frontier/v1"
_STATES = ("planned", "no_plan", "pending")
# Longer answers are not read: an allocation takes less than 1 kB, and there are
# at most 100,000.
MOST_BYTES = 200_000_000


class BadFrontier(ValueError):
    """A field is missing or wrong; the message names it."""


class NoAnswer(Exception):
    """Nobody answered in time; the message says why."""


@dataclasses.dataclass(frozen=True)
class Allocation:
    """Nodes of each group, and the time of an iteration there."""

    nodes: Mapping[str, int]
    gpus: int
    state: str  # "planned", "no_plan" or "pending".
    iteration_time_s: Optional[float] = None  # If planned.
    # The fastest of this allocation and of those within it; None if unknown.
    envelope_s: Optional[float] = None
    envelope_at: Optional[Mapping[str, int]] = None  # The nodes that take so long.
    memory_fraction: Optional[float] = None
    price_per_hour: Optional[float] = None
    on_front: bool = False
    reason: str = ""

    @property
    def best_s(self):
        """Seconds of an iteration if the job may leave nodes idle, or None."""
        known = [s for s in (self.iteration_time_s, self.envelope_s)
                 if s is not None]
        return min(known, default=None)

    @property
    def used(self):
        """The groups that have nodes, with their numbers."""
        return {g: n for g, n in self.nodes.items() if n > 0}

    def text(self):
        """As --nodes of `tangram plan` takes it."""
        return ",".join(f"{g}={n}" for g, n in self.nodes.items())


class Frontier:
    """Allocations by their nodes."""

    def __init__(self, groups, tokens_per_iteration, allocations):
        self.groups = tuple(groups)
        self.tokens_per_iteration = tokens_per_iteration
        self.allocations = tuple(allocations)
        self._by_nodes = {}
        for i, allocation in enumerate(self.allocations):
            key = self._key(allocation.nodes)
            if key in self._by_nodes:
                raise BadFrontier(f"allocations[{i}].nodes: {allocation.text()} "
                                  "again; expected each allocation once")
            self._by_nodes[key] = allocation
        self.gpus_per_node = self._gpus_per_node()

    @classmethod
    def read(cls, path):
        """Reads a file. Raises BadFrontier or OSError."""
        with open(path, "rb") as file:
            text = file.read(MOST_BYTES + 1)
        try:
            return cls.parse(text)
        except BadFrontier as error:
            raise BadFrontier(f"{path}: {error}") from None

    @classmethod
    def parse(cls, text):
        if len(text) > MOST_BYTES:
            raise BadFrontier(f"more than {MOST_BYTES} bytes")
        try:
            document = json.loads(text, parse_constant=_refuse_constant)
        except RecursionError:
            raise BadFrontier("nested too deeply; expected "
                              f"{FORMAT}") from None
        except ValueError as error:  # Also bytes that are not UTF-8.
            raise BadFrontier(f"not JSON: {error}") from None
        return _Reader().frontier(document)

    def at(self, nodes):
        """Returns the allocation with these nodes, or None. Groups that `nodes`
        lacks have none."""
        return self._by_nodes.get(self._key(nodes))

    def homogeneous(self):
        """Yields (group, nodes, allocation) for allocations of one group."""
        for allocation in self.allocations:
            if len(allocation.used) == 1:
                (group, nodes), = allocation.used.items()
                yield group, nodes, allocation

    def nearest_that_fits(self, nodes):
        """Returns the allocation with a plan that needs the fewest nodes added
        to these, then the fewest taken away, then the fastest; or None."""
        def distance(allocation):
            more = [n - nodes.get(g, 0) for g, n in allocation.nodes.items()]
            return (sum(m for m in more if m > 0), -sum(m for m in more if m < 0),
                    allocation.best_s)
        return min((a for a in self.allocations if a.best_s is not None),
                   key=distance, default=None)

    def _key(self, nodes):
        return tuple(nodes.get(g, 0) for g in self.groups)

    def _gpus_per_node(self):
        """GPUs of a node of each group, as far as the allocations tell."""
        known = {}
        # With few groups, those of one group come first.
        for allocation in sorted(self.allocations, key=lambda a: len(a.used)):
            unknown = [g for g in allocation.used if g not in known]
            rest = allocation.gpus - sum(
                n * known[g] for g, n in allocation.used.items() if g in known)
            if len(unknown) > 1:
                continue
            each = 1
            for group in unknown:
                each, rest = divmod(rest, allocation.nodes[group])
                known[group] = each
            if rest != 0 or each <= 0:
                raise BadFrontier(
                    f"allocations: {allocation.text()} has {allocation.gpus} "
                    "gpus; expected the same number of GPUs in each node of a "
                    "group")
        return known


def _refuse_constant(name):
    raise ValueError(f"{name} is not a number of JSON")


class _Reader:
    """Checks every field that is used. Others may have been added."""

    def frontier(self, document):
        if not isinstance(document, dict):
            raise BadFrontier(f"{_shown(document)}; expected an object")
        if document.get("format_version") != FORMAT:
            raise BadFrontier(
                f"format_version: {_shown(document.get('format_version'))}; "
                f"expected {FORMAT}")
        groups = document.get("groups")
        if (not isinstance(groups, list) or not groups
                or not all(isinstance(g, str) and g for g in groups)
                or len(set(groups)) != len(groups)):
            raise BadFrontier(f"groups: {_shown(groups)}; expected the names of "
                              "the groups, each once")
        tokens = _integer(document, "tokens_per_iteration", "", least=1)
        points = document.get("allocations")
        if not isinstance(points, list):
            raise BadFrontier(f"allocations: {_shown(points)}; expected a list")
        return Frontier(groups, tokens, (
            self._allocation(point, groups, f"allocations[{i}].")
            for i, point in enumerate(points)))

    def _allocation(self, point, groups, at):
        if not isinstance(point, dict):
            raise BadFrontier(f"{at[:-1]}: {_shown(point)}; expected an object")
        state = point.get("state")
        if state not in _STATES:
            raise BadFrontier(f"{at}state: {_shown(state)}; expected one of "
                              f"{', '.join(_STATES)}")
        return Allocation(
            nodes=_nodes(point.get("nodes"), groups, f"{at}nodes"),
            gpus=_integer(point, "gpus", at, least=1), state=state,
            iteration_time_s=_number(point, "iteration_time_s", at,
                                     needed=state == "planned"),
            envelope_s=_number(point, "envelope_s", at),
            envelope_at=_nodes(point["envelope_at"], groups, f"{at}envelope_at")
            if "envelope_at" in point else None,
            memory_fraction=_number(point, "memory_fraction", at),
            price_per_hour=_number(point, "price_per_hour", at, above_0=False),
            on_front=point.get("on_front") is True,
            reason=str(point.get("reason", "")))


def _nodes(nodes, groups, at):
    if not isinstance(nodes, dict) or set(nodes) != set(groups):
        raise BadFrontier(f"{at}: {_shown(nodes)}; expected numbers of nodes of "
                          f"{', '.join(groups)}")
    return {g: _integer(nodes, g, at + ".", least=0) for g in groups}


def _integer(document, name, at, least):
    value = document.get(name)
    if type(value) is not int or value < least:  # True is an int.
        raise BadFrontier(f"{at}{name}: {_shown(value)}; expected an integer of "
                          f"at least {least}")
    return value


def _number(document, name, at, needed=False, above_0=True):
    value = document.get(name)
    if value is None and not needed:
        return None
    # 1e999 is read as infinity.
    if (type(value) not in (int, float) or not math.isfinite(value)
            or value < 0 or (above_0 and value == 0)):
        raise BadFrontier(f"{at}{name}: {_shown(value)}; expected a "
                          f"{'positive' if above_0 else 'non-negative'} number")
    return float(value)


def _shown(value):
    text = json.dumps(value)
    return text if len(text) < 60 else text[:57] + "..."


def ask(options, *, timeout_s, program=None):
    """Runs `tangram frontier` and returns the Frontier.

    `options` are a list of its options. Raises NoAnswer if there is none after
    `timeout_s`, however the command hangs; BadFrontier if the answer is wrong;
    ValueError with the command's message if it refuses the options.
    """
    program = program or os.environ.get("TANGRAM") or "tangram"
    command = [program, "--format=json", "frontier", *options]
    try:
        # A session of its own: all its processes end with it.
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, start_new_session=True)
    except OSError as error:
        raise NoAnswer(f"{program}: {error.strerror}") from error
    try:
        out, err = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        raise NoAnswer(f"no answer within {timeout_s:g} s") from None
    finally:
        _end(process)
    if process.returncode in (0, 3, 5):  # Plans, none, not all of them.
        return Frontier.parse(out)
    code, message = _error(err)
    message = message or f"{program} ended with {process.returncode}"
    # An old coordinator, which knows no such call, ends with 2 as well.
    if process.returncode == 2 and code in ("INVALID_ARGUMENT", "NOT_FOUND"):
        raise ValueError(message)
    raise NoAnswer(message)


def _end(process):
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def _error(err):
    """Returns code and message of what the command printed as its error."""
    try:
        error = json.loads(err)["error"]
        return str(error["code"]), str(error["message"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return "", err.decode(errors="replace").strip()[-500:]
