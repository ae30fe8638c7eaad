"""What a run has measured of this machine, as a cluster and as profiles
(docs/profile-file.md). Each device of a pipeline is a node with a GPU type of its own,
because processes may run at unlike speeds."""

import dataclasses
import os

import torch

from .write_plan import Seat

GEMM_SIZE, COPY_BYTES = 384, 1 << 24
# Used where a pair of ranks talks to itself only, in one process.
NO_LINK = {"latency_s": 1e-6, "bandwidth_bytes_per_s": 1e10,
           "pair_bandwidth_bytes_per_s": 1e10}


@dataclasses.dataclass(frozen=True)
class Device:
    """The ranks that run the same stages of a pipeline."""
    name: str
    ranks: tuple


def devices_of(plan):
    return [Device(f"pipeline-{r}-stage-{stage.index}",
                   tuple(rank for team in stage.teams for rank in team.ranks))
            for r, pipeline in enumerate(plan.pipelines)
            for stage in pipeline.stages[:pipeline.num_devices]]


def seats_of(plan):
    return {rank: Seat(device.name, i) for device in devices_of(plan)
            for i, rank in enumerate(device.ranks)}


def pairs_of(plan):
    """(rank, rank, channel) of those between which links are measured: the first ranks
    of neighbours in a pipeline, and the first two ranks of a device."""
    pairs = {}
    for r, pipeline in enumerate(plan.pipelines):
        firsts = [stage.teams[0].ranks[0] for stage in pipeline.stages]
        for i, (first, second) in enumerate(zip(firsts, firsts[1:])):
            if first != second and (second, first) not in pairs:
                pairs.setdefault((first, second), (r, i, 0))
    for device in devices_of(plan):
        if len(device.ranks) > 1:
            pairs.setdefault(device.ranks[:2], None)
    return [(*pair, channel) for pair, channel in pairs.items()]


def rates(device, clock):
    """FLOPs and bytes a second: of a product of matrices and of a copy."""
    a = torch.ones(GEMM_SIZE, GEMM_SIZE, device=device)
    b = torch.ones(COPY_BYTES // 4, device=device)

    def best(step):
        times = []
        for _ in range(5):
            before = clock()
            step()
            times.append(clock() - before)
        return max(min(times), 1e-9)

    return 2 * GEMM_SIZE ** 3 / best(lambda: a @ a), 2 * COPY_BYTES / best(b.clone)


def memory_bytes(device, num_ranks):
    if device.type == "cuda":
        return torch.cuda.get_device_properties(device).total_memory
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // num_ranks


def link(points):
    """Latency and rate of a line through the fastest and the largest message."""
    large = points[-1]
    latency = min(point["seconds"] for point in points)
    # On a busy machine, small messages may be as slow as large ones.
    rate = large["bytes"] / max(large["seconds"] - latency, large["seconds"] / 2)
    return {"latency_s": latency, "bandwidth_bytes_per_s": rate,
            "pair_bandwidth_bytes_per_s": rate}


def cluster(plan, measured, devices=None):
    """`measured` is what `measure_run.py` gathers. Each of `devices` is a node."""
    devices = devices or devices_of(plan)
    links = {pair: link(points) for pair, points in measured.transfers.items()}
    # Links that no pair measured are like the slowest one.
    slowest = min(links.values(), key=lambda one: one["bandwidth_bytes_per_s"],
                  default=NO_LINK)
    types, rows = [slowest], []
    for one in devices:
        row = []
        for other in devices:
            found = next((links[pair] for pair in links if {*pair} & {*one.ranks}
                          and {*pair} & {*other.ranks} and one is not other), None)
            row.append(len(types) if found else 0)
            types += [found] if found else []
        rows.append({"link_types": row})
    flash = uses_flash_attention(plan)
    return {"name": "this machine", "groups": [one.name for one in devices],
            "devices": [_device(one, measured, flash) for one in devices],
            "nodes": [{"group": i, "device": i, "num_gpus": len(one.ranks),
                       "intra_node": links.get(one.ranks[:2], slowest),
                       "names": [one.name]} for i, one in enumerate(devices)],
            "link_types": types, "links": rows}


def _device(device, measured, flash):
    flops, copy_rate = (min(values) for values in
                        zip(*(measured.rates[rank] for rank in device.ranks)))
    memory = measured.memory_bytes[device.ranks[0]]
    return {"type": device.name, "peak_flops": dict.fromkeys(
                ("fp32", "fp16", "bf16"), flops),
            "memory_bytes": memory, "memory_bandwidth_bytes_per_s": copy_rate,
            "supports_flash_attention": flash,
            "efficiency": {"gemm_max_fraction": 1, "gemm_half_flops": 1,
                           "attention_fraction": 1, "memory_fraction": 1},
            "host": {"bandwidth_bytes_per_s": copy_rate / 2, "memory_bytes": memory}}


def uses_flash_attention(plan):
    return any(team.parallelism.cp_degree > 1 for pipeline in plan.pipelines
               for stage in pipeline.stages for team in stage.teams)


def profile(plan, device, measured, with_collectives=False):
    """A profile as a dictionary. `with_collectives` says that layers were timed with
    their collectives."""
    ends = plan.layers[0], plan.layers[-1]
    transformers = list(dict.fromkeys(layer for layer in plan.layers if layer.is_transformer))
    models = {f"layer-{i}": _model(layer, *ends) for i, layer in enumerate(transformers)}
    models = models or {"layer-0": _model(None, *ends)}
    names = {layer: f"layer-{i}" for i, layer in enumerate(transformers)}
    # From whether it is an operator's, and its head, to an entry.
    entries = {False: {}, True: {}}
    for piece, figures in measured.figures_of(device).items():
        # Teams of other dp degrees, and other numbers of samples, share an entry.
        head = _head(plan, piece, names.get(piece.layer, "layer-0"), with_collectives)
        entry = entries[bool(piece.operator)].setdefault(
            tuple(head.items()), {**head, "points": {}})
        point = {"samples": piece.samples, "forward_s": figures.forward_s,
                 "backward_s": figures.backward_s}
        if figures.saved_bytes:
            point["saved_bytes"] = figures.saved_bytes
        entry["points"].setdefault(piece.samples, point)
        if not piece.operator and not piece.layer.tied_embeddings:
            entry.update(optimizer_s=figures.optimizer_s, state_bytes=figures.state_bytes)
    for entry in (*entries[False].values(), *entries[True].values()):
        entry["points"] = [point for _, point in sorted(entry["points"].items())]
    return {"tangram_profile": 1, "device": device.name,
            "source": "measured by the reference runtime",
            "framework": f"PyTorch {torch.__version__}",
            "models": [{"name": name, **model} for name, model in models.items()],
            "layers": list(entries[False].values()),
            "operators": list(entries[True].values()),
            "collectives": _collectives(device, measured)}


def _collectives(device, measured):
    """One table for each operation and number of ranks, of the slowest team. All teams
    have the same sizes."""
    teams = {}
    for ranks, name, points in measured.collectives:
        if ranks[0] in device.ranks:
            teams.setdefault((name, len(ranks)), []).append(points)
    return [{"op": name, "ranks": ranks, "nodes": 1,
             "points": [max(same, key=lambda point: point["seconds"])
                        for same in zip(*tables)]}
            for (name, ranks), tables in teams.items()]


def _head(plan, piece, model, with_collectives):
    """An entry without its figures."""
    p = piece.parallelism
    what = ({"op": piece.operator} if piece.operator else
            {"kind": piece.layer.kind.lower(), "collectives_included": with_collectives})
    return {**what, "model": model, "precision": plan.precision.lower(),
            "sequence_length": plan.sequence_length, "tp": p.tp_degree,
            "tp_y": p.tp_y_degree, "cp": p.cp_degree, "ep": p.ep_degree, "fsep": p.fsep,
            "sequence_parallel": p.sequence_parallel,
            "flash_attention": uses_flash_attention(plan)}


def _model(layer, embedding, head):
    """As docs/model-file.md describes one with this layer."""
    model = {"layers": 1, "hidden_size": embedding.hidden_size, "heads": 1,
             "ffn_hidden_size": 1, "vocab_size": head.vocab_size,
             "max_positions": embedding.max_position_embeddings,
             "tied_embeddings": embedding.tied_embeddings}
    if layer is None:
        return model
    model.update(heads=layer.num_heads, head_dim=layer.head_dim,
                 ffn_hidden_size=layer.ffn_hidden_size, gated_mlp=layer.gated_mlp,
                 sliding_window=layer.sliding_window, qk_norm=layer.qk_norm,
                 norm_bias=layer.norm_bias, bias="all" if layer.linear_bias else
                 "qkv" if layer.qkv_bias else "none")
    if layer.kv_lora_rank:
        model["latent_attention"] = {
            "q_rank": layer.q_lora_rank, "kv_rank": layer.kv_lora_rank,
            "rope_head_dim": layer.rope_head_dim, "value_head_dim": layer.value_head_dim}
    else:
        model["kv_heads"] = layer.num_kv_heads
    if layer.num_experts:
        del model["ffn_hidden_size"]
        model["experts"] = {"count": layer.num_experts, "per_token": layer.experts_per_token,
                            "ffn_hidden_size": layer.expert_ffn_hidden_size,
                            "shared_ffn_hidden_size": layer.shared_expert_ffn_hidden_size}
        if layer.expert_latent_size:
            model["experts"]["latent_size"] = layer.expert_latent_size
    return model
