"""Writes frontiers as files of schedulers."""

import argparse
import os
import sys
import tempfile

from tangram_schedulers import gavel, sia
from tangram_schedulers.frontier import Frontier


def main(arguments=None):
    """Returns the exit code, as those of `tangram`: 0 done, 2 bad input."""
    options = _parser().parse_args(arguments)
    try:
        types = dict(_pair(text, "GROUP=TYPE") for text in options.type)
        jobs = {}
        for text in options.jobs:
            name, path = _pair(text, "JOB=FRONTIER.json")
            if name in jobs:
                raise ValueError(f"{name}: given twice; expected each job once")
            jobs[name] = Frontier.read(path)
        text = (gavel.as_json(gavel.throughputs(jobs, types))
                if options.to == "gavel" else
                sia.as_json(sia.configurations(jobs, types, options.bundles)))
        if options.output == "-":
            sys.stdout.write(text)
        else:
            _write(options.output, text)
    except (ValueError, OSError) as error:
        print(f"tangram_schedulers: {error}", file=sys.stderr)
        return 2
    return 0


def _parser():
    parser = argparse.ArgumentParser(prog="python3 -m tangram_schedulers",
                                     description=__doc__)
    parser.add_argument("to", choices=("gavel", "sia"))
    parser.add_argument("jobs", nargs="+", metavar="JOB=FRONTIER.json",
                        help="answers of `tangram frontier --format json`")
    parser.add_argument("--type", action="append", default=[],
                        metavar="GROUP=TYPE",
                        help="name of a group's type, if not the group's")
    parser.add_argument("--bundles", type=_count, default=100, metavar="N",
                        help="most bundles of a job for Sia [%(default)s]")
    parser.add_argument("-o", "--output", default="-", metavar="FILE")
    return parser


def _count(text):
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"{text}; expected 0 or more")
    return value


def _pair(text, form):
    left, equals, right = text.partition("=")
    if not (left and equals and right):
        raise ValueError(f"{text}; expected {form}")
    return left, right


def _write(path, text):
    """Replaces the file as a whole."""
    folder = os.path.dirname(path) or "."
    handle, temporary = tempfile.mkstemp(dir=folder)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        # As open() would make it.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


if __name__ == "__main__":
    sys.exit(main())
