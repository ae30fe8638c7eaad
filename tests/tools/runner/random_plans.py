"""Random plans of what the runner supports, for tests: same seed, same plan."""

import random

import plans
from plans import GPT, degrees, model

DENSE = {"num_experts": 0, "experts_per_token": 0, "expert_ffn_hidden_size": 0,
         "shared_expert_ffn_hidden_size": 0, "ffn_hidden_size": 128}

MOST_RANKS = 12
DROP_OUTPUTS = 1 << 31


def random_experts(pick):
    """Fields of a layer with experts, or none."""
    if pick.random() < 0.5:
        return {}
    num_experts = pick.choice([2, 4, 6, 8])
    return {"ffn_hidden_size": 0, "num_experts": num_experts,
            "experts_per_token": min(pick.choice([1, 2, 2, 3]), num_experts),
            "expert_ffn_hidden_size": 32,
            "shared_expert_ffn_hidden_size": pick.choice([0, 48]),
            "every_second": pick.choice([{}, DENSE])}


def random_model(pick):
    num_layers = pick.randint(1, 4)
    experts = random_experts(pick)
    if pick.random() < 0.4:
        return num_layers, model(num_layers, **GPT, **experts,
                                 max_positions=pick.choice([0, 64]),
                                 tied=pick.random() < 0.7)
    options = {**experts,
               "gated_mlp": True, "num_kv_heads": pick.choice([1, 2, 4, 8]),
               "qkv_bias": pick.random() < 0.3, "qk_norm": pick.random() < 0.3,
               "sliding_window": pick.choice([0, 0, 5]), "max_positions": 0,
               "tied": pick.random() < 0.3}
    return num_layers, model(num_layers, **options)


def random_degrees(pick, of, most, microbatch):
    experts = max(layer.get("num_experts", 0) for layer in of["layer_types"])
    while True:
        tp, cp = pick.choice([1, 1, 2, 4, 8]), pick.choice([1, 1, 1, 2, 4])
        dp = pick.choice([d for d in (1, 2, 3, 4) if microbatch % d == 0])
        if tp * cp * dp > most:
            continue
        result = degrees(tp, dp, cp, sp=tp > 1 and pick.random() < 0.5,
                         zero=pick.choice([0, 0, 1, 2, 3]))
        if experts:
            ep = max(pick.choice([d for d in range(1, cp * dp + 1)
                                  if cp * dp % d == 0 and experts % d == 0])
                     for _ in range(2))
            result.update(ep_degree=ep, fsep=ep > 1 and pick.random() < 0.5)
        elif tp > 1 and not result["sequence_parallel"]:
            result["tp_y_degree"] = pick.choice([y for y in (1, 2, 4) if tp % y == 0])
        if (result["zero_stage"] and dp == 4 and 2 * cp % result["ep_degree"] == 0
                and pick.random() < 0.5):
            result["zero_degree"] = 2
        return result


def random_cuts(pick, of, num_stages):
    """Cuts between any operators, in order."""
    all_cuts = [(layer, op) for layer, count in enumerate(plans.num_operators(of))
                for op in range(count) if layer > 0]
    return sorted(pick.sample(all_cuts, num_stages - 1))


def random_pipeline(pick, of, num_layers, node, most, num_microbatches):
    """Returns the pipeline and its samples."""
    schedule = pick.choice(["1f1b", "1f1b", "gpipe", "interleaved", "zb-h1"])
    microbatch = pick.choice([1, 2, 4, 6])
    devices = pick.randint(1, 3)
    chunks = pick.choice([2, 3]) if schedule == "interleaved" else 1
    each = [random_degrees(pick, of, most // devices, microbatch) for _ in range(devices)]
    cuts = random_cuts(pick, of, devices * chunks)
    ends = [(0, 0), *cuts, (num_layers + 2, 0)]
    firsts = [sum(plans.size(p) for p in each[:d]) for d in range(devices)]
    stages = []
    for i in range(devices * chunks):
        p = each[i % devices]
        stage = plans.stage(ends[i], ends[i + 1], (firsts[i % devices], plans.size(p)), p)
        for j, run in enumerate(stage["plan"]["recompute"]):
            layer = ends[i][0] + j
            bits = plans.num_operators(of)[layer]
            run["mask"] = pick.choice([0, pick.getrandbits(bits), (1 << bits) - 1])
            run["mask"] |= pick.choice([0, DROP_OUTPUTS])
        if pick.random() < 0.4:
            stage["plan"]["offload"] = {kind: pick.choice([0, 0.3, 1]) for kind in (
                "weights", "gradients", "optimizer", "activations")}
        stage["gpus"][0]["node"] = node
        stages.append(stage)
    data = {"pipeline_microbatch_size": microbatch, "stages": stages,
            "schedule": schedule, "virtual_stages": chunks}
    if schedule == "interleaved":
        num_microbatches = num_microbatches * devices
    if schedule == "1f1b" and pick.random() < 0.4:
        counts = [pick.randint(1, 3)]
        for _ in range(devices - 1):
            counts.append(counts[-1] + pick.randint(0, 2))
        data["warm_up"] = {"passes": counts[::-1]}
    if schedule in ("1f1b", "gpipe") and pick.random() < 0.4:
        mix(pick, stages[0], firsts[1] if devices > 1 else plans.size(each[0]),
            microbatch, num_microbatches)
    return data, microbatch, num_microbatches


def mix(pick, stage, num_gpus, microbatch, num_microbatches):
    """Makes groups of a stage that has GPUs enough."""
    sharing = pick.choice(["lock-step", "routed"])
    whole = microbatch if sharing == "lock-step" else num_microbatches
    if num_gpus < 2 or whole < 2:
        return
    share = pick.randint(1, whole - 1)
    groups = [{"parallelism": degrees(tp=p), "share": s} for p, s in
              ((1, share), (2 if num_gpus > 2 else 1, whole - share))]
    used = sum(plans.size(group["parallelism"]) for group in groups)
    del stage["plan"]["parallelism"]
    stage["gpus"][0]["count"] = used
    stage["mixed"] = {"sharing": sharing, "groups": groups}


def random_plan(seed):
    pick = random.Random(seed)
    num_layers, of = random_model(pick)
    replicas = pick.choice([1, 1, 1, 2])
    pipelines, samples = [], 0
    for r in range(replicas):
        plan, microbatch, num_microbatches = random_pipeline(
            pick, of, num_layers, f"n{r}", MOST_RANKS // replicas, pick.randint(1, 5))
        pipelines.append({"plan": plan, "num_microbatches": num_microbatches})
        samples += microbatch * num_microbatches
    data = plans.plan([], of=of, global_batch=samples,
                      sequence=pick.choice([32, 64]))
    del data["plan"]
    data["cluster"] = plans.cluster(plans.gpus_of_nodes(
        [stage for one in pipelines for stage in one["plan"]["stages"]]))
    data["training"]["optimizer"] = pick.choice(["ADAM", "SGD"])
    sync = pick.choice(["all-reduce", "zero1", "zero2"])
    if replicas > 1 and sync != "all-reduce":
        fractions = [pick.choice([0.1, 0.3, 0.5, 0.9])]
        for one, fraction in zip(pipelines, fractions + [1 - fractions[0]]):
            one["state_fraction"] = fraction
    if replicas == 1:
        return {**data, "plan": pipelines[0]["plan"]}
    return {**data, "replicated_plan": {"pipelines": pipelines, "sync": sync}}
