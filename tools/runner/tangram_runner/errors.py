"""Errors that say what is wrong with the input. The command ends with 2."""

import sys


def say(message):
    """Tells the user as `tangram` does, which may have started the runner."""
    print(f"tangram: {message}", file=sys.stderr)


class PlanError(Exception):
    """A plan that cannot be right: field, value and what was expected."""

    def __init__(self, field, found, expected):
        super().__init__(f"{field}: {found}; expected {expected}")


class CannotMeet(Exception):
    """The ranks do not reach one another."""


class NotSupported(Exception):
    """A right plan that uses what the runner does not run yet."""

    def __init__(self, what):
        super().__init__(f"not supported yet: {what}")
