"""Checks the names and kinds of all fields of a plan file, also of those that change
no result and that nothing else here reads. shapes.txt has a line for each message:
its name and fields, as the .proto files state them."""

import pathlib

from .errors import PlanError
from .records import SPELLED, camel_case, integer_of, number_of, shown

NOT_FINITE = ("NaN", "Infinity", "-Infinity")


def _read():
    result = {}
    path = pathlib.Path(__file__).with_name("shapes.txt")
    for line in path.read_text(encoding="utf-8").splitlines():
        name, *fields = line.split()
        result[name] = dict(field.split(":") for field in fields)
    return result


MESSAGES = _read()


def check(data, kind="PlanFile", where=""):
    """Raises PlanError for a field that the format does not have."""
    if not isinstance(data, dict):
        raise PlanError(where, shown(data), "an object")
    fields = {spelling: name for name in MESSAGES[kind]
              for spelling in (name, camel_case(name))}
    found = set()
    for spelling, value in data.items():
        path = f"{where}.{spelling}" if where else spelling
        if spelling not in fields:
            raise PlanError(path, "an unknown field",
                            f"one of {', '.join(sorted(MESSAGES[kind]))}")
        if fields[spelling] in found:
            raise PlanError(path, "a second time", "each field once")
        found.add(fields[spelling])
        if value is not None:
            _check_value(value, MESSAGES[kind][fields[spelling]], path)


def _check_value(value, kind, where):
    if kind.endswith("*"):
        if not isinstance(value, list):
            raise PlanError(where, shown(value), "a list")
        for i, element in enumerate(value):
            if element is not None:
                _check_value(element, kind[:-1], f"{where}[{i}]")
    elif kind in MESSAGES:
        check(value, kind, where)
    else:
        is_right, expected = KINDS[kind]
        if not is_right(value):
            raise PlanError(where, shown(value), expected)


def _is_boolean(value):
    return isinstance(value, bool) or (isinstance(value, str) and value.lower() in SPELLED)


def _is_integer(value):
    return integer_of(value) is not None


def _is_number(value):
    return number_of(value) is not None or value in NOT_FINITE


def _is_map(value):
    return isinstance(value, dict) and all(isinstance(one, str) for one in value.values())


KINDS = {"string": (lambda value: isinstance(value, str), "a text"),
         "bool": (_is_boolean, "true or false"),
         "double": (_is_number, "a number"),
         "enum": (lambda value: isinstance(value, str) or _is_integer(value), "a name"),
         "map": (_is_map, "an object of texts"),
         **dict.fromkeys(("int32", "int64", "uint32", "uint64", "fixed64"),
                         (_is_integer, "an integer"))}
