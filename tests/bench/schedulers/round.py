#!/usr/bin/python3
"""How long a scheduler waits for the answers of one round.

    tests/bench/schedulers/round.py BIN [--jobs 50]

Starts a coordinator and a worker from BIN. Asks, for each of so many distinct
jobs on 2,048 GPUs, Sia's 29 configurations (2.2 of its artifact: parts of one
node, then whole nodes of up to 64 GPUs of one type) and 100 bundles of two
types; two calls at a time, as a scheduler on two cores would. Prints the
seconds until the last answer, and those when everything is asked again. Needs
python3-grpcio and python3-protobuf.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).parents[3]
sys.path[:0] = [str(ROOT / "clients/python"), str(ROOT / "tests/e2e")]

# Groups: GPU, GPUs of a node, nodes. 1,024 GPUs of each type; groups with a
# part of a node stand for configurations of less than one.
WHOLE = {"t4": ("T4", 4, 256), "a100": ("A100-40", 8, 128)}
PARTS = {"t4": (1, 2), "a100": (1, 2, 4)}
MODELS = ("gpt3-1.3b", "gpt3-6.7b", "gpt3-13b", "llama2-7b", "llama2-13b",
          "llama3-8b")
BATCHES = (64, 96, 128, 160, 192, 224, 256, 320, 384)
_MOST_SIA_GPUS = 64  # Of one type.
_BUNDLES = 100


def main():
    options = _parser().parse_args()
    os.environ["TANGRAM"] = os.path.join(options.bin, "tangram")
    sys.path.insert(0, os.path.join(options.bin, "../python"))
    sys.argv[1:] = [options.bin, str(ROOT)]  # As the harness of tests wants.
    from daemons import Coordinator, Worker
    import tangram_client
    kinds = [(model, batch) for batch in BATCHES for model in MODELS]
    if not 1 <= options.jobs <= len(kinds):
        raise SystemExit(f"--jobs: expected 1 to {len(kinds)}")
    with tempfile.TemporaryDirectory() as folder:
        cluster = os.path.join(folder, "cluster.json")
        with open(cluster, "w", encoding="utf-8") as file:
            json.dump(_cluster(), file)
        requests = [tangram_client.request(
            cluster=cluster, model=model, global_batch=batch, precision="fp16",
            runtime="any", parallelizer="uniform",
            planner_option=["polish=false"])
            for model, batch in kinds[:options.jobs]]
    daemons = [Coordinator("--max_plan_s=600")]
    try:
        daemons.append(Worker(daemons[0].address, "one", "--threads=2"))
        with tangram_client.Client(daemons[0].address) as client:
            for name in ("cold", "warm"):
                _ask(name, client, requests, daemons, options.at_once)
    finally:
        for daemon in daemons:
            daemon.end()


def _ask(name, client, requests, daemons, at_once):
    allocations = configurations() + bundles()
    before, start = _cpu_s(daemons), time.monotonic()

    def answers_of(request):
        return list(client.frontier(request, allocations))

    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        answers = list(pool.map(answers_of, requests))
    seconds = time.monotonic() - start
    planned = sum(a.has_plan for job in answers for a in job)
    print(f"{name}: {len(requests)} jobs, {sum(map(len, answers))} answers, "
          f"{planned} with a plan: {seconds:.2f} s, "
          f"{_cpu_s(daemons) - before:.2f} CPU s of coordinator and worker",
          flush=True)


def configurations():
    parts = [{f"{name}-{gpus}": 1}
             for name, of_node in PARTS.items() for gpus in of_node]
    return parts + [{name: nodes} for name in WHOLE
                    for nodes in range(1, _most_nodes(name) + 1)]


def bundles():
    """Mixed allocations of whole nodes, evenly from small to large."""
    mixed = [{"t4": t4, "a100": a100}
             for t4 in range(1, _most_nodes("t4") + 1)
             for a100 in range(1, _most_nodes("a100") + 1)]
    mixed.sort(key=lambda nodes: sum(
        count * WHOLE[name][1] for name, count in nodes.items()))
    return [mixed[i * len(mixed) // _BUNDLES] for i in range(_BUNDLES)]


def _most_nodes(name):
    _, gpus, nodes = WHOLE[name]
    return min(nodes, _MOST_SIA_GPUS // gpus)


def _cluster():
    groups = [{"name": name, "gpu": gpu, "nodes": nodes, "gpus_per_node": gpus}
              for name, (gpu, gpus, nodes) in WHOLE.items()]
    groups += [{"name": f"{name}-{part}", "gpu": WHOLE[name][0], "nodes": 1,
                "gpus_per_node": part}
               for name, of_node in PARTS.items() for part in of_node]
    return {"groups": groups,
            "default_link": {"bandwidth": "10 GB/s", "latency": "50us"}}


def _cpu_s(daemons):
    ticks = 0
    for daemon in daemons:
        with open(f"/proc/{daemon.process.pid}/stat", encoding="ascii") as file:
            fields = file.read().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])  # User and system.
    return ticks / os.sysconf("SC_CLK_TCK")


def _parser():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", metavar="BIN", help="folder of `tangram`")
    parser.add_argument("--jobs", type=int, default=50, metavar="N")
    parser.add_argument("--at-once", type=int, default=2, metavar="N",
                        help="calls at a time [%(default)s]")
    return parser


if __name__ == "__main__":
    sys.exit(main())
