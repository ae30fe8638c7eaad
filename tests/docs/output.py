"""Compares what a command printed with what a document shows, and renews that.

A shown line of three dots stands for any lines, three dots within a line for
any text. How numbers are rounded differs between processors, so the last digits
of losses and small differences are not compared.
"""

import difflib
import re

ROUNDED = re.compile(r"(?<=loss \d\.\d{3})\d+|\d\.\de-1\d")
DOTS = re.compile(r" *\.\.\.")


class CannotRenew(Exception):
    """The printed lines that a shown part stands for are not to be found."""


def is_dots(line):
    return DOTS.fullmatch(line) is not None


def line_matches(shown, printed):
    parts = ROUNDED.sub("#", shown).split("...")
    return re.fullmatch(".*".join(map(re.escape, parts)),
                        ROUNDED.sub("#", printed)) is not None


def matches(shown, printed):
    """Whether the printed text is one that the shown text stands for."""
    shown, printed = shown.splitlines(), printed.splitlines()
    at = i = 0
    retry = None        # After the last line of dots, and the lines it took.
    while i < len(printed):
        if at < len(shown) and is_dots(shown[at]):
            retry = (at + 1, i)
            at += 1
        elif at < len(shown) and line_matches(shown[at], printed[i]):
            at, i = at + 1, i + 1
        elif retry:
            retry = (retry[0], retry[1] + 1)
            at, i = retry
        else:
            return False
    return all(map(is_dots, shown[at:]))


def difference(shown, printed):
    return "".join(difflib.unified_diff(
        shown.splitlines(keepends=True), printed.splitlines(keepends=True),
        "shown", "printed"))


def likeness(a, b):
    a, b = (" ".join(re.sub(r"\d+", "0", line).split()) for line in (a, b))
    return difflib.SequenceMatcher(None, a, b).ratio()


def most_like(line, printed, near):
    """The index of the printed line most like `line`, rather near `near`."""
    if not printed:
        raise CannotRenew(line)
    best = max(range(len(printed)), key=lambda i: (
        likeness(line, printed[i]) - abs(i - near) / 1000))
    if likeness(line, printed[best]) < 0.5:
        raise CannotRenew(line)
    return best


def length_of(part, printed):
    """How many printed lines `part` stands for: to the one that is most like its
    last, or else to the end of the paragraph."""
    try:
        return 1 + most_like(part[-1], printed, len(part) - 1)
    except CannotRenew:
        return (printed + [""]).index("")


def renew_part(part, printed, at_begin, at_end):
    """Printed lines that replace `part`, and how many are used."""
    begin = 0 if at_begin else most_like(part[0], printed, 0)
    end = len(printed) if at_end else begin + length_of(part, printed[begin:])
    lines = printed[begin:end]
    if len(part) == len(lines):     # Keep dots within lines.
        lines = [old if line_matches(old, new) else new
                 for old, new in zip(part, lines)]
    return lines, end


def renewed(shown, printed):
    """The shown text with lines of the printed one, and the same lines left
    out."""
    if matches(shown, printed):
        return shown
    parts = [[]]
    for line in shown.splitlines():
        if is_dots(line):
            parts += [line, []]
        else:
            parts[-1].append(line)
    lines, rest = [], printed.splitlines()
    for i, part in enumerate(parts):
        if isinstance(part, str):
            lines.append(part)
        elif part:
            new, used = renew_part(part, rest, i == 0, i == len(parts) - 1)
            lines += new
            rest = rest[used:]
    return "".join(line + "\n" for line in lines)
