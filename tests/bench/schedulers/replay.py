#!/usr/bin/python3
"""Replays a trace of jobs under several policies, and prints a table.

    python3 -m tangram_schedulers sia ... -o jobs.json
    tests/bench/schedulers/replay.py jobs.json --gpus t4=24,rtx=24,a100=16

`frontiers.py` makes jobs.json for the clusters of docs/schedulers.md. Needs
python3-scipy.
"""

import argparse
import copy
import json
import sys

import policies
import simulate
import tables
import traces

POLICIES = (policies.Fifo, lambda: policies.Gavel(False),
            lambda: policies.Gavel(True), lambda: policies.Sia(False),
            lambda: policies.Sia(True))


def main():
    options = _parser().parse_args()
    try:
        return _run(options)
    except (ValueError, OSError, KeyError, TypeError) as error:
        print(f"replay.py: {error}", file=sys.stderr)
        return 2


def _run(options):
    with open(options.jobs, encoding="utf-8") as file:
        document = json.load(file)
    types, kinds = tables.kinds_of(document, options.seed, options.error,
                                   options.mixed_error)
    capacity = _by_type(options.gpus, types, "--gpus")
    prices = _by_type(options.prices, types, "--prices") if options.prices else []
    arrivals = (traces.read(options.trace, options.seed, options.most_jobs)
                if options.trace else
                traces.drawn(options.seed, options.hours, options.rate))
    if not arrivals:
        raise ValueError("--hours: no job arrives")
    jobs = simulate.jobs_of(arrivals, kinds, types, options.reference or types[0],
                            options.seed, options.restart)
    print(f"{len(jobs)} jobs of {len(kinds)} kinds on "
          + ", ".join(f"{n:g} {t}" for n, t in zip(capacity, types)))
    print(f"{sum(len(k.choices) for k in kinds)} choices, of which "
          f"{sum(c.is_mixed for k in kinds for c in k.choices)} bundles; planned "
          f"in {float(document.get('planning_cpu_s', 0)):.0f} CPU s")
    _print_ratios(kinds, types)
    print("| policy | mean JCT h | p99 JCT h | makespan h | GPU-h | cost | "
          "restarts | most jobs | solver ms a round | most ms |")
    print("| --- " + "| ---: " * 9 + "|")
    for make in POLICIES:
        policy = make()
        result = simulate.replay(copy.deepcopy(jobs), policy, capacity)
        print(_line(result, prices), flush=True)
        if getattr(policy, "objectives", None):
            _print_objectives(policy.objectives)
    return 0


def _line(result, prices):
    jct = sorted(result.jct_s)
    cost = sum(s / 3600 * p for s, p in zip(result.gpu_s, prices))
    return "| " + " | ".join([
        result.policy, f"{sum(jct) / len(jct) / 3600:.2f}",
        f"{jct[min(len(jct) - 1, int(0.99 * len(jct)))] / 3600:.2f}",
        f"{result.makespan_s / 3600:.1f}", f"{sum(result.gpu_s) / 3600:.0f}",
        f"{cost:.0f}" if prices else "", str(result.restarts),
        str(result.most_jobs),
        f"{1000 * sum(result.solver_s) / max(result.rounds, 1):.1f}",
        f"{1000 * max(result.solver_s, default=0):.0f}"]) + " |"


def _print_objectives(objectives):
    worse = sum(mixed > alone + off for mixed, alone, off in objectives)
    better = sum(mixed < alone - off for mixed, alone, off in objectives)
    print(f"Objective with bundles: less in {better}, the same in "
          f"{len(objectives) - better - worse}, more in {worse} of "
          f"{len(objectives)} rounds")


def _print_ratios(kinds, types):
    """How far off a type's times are if taken from another's, by the ratio of
    their rates on one GPU, as schedulers do for types not profiled."""
    errors, unknown = [], 0
    for kind in kinds:
        by_type = [simulate.by_gpus(kind, t) for t in range(len(types))]
        times = [{g: kind.choices[c].predicted_s for g, c in of.items()}
                 for of in by_type]
        for a, of in enumerate(times):
            for b, other in enumerate(times):
                for gpus in (set(of) & set(other)) if a != b else ():
                    if 1 not in of or 1 not in other:
                        unknown += 1
                        continue
                    guess = of[gpus] * other[1] / of[1]
                    errors.append(abs(guess / other[gpus] - 1))
    errors.sort()
    if errors:
        print("Times of another type by one-GPU ratios: median error "
              f"{100 * errors[len(errors) // 2]:.0f} % of {len(errors)}")
    if unknown:
        print(f"{unknown} of {len(errors) + unknown} times of another type have "
              "no one-GPU ratio: one GPU is too small")


def _by_type(text, types, name):
    found = {}
    for part in text.split(","):
        kind, _, number = part.partition("=")
        if kind not in types:
            raise ValueError(f"{name}: {part}; expected one of "
                             f"{', '.join(types)}")
        found[kind] = float(number)
        if not 0 <= found[kind] < 1e9:
            raise ValueError(f"{name}: {part}; expected a number")
    missing = set(types) - set(found)
    if missing:
        raise ValueError(f"{name}: no {', '.join(sorted(missing))}")
    return [found[t] for t in types]


def _number(kind, least, most):
    def parse(text):
        value = kind(text)
        if not least <= value <= most:  # NaN is not.
            raise argparse.ArgumentTypeError(
                f"{text}; expected {least:g} to {most:g}")
        return value
    return parse


def _parser():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("jobs", metavar="JOBS.json")
    parser.add_argument("--gpus", required=True, metavar="TYPE=N,...")
    parser.add_argument("--prices", metavar="TYPE=X,...",
                        help="of a GPU for an hour")
    parser.add_argument("--trace", metavar="FILE",
                        help="arrivals; see traces.py [drawn by the seed]")
    parser.add_argument("--most-jobs", type=_number(int, 1, 10**6), metavar="N")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--hours", type=_number(float, 0, 10**5), default=8)
    parser.add_argument("--rate", type=_number(float, 1e-3, 10**5), default=10,
                        help="jobs an hour [%(default)s]")
    parser.add_argument("--reference", metavar="TYPE",
                        help="type of the trace's GPUs [the first]")
    parser.add_argument("--restart", type=_number(float, 0, 10**5), default=60,
                        metavar="S",
                        help="seconds that a change takes [%(default)s]")
    parser.add_argument("--error", type=_number(float, 0, 1), default=0.08,
                        help="mean error of predictions [%(default)s]")
    parser.add_argument("--mixed-error", type=_number(float, 0, 1), default=0.18,
                        help="with several types [%(default)s]")
    return parser


if __name__ == "__main__":
    sys.exit(main())
