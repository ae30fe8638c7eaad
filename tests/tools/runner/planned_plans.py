"""Trains plans of the command `tangram plan` and says what occurred in them.

planned_plans.py <repository root> <folder of binaries> [plans] [written plans]
                 [first seed] [seconds]

Each plan is of a small cluster of one to four islands, a model, a planner and a
parallelizer, all drawn from its seed. Draws take turns among KINDS, each of which
makes some features likely. Until each expected feature has occurred ten times, a plan
without one that is still rare is passed over most times.

No planner makes plans with the features of WRITTEN. Written plans (random_plans.py)
have them, and all others too. `tangram evaluate` must accept each, so that it and the
runner agree on the format.

Each plan is trained with --tiny and compared with one process. Prints how often each
feature occurred, and the greatest relative difference of a gradient. Ends with 1 if a
plan is wrong.
"""

import collections
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

import harness
import program
import random_plans
from features import features

DENSE = ("gpt3-1.3b", "llama2-7b", "gpt3-6.7b", "nemotron4-15b")
LARGE = ("llama2-70b", "gpt3-13b", "gpt3-175b")
EXPERTS = ("gshard-moe-2.4b", "gpt-oss-20b", "mixtral-8x7b")
OLD_GPUS = ("T4", "V100-16")
GPUS = (*OLD_GPUS, "A100-40", "V100-32")
# Their attention kernels split sequences.
NEW_GPUS = ("A100-40", "A100-80", "H100")
FAST, SLOW = (200, 300), (6, 12)
# How often a feature is to occur.
ENOUGH = 10
PLANNED = (
    "dense", "experts", "tied embeddings", "several stages", "cut inside a layer",
    "unlike tp_degree at a border", "unlike dp_degree at a border", "tp_degree",
    "tp_y_degree", "sequence_parallel", "cp_degree", "dp_degree", "ep_degree", "fsep",
    "ZeRO 1", "ZeRO 2", "ZeRO 3", "recomputation", "weights offloaded",
    "gradients offloaded", "optimizer offloaded", "activations offloaded",
    *(f"islands: {n}" for n in (1, 2, 3, 4)),
    *(f"by {name}" for name in ("aceso", "alpa", "galvatron", "hypertron", "mist",
                                "uniform")),
    "planner tangram", "planner whole-cluster")
WRITTEN = (
    "schedule gpipe", "schedule interleaved", "schedule zb-h1", "warm-up counts",
    "several pipelines", "all-reduce of pipelines", "zero1 of pipelines",
    "zero2 of pipelines", "mixed replicas, lock-step", "mixed replicas, routed",
    "dropped outputs", "tp_y_degree", "fsep", "cp_degree")


def cluster(pick, gpus, each, nodes, inside=SLOW + FAST, between=(1, 3, 25)):
    """YAML of an island for each of `gpus`, of nodes with GPUs as in `each`."""
    def link(rates, latency_us):
        return f"bandwidth: {pick.choice(rates)} GB/s, latency: {latency_us}us"

    lines = ["name: drawn", "groups:"]
    for i, gpu in enumerate(gpus):
        lines += [f"  - name: g{i}", f"    gpu: {gpu}",
                  f"    nodes: {pick.choice(nodes)}",
                  f"    gpus_per_node: {pick.choice(each)}",
                  f"    intra_node: {{{link(inside, 15)}}}",
                  f"    inter_node: {{{link(between, 50)}}}"]
    pairs = [(i, j) for j in range(len(gpus)) for i in range(j)]
    if pairs:
        lines.append("links:")
        lines += [f"  - {{from: g{i}, to: g{j}, {link((1, 3), 50)}}}" for i, j in pairs]
    return "\n".join(lines) + "\n"


def options(pick, parallelizers, models, layers, batches, lengths):
    return ["--parallelizer", pick.choice(parallelizers),
            "--model", pick.choice(models), "--layers", str(pick.randint(*layers)),
            "--global-batch", str(pick.choice(batches)),
            "--seq", str(pick.choice(lengths))]


# Kinds of draws: a cluster, and options of `tangram plan`.
def anything(pick):
    islands = pick.choice([1, 2, 2, 3])
    return cluster(pick, pick.sample(GPUS, islands), (1, 2, 4), (1, 2) if islands < 3
                   else (1,)), [
        *options(pick, ("aceso", "aceso", "alpa", "galvatron", "hypertron", "mist",
                        "uniform"), DENSE, (3, 6), (16, 32, 64), (512, 1024)),
        *pick.choice([[], ["--microbatch", str(pick.choice([1, 2, 4]))]]),
        *pick.choice([[], [], ["--tp", "2"], ["--dp", "2"], ["--max-stages", "1"]]),
        *pick.choice([[], ["--no-flash-attention"]])]


def cuts_inside_layers(pick):
    return cluster(pick, pick.sample(GPUS, pick.choice([1, 2])), (2, 4), (1,)), options(
        pick, ("aceso",), DENSE, (3, 7), (32, 64), (512, 1024))


def little_memory(pick):
    """Recomputation, ZeRO and offloading."""
    return cluster(pick, pick.sample(OLD_GPUS, pick.choice([1, 1, 2])), (2, 4), (1, 2)), [
        *options(pick, ("mist", "mist", "galvatron", "uniform", "aceso"), LARGE, (2, 4),
                 (16, 32), (1024, 2048)),
        *pick.choice([[], ["--microbatch", str(pick.choice([2, 4, 8]))]])]


def hardly_any_memory(pick):
    """Offloading of weights and gradients too."""
    return cluster(pick, [pick.choice(OLD_GPUS)], (1, 2), (1,)), options(
        pick, ("mist",), ("gpt3-6.7b", "llama2-70b", "gpt3-13b", "mixtral-8x7b"), (2, 10),
        (16, 32), (1024, 2048))


def experts(pick):
    """Expert parallelism; fully sharded experts are uniform's alone."""
    return cluster(pick, pick.sample(GPUS[2:], pick.choice([1, 1, 2])), (4, 8), (1,),
                   (12,) + FAST), options(
        pick, ("uniform", "uniform", "alpa", "hypertron", "galvatron", "mist"), EXPERTS,
        (2, 4), (32, 64), (512, 1024))


def long_sequences(pick):
    """Context parallelism."""
    return cluster(pick, pick.sample(NEW_GPUS, pick.choice([1, 2])), (4, 8), (1,),
                   FAST), options(
        pick, ("galvatron", "hypertron"), ("llama2-7b", "mixtral-8x7b", "llama2-70b"),
        (2, 4), (2, 4, 8), (16384, 32768))


def large_layers(pick):
    """Tensor parallelism in two dimensions."""
    return cluster(pick, pick.sample(("A100-40", "V100-32", "A100-80"),
                                     pick.choice([1, 1, 2])), (4, 8), (1, 2),
                   (12,) + FAST), options(
        pick, ("hypertron",), LARGE, (2, 3), (4, 8, 16), (1024, 2048))


def many_islands(pick):
    islands = pick.choice([3, 4, 4])
    return cluster(pick, pick.sample(GPUS, islands), (2, 4), (1,), (12,), (3,)), [
        *options(pick, ("alpa", "galvatron", "hypertron", "mist", "uniform"),
                 ("gpt3-6.7b", "llama2-7b", "mixtral-8x7b"), (8, 12), (128, 256), (1024,)),
        "--min-island-gain", "0"]


# Twice what makes the rarest features.
KINDS = (anything, cuts_inside_layers, little_memory, hardly_any_memory,
         hardly_any_memory, experts, long_sequences, large_layers, large_layers,
         many_islands)


def arguments(seed):
    """The cluster, and options of `tangram plan` but for files."""
    pick = random.Random(seed)
    yaml, kind_options = KINDS[seed % len(KINDS)](pick)
    planner = "whole-cluster" if pick.random() < 0.2 else "tangram"
    if planner == "whole-cluster" and "--min-island-gain" in kind_options:
        planner = "tangram"
    return yaml, [*kind_options, "--planner", planner, "--effort", "128",
                  "--threads", "1"]


def plan_of_seed(seed, folder):
    """Writes the plan. Returns its path, or None if no plan fits."""
    yaml, of_seed = arguments(seed)
    path = pathlib.Path(folder) / f"{seed}.json"
    (pathlib.Path(folder) / f"{seed}.yaml").write_text(yaml, encoding="utf-8")
    done = subprocess.run(
        [harness.BINARIES / "tangram", "plan", "--cluster", f"{folder}/{seed}.yaml",
         *of_seed, "--runtime", "any", "--timeout", "20", "--quiet", "--output", path],
        capture_output=True, text=True, check=False)
    if done.returncode not in (0, 3, 5):
        raise RuntimeError(f"{seed}: {' '.join(of_seed)}: {done.stderr}")
    return None if done.returncode else path


def written_plan(seed, folder):
    """Writes a plan of random_plans.py. `evaluate` may find that it does not fit."""
    path = pathlib.Path(folder) / f"written-{seed}.json"
    path.write_text(json.dumps(random_plans.random_plan(seed)), encoding="utf-8")
    done = subprocess.run([harness.BINARIES / "tangram", "evaluate", path],
                          capture_output=True, text=True, check=False)
    if done.returncode not in (0, 3):
        raise RuntimeError(f"written plan {seed}: {done.stderr}")
    return path


class Tally:
    """Results by feature."""

    def __init__(self, expected):
        self.expected = expected
        self.counts, self.wrong = collections.Counter(), []
        self.plans, self.greatest = 0, 0.0

    def is_wanted(self, seed, found):
        """Whether a plan is worth its time."""
        rare = [name for name in self.expected if self.counts[name] < ENOUGH]
        return not rare or found & set(rare) or random.Random(~seed).random() < 0.1

    def train(self, name, path, found):
        done = program.run(path, "--tiny", "--check", "--steps", "2")
        self.plans += 1
        self.counts.update(found)
        for error in re.findall(r"greatest relative difference (\S+)\)", done.stdout):
            self.greatest = max(self.greatest, float(error))
        if done.returncode:
            self.wrong.append(name)
            print(f"{name}\n{done.stdout[-1500:]}{done.stderr[-1500:]}", flush=True)

    def table(self):
        for feature in sorted({*self.expected, *self.counts}):
            print(f"{self.counts[feature]:5} {feature}")
        print(f"{self.plans} plans, {len(self.wrong)} wrong {self.wrong}; greatest "
              f"relative difference of a gradient {self.greatest:.1e}", flush=True)


def features_of(path):
    return features(json.loads(path.read_text(encoding="utf-8")))


def train_planned(wanted, seed, end_s, folder):
    tally, without = Tally(PLANNED), 0
    while tally.plans < wanted and time.monotonic() < end_s:
        path = plan_of_seed(seed, folder)
        if path is None:
            without += 1
        else:
            text = " ".join(arguments(seed)[1])
            found = features_of(path) | {f"planner {re.search('--planner (.*?) ', text)[1]}"}
            if tally.is_wanted(seed, found):
                tally.train(f"{seed}: {text}", path, found)
        seed += 1
    print(f"Plans of planners ({without} draws without a plan that fits):")
    tally.table()
    return tally.wrong


def train_written(wanted, seed, end_s, folder):
    tally = Tally(WRITTEN)
    while tally.plans < wanted and time.monotonic() < end_s:
        path = written_plan(seed, folder)
        found = features_of(path)
        if tally.is_wanted(seed, found):
            tally.train(f"written plan {seed}", path, found)
        seed += 1
    print("Written plans:")
    tally.table()
    return tally.wrong


def main(planned=3, written=2, first=0, most_s=float("inf")):
    end_s = time.monotonic() + float(most_s)
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        for wanted, train in (planned, train_planned), (written, train_written):
            if int(wanted):
                wrong += train(int(wanted), int(first), end_s, folder)
    return 1 if wrong else 0


if __name__ == "__main__":
    if not harness.HAS_TORCH:
        print(harness.NO_TORCH)
        sys.exit(77)
    sys.exit(main(*sys.argv[3:]))
