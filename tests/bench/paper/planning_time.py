"""Figure "Planning time when scaling GPU cluster heterogeneity": GPT-3 13B on
one to four islands of C3, Aceso (6.6)."""

from planning import tangram_with
from table import markdown, ratio, seconds

TITLE = "Planning time by islands"
# Groups that are left out; the paper's seconds.
CLUSTERS = [("v100-32=0,v100-16=0,t4=0", 31), ("v100-16=0,t4=0", 377),
            ("t4=0", 659), ("", 984)]


def report(setting):
    cluster = setting.cluster("c3-full-het")
    rows = []
    ours_before = paper_before = None
    for islands, (nodes, paper) in enumerate(CLUSTERS, start=1):
        chosen = ("--nodes", nodes) if nodes else ()
        plan = setting.plan(cluster, "gpt3-13b", *chosen,
                            *tangram_with("aceso"))
        rows.append([islands, seconds(plan.planning_s), f"{paper} s",
                     ratio(plan.planning_s, ours_before),
                     ratio(paper, paper_before)])
        ours_before, paper_before = plan.planning_s, paper
    return markdown(["islands", "planning", "paper", "growth",
                     "paper's growth"], rows)
