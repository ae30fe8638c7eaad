#!/usr/bin/python3
"""Makes JOBS.json of replay.py: asks `tangram frontier` for each kind of job.

    tests/bench/schedulers/frontiers.py BIN --nodes 't4:T4:4:6,rtx:RTX-2080-Ti:8:3'

A group is NAME:GPU:GPUS OF A NODE:NODES. Sia's configurations are asked: whole
nodes of one type, and 1, 2, 4 .. GPUs of one node; and bundles of whole nodes of
several types. Prints the seconds of planning of each kind.
"""

import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "clients/python"))
from tangram_schedulers import sia  # noqa: E402
from tangram_schedulers.frontier import Frontier  # noqa: E402

KINDS = ("gpt3-1.3b:64,gpt3-1.3b:256,gpt3-6.7b:128,llama2-7b:64,llama3-8b:128,"
         "gpt3-13b:128")
_MOST_SIA_GPUS = 64  # Of one type, as its configurations end there.


def main():
    options = _parser().parse_args()
    groups = [_group(text) for text in options.nodes.split(",")]
    jobs, planning = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for kind in options.kinds.split(","):
            before, start = _child_s(), time.monotonic()
            jobs[kind] = _frontiers(options, groups, kind, folder)
            planning[kind] = _child_s() - before
            print(f"{kind}: {sum(len(f.allocations) for f in jobs[kind])} "
                  f"allocations, {planning[kind]:.2f} CPU s, "
                  f"{time.monotonic() - start:.2f} s", file=sys.stderr)
    print(f"{sum(planning.values()):.1f} CPU s of planning", file=sys.stderr)
    document = {"format_version": sia.FORMAT,
                "planning_cpu_s": sum(planning.values()),
                "types": [g[0] for g in groups],
                "jobs": {kind: _merged(of, groups, options.bundles)
                         for kind, of in jobs.items()}}
    with open(options.output, "w", encoding="utf-8") as file:
        file.write(sia.as_json(document))
    return 0


def _merged(frontiers, groups, bundles):
    """One entry of the frontiers of one kind: whole nodes, and parts."""
    types = {f"{name}-{gpus}": name for name, _, of_node, _ in groups
             for gpus in _parts(of_node)}
    several = [sia.configurations({"job": f}, types, bundles)["jobs"]["job"]
               for f in frontiers]
    return {"tokens_per_iteration": several[0]["tokens_per_iteration"],
            "configurations": [c for s in several for c in s["configurations"]],
            "bundles": several[0]["bundles"]}


def _parts(gpus_of_node):
    part, parts = 1, []
    while part < gpus_of_node:
        parts.append(part)
        part *= 2
    return parts


def _frontiers(options, groups, kind, folder):
    """Whole nodes of all types, then parts of one node each."""
    found = [_ask(options, folder, kind, groups, ",".join(
        f"{name}={_counts(nodes, gpus, options.counts)}"
        for name, _, gpus, nodes in groups))]
    for name, gpu, gpus, _ in groups:
        for part in _parts(gpus):
            one = [(f"{name}-{part}", gpu, part, 1)]
            found.append(_ask(options, folder, kind, one, f"{name}-{part}=1"))
    return found


def _counts(nodes, gpus, most):
    """As --nodes: 0 and at most `most` numbers, those of Sia."""
    last = min(nodes, _MOST_SIA_GPUS // gpus)
    numbers = list(range(1, last + 1))
    while most > 1 and len(numbers) > most:  # The one with the nearest others.
        del numbers[min(range(1, len(numbers) - 1), key=lambda i:
                        numbers[i + 1] / numbers[i - 1])]
    return "|".join(str(n) for n in [0, *numbers])


def _ask(options, folder, kind, groups, nodes):
    cluster = f"{folder}/cluster.json"
    with open(cluster, "w", encoding="utf-8") as file:
        json.dump({"groups": [
            {"name": name, "gpu": gpu, "nodes": number, "gpus_per_node": gpus}
            for name, gpu, gpus, number in groups],
            **({"default_link": {"bandwidth": "10 GB/s", "latency": "50us"}}
               if len(groups) > 1 else {})}, file)
    model, _, batch = kind.partition(":")
    run = subprocess.run(
        [os.path.join(options.bin, "tangram"), "--format=json", "frontier",
         "--cluster", cluster, "--nodes", nodes, "--model", model,
         "--global-batch", batch, *options.option], capture_output=True,
        check=False)
    if run.returncode not in (0, 3):
        raise SystemExit(run.stderr.decode())
    return Frontier.parse(run.stdout)


def _child_s():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _group(text):
    name, gpu, gpus, nodes = text.split(":")
    return name, gpu, int(gpus), int(nodes)


def _parser():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", metavar="BIN", help="folder of `tangram`")
    parser.add_argument("--nodes", required=True)
    parser.add_argument("--kinds", default=KINDS,
                        help="MODEL:GLOBAL BATCH,... [%(default)s]")
    parser.add_argument("--counts", type=int, default=0, metavar="N",
                        help="at most so many numbers of nodes of a type")
    parser.add_argument("--bundles", type=int, default=100, metavar="N")
    parser.add_argument("--option", action="append", default=[],
                        help="of `tangram frontier`: --option=--runtime=any")
    parser.add_argument("-o", "--output", default="jobs.json")
    return parser


if __name__ == "__main__":
    sys.exit(main())
