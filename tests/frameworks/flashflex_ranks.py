"""Averages gradients with FlashFlex's own code, on CPU, one process a GPU.

FlashFlex makes the groups of an export, takes samples from its data loader and
exchanges gradients with its communication hook. Only the passes are made up:
sample i has known gradients of a norm, a weight that tp splits in the first
dimension, and one that it splits in the second. flash-attn, FSDP's newer
modules and the rest of FlashFlex are stubs.
"""

import argparse
import importlib.util
import json
import multiprocessing
import os
import sys
import tempfile
import types

import torch
import torch.distributed

import upstream

WIDTH, DEPTH = 8, 3  # Of the weights; tp divides the width.
ROUNDING = 1e-5


def load(root, folder, args):
    """Returns FlashFlex's groups, hook, pipelines and training program. `folder`
    has the program of an export; None: llama_train.py as it is."""
    linear = {name: type(name, (), {})
              for name in ("ColumnParallelLinear", "RowParallelLinear")}
    upstream.stub_module("flash_attn", __path__=[])
    upstream.stub_module("flash_attn.ops.fused_dense", **linear)
    upstream.stub_module("flash_attn.losses.cross_entropy",
                         CrossEntropyLoss=torch.nn.CrossEntropyLoss)
    upstream.stub_module("torch.distributed.fsdp", __path__=[],
                         FullyShardedDataParallel=type("FSDP", (), {}))
    upstream.stub_module("torch.distributed.fsdp.api", ShardingStrategy=
                         types.SimpleNamespace(NO_SHARD=0, SHARD_GRAD_OP=1,
                                               FULL_SHARD=2))
    for name, member in (("fully_sharded_data_parallel",
                          "FullyShardedDataParallel"),
                         ("_runtime_utils", "_reduce_grad"),
                         ("_flat_param", "FlatParamHandle"),
                         ("_common_utils", "_FSDPState")):
        upstream.stub_module(f"torch.distributed.fsdp.{name}",
                             **{member: None})
    real = ["comm_group", "gen_hetero_groups", "gen_p2p_lists",
            "fsdp_comm_utils", "heterogeneous_pipeline"]
    upstream.Stubs(root, ["third_party", "llama", "hexiscale"],
                   [f"hexiscale.{name}" for name in real])
    import third_party
    third_party.get_args = lambda: args
    import hexiscale
    import hexiscale.comm_group
    hexiscale.CommGroup = hexiscale.comm_group.CommGroup
    import hexiscale.fsdp_comm_utils as exchange
    import hexiscale.heterogeneous_pipeline as passes
    from hexiscale.gen_hetero_groups import gen_hetero_groups
    sys.path.insert(0, root)
    import llama_train as program
    groups = {}
    program.get_hetero_groups = lambda: groups
    if folder:
        spec = importlib.util.spec_from_file_location(
            "weigh_pipelines", f"{folder}/weigh_pipelines.py")
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
    return gen_hetero_groups, exchange, passes, program, groups


def gradients(layer, sample, is_block):
    """Returns the gradients of a layer for one sample, unsplit."""
    random = torch.Generator().manual_seed(1000 * layer + sample)

    def tensor(*shape):
        return torch.randn(*shape, generator=random)

    norm = tensor(WIDTH)
    return [norm, tensor(WIDTH, DEPTH), tensor(DEPTH, WIDTH)] if is_block \
        else [norm]


def mean(layer, samples, is_block):
    of_samples = [gradients(layer, sample, is_block) for sample in samples]
    return [torch.stack(parts).mean(0) for parts in zip(*of_samples)]


def shard(tensors, tp, index):
    """Returns the parts of a rank."""
    return [tensor if dim < 0 else tensor.chunk(tp, dim)[index].contiguous()
            for tensor, dim in zip(tensors, (-1, 0, 1))]


def weight_of_loss(program):
    logits, labels = torch.tensor([[1.0, 2.0]]), torch.tensor([0])
    return (program.CrossEntropyLoss()(logits, labels) /
            torch.nn.CrossEntropyLoss()(logits, labels)).item()


class Layer:
    """A layer under FSDP, with its hook: at first the mean over its group."""

    def __init__(self, group):
        self.layers = [self]
        self.register_comm_hook(group, mean_over_group)

    def register_comm_hook(self, state, hook):
        self.hook = lambda gradient: hook(state, gradient)


def mean_over_group(group, gradient):
    gradient /= group.size
    torch.distributed.all_reduce(gradient, group=group.group)


def make_pipeline(passes, groups, args):
    """Returns FlashFlex's pipeline of this rank and its layers, with hooks."""
    # All ranks must make all groups, as gloo would mix up others.
    made = {}
    for layout in groups["pp_layouts"]:
        for i in range(max(map(len, layout))):
            ranks = tuple(sorted(stage[min(i, len(stage) - 1)]
                                 for stage in layout))
            made[ranks] = torch.distributed.new_group(ranks)
    new_group = torch.distributed.new_group
    torch.distributed.new_group = lambda ranks: made[tuple(sorted(ranks))]
    torch.cuda.device_count = lambda: 1
    of_blocks = [[[-1, 1, 1]]] * args.total_layer_num
    pipeline = passes.PipelineParallel(
        [Layer(group) for group in groups["layer_dp_overall_comm_groups"]],
        groups["pp_ranks_whole_model"], groups["all_pp_ranks_whole_model"],
        [None, *of_blocks, None, None],
        layer_dp_sizes=[1] * (args.total_layer_num + 3),
        p2p_lists=groups["p2p_lists"],
        process_group=groups["current_pp_rank_groups"])
    torch.distributed.new_group = new_group
    pipeline.wrap_modules_data_parallel_comm_hook(
        groups, args, [0] * (args.total_layer_num + 3))
    return pipeline


def run(rank, config, args, root, folder, store, answers):
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{store}", rank=rank,
        world_size=sum(map(sum, config["hetero_configs"])))
    make_groups, exchange, passes, program, groups = load(root, folder, args)
    groups |= make_groups(config["pp_layouts"], config["hetero_configs"],
                          config["layer_partitions"])
    groups["dp_types_whole_model"] = []
    start, end = groups["stage_idxs"]
    mine = groups["current_tp_rank_group"]
    tp, index = len(mine), mine.index(rank)
    batch = sum(args.global_bsz_size)
    samples = next(iter(program.get_distributed_dataloader(
        list(range(2 * batch)), args.global_bsz_size, args=args))).tolist()
    gathered = [None] * torch.distributed.get_world_size()
    torch.distributed.all_gather_object(gathered, samples)
    pipelines = [[gathered[r] for stage in layout for r in stage]
                 for layout in config["pp_layouts"]]
    same_data = all(part == parts[0] for parts in pipelines for part in parts)
    everything = sorted(i for parts in pipelines for i in parts[0])
    is_block = [0 < layer <= args.total_layer_num for layer in range(end)]
    exchange.update_param_infos = lambda model, state: None
    pipeline = make_pipeline(passes, groups, args)
    in_place = [None] * torch.distributed.get_world_size()
    torch.distributed.all_gather_object(in_place, (
        pipeline.stage_start_idx, pipeline.stage_end_idx) == (start, end))
    if not all(in_place):
        answers.put((rank, False, []))
        return
    state = exchange.get_fsdp_comm_config()
    state.tp_dim = [[-1, 0, 1] if is_block[layer] else [-1]
                    for layer in range(start, end)]
    shapes = [torch.Size(part.shape) for part in
              shard(gradients(0, 0, True), tp, index)]
    state.shapes = [shapes[:len(dims)] for dims in state.tp_dim]
    state.numels = [[shape.numel() for shape in of] for of in state.shapes]
    state.param_infos = state.shapes
    state.buffer_shapes = [shapes[2]]
    args.current_iter, args.dataloader_length = 0, 1
    wrong = []
    for layer in reversed(range(start, end)):
        own = mean(layer, samples, is_block[layer])
        flat = torch.cat([part.flatten() for part in shard(own, tp, index)])
        flat *= weight_of_loss(program)
        pipeline.model_cur_stage[layer - start].hook(flat)
        right = torch.cat([part.flatten() for part in shard(
            mean(layer, everything, is_block[layer]), tp, index)])
        if (flat - right).abs().max() > ROUNDING:
            wrong.append(layer)
    answers.put((rank, same_data and len(set(everything)) == batch, wrong))
    torch.distributed.barrier()


def average(root, folder, batches, with_program):
    """Returns whether each rank had the layers of its stage and the data of its
    pipeline, and the layers whose averaged gradients are not those of the
    batch, of all ranks."""
    config = json.loads(upstream.read(folder, "flashflex.json"))
    args = argparse.Namespace(
        total_layer_num=sum(config["layer_partitions"][0]),
        hetero_configs=config["hetero_configs"], global_bsz_size=batches,
        accum_iter=1)
    fork = multiprocessing.get_context("fork")
    answers = fork.SimpleQueue()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as store:
        ranks = [fork.Process(target=run, args=(
            rank, config, args, root, folder if with_program else None,
            os.path.join(store, "store"), answers))
            for rank in range(sum(map(sum, config["hetero_configs"])))]
        for rank in ranks:
            rank.start()
        for rank in ranks:
            rank.join(120)
        failed = [rank.exitcode for rank in ranks if rank.exitcode != 0]
        for rank in ranks:
            if rank.is_alive():
                rank.kill()
        if failed:
            raise RuntimeError(f"ranks ended with {failed}")
        found = [answers.get() for _ in ranks]
    return (all(data for _, data, _ in found),
            sorted({layer for _, _, wrong in found for layer in wrong}))
