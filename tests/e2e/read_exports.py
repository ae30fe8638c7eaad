"""Reads exports for frameworks from which `tangram import plan` reads nothing.

Each reader returns what the framework would train: samples of all replicas in
a microbatch, the schedule, whether all layers are recomputed or none, and of
each stage the layers before its end, tp, dp and GPUs. `gpus` is None where the
framework places stages by itself.
"""

import json
import os
import re
import sys
import types


def load(folder, name):
    with open(os.path.join(folder, name), encoding="utf-8") as f:
        return f.read()


def ranks(folder):
    """Returns (host, GPU) of each rank of the host file."""
    found = []
    for line in load(folder, "hostfile").splitlines():
        host, slots, *more = line.split()
        gpus = range(int(slots.removeprefix("slots=")))
        for word in more:
            if word.startswith("gpus="):
                gpus = map(int, word.removeprefix("gpus=").split(","))
        found += [(host, gpu) for gpu in gpus]
    return found


def ends(layers):
    """Returns the ends of stages of so many layers, as a plan counts: the
    first stage has the embedding, the last the head."""
    total, found = 1, []
    for count in layers:
        total += count
        found.append(total)
    found[-1] += 1
    return found


def stages(layers, tp, dp, gpus):
    return [{"end": end, "tp": t, "dp": d, "gpus": g and sorted(g)}
            for end, t, d, g in zip(ends(layers), tp, dp, gpus)]


def sailor(folder):
    config = json.loads(load(folder, "cluster_config.json"))
    groups = json.loads(load(folder, "dist_config.json"))
    assert groups == config["tp_degrees"]
    where = ranks(folder)
    return {
        "microbatch": config["microbatch_size"] * config["data_parallelism"],
        "batch": config["global_batch_size"],
        "stages": stages(
            config["num_layers_per_stage"], [len(g[0]) for g in groups],
            [len(g) for g in groups],
            [[where[rank] for replica in g for rank in replica]
             for g in groups])}


def flashflex(folder):
    config = json.loads(load(folder, "flashflex.json"))
    launch = load(folder, "launch.sh")

    def numbers(option):
        return [int(n) for n in
                re.search(rf"--{option}((?: \d+)+)", launch)[1].split()]

    batches, chunks = numbers("global_bsz_size"), numbers("chunks")
    where, layouts = ranks(folder), config["pp_layouts"]
    layers, tp = config["layer_partitions"], config["hetero_configs"]
    assert all(l == layers[0] for l in layers) and all(t == tp[0] for t in tp)
    return {
        "microbatch": sum(b // c for b, c in zip(batches, chunks)),
        "batch": sum(batches),
        "schedule": re.search(r"--pipeline-type (\S+)", launch)[1].lower(),
        "recomputed": "--checkpoint-layers" in launch,
        "stages": stages(
            layers[0], tp[0], [len(layouts)] * len(layers[0]),
            [[where[rank] for layout in layouts for rank in layout[stage]]
             for stage in range(len(layers[0]))])}


def run(path, modules):
    """Runs a Python file that imports these modules; returns its names."""
    made = {}
    for name, members in modules.items():
        made[name] = types.ModuleType(name)
        made[name].__dict__.update(members)
    kept = {name: sys.modules.get(name) for name in made}
    sys.modules.update(made)
    names = {"__name__": "exported"}
    try:
        with open(path, encoding="utf-8") as f:
            exec(f.read(), names)  # The test made the file.
    finally:
        for name, module in kept.items():
            del sys.modules[name]
            if module:
                sys.modules[name] = module
    return names


def torchtitan(folder):
    names = run(os.path.join(folder, "tangram_plan.py"), {
        "torchtitan": {}, "torchtitan.config": {"ParallelismConfig": dict},
        "torchtitan.distributed": {},
        "torchtitan.distributed.activation_checkpoint": {
            "FullAC": types.SimpleNamespace(Config=dict)}})
    degrees, training = names["parallelism"], names["training"]
    tp = degrees["tensor_parallel_degree"]
    dp = (degrees["data_parallel_shard_degree"] *
          degrees["data_parallel_replicate_degree"])
    count, where = degrees["pipeline_parallel_degree"], ranks(folder)
    if count > 1:
        layers = [sum(module.startswith("layers.") for module in part)
                  for part in degrees["module_fqns_per_model_part"]]
    else:
        layers = [int(re.search(r"layers != (\d+)",
                                load(folder, "tangram_plan.py"))[1])]
    length = training["max_context_length"]
    size = tp * dp
    # Parts go around the ranks ("loop" style of Interleaved1F1B).
    devices = [i % count for i in range(len(layers))]
    schedule = degrees.get("pipeline_parallel_schedule", "1F1B")
    return {
        "microbatch":
            training["num_tokens_per_microbatch_per_dp_rank"] // length * dp,
        "batch": training["num_tokens_per_train_step"] // length,
        "schedule": {"1F1B": "1f1b", "Interleaved1F1B": "interleaved"}[schedule],
        "recomputed": names["activation_checkpoint"] is not None,
        "stages": stages(layers, [tp] * len(layers), [dp] * len(layers),
                         [where[i * size:(i + 1) * size] for i in devices])}


def alpa(folder):
    names = run(os.path.join(folder, "alpa_stages.py"), {"alpa": {
        name: dict for name in
        ("AutoLayerOption", "ManualStageOption", "PipeshardParallel")}})
    option, method = names["stage_option"], names["method"]
    meshes = option["submesh_logical_shapes"]
    return {
        "microbatches": method["num_micro_batches"],
        "schedule": method["pipeline_schedule"],
        "recomputed": method["layer_option"]["remat_mode"] != "none",
        "stages": stages(
            [len(layers) for layers in option["forward_stage_layer_ids"]],
            [tp for _, tp in meshes], [dp for dp, _ in meshes],
            [None] * len(meshes))}


READERS = {"sailor": sailor, "flashflex": flashflex, "torchtitan": torchtitan,
           "alpa": alpa}
