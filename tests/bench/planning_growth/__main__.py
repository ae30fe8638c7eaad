#!/usr/bin/python3
"""How the time and the memory of planning grow with the size of a job.

planning_growth [--bin FOLDER] [--runtime NAME] [--parallelizer NAME]
                [--only gpus,layers,islands,divisors] [--most N]
                [--max-exponent X]

Plans jobs that differ in one size alone: the GPUs of four islands, the layers
of the model, the number of islands, or the divisors of the batch. A line has
the CPU time of planning on one thread, the time of composition by the clock, as
`tangram plan --verbose` has it, and the peak memory. Below each table stand the
exponents of their growth, fitted to all lines. They are rather too low for
small jobs, as a job of next to no size takes some time too. --most leaves out
larger jobs. The parallelizer is by default `uniform`, whose own search is the
shortest; "auto" takes all that suit.

Ends with 1 if an exponent of CPU time is above --max-exponent.
"""

import argparse
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
GPUS = ["H100", "A100-80", "A100-40", "V100-32", "H200", "B200", "V100-16",
        "L4"]
GIB_PER_KB = 2.0 ** -20
UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0}


def cluster(num_gpus, num_islands):
    nodes = num_gpus // 8 // num_islands
    lines = ["name: growth", "groups:"]
    for gpu in GPUS[:num_islands]:
        lines.append(f"  - {{name: {gpu.lower()}, gpu: {gpu}, nodes: {nodes}, "
                     "gpus_per_node: 8}")
    lines.append("default_link: {bandwidth: 10 GB/s, pair_bandwidth: 5 GB/s, "
                 "latency: 50us}")
    return "\n".join(lines) + "\n"


# For each size: the jobs (size, GPUs, layers, islands, batch). 127, 125, 128
# and 120 samples have 2, 4, 8 and 16 divisors.
JOBS = {
    "gpus": [(n, n, 80, 4, 1024) for n in (64, 256, 1024, 4096, 16384, 65536)],
    "layers": [(n, 256, n, 4, 256) for n in (24, 48, 96, 192)],
    "islands": [(n, 768, 80, n, 512) for n in (1, 2, 3, 4, 6, 8)],
    "divisors": [(2, 64, 40, 2, 127), (4, 64, 40, 2, 125),
                 (8, 64, 40, 2, 128), (16, 64, 40, 2, 120)],
}


def seconds_of(phase, text):
    found = re.search(rf"^  {phase} +([\d.e+-]+) (us|ms|s|min)", text, re.M)
    return float(found[1]) * UNITS[found[2]] if found else 0.0


class Line:
    """One job, planned."""

    def __init__(self, options, job, folder):
        self.size, num_gpus, layers, islands, batch = job
        file = folder / "cluster.yaml"
        file.write_text(cluster(num_gpus, islands))
        command = [options.bin / "tangram", "plan", "--cluster", file,
                   "--model", "llama3-70b", "--layers", str(layers),
                   "--global-batch", str(batch), "--runtime", options.runtime,
                   "--threads", "1", "--verbose", "--output",
                   folder / "plan.json"]
        if options.parallelizer != "auto":
            command += ["--parallelizer", options.parallelizer]
        # The output may be larger than a pipe, so it goes to a file.
        with open(folder / "out", "w", encoding="utf-8") as out:
            child = subprocess.Popen(command, stdout=out,
                                     stderr=subprocess.STDOUT)
            _, status, usage = os.wait4(child.pid, 0)
        text = (folder / "out").read_text()
        self.code = os.waitstatus_to_exitcode(status)
        if self.code not in (0, 3):
            sys.exit(f"{command} ended with {self.code}:\n{text}")
        self.cpu_s = usage.ru_utime + usage.ru_stime
        self.composition_s = seconds_of("composition", text)
        self.peak_gib = usage.ru_maxrss * GIB_PER_KB

    def shown(self):
        return (f"{self.size:10} {self.cpu_s:10.2f} {self.composition_s:14.3f} "
                f"{self.peak_gib * 1024:10.0f}"
                + ("  no plan" if self.code == 3 else ""))


def exponent(lines, value_of):
    """The slope of a line through the logarithms, by least squares."""
    points = [(math.log(line.size), math.log(max(value_of(line), 1e-4)))
              for line in lines]
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    return (sum((x - mean_x) * (y - mean_y) for x, y in points)
            / sum((x - mean_x) ** 2 for x, _ in points))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path,
                        default=ROOT / "build/release/bin")
    parser.add_argument("--runtime", default="auto")
    parser.add_argument("--parallelizer", default="uniform")
    parser.add_argument("--only", default=",".join(JOBS))
    parser.add_argument("--most", type=int, default=1 << 30)
    parser.add_argument("--max-exponent", type=float, default=float("inf"))
    options = parser.parse_args()
    is_too_steep = False
    with tempfile.TemporaryDirectory() as folder:
        for name in options.only.split(","):
            print(f"{name:>10} {'CPU s':>10} {'composition s':>14} "
                  f"{'peak MiB':>10}")
            lines = []
            for job in JOBS[name]:
                if job[0] > options.most:
                    continue
                lines.append(Line(options, job, pathlib.Path(folder)))
                print(lines[-1].shown(), flush=True)
            if len(lines) < 2:
                continue
            steepness = exponent(lines, lambda line: line.cpu_s)
            print(f"{'exponent':>10} {steepness:10.2f} "
                  f"{exponent(lines, lambda line: line.composition_s):14.2f} "
                  f"{exponent(lines, lambda line: line.peak_gib):10.2f}\n",
                  flush=True)
            is_too_steep |= steepness > options.max_exponent
    return 1 if is_too_steep else 0


if __name__ == "__main__":
    sys.exit(main())
