#!/usr/bin/env python3
"""Makes the figures and tables of the paper's evaluation, ours beside theirs.

tests/bench/paper [FIGURE...] [--tangram PROGRAM] [--write docs/results.md]

Plans every system of a figure with `tangram plan`; one judge scores all plans.
--write replaces the part of the page between the two marks.
"""

import argparse
import datetime
import importlib
import subprocess
import tempfile

from planning import Setting

FIGURES = ["dense_skew", "gshard_moe", "recent_moe", "growing_cluster",
           "pruning", "planning_time", "causes"]
BEGIN = "<!-- tests/bench/paper begins -->"
END = "<!-- tests/bench/paper ends -->"


def heading(tangram):
    version = subprocess.run([tangram, "version"], check=True,
                             stdout=subprocess.PIPE, text=True).stdout
    today = datetime.date.today().isoformat()
    name = version.split(",")[0].strip()
    return f"Made by `tests/bench/paper` on {today} with {name}."


def write(page, text):
    with open(page, encoding="utf-8") as file:
        before, rest = file.read().split(BEGIN)
        after = rest.split(END)[1]
    with open(page, "w", encoding="utf-8") as file:
        file.write(f"{before}{BEGIN}\n{text}\n{END}{after}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("figures", nargs="*", metavar="FIGURE",
                        help=f"{', '.join(FIGURES)} [all]")
    parser.add_argument("--tangram", default="build/release/bin/tangram")
    parser.add_argument("--write", metavar="PAGE")
    arguments = parser.parse_args()
    for figure in arguments.figures:
        if figure not in FIGURES:
            parser.error(f"{figure}; expected one of {', '.join(FIGURES)}")
    parts = [heading(arguments.tangram)]
    with tempfile.TemporaryDirectory() as folder:
        setting = Setting(arguments.tangram, folder)
        for figure in arguments.figures or FIGURES:
            module = importlib.import_module(figure)
            parts.append(f"### {module.TITLE}\n\n{module.report(setting)}")
            print(parts[-1] + "\n", flush=True)
    if arguments.write:
        write(arguments.write, "\n\n".join(parts) + "\n")


if __name__ == "__main__":
    main()
