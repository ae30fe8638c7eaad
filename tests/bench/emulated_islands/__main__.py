#!/usr/bin/python3
"""Predicted beside measured on two unlike islands that this machine emulates.

emulated_islands [--tangram PROGRAM] [--model NAME] [--plans N] [--seed N] [--ranks N]

Draws unlike plans of one model and makes two islands of CPU ranks: a core or a share of
one each, and a slow link between the islands. Then it measures layers, operators and transfers
on them, has `tangram evaluate` predict all plans from that, trains each, and prints
predicted and measured iteration times and Kendall's tau of the two orders. Ends with
1 below a tau of 0.8, and with 77 where the machine cannot emulate islands. Needs
root, control groups with CPU quotas, iproute2 and PyTorch.
"""

import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path += [str(ROOT / "tools/runner"), str(HERE)]

import draw  # noqa: E402
from islands import CannotEmulate, Emulation, Island, Seat  # noqa: E402

RIGHT, WRONG, FAILED, SKIPPED = 0, 1, 3, 77
FITS, HAS_VIOLATIONS = 0, 3  # Exit codes of `tangram evaluate`.
LEAST_TAU = 0.8


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--tangram", default=str(ROOT / "build/release/bin/tangram"))
    parser.add_argument("--model", choices=draw.MODELS, default="gpt")
    parser.add_argument("--plans", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1, help="of the plans")
    parser.add_argument("--steps", type=int, default=3, help="timed, of each run")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each plan")
    parser.add_argument("--sweeps", type=int, default=5, help="of measuring the islands")
    parser.add_argument("--ranks", type=int, choices=(1, 2), help="of each island; by "
                        "default as many as there are cores for")
    parser.add_argument("--fast", type=float, help="share of a core")
    parser.add_argument("--slow", type=float, help="share of a core")
    parser.add_argument("--link", type=float, default=300, help="Mbit/s between islands")
    parser.add_argument("--keep", metavar="FOLDER", help="for profiles and plans")
    parser.add_argument("--details", action="store_true",
                        help="also print stages and borders")
    options = parser.parse_args(arguments)
    num_cores = len(os.sched_getaffinity(0))
    options.ranks = options.ranks or min(2, max(1, num_cores // 2))
    has_cores = 2 * options.ranks <= num_cores
    options.fast = options.fast or (1.0 if has_cores else 0.5)
    options.slow = options.slow or (0.4 if has_cores else 0.2)
    return options


def progress(text):
    print(f"{time.strftime('%T')} {text}", file=sys.stderr)


def tau(pairs):
    """Kendall's tau (b) of (predicted, measured) pairs."""
    def sign(number):
        return (number > 0) - (number < 0)
    both = firsts = seconds = 0
    for i, (p, m) in enumerate(pairs):
        for q, n in pairs[:i]:
            both += sign(p - q) * sign(m - n)
            firsts += p != q
            seconds += m != n
    return both / (firsts * seconds) ** 0.5 if firsts and seconds else 1.0


def label(data):
    """A plan in few words."""
    def stage(one):
        runs = "+".join(f"{run['node'][0]}{run['count']}" for run in one["gpus"])
        p = one["plan"].get("parallelism")
        split = ("mixed" if "mixed" in one else f"t{p['tp_degree']}d{p['dp_degree']}" +
                 f"z{p['zero_stage']}" * (p["zero_stage"] > 0))
        masks = sum(bool(run["mask"]) for run in one["plan"]["recompute"])
        end = one["plan"]["end"]
        return f"{runs}:{split}<{end['layer']}.{end['op']}" + f"r{masks}" * (masks > 0)

    def pipeline(plan):
        return (f"{plan['schedule']} b{plan['pipeline_microbatch_size']} "
                + " ".join(map(stage, plan["stages"])))
    if "plan" in data:
        return pipeline(data["plan"])
    return " | ".join(f"{one['num_microbatches']}x {pipeline(one['plan'])}"
                      for one in data["replicated_plan"]["pipelines"])


def stand_in(islands):
    """A cluster to read plans with before anything is measured."""
    link = {"latency_s": 1e-5, "bandwidth_bytes_per_s": 1e9,
            "pair_bandwidth_bytes_per_s": 1e9}
    device = {"peak_flops": {"fp32": 1e10}, "memory_bytes": 1e11,
              "memory_bandwidth_bytes_per_s": 1e9,
              "efficiency": {"gemm_max_fraction": 1, "gemm_half_flops": 1,
                             "attention_fraction": 1, "memory_fraction": 1},
              "host": {"bandwidth_bytes_per_s": 1e9, "memory_bytes": 1e11}}
    return {"name": "islands", "groups": [one.name for one in islands],
            "devices": [{"type": one.name, **device} for one in islands],
            "nodes": [{"group": i, "device": i, "num_gpus": len(one.shares),
                       "intra_node": link, "names": [one.name]}
                      for i, one in enumerate(islands)],
            "link_types": [link],
            "links": [{"link_types": [0] * len(islands)} for _ in islands]}


def seats_of(data, islands):
    """Seats in the order in which the runner numbers ranks."""
    names = [one.name for one in islands]
    pipelines = ([data["plan"]] if "plan" in data else
                 [one["plan"] for one in data["replicated_plan"]["pipelines"]])
    seats = [Seat(names.index(run["node"]), run["first"] + k) for plan in pipelines
             for stage in plan["stages"] for run in stage["gpus"]
             for k in range(run["count"])]
    return list(dict.fromkeys(seats))


def predict(tangram, folder, data, profiles):
    """What `tangram evaluate` says, as in a plan file."""
    paths = []
    for one in profiles:
        paths += ["--profile", str(folder / f"{one['device']}.json")]
    plan, out = folder / "plan.json", folder / "predicted.json"
    plan.write_text(json.dumps(data), encoding="utf-8")
    done = subprocess.run([tangram, "evaluate", plan, *paths, "--output", out],
                          capture_output=True, text=True, check=False)
    if done.returncode not in (FITS, HAS_VIOLATIONS):
        raise RuntimeError(done.stderr)
    return json.loads(out.read_text(encoding="utf-8"))


def seconds_of(predicted):
    whole = predicted.get("replicated_evaluation") or predicted["evaluation"]
    return whole["iteration_time_s"]


def measure(options, files, folder):
    """Returns lists of predicted files, plans, and (seconds of a step, times of ranks)
    of the median run of each. Plans take turns, so that a slow minute meets all."""
    import on_islands
    from tangram_runner.read_plan import plan_of
    islands = [Island(name, (share,) * options.ranks)
               for name, share in (("fast", options.fast), ("slow", options.slow))]
    plans = [plan_of({**one, "cluster": stand_in(islands)}) for one in files]
    with Emulation(islands, options.link * 1e6) as emulation:
        progress("measures the islands")
        cluster, profiles = on_islands.run(on_islands.MeasureJob(plans, islands,
                                                                 options.sweeps),
                                           emulation.seats(), emulation)
        for one in profiles:
            path = folder / f"{one['device']}.json"
            path.write_text(json.dumps(one, indent=1), encoding="utf-8")
        predicted = [predict(options.tangram, folder, {**one, "cluster": cluster}, profiles)
                     for one in files]
        runs = [[] for _ in files]
        for _ in range(options.rounds):
            for one, plan, found in zip(files, plans, runs):
                progress(f"trains {label(one)}")
                found.append(on_islands.run(on_islands.TrainJob(plan, options.steps),
                                            seats_of(one, islands), emulation))
    return predicted, plans, [median(found) for found in runs]


def median(runs):
    """The run whose seconds are the median (the lower one) of all."""
    return sorted(runs, key=lambda run: run[0])[(len(runs) - 1) // 2]


def main(arguments):
    options = parse(arguments)
    # As the runner does for its ranks, before PyTorch is loaded.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(FAILED))
    files = draw.plans(options.model, options.plans, options.seed, options.ranks,
                       ("fast", "slow"))
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(options.keep or scratch)
        folder.mkdir(parents=True, exist_ok=True)
        try:
            found = measure(options, files, folder)
        except CannotEmulate as error:
            print(f"skipped: {error}")
            return SKIPPED
        pairs = []
        print(f"{'predicted':>10} {'measured':>10} {'error':>6}  plan")
        for i, (predicted, plan, (seconds, times)) in enumerate(zip(*found)):
            pairs.append((seconds_of(predicted), seconds))
            print(f"{pairs[-1][0]:8.3f} s {seconds:8.3f} s "
                  f"{100 * (pairs[-1][0] / seconds - 1):+4.0f} %  {label(files[i])}")
            (folder / f"plan-{i}.json").write_text(json.dumps(predicted), encoding="utf-8")
            if options.details:
                details(plan, predicted, times)
    return report(pairs)


def details(plan, predicted, times):
    from tangram_runner import measure_run
    for line in measure_run.time_rows(plan, predicted, times):
        print("    " + line)


def report(pairs):
    found = tau(pairs)
    errors = [abs(p / m - 1) for p, m in pairs]
    bias = sum(p / m - 1 for p, m in pairs) / len(pairs)
    print(f"{len(pairs)} plans: Kendall's tau {found:.2f}, mean error "
          f"{100 * sum(errors) / len(errors):.1f} %, bias {100 * bias:+.1f} %")
    return RIGHT if found >= LEAST_TAU else WRONG


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
