#!/usr/bin/env python3
"""Writes the table of docs/exporting.md: plans by frameworks.

Usage: exporting_table.py <bin folder> <source folder> [--train]

With --train, exports are trained on CPU as well: those for Aceso by its own
runtime, if TANGRAM_FRAMEWORK_CHECKOUTS has it, and those that can be imported
again by the reference runtime.
"""

import hashlib
import json
import os
import subprocess
import sys
import tempfile

BIN, SOURCE = sys.argv[1:3]
TANGRAM = os.path.join(BIN, "tangram")
# The files of targets that can also be imported.
IMPORTED = {"flagscale": ["train/plan.yaml", "hostfile"],
            "aceso": ["flexpipe.json", "hostfile"],
            "megatron": ["megatron.args", "hostfile"],
            "galvatron": ["galvatron.json", "runtime.yaml", "hostfile"]}
MOST_GPUS = 32  # Processes of this machine, one a GPU.
TARGETS = ["flagscale", "aceso", "megatron", "galvatron", "sailor",
           "flashflex", "torchtitan", "alpa"]
C1, C2, C3 = "c1-compute-het", "c2-modern-het", "c3-full-het"
C1_ALL, C1_T4 = (C1, "t4=2,v100=2"), (C1, "t4=1,v100=0")
C2_ALL, C3_ALL = (C2, ""), (C3, "")
C3_A100 = (C3, "t4=0,v100-16=0,v100-32=0")
C3_V100 = (C3, "t4=0,a100=0")
BF16 = ("--precision", "bf16")
# From name to cluster, nodes, model and further options.
PLANS = {
    "C1 T4, GPT-3 6.7B": (C1, "t4=4,v100=0", "gpt3-6.7b"),
    "C1 8:8, GPT-3 6.7B": (*C1_ALL, "gpt3-6.7b"),
    "C1 8:8, Llama 2 7B": (*C1_ALL, "llama2-7b"),
    "C1 8:8, GShard-MoE 7.1B": (*C1_ALL, "gshard-moe-7.1b"),
    "C2, Llama 2 13B": (*C2_ALL, "llama2-13b"),
    "C2, Mixtral 8x7B": (*C2_ALL, "mixtral-8x7b"),
    "C2, Qwen3 30B": (*C2_ALL, "qwen3-30b-a3b"),
    "C3 A100, GPT-3 13B": (*C3_A100, "gpt3-13b"),
    "C3 three islands, Llama 2 13B": (C3, "t4=0", "llama2-13b"),
    "C3 all, GPT-3 13B": (*C3_ALL, "gpt3-13b"),
    "1,024 GPUs, Llama 3 70B": ("het-1024", "", "llama3-70b", "--global-batch",
                                "1024", *BF16),
}
for label, where, model, parallelizer, *more in (
        ("C1 8:8, Aceso", C1_ALL, "gpt3-6.7b", "aceso"),
        ("C1 8:8, Alpa", C1_ALL, "gpt3-6.7b", "alpa"),
        ("C1 8:8, Hypertron", C1_ALL, "gpt3-6.7b", "hypertron"),
        ("C1 8:8, Llama 2 7B, Mist", C1_ALL, "llama2-7b", "mist"),
        ("C2, Llama 2 13B, Mist", C2_ALL, "llama2-13b", "mist", *BF16),
        ("C2, Llama 2 13B, Galvatron", C2_ALL, "llama2-13b", "galvatron"),
        ("C3 A100, Llama 2 13B, Galvatron", C3_A100, "llama2-13b",
         "galvatron")):
    PLANS[label] = (*where, model, "--parallelizer", parallelizer, *more)
for label, where, model, runtime, *more in (
        ("C1 8:8, GPT-3 6.7B", C1_ALL, "gpt3-6.7b", "aceso"),
        ("C1 4 T4, GPT-3 6.7B of 8 layers", C1_T4, "gpt3-6.7b", "aceso",
         "--layers", "8"),
        ("C3 A100, GPT-3 13B", C3_A100, "gpt3-13b", "aceso"),
        ("C3 V100, GPT-3 13B", C3_V100, "gpt3-13b", "aceso"),
        ("C1 8:8, GPT-3 6.7B", C1_ALL, "gpt3-6.7b", "flagscale"),
        ("C1 8:8, Llama 2 7B", C1_ALL, "llama2-7b", "flagscale"),
        ("C2, Mixtral 8x7B", C2_ALL, "mixtral-8x7b", "flagscale"),
        ("C3 all, Llama 2 13B", C3_ALL, "llama2-13b", "flagscale"),
        ("C1 8:8, GPT-3 6.7B", C1_ALL, "gpt3-6.7b", "megatron"),
        ("C1 8:8, Llama 2 7B", C1_ALL, "llama2-7b", "megatron"),
        ("C1 8:8, GShard-MoE 7.1B", C1_ALL, "gshard-moe-7.1b", "megatron"),
        ("C3 all, GPT-3 13B", C3_ALL, "gpt3-13b", "megatron"),
        ("C3 A100, GPT-3 13B", C3_A100, "gpt3-13b", "galvatron"),
        ("C3 A100, Llama 2 13B", C3_A100, "llama2-13b", "galvatron"),
        ("C2, Qwen3 30B", C2_ALL, "qwen3-30b-a3b", "galvatron"),
        ("C1 8:8, Llama 2 7B", C1_ALL, "llama2-7b", "sailor"),
        ("C3 all, Llama 2 13B", C3_ALL, "llama2-13b", "sailor"),
        ("C1 8:8, Llama 2 7B", C1_ALL, "llama2-7b", "flashflex"),
        ("C2, Llama 2 13B, bf16", C2_ALL, "llama2-13b", "torchtitan", *BF16),
        ("C3 A100, Llama 2 13B, bf16", C3_A100, "llama2-13b", "torchtitan",
         *BF16),
        ("C1 8:8, GPT-3 6.7B", C1_ALL, "gpt3-6.7b", "alpa"),
        ("C1 8:8, GShard-MoE 7.1B", C1_ALL, "gshard-moe-7.1b", "alpa")):
    PLANS[f"{label}, for {runtime}"] = (*where, model, "--runtime", runtime,
                                        *more)


def make_plan(name, folder):
    cluster, nodes, model, *more = PLANS[name]
    arguments = [TANGRAM, "plan", "--quiet", "--cluster",
                 f"{SOURCE}/deploy/clusters/{cluster}.yaml",
                 "--model", model, "--output", f"{folder}/plan.json", *more]
    if nodes:
        arguments += ["--nodes", nodes]
    if "--global-batch" not in more:
        arguments += ["--global-batch", "128"]
    if "--runtime" not in more:
        arguments += ["--runtime", "any"]
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


def losses_in(output, target):
    """The list below its title, lines joined; empty: there is none."""
    losses = []
    _, _, below = output.partition(f"Lost in {target}\n")
    for line in below.splitlines():
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
    losses = losses_in(run.stdout, target)
    if not losses:
        return "exported", ""
    return "lossy", ", ".join(fields_of(losses))


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


def gpus_of(folder):
    with open(f"{folder}/plan.json", encoding="utf-8") as f:
        stages = json.load(f)["plan"]["stages"]
    return sum(g["count"] for stage in stages for g in stage["gpus"])


def trained_by_framework(target, folder):
    """True or false: right or not. None: it cannot be run."""
    if target != "aceso" or not os.environ.get("TANGRAM_FRAMEWORK_CHECKOUTS"):
        return None
    sys.path.append(os.path.join(SOURCE, "tests/frameworks"))
    import flexpipe
    wrong, count, greatest = flexpipe.compare_export(f"{folder}/aceso")
    print(f"  aceso itself: {count} gradients, greatest difference "
          f"{greatest:.1e}, wrong: {wrong}", file=sys.stderr)
    return not wrong


def trained_by_reference(target, folder, seen):
    """As trained_by_framework, of the exported files, imported again. `seen`
    are answers by what was run."""
    if target not in IMPORTED:
        return None
    back = f"{folder}/back.json"
    subprocess.run(
        [TANGRAM, "import", "plan", "--from", target,
         *(f"{folder}/{target}/{name}" for name in IMPORTED[target]), "--like",
         f"{folder}/plan.json", "-o", back], capture_output=True, check=False)
    with open(back, encoding="utf-8") as f:
        document = json.load(f)
    content = json.dumps([document[part]
                          for part in ("plan", "model", "training")])
    key = hashlib.sha256(content.encode()).hexdigest()
    if key not in seen:
        run = subprocess.run([TANGRAM, "run", back, "--tiny", "--check"],
                             capture_output=True, text=True, check=False)
        print(f"  {target}, reference runtime: {run.stdout.strip()} "
              f"{run.stderr.strip()}", file=sys.stderr)
        seen[key] = run.returncode == 0
    return seen[key]


def marks(target, folder, seen):
    """Marks of what trained the export as asked: F, the framework; R, the
    reference runtime. WRONG follows a mark whose training went wrong."""
    if gpus_of(folder) > MOST_GPUS:
        return ""
    found = ""
    for mark, right in (("F", trained_by_framework(target, folder)),
                        ("R", trained_by_reference(target, folder, seen))):
        if right is not None:
            found += f" {mark}" if right else f" {mark} WRONG"
    return found


def print_sums(rows):
    print("| | | " + " | ".join(
        ", ".join(f"{sum(cells[i].startswith(what) for _, _, cells in rows)} "
                  f"{what}" for what in ("exported", "lossy", "refused"))
        for i in range(len(TARGETS))) + " |")


def main():
    train = "--train" in sys.argv[3:]
    rows, reasons, seen = [], {}, {}
    for name in PLANS:
        print(name, file=sys.stderr)
        with tempfile.TemporaryDirectory() as folder:
            if not make_plan(name, folder):
                rows.append((name, "no plan fits", [""] * len(TARGETS)))
                continue
            cells = []
            for target in TARGETS:
                what, why = verdict(target, folder)
                cell = what
                if what != "exported":
                    number = reasons.setdefault((what, why), len(reasons) + 1)
                    cell = f"{what} [{number}]"
                if what != "refused" and train:
                    cell += marks(target, folder, seen)
                cells.append(cell)
            rows.append((name, stages_of(folder), cells))
    print("| plan | stages | " + " | ".join(TARGETS) + " |")
    print("|---" * (len(TARGETS) + 2) + "|")
    for name, stages, cells in rows:
        print(f"| {name} | {stages} | " + " | ".join(cells) + " |")
    print_sums(rows)
    print()
    for (what, why), number in reasons.items():
        print(f"{number}. {what}: {why}")


if __name__ == "__main__":
    main()
