"""Strict reading of JSON in the spellings that protobuf, and so `tangram
evaluate`, accepts: null is the default, "4" and 4.0 are integers, "false" is a
boolean, and names are in snake_case or camelCase.

Anything else is a PlanError of field, value and what was expected.
"""

import json
import re
import sys

from .errors import PlanError


# Booleans as texts.
SPELLED = {**dict.fromkeys(("true", "t", "yes", "y", "1"), True),
           **dict.fromkeys(("false", "f", "no", "n", "0"), False)}


def parse(text, path):
    """Returns the object that `text` spells. Each name occurs once in an object."""
    try:
        data = json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
        # The text may escape half of a surrogate pair, which is no character.
        json.dumps(data, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise PlanError(path, "half of a surrogate pair", "Unicode text") from error
    except ValueError as error:
        raise PlanError(path, f"no JSON ({error})", "a plan file") from error
    except RecursionError as error:
        raise PlanError(path, "values in too many others", "less nesting") from error
    if not isinstance(data, dict):
        raise PlanError(path, "no object", "a plan file")
    return data


def _once(pairs):
    data = {}
    for name, value in pairs:
        if name in data:
            raise PlanError(f"field {shown(name)}", "a second time", "each field once")
        data[name] = value
    return data


def _no_number(name):
    raise ValueError(f"{name} is no number")


def shown(value):
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."


def camel_case(name):
    return re.sub("_([a-z0-9])", lambda match: match[1].upper(), name)


def _one_of(texts):
    return "one of " + ", ".join(texts) if len(texts) > 1 else f'"{texts[0]}"'


class Record:
    """An object with known fields only. Null is an object of defaults.

    Fields of the names `unread` are let through as they are.
    """

    def __init__(self, data, field, names, unread=()):
        self.field = field
        self._values = {}
        known = {spelling: name for name in (*names, *unread)
                 for spelling in (name, camel_case(name))}
        if data is not None and not isinstance(data, dict):
            raise PlanError(field, shown(data), "an object")
        for name, value in (data or {}).items():
            where = self.path(shown(name)[1:-1])
            if name not in known:
                raise PlanError(where, "an unknown field",
                                _one_of(sorted((*names, *unread))))
            if known[name] in self._values:
                raise PlanError(where, "a second time", "each field once")
            self._values[known[name]] = value

    def path(self, name):
        return f"{self.field}.{name}" if self.field else name

    def has(self, name):
        return self._values.get(name) is not None

    def raw(self, name):
        return self._values.get(name)

    def _refuse(self, name, expected):
        raise PlanError(self.path(name), shown(self.raw(name)), expected)

    def integer(self, name, least, most, default=0):
        value = integer_of(self.raw(name)) if self.has(name) else default
        return self._within(name, value, least, most, default)

    def unsigned(self, name, most):
        """An integer from 0 of a type without a minus sign, even before 0."""
        value = self.raw(name)
        has_minus = isinstance(value, str) and value.startswith("-")
        return self._within(name, None if has_minus else integer_of(value or 0), 0, most,
                            0)

    def _within(self, name, value, least, most, default):
        if value is None or not least <= value <= most:
            self._values.setdefault(name, default)
            self._refuse(name, f"an integer from {least} to {most}")
        return value

    def boolean(self, name):
        value = self.raw(name)
        if isinstance(value, str):
            value = SPELLED.get(value.lower(), value)
        if value is not None and not isinstance(value, bool):
            self._refuse(name, "true or false")
        return bool(value)

    def fraction(self, name):
        return self.number(name, 1, "a fraction from 0 to 1")

    def number(self, name, most=sys.float_info.max, expected="a number from 0"):
        number = number_of(self.raw(name)) if self.has(name) else 0.0
        if number is None or not 0 <= number <= most:
            self._refuse(name, expected)
        return number

    def text(self, name, among=None, default=""):
        value = self.raw(name) if self.has(name) else default
        if not isinstance(value, str) or (among and value not in among):
            self._values.setdefault(name, default)
            self._refuse(name, _one_of(among) if among else "a text")
        return value

    def enum(self, name, names):
        """A value of an enum whose `names` have the numbers 1, 2, …"""
        value = self.raw(name)
        number = integer_of(value)
        if number is not None and 1 <= number <= len(names):
            return names[number - 1]
        if not isinstance(value, str) or value not in names:
            self._refuse(name, _one_of(names))
        return value

    def items(self, name, most):
        """(field, value) of each element of a list. Null elements are none."""
        values = self.raw(name) if self.has(name) else []
        if not isinstance(values, list):
            self._refuse(name, "a list")
        if len(values) > most:
            raise PlanError(self.path(name), f"{len(values)} elements",
                            f"at most {most}")
        return [(f"{self.path(name)}[{i}]", value)
                for i, value in enumerate(values) if value is not None]

    def integers(self, name, least, most, most_items):
        return tuple(Record({name: value}, self.field, (name,)).integer(name, least, most)
                     for _, value in self.items(name, most_items))

    def texts(self, name, most):
        return [Record({name: value}, self.field, (name,)).text(name)
                for _, value in self.items(name, most)]

    def record(self, name, names, unread=()):
        return Record(self.raw(name), self.path(name), names, unread)

    def records(self, name, names, most, unread=()):
        return [Record(value, field, names, unread)
                for field, value in self.items(name, most)]


def integer_of(value):
    """The integer that a JSON value spells, or None."""
    if isinstance(value, str) and re.fullmatch(r"[+-]?[0-9]{1,20}", value):
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return None


def number_of(value):
    """The number that a JSON value spells, or None."""
    spelled = isinstance(value, str) and re.fullmatch(r"[+-]?[0-9][0-9.eE+-]{0,40}", value)
    if not spelled and (isinstance(value, bool) or not isinstance(value, (int, float))):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None
