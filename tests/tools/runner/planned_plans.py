"""Trains plans of the command `tangram plan` and says what occurred in them.

planned_plans.py <repository root> <folder of binaries> [plans] [first seed] [seconds]

Each plan is of a small cluster of one to four islands, a model, and a planner or
parallelizer with settings of its own, all drawn from its seed. It is trained with
--tiny and compared with one process. Prints how often each feature occurred, and the
greatest relative difference of a gradient. Ends with 1 if one is wrong.
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

PARALLELIZERS = ("aceso", "alpa", "galvatron", "hypertron", "mist", "uniform")
# Large ones leave little memory, so that plans recompute, share and offload.
DENSE = ("gpt3-1.3b", "llama2-7b", "gpt3-6.7b", "llama2-70b", "gpt3-175b")
EXPERTS = ("gshard-moe-2.4b", "gpt-oss-20b", "mixtral-8x7b")
GPUS = ("T4", "V100-16", "A100-40", "V100-32")
DROP_OUTPUTS = 1 << 31


def cluster(pick):
    """YAML of one to four islands of one or two nodes each."""
    islands = pick.choice([1, 2, 2, 3, 4])
    most = 16 // islands
    lines = ["name: drawn", "groups:"]
    for i, gpu in enumerate(pick.sample(GPUS, islands)):
        each = pick.choice([n for n in (1, 2, 4) if n <= most])
        nodes = pick.choice([n for n in (1, 2) if n * each <= most])
        lines += [f"  - name: g{i}", f"    gpu: {gpu}", f"    nodes: {nodes}",
                  f"    gpus_per_node: {each}",
                  f"    intra_node: {{bandwidth: {pick.choice([6, 12, 200])} GB/s, "
                  "latency: 15us}",
                  f"    inter_node: {{bandwidth: {pick.choice([1, 3, 25])} GB/s, "
                  "latency: 50us}"]
    if islands > 1:
        lines.append("links:")
        lines += [f"  - {{from: g{i}, to: g{j}, bandwidth: "
                  f"{pick.choice([1, 3])} GB/s, latency: 50us}}"
                  for j in range(islands) for i in range(j)]
    return "\n".join(lines) + "\n"


def arguments(seed):
    """Of `tangram plan`, without --cluster and --output, and the cluster."""
    pick = random.Random(seed)
    yaml = cluster(pick)
    parallelizer = PARALLELIZERS[seed % len(PARALLELIZERS)]
    models = DENSE if parallelizer == "aceso" or pick.random() < 0.6 else EXPERTS
    planner = "whole-cluster" if pick.random() < 0.25 else "tangram"
    return yaml, [
        "--model", pick.choice(models), "--layers", str(pick.randint(3, 6)),
        "--global-batch", str(pick.choice([16, 32, 64])),
        "--seq", str(pick.choice([512, 1024])), "--planner", planner,
        "--parallelizer", parallelizer, "--effort", "128", "--threads", "1",
        *pick.choice([[], ["--microbatch", str(pick.choice([1, 2, 4]))]]),
        *pick.choice([[], [], ["--tp", "2"], ["--dp", "2"], ["--max-stages", "1"]]),
        *pick.choice([[], ["--no-flash-attention"]])]


def features(data):
    """Names of what occurs in a plan file."""
    found = set()
    layers = data["model"]["layer_types"]
    found.add("experts" if any(int(spec.get("num_experts", 0)) for spec in layers)
              else "dense")
    if any(spec.get("tied_embeddings") for spec in layers):
        found.add("tied embeddings")
    plans = [r["plan"] for r in data.get("replicated_plan", {}).get("pipelines", [])]
    found |= {"several pipelines"} if plans else set()
    if plans:
        found.add(data["replicated_plan"].get("sync", "all-reduce") + " of pipelines")
    for plan in plans or [data["plan"]]:
        found.add("schedule " + plan.get("schedule", "1f1b"))
        found |= {"warm-up counts"} if plan.get("warm_up") else set()
        found.add(f"islands: {len({s.get('island', 0) for s in plan['stages']})}")
        found |= {"several stages"} if len(plan["stages"]) > 1 else set()
        previous = None
        for stage in plan["stages"]:
            found |= _stage_features(stage, previous)
            previous = stage
    return found


def _stage_features(stage, previous):
    found = {"by " + stage.get("made_by", "?")}
    plan = stage["plan"]
    if plan["begin"].get("op"):
        found.add("cut inside a layer")
    p = plan.get("parallelism", {})
    for name in ("tp_degree", "cp_degree", "dp_degree", "ep_degree", "tp_y_degree"):
        if p.get(name, 1) > 1:
            found.add(name)
    for name in ("fsep", "sequence_parallel"):
        if p.get(name):
            found.add(name)
    if p.get("zero_stage"):
        found.add(f"ZeRO {p['zero_stage']}")
    for run in plan.get("recompute", []):
        mask = run.get("mask", 0)
        found |= {"recomputation"} if mask else set()
        found |= {"dropped outputs"} if mask & DROP_OUTPUTS else set()
    found |= {f"{kind} offloaded" for kind, part in plan.get("offload", {}).items() if part}
    if stage.get("mixed"):
        found.add("mixed replicas")
    before = previous and previous["plan"].get("parallelism")
    if before:
        for name in ("tp_degree", "dp_degree"):
            if before.get(name, 1) != p.get(name, 1):
                found.add(f"unlike {name} at a border")
    return found


def plan_of_seed(seed, folder):
    """Writes the plan. Returns its path, or None if no plan fits."""
    yaml, options = arguments(seed)
    path = pathlib.Path(folder) / f"{seed}.json"
    (pathlib.Path(folder) / f"{seed}.yaml").write_text(yaml, encoding="utf-8")
    done = subprocess.run(
        [harness.BINARIES / "tangram", "plan", "--cluster", f"{folder}/{seed}.yaml",
         *options, "--timeout", "20", "--quiet", "--output", path],
        capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"{seed}: no plan: {done.stderr.strip().splitlines()[-1:]}", flush=True)
        return None
    return path


class Tally:
    """Results by feature."""

    def __init__(self):
        self.counts, self.wrong = collections.Counter(), []
        self.plans, self.greatest = 0, 0.0

    def train(self, seed, path):
        found = features(json.loads(path.read_text(encoding="utf-8")))
        done = subprocess.run(
            ["/usr/bin/python3", "-m", "tangram_runner", path, "--tiny", "--check",
             "--steps", "2"], cwd=harness.RUNNER, capture_output=True, text=True,
            check=False)
        self.plans += 1
        self.counts.update(found)
        for error in re.findall(r"greatest relative difference (\S+)\)", done.stdout):
            self.greatest = max(self.greatest, float(error))
        if done.returncode:
            self.wrong.append(seed)
            print(f"{seed}: {' '.join(arguments(seed)[1])}\n{done.stdout[-1500:]}"
                  f"{done.stderr[-1500:]}", flush=True)

    def table(self):
        for feature, count in sorted(self.counts.items()):
            print(f"{count:5} {feature}")
        print(f"{self.plans} plans, {len(self.wrong)} wrong {self.wrong}; greatest "
              f"relative difference of a gradient {self.greatest:.1e}")


def main(wanted=3, first=0, most_s=float("inf")):
    tally, seed, start = Tally(), int(first), time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        while tally.plans < int(wanted) and time.monotonic() - start < float(most_s):
            path = plan_of_seed(seed, folder)
            if path:
                tally.train(seed, path)
            seed += 1
    tally.table()
    return 1 if tally.wrong else 0


if __name__ == "__main__":
    if not harness.HAS_TORCH:
        print(harness.NO_TORCH)
        sys.exit(77)
    sys.exit(main(*sys.argv[3:]))
