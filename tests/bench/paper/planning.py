"""Plans for the figures: runs `tangram plan` and keeps what the tables show."""

import dataclasses
import json
import os
import re
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.dirname(os.path.abspath(__file__)))))
NO_PLAN = 3  # The exit code of `tangram plan`.

# With this share of their peak in matrix products, T4 and V100 come near the
# two homogeneous clusters that the paper measured: 47 s and 26 s.
CALIBRATED_FRACTION = 0.40


@dataclasses.dataclass
class Plan:
    """One answer. Without a plan, `seconds` is None."""
    seconds: float | None
    planning_s: float = 0
    pairs: int = 0
    queries: int = 0
    answer: dict | None = None


@dataclasses.dataclass
class Setting:
    """The program, and a folder for changed cluster files."""
    tangram: str
    folder: str

    def cluster(self, name, fraction=None):
        """The path of a shipped cluster, with another fraction of the peak
        in matrix products if that is given."""
        path = os.path.join(ROOT, "deploy/clusters", name + ".yaml")
        if fraction is None:
            return path
        with open(path, encoding="utf-8") as file:
            text = re.sub(
                r"^( *)(gpu: .*)$",
                rf"\1\2\n\1efficiency: {{gemm_max_fraction: {fraction}}}",
                file.read(), flags=re.M)
        changed = os.path.join(self.folder, f"{name}-{fraction}.yaml")
        with open(changed, "w", encoding="utf-8") as file:
            file.write(text)
        return changed

    def plan(self, cluster, model, *more, sequence=2048, runtime="any"):
        """Plans with a batch of 128, as in all of the paper's experiments."""
        run = subprocess.run(
            [self.tangram, "plan", "--cluster", cluster, "--model", model,
             "--global-batch", "128", "--seq", str(sequence),
             "--runtime", runtime, "--memory-margin", "0", "--quiet", "--output", "-", *more],
            stdout=subprocess.PIPE, check=False)
        if run.returncode not in (0, NO_PLAN):
            run.check_returncode()
        answer = json.loads(run.stdout)
        stats = answer.get("stats", {})
        return Plan(
            seconds=answer["evaluation"]["iteration_time_s"]
            if run.returncode == 0 else None,
            planning_s=answer["provenance"]["wall_s"],
            pairs=int(stats.get("pairs", 0)),
            queries=int(stats.get("queries", 0)), answer=answer)


# The slice plans are the parallelizer's own, as in the paper.
UNPOLISHED = ("--planner-option", "polish=false")


def tangram_with(parallelizer):
    return ("--parallelizer", parallelizer, *UNPOLISHED)


def whole_cluster_with(parallelizer):
    return ("--planner", "whole-cluster", "--parallelizer", parallelizer)
