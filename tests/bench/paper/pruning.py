"""Figure "Breakdown of the impact of pruning policies on end-to-end planning
time": GPT-3 6.7B on 8 T4 and 8 V100, Aceso (6.5)."""

from planning import tangram_with
from table import markdown, ratio, seconds

TITLE = "Pruning"
POLICIES = ["--no-prune-redundant", "--no-prune-imbalanced",
            "--no-prune-infeasible", "--no-prune-incompatible",
            "--no-early-stop"]
# Policies that are on; the paper's factor over the row before.
LADDER = [("none", 0, None), ("+ redundancy", 1, 7), ("+ imbalance", 2, 4),
          ("+ infeasibility, incompatibility", 4, 1.1), ("+ early stop", 5, 1.7)]


def report(setting):
    cluster = setting.cluster("c1-compute-het")
    rows = []
    before = None
    for name, num_on, paper in LADDER:
        plan = setting.plan(cluster, "gpt3-6.7b", "--nodes", "t4=2,v100=2",
                            *POLICIES[num_on:], *tangram_with("aceso"))
        rows.append([name, f"{plan.pairs:,}", f"{plan.queries:,}",
                     seconds(plan.planning_s), seconds(plan.seconds),
                     ratio(before, plan.planning_s), paper or ""])
        before = plan.planning_s
    return markdown(["policies", "pairs", "queries", "planning", "iteration",
                     "faster than the row above", "paper"], rows)
