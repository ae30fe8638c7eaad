#!/usr/bin/env python3
"""Runs the search program of Aceso (EuroSys'24), unchanged.

Usage: aceso.py --checkout DIR [--layers-per-atom N]

DIR is a checkout of github.com/microsoft/SuperScaler, branch EuroSys24AE. The
program reads profiles of operators, which are written from the estimates of the
query. One thing differs from upstream: the budget counts reads of the clock, so
that the same query has the same answer.
"""

import argparse
import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import tangram_adapter
from tangram_adapter.messages import model_pb2

DRIVER = pathlib.Path(__file__).with_name("aceso_driver.py")
MIB = 2 ** 20
# Aceso counts 8 times the weights, with two bytes each.
ACESO_STATE_BYTES = 16

# Aceso's operators of each kind of layer, and the index of our operator that
# contains each.
EMBEDDING = [("encoder-embedding", 0)]
TRANSFORMER = [
    ("enc-1st-layernorm", 0), ("enc-attention-qkv", 1),
    ("enc-attention-score", 2), ("enc-attention-softmax", 2),
    ("enc-attention-dropout", 2), ("enc-attention-context", 2),
    ("enc-attention-dense", 3), ("enc-post-attention-dropout", 4),
    ("enc-2nd-layernorm", 5), ("enc-MLP-GEMM-1", 6), ("enc-MLP-gelu", 7),
    ("enc-MLP-GEMM-2", 8), ("enc-post-MLP-dropout", 9)]
HEAD = [("final-layernorm", 0), ("gpt-post-process", 1)]
ALL = [*EMBEDDING, *TRANSFORMER, *HEAD]
OF_KIND = {model_pb2.LayerSpec.EMBEDDING: EMBEDDING,
           model_pb2.LayerSpec.TRANSFORMER: TRANSFORMER,
           model_pb2.LayerSpec.HEAD: HEAD}
ATTENTION_CORE = "attention_core"
# All activations that attention keeps are assigned to this operator. Aceso
# counts 1.5 times its activations.
KEEPS_CORE, CORE_FACTOR = "enc-attention-dropout", 1.5
# Transfer size that rules out cuts inside attention, where we have none.
NO_CUT_MIB = 1e6
COLUMNS = ["op_name", "forward-compute", "backward-compute", "input_size",
           "output_size", "weights", "activations", "fwd_reserved",
           "bwd_reserved"]
# Least budget of a stage count, in reads of the clock. A move takes about four.
LEAST_LOOKS = 200
# Least operators of a stage, so that no tensor skips a stage (Aceso's runtime).
LEAST_OPERATORS = 8
COLLECTIVES = ["all_gather", "all_reduce", "reduce_scatter", "all_to_all"]
P2P_SIZES_MIB = [2 ** i for i in range(11)]


class Aceso(tangram_adapter.Adapter):
    name = "aceso-upstream"
    features = {"data_parallel", "pipeline_parallel", "tensor_parallel",
                "gradient_accumulation", "recompute"}

    def __init__(self, checkout, layers_per_atom):
        self.version = f"1.{layers_per_atom}"
        self.checkout = checkout
        self.layers_per_atom = layers_per_atom

    def parallelize(self, query):
        operators = [(layer, op, name)
                     for layer, layer_type in enumerate(query.layers)
                     for name, op in OF_KIND[query.layer_types[layer_type].kind]]
        with tempfile.TemporaryDirectory() as folder:
            write_profiles(query, folder)
            found = self.search(folder, job_of(query, operators))
        plans = [plan for plan in (plan_of(operators, config)
                                   for config in found["configs"]) if plan]
        if not plans:
            return tangram_adapter.no_plan("Aceso found none that fits")
        return tangram_adapter.answer(
            plans, search_steps=found["explored"],
            # Recomputation was chosen for this place in the pipeline.
            covers_trailing_stages=query.trailing_stages)

    def search(self, folder, job):
        for name in "trends", "top_configs", "csv":
            os.mkdir(os.path.join(folder, name))
        with open(os.path.join(folder, "job.json"), "w",
                  encoding="utf-8") as file:
            json.dump(job, file)
        run = subprocess.run(
            [sys.executable, str(DRIVER), self.checkout, folder],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            check=False)
        if run.returncode != 0:
            raise RuntimeError(f"Aceso: {run.stderr.strip()[-500:]}")
        with open(os.path.join(folder, "found.json"), encoding="utf-8") as file:
            return json.load(file)


def microbatch_sizes(query):
    """Sizes for one replica, ascending. Stages have 1, 2, 4 or 8 GPUs."""
    return [query.microbatch // dp for dp in (8, 4, 2, 1)
            if query.microbatch % dp == 0]


def job_of(query, operators):
    per_node = query.island.gpus_per_node
    nodes = query.island.num_nodes
    efficiency = query.device.efficiency
    room = ((query.device.memory_bytes - efficiency.reserved_bytes)
            / (1 + efficiency.fragmentation))
    return {
        "operators": [name for _, _, name in operators],
        "microbatch": query.microbatch,
        "trailing_stages": query.trailing_stages,
        # A node boundary is a stage boundary. Upstream tries every number of
        # stages.
        "stage_counts": [
            count for count in range(nodes, query.num_gpus + 1)
            if query.num_gpus % count == 0
            and count * LEAST_OPERATORS <= len(operators)],
        "arguments": {
            "--model-name": ["gpt"], "--model-size": ["slice"],
            "--num-layers": [len(query.layers)],
            "--global-batch-size": [query.training.global_batch_size],
            "--micro-batch-size": microbatch_sizes(query),
            "--num-nodes": [nodes], "--num-gpus-per-node": [per_node],
            "--max-tp": [min(per_node, 8)],
            "--memory-limit": [int(room / MIB)], "--max-num-hops": [7],
            "--time-budget-total": [max(query.max_search_steps, LEAST_LOOKS)],
            "--add-action-tp-dp-exchange": [], "--no-multi-process": [],
        }}


def write_profiles(query, folder):
    """Writes the files that Aceso's profiler writes for a device."""
    types = {query.layer_types[t].kind: t for t in sorted(set(query.layers))}
    if len(types) < len(set(query.layers)):
        raise NotImplementedError("Aceso knows layers of one shape only")
    for size in microbatch_sizes(query):
        for tp in (1, 2, 4, 8):
            rows = rows_of(query, types, tp, query.microbatch // size)
            for algo in (0, 1) if rows else ():
                write_csv(folder, f"gpt_slice_mbs{size}_tp{tp}_algo{algo}.csv",
                          [COLUMNS, *rows])
    for collective in COLLECTIVES:
        for gpus in (2, 4, 8):
            # Only used if degrees differ inside a stage, which they never do
            # here.
            write_csv(folder, f"prim_gpt_slice_{collective}_{gpus}gpus.csv",
                      [["size", "time"]])
    write_bandwidth(folder, "intra", query.island.intra_node)
    if query.island.num_nodes > 1:
        write_bandwidth(folder, "inter", query.island.inter_node)


def write_bandwidth(folder, name, link):
    gib_per_s = link.pair_bandwidth_bytes_per_s / 2 ** 30
    write_csv(folder, f"p2p_{name}_node.csv",
              [P2P_SIZES_MIB, [gib_per_s] * len(P2P_SIZES_MIB)])


def rows_of(query, types, tp, dp):
    """Returns a row for each operator; none if layers cannot be split so."""
    estimates = {kind: query.estimate(t, tp, dp) for kind, t in types.items()}
    if None in estimates.values():
        return []
    rows = []
    for kind, operators in OF_KIND.items():
        if kind not in estimates:
            rows += [[name] + [0] * (len(COLUMNS) - 1) for name, _ in operators]
            continue
        ours = estimates[kind].operators
        weight = (query.request.estimates.state_bytes_per_parameter
                  / ACESO_STATE_BYTES * 2)
        for i, (name, op) in enumerate(operators):
            rows.append(row_of(name, ours[op], crossing(operators, ours, i, dp),
                               crossing(operators, ours, i + 1, dp), weight))
    return rows


def crossing(operators, ours, i, dp):
    """Returns the MiB that a replica sends if a stage begins at operator i."""
    if i == len(operators):
        return ours[0].boundary_bytes / dp / MIB
    op = operators[i][1]
    if i > 0 and operators[i - 1][1] == op:
        return NO_CUT_MIB
    return ours[op].boundary_bytes / dp / MIB


def row_of(name, ours, into, out_of, weight_bytes):
    share, kept = 1, ours.saved_bytes
    if ours.name == ATTENTION_CORE:
        share = 1 / 4
        kept = kept / CORE_FACTOR if name == KEEPS_CORE else 0
    return [name, share * ours.forward_s * 1e6, share * ours.backward_s * 1e6,
            into, out_of, share * ours.parameters * weight_bytes / MIB,
            kept / MIB, ours.workspace_bytes / MIB, 0]


def write_csv(folder, name, rows):
    with open(os.path.join(folder, name), "w", newline="",
              encoding="utf-8") as file:
        csv.writer(file).writerows(rows)


def plan_of(operators, config):
    """Returns the plan. Cuts inside attention move behind it; returns None if
    that leaves a stage empty."""
    cuts = [0]
    for stage in config:
        cut = cuts[-1] + len(stage["recompute"])
        cuts.append(cut)
    cuts = [whole(operators, cut) for cut in cuts]
    flags = [flag for stage in config for flag in stage["recompute"]]
    stages = []
    for stage, begin, end in zip(config, cuts, cuts[1:]):
        if begin == end:
            return None
        masks = {}
        for (layer, op, _), flag in zip(operators[begin:end],
                                        flags[begin:end]):
            masks[layer] = masks.get(layer, 0) | flag << op
        stages.append(tangram_adapter.stage(
            where(operators, begin), where(operators, end), tp=stage["tp"],
            dp=stage["dp"], recompute=masks.values()))
    return tangram_adapter.plan(stages)


def whole(operators, cut):
    while 0 < cut < len(operators) and (operators[cut][:2]
                                        == operators[cut - 1][:2]):
        cut += 1
    return cut


def where(operators, cut):
    if cut == len(operators):
        return operators[-1][0] + 1
    return operators[cut][:2]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkout", required=True)
    parser.add_argument("--layers-per-atom", type=int, default=4)
    options = parser.parse_args()
    checkout = os.path.abspath(options.checkout)
    if not os.path.exists(os.path.join(checkout, "search/aceso_search.py")):
        parser.error(f"--checkout: {checkout} has no search/aceso_search.py")
    tangram_adapter.serve(Aceso(checkout, options.layers_per_atom))


if __name__ == "__main__":
    main()
