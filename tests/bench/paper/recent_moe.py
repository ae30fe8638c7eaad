"""Figure "Training iteration time for recent MoE models": Mixtral and Qwen3 on
C2, four samples a microbatch (6.2)."""

from planning import tangram_with, whole_cluster_with
from table import markdown, ratio, seconds

TITLE = "Mixtral-8x7B and Qwen3-30B-A3B on A100 and H100"
# Model, layers; seconds of Galvatron-uniform and of Tangram in the paper.
ROWS = {("mixtral-8x7b", 16): (30, 22), ("mixtral-8x7b", 32): (34, 23),
        ("qwen3-30b-a3b", 24): (17, 15), ("qwen3-30b-a3b", 48): (18, 16)}
PAPER_A100_FIRST_S = 54


def report(setting):
    cluster = setting.cluster("c2-modern-het")

    def plan(model, layers, *more):
        return setting.plan(cluster, model, "--layers", str(layers),
                            "--microbatch", "4", *more, sequence=4096).seconds

    rows = []
    for (model, layers), (paper_uniform, paper_tangram) in ROWS.items():
        uniform = plan(model, layers, *whole_cluster_with("uniform"))
        ours = plan(model, layers, *tangram_with("uniform"))
        rows.append([f"{model}, {layers} layers", seconds(uniform),
                     seconds(ours), ratio(uniform, ours),
                     f"{paper_uniform} -> {paper_tangram} s",
                     ratio(paper_uniform, paper_tangram)])
    best = plan("mixtral-8x7b", 32, *tangram_with("uniform"))
    first = plan("mixtral-8x7b", 32, "--pin", "emb-1=a100", "--pin",
                 "32-head=h100", *tangram_with("uniform"))
    return (markdown(["model", "Galvatron-uniform", "Tangram", "ratio", "paper",
                      "paper's ratio"], rows)
            + "\n\nMixtral with 32 layers and A100 first: "
            f"{seconds(first)}, {ratio(first, best)} times Tangram's; "
            f"the paper has {PAPER_A100_FIRST_S} s, "
            f"{ratio(PAPER_A100_FIRST_S, 23)} times.")
