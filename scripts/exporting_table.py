#!/usr/bin/env python3
"""Writes the table of docs/exporting.md: plans by frameworks.

Usage: exporting_table.py <bin folder> <source folder>
"""

import json
import os
import subprocess
import sys
import tempfile

BIN, SOURCE = sys.argv[1:3]
TANGRAM = os.path.join(BIN, "tangram")
TARGETS = ["flagscale", "aceso", "megatron", "galvatron", "sailor",
           "flashflex", "torchtitan", "alpa"]
C1, C2, C3 = "c1-compute-het", "c2-modern-het", "c3-full-het"
# From name to cluster, nodes, model and further options.
PLANS = {
    "C1 T4, GPT-3 6.7B": (C1, "t4=4,v100=0", "gpt3-6.7b"),
    "C1 8:8, GPT-3 6.7B": (C1, "t4=2,v100=2", "gpt3-6.7b"),
    "C1 8:8, Aceso": (C1, "t4=2,v100=2", "gpt3-6.7b", "--parallelizer",
                      "aceso"),
    "C1 8:8, Llama 2 7B": (C1, "t4=2,v100=2", "llama2-7b"),
    "C1 8:8, GShard-MoE 7.1B": (C1, "t4=2,v100=2", "gshard-moe-7.1b"),
    "C2, Llama 2 13B": (C2, "", "llama2-13b"),
    "C2, Mixtral 8x7B": (C2, "", "mixtral-8x7b"),
    "C2, Qwen3 30B": (C2, "", "qwen3-30b-a3b"),
    "C3 A100, GPT-3 13B": (C3, "t4=0,v100-16=0,v100-32=0", "gpt3-13b"),
    "C3 three islands, Llama 2 13B": (C3, "t4=0", "llama2-13b"),
    "C3 all, GPT-3 13B": (C3, "", "gpt3-13b"),
    "1,024 GPUs, Llama 3 70B": ("het-1024", "", "llama3-70b", "--global-batch",
                                "1024", "--precision", "bf16"),
}


def make_plan(name, folder):
    cluster, nodes, model, *more = PLANS[name]
    arguments = [TANGRAM, "plan", "--quiet", "--cluster",
                 f"{SOURCE}/deploy/clusters/{cluster}.yaml",
                 "--model", model, "--output", f"{folder}/plan.json", *more]
    if nodes:
        arguments += ["--nodes", nodes]
    if "--global-batch" not in more:
        arguments += ["--global-batch", "128"]
    if "--parallelizer" not in more:
        arguments += ["--parallelizer", "uniform"]
    run = subprocess.run(arguments, capture_output=True, text=True)
    return run.returncode == 0


def fields_of(losses):
    """ "stages[1].recompute: ..." -> "recompute", each once."""
    fields = []
    for loss in losses:
        field = loss.split(":")[0].split(".")[-1].split(", ")[-1]
        if field not in fields:
            fields.append(field)
    return fields


def losses_in(output):
    """The list below its title, lines joined."""
    losses = []
    for line in output.split("cannot hold\n")[1].splitlines():
        if not line.startswith("  "):
            break
        if line.startswith("    "):
            losses[-1] += " " + line.strip()
        else:
            losses.append(line.strip())
    return losses


def first_obstacle(refusal):
    for end in ". Also: ", ". What to do: ", " (and ":
        refusal = refusal.split(end)[0]
    return refusal


def verdict(target, folder):
    """("exported" | "lossy" | "refused", why)."""
    run = subprocess.run(
        [TANGRAM, "export", f"{folder}/plan.json", "--to", target, "-o",
         f"{folder}/{target}", "--allow-lossy"], capture_output=True, text=True)
    if run.returncode != 0:
        return "refused", first_obstacle(
            run.stderr.strip().split(f"{target}: ", 1)[-1])
    if "cannot hold\n" not in run.stdout:
        return "exported", ""
    return "lossy", ", ".join(fields_of(losses_in(run.stdout)))


def stages_of(folder):
    with open(f"{folder}/plan.json", encoding="utf-8") as f:
        plan = json.load(f)["plan"]
    parts = []
    for stage in plan["stages"]:
        p = stage["plan"]["parallelism"]
        part = f"tp{p['tp_degree']} dp{p['dp_degree']}"
        if p["ep_degree"] > 1:
            part += f" ep{p['ep_degree']}"
        if parts and parts[-1][0] == part:
            parts[-1][1] += 1
        else:
            parts.append([part, 1])
    return ", ".join(f"{n} x {part}" for part, n in parts)


def main():
    rows, reasons = [], {}
    for name in PLANS:
        with tempfile.TemporaryDirectory() as folder:
            if not make_plan(name, folder):
                rows.append((name, "no plan fits", [""] * len(TARGETS)))
                continue
            cells = []
            for target in TARGETS:
                what, why = verdict(target, folder)
                if what != "exported":
                    number = reasons.setdefault((what, why), len(reasons) + 1)
                    what = f"{what} [{number}]"
                cells.append(what)
            rows.append((name, stages_of(folder), cells))
    print("| plan | stages | " + " | ".join(TARGETS) + " |")
    print("|---" * (len(TARGETS) + 2) + "|")
    for name, stages, cells in rows:
        print(f"| {name} | {stages} | " + " | ".join(cells) + " |")
    print()
    for (what, why), number in reasons.items():
        print(f"{number}. {what}: {why}")


if __name__ == "__main__":
    main()
