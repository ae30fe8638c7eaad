"""Figure "Training iteration time with varying heterogeneous GPU ratios":
GPT-3 6.7B on 16 GPUs of C1, from 16 T4 to 16 V100 (6.2, 6.3)."""

from planning import CALIBRATED_FRACTION, tangram_with, whole_cluster_with
from table import markdown, mean, ratio, seconds

TITLE = "GPT-3 6.7B on mixes of T4 and V100"
MIXES = [(16, 0), (12, 4), (8, 8), (4, 12), (0, 16)]
SYSTEMS = {
    "Aceso": whole_cluster_with("aceso"),
    "Alpa": whole_cluster_with("alpa"),
    "Metis": ("--planner", "metis"),
    "Sailor": ("--planner", "sailor"),
    "Sailor, fork": ("--planner", "sailor", "--planner-option", "mode=fork"),
    "Tangram, Aceso": tangram_with("aceso"),
    "Tangram, Alpa": tangram_with("alpa"),
    "Tangram": (),
}
# Seconds that the text gives, on 16 T4 and on 16 V100, and the mean ratio to
# Tangram's time over the three mixes.
PAPER_ENDS = {"Aceso": (47, 26), "Alpa": (54, 27), "Metis": (146, 50),
              "Sailor": (70, 32), "Sailor, fork": (70, 32), "Tangram, Aceso": (47, 26),
              "Tangram, Alpa": (54, 27)}
PAPER_RATIOS = {"Aceso": 1.4, "Alpa": 1.6, "Metis": 2.1, "Sailor": 2.1,
                "Sailor, fork": 2.1}


def nodes(mix):
    return ("--nodes", f"t4={mix[0] // 4},v100={mix[1] // 4}")


def times_on(setting, cluster):
    return {(system, mix): setting.plan(cluster, "gpt3-6.7b", *nodes(mix),
                                        *more).seconds
            for system, more in SYSTEMS.items() for mix in MIXES}


def rows_of(times):
    """Each system with its mean ratio to Tangram with Aceso over the mixes."""
    rows = []
    for system in SYSTEMS:
        ours = [times[system, mix] for mix in MIXES]
        ratios = [times[system, mix] / times["Tangram, Aceso", mix]
                  for mix in MIXES[1:-1]
                  if times[system, mix] and times["Tangram, Aceso", mix]]
        paper = PAPER_RATIOS.get(system)
        ends = PAPER_ENDS.get(system)
        rows.append([system, *map(seconds, ours),
                     f"{ends[0]} / {ends[1]} s" if ends else "",
                     f"{mean(ratios):.2f}" if ratios else "",
                     paper or ""])
    return rows


def report(setting):
    columns = ["system", *(f"{t4}:{v100}" for t4, v100 in MIXES),
               "paper, 16:0 / 0:16", "mean ratio", "paper"]
    parts = []
    for name, fraction in (("calibrated", CALIBRATED_FRACTION),
                           ("as shipped", None)):
        cluster = setting.cluster("c1-compute-het", fraction)
        parts.append(f"C1 {name}:\n\n"
                     + markdown(columns, rows_of(times_on(setting, cluster))))
    note = ("The ratio is to Tangram with Aceso, as in the paper, and over the "
            "three mixes. \"Calibrated\": both GPUs reach "
            f"{CALIBRATED_FRACTION:.2f} of their peak in matrix products, "
            "which puts Aceso near the paper's 47 and 26 s on one type; "
            "nothing else is fitted.")
    return "\n\n".join([*parts, note])
