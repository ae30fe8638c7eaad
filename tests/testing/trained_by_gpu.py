"""What each GPU trains: as a plan file says, and as exports for frameworks say
that train several pipelines beside one another.

All functions return, for each (node, GPU), the transformer layers, the tp, and
of its pipeline the samples of a microbatch and the microbatches of an
iteration. `plan` reads our files, the others know the formats of frameworks
only.
"""

import json
import os
import re

import yaml


def load(folder, name):
    with open(os.path.join(folder, name), encoding="utf-8") as f:
        return f.read()


def numbered(hosts):
    """Returns (host, GPU) of each rank; hosts are (name, number, GPUs)."""
    return [(name, gpu) for name, count, gpus in hosts
            for gpu in gpus or range(count)]


def with_first_ranks(hosts):
    first = 0
    for host in hosts:
        yield first, host
        first += host[1]


def of_stages(stages, microbatch, microbatches):
    """Stages are (layers, GPUs of one replica)."""
    trained, first = {}, 0
    for count, gpus in stages:
        for gpu in gpus:
            trained[gpu] = {"layers": list(range(first, first + count)),
                            "tp": len(gpus), "microbatch": microbatch,
                            "microbatches": microbatches}
        first += count
    return trained


def replicas_of(document):
    """Returns (plan, microbatches) of each pipeline of a plan file."""
    if "replicated_plan" in document:
        return [(replica["plan"], replica["num_microbatches"])
                for replica in document["replicated_plan"]["pipelines"]]
    plan = document["plan"]
    return [(plan, document["training"]["global_batch_size"] //
             plan["pipeline_microbatch_size"])]


def plan(document):
    """Of a plan of whole layers with one dp in all stages of a pipeline."""
    trained = {}
    num_layers = sum(run["count"] for run in document["model"]["layers"]) - 2
    for pipeline, microbatches in replicas_of(document):
        dp = pipeline["stages"][0]["plan"]["parallelism"]["dp_degree"]
        for d in range(dp):
            stages = []
            for stage in pipeline["stages"]:
                tp = stage["plan"]["parallelism"]["tp_degree"]
                gpus = [(g["node"], g["first"] + i) for g in stage["gpus"]
                        for i in range(g["count"])]
                # Layer 0 is the embedding, the last one the head.
                begin = max(stage["plan"]["begin"].get("layer", 0), 1)
                end = min(stage["plan"]["end"]["layer"], num_layers + 1)
                stages.append((end - begin, gpus[d * tp:(d + 1) * tp]))
            trained |= of_stages(
                stages, pipeline["pipeline_microbatch_size"] // dp,
                microbatches)
    return trained


def flashflex(folder):
    """Pipelines with their ranks, and options with a number for each."""
    config = json.loads(load(folder, "flashflex.json"))
    launch = load(folder, "launch.sh")
    hosts = []
    for line in load(folder, "hostfile").splitlines():
        name, *words = line.split()
        word = dict(part.split("=") for part in words)
        hosts.append((name, int(word["slots"]),
                      [int(gpu) for gpu in word["gpus"].split(",")]
                      if "gpus" in word else None))
    # Rank r has device r mod the number of devices.
    where = [(name, (gpus or range(count))[(first + i) % count])
             for first, (name, count, gpus) in with_first_ranks(hosts)
             for i in range(count)]

    def numbers(option):
        return [int(n) for n in
                re.search(rf"--{option}((?: \d+)+)", launch)[1].split()]

    batches, chunks = numbers("global_bsz_size"), numbers("chunks")
    trained = {}
    for layers, layout, tp, batch, count in zip(
            config["layer_partitions"], config["pp_layouts"],
            config["hetero_configs"], batches, chunks, strict=True):
        assert [len(ranks) for ranks in layout] == tp and batch % count == 0
        trained |= of_stages(
            [(n, [where[rank] for rank in ranks])
             for n, ranks in zip(layers, layout, strict=True)],
            batch // count, count)
    return trained


def weighs_by_itself(folder):
    """Whether FlashFlex weighs every sample the same and gives each rank the
    data of its pipeline and the layers of its stage: equal batches, one tp for
    each layer, no tp in a pipeline alone, and the ranks of pipelines and of
    their stages one after another."""
    config = json.loads(load(folder, "flashflex.json"))
    layouts = config["pp_layouts"]
    batches = re.search(r"--global_bsz_size((?: \d+)+)",
                        load(folder, "launch.sh"))[1].split()
    tps = {tuple(t for n, t in zip(*pipeline) for _ in range(n))
           for pipeline in zip(config["layer_partitions"],
                               config["hetero_configs"])}
    ranks = [rank for stages in layouts for stage in stages for rank in stage]
    ends = [max(map(max, stages)) for stages in layouts]
    heads = [min(map(min, stages)) for stages in layouts]
    firsts = [stages[0][0] for stages in layouts]
    in_order = (heads == firsts and
                all(end < head for end, head in zip(ends, heads[1:])))
    assert sorted(ranks) == list(range(len(ranks)))
    rise = all(max(stage) < min(following) for stages in layouts
               for stage, following in zip(stages, stages[1:]))
    no_parts = len(layouts) > 1 or set(*tps) == {1}
    return (len(set(batches)) == 1 and len(tps) == 1 and in_order and rise and
            no_parts)


def hosts_of_hetu(folder):
    """Returns (host, its GPUs or None for the first ones) in order."""
    visible = dict(re.findall(r"(\S+)\) number=\d+; export "
                              r"CUDA_VISIBLE_DEVICES=([\d,]+)",
                              load(folder, "env.sh")))
    return [(host, [int(gpu) for gpu in visible[host["addr"]].split(",")]
             if host["addr"] in visible else None)
            for host in yaml.safe_load(load(folder, "hosts.yaml"))["hosts"]]


def hetu(folder):
    """Of each block the devices of each pipeline, and the trainer's numbers of
    microbatches."""
    config = json.loads(load(folder, "ds_parallel.json"))
    options = yaml.safe_load(load(folder, "hetu.yaml"))
    where = numbered([(host["addr"], host["initial_workers"], gpus)
                      for host, gpus in hosts_of_hetu(folder)])
    trained = {}
    counts = options["ds_parallel"]["micro_batch_num_list"]
    for i in range(options["ds_parallel"]["num_layers"]):
        block = config["llama"]["blocks"][f"blocks{i}"]
        assert block["range"] == [i]
        parts = [block["rmsnorm1"], block["rmsnorm2"], *block["attn"].values(),
                 block["mlp"]["dense_h_to_4h"], block["mlp"]["dense_4h_to_h"]]
        devices = parts[0]["device_group_union"]
        for part in parts:
            (tp,) = part["split"].values()
            assert part["device_group_union"] == devices
            assert tp == [len(group) for group in devices]
            assert part["dup"] == [len(counts)] * len(counts)
        for group, count in zip(devices, counts, strict=True):
            for device in group:
                gpu = trained.setdefault(where[device], {
                    "layers": [], "tp": len(group), "microbatches": count,
                    "microbatch": options["trainer"]["micro_batch_size"]})
                assert gpu["tp"] == len(group)
                gpu["layers"].append(i)
    return trained
