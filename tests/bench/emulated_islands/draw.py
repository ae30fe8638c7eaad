"""Draws unlike plans of one model for two islands of one or two ranks each."""

import random

FAST, SLOW = 0, 1
NUM_OPERATORS = {"EMBEDDING": 1, "TRANSFORMER": 10, "HEAD": 2}
SCHEDULES = ("1f1b", "1f1b", "gpipe", "zb-h1", "interleaved")
GLOBAL_BATCH = 8
MICROBATCHES = (1, 2, 2, 4)

# Islands of the stages of a pipeline, as lists of ranks' numbers in the island.
LAYOUTS = (
    [(FAST, 2), (SLOW, 2)], [(SLOW, 2), (FAST, 2)],
    [(FAST, 1), (FAST, 1), (SLOW, 1), (SLOW, 1)], [(FAST, 1), (FAST, 1), (SLOW, 2)],
    [(FAST, 2), (SLOW, 1), (SLOW, 1)], [(FAST, 1), (SLOW, 2), (FAST, 1)],
    [(FAST, 1), (SLOW, 1)], [(FAST, 2), (SLOW, 1)], [(FAST, 1), (SLOW, 2)],
    [(FAST, 2)], [(FAST, 1), (FAST, 1)], [(FAST, 1)], [(SLOW, 2)])
LAYOUTS_OF_TWO_RANKS = ([(FAST, 1), (SLOW, 1)], [(SLOW, 1), (FAST, 1)],
                        [(FAST, 1), (SLOW, 1)], [(SLOW, 1), (FAST, 1)],
                        [(FAST, 1)], [(SLOW, 1)])


def _layer(hidden, heads, **fields):
    head_dim = hidden // heads
    return {"kind": "TRANSFORMER", "hidden_size": hidden, "num_heads": heads,
            "num_kv_heads": heads, "head_dim": head_dim, "value_head_dim": head_dim,
            **fields}


def _model(name, layers, positions, vocabulary, layer):
    ends = {"hidden_size": layer["hidden_size"], "vocab_size": vocabulary}
    return {"name": name, "layer_types": [
        {"kind": "EMBEDDING", "max_position_embeddings": positions, **ends}, layer,
        {"kind": "HEAD", "norm_bias": layer.get("norm_bias", False), **ends}],
        "layers": [{"layer_type": 0, "count": 1}, {"layer_type": 1, "count": layers},
                   {"layer_type": 2, "count": 1}]}


# Wide enough that products take longer than the interpreter.
MODELS = {
    "gpt": (64, _model("gpt", 6, 64, 1024, _layer(
        256, 8, ffn_hidden_size=1024, linear_bias=True, norm_bias=True))),
    "llama": (64, _model("llama", 8, 0, 768, _layer(
        256, 8, num_kv_heads=2, ffn_hidden_size=592, gated_mlp=True))),
    # For a test of the command: nothing takes long.
    "small": (8, _model("small", 6, 8, 32, _layer(
        16, 4, ffn_hidden_size=32, linear_bias=True, norm_bias=True)))}


def _operators(model):
    types = [NUM_OPERATORS[one["kind"]] for one in model["layer_types"]]
    return [types[run["layer_type"]] for run in model["layers"] for _ in range(run["count"])]


def _degrees(pick, count):
    tp = pick.choice((1, count))
    dp = count // tp
    return {"tp_degree": tp, "dp_degree": dp, "cp_degree": 1, "ep_degree": 1,
            "zero_stage": pick.choice((0, 0, 1)) if dp > 1 else 0}


def _cuts(pick, operators, num_stages):
    """Cuts anywhere, between layers more often than inside one."""
    layers = [(i, 0) for i in range(1, len(operators))]
    inside = [(i, op) for i, count in enumerate(operators) for op in range(count)
              if 0 < i < len(operators) - 1 and op]
    while True:
        cuts = sorted({pick.choice(layers if pick.random() < 0.7 else inside)
                       for _ in range(num_stages - 1)})
        if len(cuts) == num_stages - 1:
            return [(0, 0), *cuts, (len(operators), 0)]


def _masks(pick, operators, begin, end):
    kept = pick.choice(("all", "all", "none", "some"))
    masks = []
    for layer in range(begin[0], end[0] + (end[1] > 0)):
        whole = (1 << operators[layer]) - 1
        # Recomputing the ends of the model saves nothing.
        inner = 0 < layer < len(operators) - 1
        masks.append({"num_layers": 1, "mask": 0 if not inner or kept == "all" else
                      whole if kept == "none" else pick.choice((0, whole, 0x3f))})
    return masks


def _pipeline(pick, model, seats, most_microbatch, name):
    """Stages on `seats`: (island, first rank, number of ranks) of each device."""
    operators = _operators(model)
    schedule = pick.choice(SCHEDULES)
    # Interleaving needs microbatches in groups of as many as devices.
    if schedule == "interleaved" and len(seats) not in (2, 4):
        schedule = "1f1b"
    chunks = 2 if schedule == "interleaved" else 1
    degrees = [_degrees(pick, count) for _, _, count in seats]
    least = max(one["dp_degree"] for one in degrees)
    microbatch = pick.choice([m for m in MICROBATCHES if least <= m <= most_microbatch])
    cuts = _cuts(pick, operators, len(seats) * chunks)
    stages = []
    for i, (begin, end) in enumerate(zip(cuts, cuts[1:])):
        island, first, count = seats[i % len(seats)]
        stages.append({
            "plan": {"begin": {"layer": begin[0], "op": begin[1]},
                     "end": {"layer": end[0], "op": end[1]},
                     "recompute": _masks(pick, operators, begin, end),
                     "parallelism": degrees[i % len(seats)]},
            "gpus": [{"node": name(island), "first": first, "count": count}]})
    return {"pipeline_microbatch_size": microbatch, "schedule": schedule,
            "virtual_stages": chunks, "stages": stages}


def _seats(layout):
    taken, seats = {FAST: 0, SLOW: 0}, []
    for island, count in layout:
        seats.append((island, taken[island], count))
        taken[island] += count
    return seats


def _mixed(pick, model, num_ranks, name):
    """One stage on both islands, in lock-step with uneven shares."""
    operators = _operators(model)
    end = (len(operators), 0)
    microbatch = pick.choice((4, 8))
    groups = []
    for share in (3, 1):
        degrees = _degrees(pick, num_ranks)
        share *= microbatch // 4
        if share % degrees["dp_degree"]:
            degrees.update(tp_degree=num_ranks, dp_degree=1, zero_stage=0)
        groups.append({"parallelism": degrees, "share": share})
    stage = {"plan": {"begin": {"layer": 0, "op": 0}, "end": {"layer": end[0], "op": 0},
                      "recompute": _masks(pick, operators, (0, 0), end)},
             "gpus": [{"node": name(i), "first": 0, "count": num_ranks}
                      for i in (FAST, SLOW)],
             "mixed": {"sharing": "lock-step", "groups": groups}}
    return {"plan": {"pipeline_microbatch_size": microbatch, "schedule": "1f1b",
                     "virtual_stages": 1, "stages": [stage]}}


def _replicated(pick, model, num_ranks, name):
    """Two pipelines: one on each island, or each on a rank of both."""
    if num_ranks == 1 or pick.random() < 0.5:
        seats = [[(FAST, 0, num_ranks)], [(SLOW, 0, num_ranks)]]
        samples = (6, 2)
    else:
        seats = [[(FAST, i, 1), (SLOW, i, 1)] for i in (0, 1)]
        samples = (4, 4)
    pipelines = []
    for of_pipeline, count in zip(seats, samples):
        plan = _pipeline(pick, model, of_pipeline, 2, name)
        pipelines.append({"plan": plan, "num_microbatches":
                          count // plan["pipeline_microbatch_size"]})
    return {"replicated_plan": {"pipelines": pipelines, "sync": "all-reduce"}}


def _one(pick, model, num_ranks, name):
    kind = pick.random()
    if kind < 0.1:
        return _mixed(pick, model, num_ranks, name)
    if kind < 0.25:
        return _replicated(pick, model, num_ranks, name)
    layouts = LAYOUTS_OF_TWO_RANKS if num_ranks == 1 else LAYOUTS
    return {"plan": _pipeline(pick, model, _seats(pick.choice(layouts)),
                              max(MICROBATCHES), name)}


def plans(model_name, count, seed, num_ranks, names):
    """Returns `count` different plan files without clusters, for two islands of
    `num_ranks` ranks each, whose nodes have these `names`."""
    pick = random.Random(f"{model_name} {seed}")
    sequence, model = MODELS[model_name]
    result = []
    while len(result) < count:
        one = {"format_version": "tangram.plan/v1", "model": model,
               "training": {"global_batch_size": GLOBAL_BATCH, "sequence_length": sequence,
                            "precision": "FP32", "optimizer": "ADAM", "no_dropout": True},
               **_one(pick, model, num_ranks, lambda island: names[island])}
        if one not in result:
            result.append(one)
    return result
