"""Figure "Training iteration time for MoE models": GShard on C1 (6.2)."""

from planning import CALIBRATED_FRACTION, tangram_with, whole_cluster_with
from table import markdown, ratio, seconds

TITLE = "GShard-MoE on T4 and V100"
# Model; seconds of Alpa and of Tangram in the paper.
MODELS = {"gshard-moe-2.4b": (6.7, 4.2), "gshard-moe-7.1b": (12.2, 5.8),
          "gshard-moe-10b": (15.5, 13.6)}
MIXES = {"4:4": "t4=1,v100=1", "8:8": "t4=2,v100=2"}


def report(setting):
    cluster = setting.cluster("c1-compute-het", CALIBRATED_FRACTION)
    rows = []
    for model, (paper_alpa, paper_tangram) in MODELS.items():
        for mix, nodes in MIXES.items():
            alpa, ours, best = (
                setting.plan(cluster, model, "--nodes", nodes, *more,
                             sequence=1024).seconds
                for more in (whole_cluster_with("alpa"), tangram_with("alpa"),
                             ()))
            rows.append([f"{model}, {mix}", seconds(alpa), seconds(ours),
                         seconds(best), ratio(alpa, ours),
                         f"{paper_alpa} -> {paper_tangram} s",
                         ratio(paper_alpa, paper_tangram)])
    return markdown(["model, T4:V100", "Alpa", "Tangram, Alpa", "Tangram",
                     "ratio", "paper", "paper's ratio"], rows)
