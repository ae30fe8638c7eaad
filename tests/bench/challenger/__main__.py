#!/usr/bin/python3
"""Whether annealing of whole plans finds faster ones than `tangram plan`.

challenger [--bin FOLDER] [--workloads NAME,...] [--runtimes auto,any]
           [--steps N] [--seeds N] [--timeout SECONDS] [--max-gain PERCENT]
           [--schedules] [--moves] [--keep FOLDER]

Plans each workload with `--runtime auto` and `--runtime any`, then lets the
program `challenger` change the plan by random moves, which the judge of all
planners scores (coordinator/planners/anneal/anneal.h). A found plan is one that the
runtime of the planned one runs, and `tangram evaluate` must give it the same
time. A line has the iteration time of the plan and of the best that any seed
found, the gain, and the CPU time of planning and of annealing. `--workloads`
takes parts of names, such as "c1" or "6.7b".

Ends with the median gain, and with 1 if a gain is above --max-gain or the
command evaluates a found plan otherwise, 2 if a plan was not made in time.
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
CLUSTERS = ROOT / "deploy/clusters"
OK, NO_PLAN = 0, 3


def job(cluster, model, batch, *options, nodes=""):
    return ["--cluster", f"{CLUSTERS}/{cluster}.yaml", "--model", model,
            "--global-batch", str(batch), *options,
            *(["--nodes", nodes] if nodes else [])]


C1, C2, C3 = "c1-compute-het", "c2-modern-het", "c3-full-het"
H100 = "v100-32=0,a100-80=0"
# Roughly by the time that they take.
WORKLOADS = {
    "gpt3-6.7b c1 4:0": job(C1, "gpt3-6.7b", 128, nodes="t4=4,v100=0"),
    "gpt3-6.7b c1 3:1": job(C1, "gpt3-6.7b", 128, nodes="t4=3,v100=1"),
    "gpt3-6.7b c1 2:2": job(C1, "gpt3-6.7b", 128, nodes="t4=2,v100=2"),
    "gpt3-6.7b c1 1:3": job(C1, "gpt3-6.7b", 128, nodes="t4=1,v100=3"),
    "gpt3-6.7b c1 0:4": job(C1, "gpt3-6.7b", 128, nodes="t4=0,v100=4"),
    "gpt3-13b c3": job(C3, "gpt3-13b", 128),
    "gpt3-13b c3 without t4": job(C3, "gpt3-13b", 128, nodes="t4=0"),
    "gpt3-1.3b c3": job(C3, "gpt3-1.3b", 128),
    "gpt3-1.3b c2 6 GPUs": job(C2, "gpt3-1.3b", 96, nodes="a100=1,h100=1"),
    "gpt3-6.7b c2 10 GPUs": job(C2, "gpt3-6.7b", 120, nodes="a100=1,h100=3"),
    "gpt3-13b c2": job(C2, "gpt3-13b", 256),
    "llama2-7b c2 14 GPUs": job(C2, "llama2-7b", 84, "--seq", "4096",
                                nodes="a100=2,h100=3"),
    "llama2-7b c1 2:2": job(C1, "llama2-7b", 128, "--seq", "4096",
                            nodes="t4=2,v100=2"),
    "llama2-13b c3": job(C3, "llama2-13b", 128, "--seq", "4096"),
    "llama3-8b c2 h100 fp8": job(C2, "llama3-8b", 128, "--precision", "fp8",
                                 nodes="a100=0"),
    "gshard-moe-7.1b c1": job(C1, "gshard-moe-7.1b", 128, "--seq", "1024"),
    "mixtral-8x7b c2": job(C2, "mixtral-8x7b", 128, "--seq", "4096"),
    "mixtral-8x7b c3": job(C3, "mixtral-8x7b", 128, "--seq", "4096"),
    "qwen3-30b-a3b c2": job(C2, "qwen3-30b-a3b", 128, "--seq", "4096"),
    "llama3-8b h100 x16 131072": job("het-128", "llama3-8b", 8, "--seq",
                                     "131072", nodes=f"{H100},h100=2"),
    "llama3-8b h100 x32 fp8": job("het-128", "llama3-8b", 256, "--precision",
                                  "fp8", nodes=f"{H100},h100=4"),
    "gpt3-175b het-128": job("het-128", "gpt3-175b", 512),
    "llama3-70b het-128": job("het-128", "llama3-70b", 512),
    "mixtral-8x7b het-1024": job("het-1024", "mixtral-8x7b", 1024, "--seq",
                                 "4096"),
    "llama3-70b het-1024": job("het-1024", "llama3-70b", 1024),
}


def run(command, timeout_s):
    """Returns exit code, output, errors and CPU seconds."""
    before = os.times()
    try:
        done = subprocess.run(command, capture_output=True, text=True,
                              timeout=timeout_s)
    except subprocess.TimeoutExpired:
        return None, "", "not in time", timeout_s
    after = os.times()
    cpu_s = (after.children_user - before.children_user
             + after.children_system - before.children_system)
    return done.returncode, done.stdout, done.stderr.strip(), cpu_s


def seconds_of(file):
    return json.loads(file.read_text())["evaluation"]["iteration_time_s"]


class Outcome:
    """One workload, planned and challenged."""

    def __init__(self, options, workload, runtime, folder):
        self.options = options
        self.name = f"{workload} {runtime}"
        self.gain = self.why = self.fault = None
        slug = re.sub(r"\W+", "-", self.name)
        self.plan = folder / f"{slug}.json"
        self.plan_it(workload, runtime)
        if self.why is None:
            self.challenge(folder, slug)

    def plan_it(self, workload, runtime):
        code, _, errors, self.plan_cpu_s = run(
            [self.options.bin / "tangram", "plan", *WORKLOADS[workload],
             "--runtime", runtime, "--quiet", "--threads", "1", "--output",
             self.plan], self.options.timeout)
        if code == NO_PLAN:
            self.why = "no plan"
        elif code != OK:
            self.why = self.fault = errors[:70]

    def challenge(self, folder, slug):
        self.shipped_s = seconds_of(self.plan)
        self.found_s, self.moves, self.cpu_s = self.shipped_s, "", 0
        for seed in range(1, self.options.seeds + 1):
            found = folder / f"{slug}-{seed}.json"
            code, output, errors, cpu_s = run(
                [self.options.bin / "challenger", "--plan", self.plan,
                 "--steps", str(self.options.steps), "--seed", str(seed),
                 "--output", found,
                 *(["--schedules"] if self.options.schedules else [])], None)
            self.cpu_s += cpu_s
            if code != OK:
                self.why = self.fault = errors[:70]
                return
            self.check(found)
            if seconds_of(found) < self.found_s:
                self.found_s = seconds_of(found)
                self.moves = "".join(output.splitlines(True)[1:])
        self.gain = 100 * (self.shipped_s / self.found_s - 1)

    def check(self, found):
        """The command must evaluate the found plan as the challenger did."""
        again = found.with_suffix(".again.json")
        code, _, errors, _ = run([self.options.bin / "tangram", "evaluate",
                                  found, "--output", again], None)
        if code != OK or seconds_of(again) != seconds_of(found):
            self.fault = f"{found}: evaluated otherwise: {errors[:70]}"

    def shown(self):
        if self.why is not None:
            return f"{self.name:32} {self.why}"
        return (f"{self.name:32} {self.shipped_s:9.4g} s {self.found_s:9.4g} s "
                f"{self.gain:6.2f} % {self.plan_cpu_s:8.1f} {self.cpu_s:8.1f}")


def chosen(parts):
    if not parts:
        return list(WORKLOADS)
    return [name for name in WORKLOADS
            if any(part in name for part in parts.split(","))]


def challenge_all(options, folder):
    print(f"{'workload':32} {'shipped':>11} {'found':>11} {'gain':>8} "
          f"{'plan CPU':>8} {'CPU s':>8}")
    outcomes = []
    for workload in chosen(options.workloads):
        for runtime in options.runtimes.split(","):
            outcomes.append(Outcome(options, workload, runtime, folder))
            print(outcomes[-1].shown(), flush=True)
            if options.moves and outcomes[-1].gain:
                print(outcomes[-1].moves, end="", flush=True)
    return outcomes


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path,
                        default=ROOT / "build/release/bin")
    parser.add_argument("--workloads", default="")
    parser.add_argument("--runtimes", default="auto,any")
    parser.add_argument("--steps", type=int, default=20000)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=1200,
                        help="seconds for each plan")
    parser.add_argument("--max-gain", type=float, default=float("inf"))
    parser.add_argument("--schedules", action="store_true",
                        help="also change schedules and warm-up passes")
    parser.add_argument("--moves", action="store_true",
                        help="also print what gained")
    parser.add_argument("--keep", type=pathlib.Path,
                        help="folder that keeps all plans")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if options.keep is not None:
            options.keep.mkdir(parents=True, exist_ok=True)
        outcomes = challenge_all(options, options.keep or pathlib.Path(folder))
    gains = [outcome.gain for outcome in outcomes if outcome.gain is not None]
    if gains:
        print(f"{len(gains)} plans challenged: median gain "
              f"{statistics.median(gains):.2f} %, most {max(gains):.2f} %")
    faults = [outcome for outcome in outcomes if outcome.fault]
    for outcome in faults:
        print(f"  {outcome.name}: {outcome.fault}")
    if any(gain > options.max_gain for gain in gains) or any(
            outcome.gain is not None for outcome in faults):
        return 1
    return 2 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
