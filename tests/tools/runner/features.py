"""Names of what occurs in a plan file, to count what tests have trained."""

DROP_OUTPUTS = 1 << 31


def features(data):
    found = set()
    layers = data["model"]["layer_types"]
    found.add("experts" if any(int(spec.get("num_experts", 0)) for spec in layers)
              else "dense")
    if any(spec.get("tied_embeddings") for spec in layers):
        found.add("tied embeddings")
    replicated = data.get("replicated_plan") or {}
    plans = [replica["plan"] for replica in replicated.get("pipelines", [])]
    if plans:
        found |= {"several pipelines",
                  (replicated.get("sync") or "all-reduce") + " of pipelines"}
    for plan in plans or [data["plan"]]:
        found |= _pipeline_features(plan)
    return found


def _pipeline_features(plan):
    found = {"schedule " + (plan.get("schedule") or "1f1b")}
    found |= {"warm-up counts"} if plan.get("warm_up") else set()
    stages = plan["stages"]
    if "island" in stages[0]:
        found.add(f"islands: {len({stage['island'] for stage in stages})}")
    found |= {"several stages"} if len(stages) > 1 else set()
    for previous, stage in zip([None, *stages], stages):
        found |= _stage_features(stage, previous)
    return found


def _stage_features(stage, previous):
    found = {"by " + stage["made_by"]} if "made_by" in stage else set()
    plan = stage["plan"]
    if plan["begin"].get("op"):
        found.add("cut inside a layer")
    mixed = stage.get("mixed")
    if mixed:
        found.add(f"mixed replicas, {mixed['sharing']}")
    p = plan.get("parallelism", {})
    for each in [group["parallelism"] for group in mixed["groups"]] if mixed else [p]:
        found |= _parallelism_features(each)
    for run in plan.get("recompute", []):
        mask = run.get("mask", 0)
        found |= {"recomputation"} if mask & ~DROP_OUTPUTS else set()
        found |= {"dropped outputs"} if mask > DROP_OUTPUTS else set()
    found |= {f"{kind} offloaded"
              for kind, part in (plan.get("offload") or {}).items() if part}
    before = previous and previous["plan"].get("parallelism")
    if before:
        for name in ("tp_degree", "dp_degree"):
            if before.get(name, 1) != p.get(name, 1):
                found.add(f"unlike {name} at a border")
    return found


def _parallelism_features(p):
    found = {name for name in ("tp_degree", "cp_degree", "dp_degree", "ep_degree",
                               "tp_y_degree") if p.get(name, 1) > 1}
    found |= {name for name in ("fsep", "sequence_parallel") if p.get(name)}
    if p.get("zero_stage"):
        found.add(f"ZeRO {p['zero_stage']}")
    if p.get("zero_degree"):
        found.add("zero_degree")
    return found
