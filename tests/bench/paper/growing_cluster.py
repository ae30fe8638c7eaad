"""Figure "Training iteration time for different degrees of heterogeneity":
GPT-3 13B on C3, island by island (6.4)."""

from planning import tangram_with
from table import markdown, ratio, seconds

TITLE = "GPT-3 13B on a growing cluster"
# Groups that are left out; seconds of Metis, Sailor and Tangram with Aceso in the paper.
CLUSTERS = {
    "4 A100": ("v100-32=0,v100-16=0,t4=0", (71, 35, 32)),
    "+ 8 V100-32": ("v100-16=0,t4=0", (25, 26, 20)),
    "+ 4 V100-16": ("t4=0", (25, 26, 20)),
    "all": ("", None),
}
SYSTEMS = {"Metis": ("--planner", "metis"),
           "Sailor": ("--planner", "sailor", "--planner-option", "mode=fork"),
           "Tangram, Aceso": tangram_with("aceso"), "Tangram": ()}


def report(setting):
    cluster = setting.cluster("c3-full-het")
    rows = []
    for name, (nodes, paper) in CLUSTERS.items():
        chosen = ("--nodes", nodes) if nodes else ()
        times = [setting.plan(cluster, "gpt3-13b", *chosen, *more).seconds
                 for more in SYSTEMS.values()]
        rows.append([name, *map(seconds, times),
                     " / ".join(map(str, paper)) + " s" if paper else "",
                     " / ".join(ratio(ours, theirs) for ours, theirs
                                in zip(times, paper)) if paper else ""])
    return markdown(["cluster", *SYSTEMS, "paper, Metis / Sailor / Tangram",
                     "ratios to it"], rows)
