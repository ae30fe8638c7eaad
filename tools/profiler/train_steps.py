#!/usr/bin/env python3
"""Measures real training steps on one GPU.

Writes rows that `tangram validate` reads. See README.md beside this file.
"""

import argparse
import csv
import dataclasses
import datetime
import sys

try:
    import torch
    from torch.utils.checkpoint import checkpoint
except ImportError:
    print("torch is not installed: nothing measured; install PyTorch for this "
          "machine's GPU", file=sys.stderr)
    sys.exit(2)

import measure
from layers import Embedding, Head, TensorParallel, Transformer
from model_table import Experts, Model
from optimizer import MixedPrecisionAdam

COLUMNS = (
    "row_id,source,framework,gpu,gpu_mem_gb,num_gpus,gpus_per_node,model,"
    "layers,hidden,heads,kv_heads,ffn,vocab,seq,experts,topk,params_b,gbs,mbs,"
    "tp,pp,vp,dp,cp,ep,sp,zero,recompute,offload,precision,attn_kernel,"
    "iteration_s,tokens_s_gpu,mem_gib,mem_kind,mem_raw,heterogeneous,evidence,"
    "flag,notes").split(",")


def gpt(layers, hidden, heads, experts=0):
    """GPT: biases, learned positions, tied embeddings."""
    return Model(
        name=f"gpt{'-moe' if experts else ''} {layers}x{hidden}",
        layers=layers, hidden_size=hidden, heads=heads, vocab_size=51200,
        ffn_hidden_size=4 * hidden, max_positions=2048, tied_embeddings=True,
        bias="all", norm_bias=True,
        experts=Experts(experts, 2, 4 * hidden) if experts else None)


def llama(layers, hidden, heads, width, experts=0):
    """Llama: gated MLP, rotary positions, grouped queries, no biases."""
    return Model(
        name=f"llama{'-moe' if experts else ''} {layers}x{hidden}",
        layers=layers, hidden_size=hidden, heads=heads, kv_heads=heads // 4,
        vocab_size=32000, ffn_hidden_size=width, gated_mlp=True,
        experts=Experts(experts, 2, width) if experts else None)


STACKS = (gpt(12, 768, 12), gpt(24, 1024, 16), gpt(24, 2048, 16),
          llama(16, 2048, 32, 5632), llama(8, 4096, 32, 14336),
          gpt(8, 768, 12, experts=8), gpt(8, 1024, 16, experts=16),
          llama(4, 2048, 32, 7168, experts=8))
# (sequences of a microbatch, microbatches of a step, recompute)
VARIANTS = ((1, 4, "none"), (4, 4, "none"), (4, 4, "full"))


def with_positions(model, seq):
    """Returns the model with one learned position for each token."""
    return dataclasses.replace(
        model, max_positions=seq if model.max_positions else 0)


def shrink(model):
    """Returns a small model of that kind, to test this program on a CPU."""
    experts = model.experts and Experts(4, 2, 64)
    return dataclasses.replace(
        model, layers=2, hidden_size=64, heads=4, head_dim=16,
        kv_heads=4 * model.kv_heads // model.heads, vocab_size=256,
        ffn_hidden_size=128 if not experts else 64, experts=experts)


class Stack(torch.nn.Module):
    """A whole model on one GPU."""

    def __init__(self, model, flash, recompute):
        super().__init__()
        alone = TensorParallel()
        self.recompute = recompute
        self.embedding = Embedding(model, alone)
        self.layers = torch.nn.ModuleList(
            Transformer(model, alone, flash,
                        model.experts if model.has_experts(i) else None)
            for i in range(model.layers))
        self.head = Head(model, alone)
        if model.tied_embeddings:
            self.head.projection.weight = self.embedding.words.weight

    def forward(self, tokens, targets):
        x = self.embedding(tokens)
        for layer in self.layers:
            if self.recompute:
                x = checkpoint(layer, x, use_reentrant=False)
            else:
                x = layer(x)
        return self.head(x, targets)


def run_steps(device, model, variant, options):
    """Returns (parameters, seconds of a step, peak bytes); None: unknown."""
    microbatch, microbatches, recompute = variant
    device.forget()
    stack = Stack(model, device.has_flash_attention, recompute == "full").to(
        device=device.torch, dtype=measure.DTYPES[options.dtype])
    optimizer = MixedPrecisionAdam(stack.parameters(), fp32_gradients=True)
    tokens = torch.randint(model.vocab_size, (microbatch, options.seq + 1),
                           device=device.torch)

    def step():
        for _ in range(microbatches):
            loss = stack(tokens[:, :-1], tokens[:, 1:])
            (loss / microbatches).backward()
            optimizer.gather_gradients()
        optimizer.step()

    (seconds,) = device.medians(step)
    parameters = sum(p.numel() for p in stack.parameters())
    return parameters, seconds, device.peak_allocated_bytes()


def describe(device, model, variant, options):
    """Returns the columns that are known before anything runs."""
    microbatch, microbatches, recompute = variant
    today = datetime.date.today().isoformat()
    memory = (torch.cuda.get_device_properties(device.torch).total_memory
              if device.is_gpu else 0)
    experts = model.experts
    return {
        "source": f"tools/profiler/train_steps.py, {today}",
        "framework": f"PyTorch {torch.__version__}, eager",
        "gpu": options.gpu or device.name,
        "gpu_mem_gb": f"{memory / 1e9:.1f}" if memory else "",
        "num_gpus": 1, "gpus_per_node": 1, "model": model.name,
        "layers": model.layers, "hidden": model.hidden_size,
        "heads": model.heads, "kv_heads": model.kv_heads,
        "ffn": (experts.ffn_hidden_size if experts
                else model.ffn_hidden_size),
        "vocab": model.vocab_size, "seq": options.seq,
        "experts": experts.count if experts else "",
        "topk": experts.per_token if experts else "",
        "gbs": microbatch * microbatches, "mbs": microbatch,
        "tp": 1, "pp": 1, "vp": 1, "dp": 1, "cp": 1, "ep": 1, "sp": 0,
        "zero": 0, "recompute": recompute, "offload": "none",
        "precision": options.dtype,
        "attn_kernel": "flash" if device.has_flash_attention else "unfused",
        "heterogeneous": 0, "evidence": "measured here",
        "notes": "fp32 gradients; experts equally loaded; no dropout"}


def measure_row(device, model, variant, options):
    row = describe(device, model, variant, options)
    try:
        parameters, seconds, peak = run_steps(device, model, variant, options)
    except RuntimeError as error:
        if not measure.is_out_of_memory(error):
            raise
        row["flag"] = "OOM"
        return row
    row["params_b"] = f"{parameters / 1e9:.6f}"
    row["iteration_s"] = f"{seconds:.6f}"
    row["tokens_s_gpu"] = f"{row['gbs'] * options.seq / seconds:.1f}"
    if peak is not None:
        row["mem_gib"] = f"{peak / 2**30:.4f}"
        row["mem_kind"] = "torch max allocated"
        row["mem_raw"] = f"{peak} B"
    return row


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--out", required=True, metavar="FILE", help="rows to write, CSV")
    add("--gpu", metavar="TYPE",
        help="GPU type as in the catalogue [the driver's name]")
    add("--dtype", default="bf16", choices=list(measure.DTYPES))
    add("--seq", type=measure.positive_int, default=2048,
        help="tokens a sequence [2048]")
    add("--repeats", type=measure.positive_int, default=7,
        help="timed steps [7]")
    add("--allow-no-gpu", action="store_true",
        help="without a GPU: measure nothing and exit with 0 instead of 2")
    add("--device", default="gpu", choices=["gpu", "cpu"],
        help=argparse.SUPPRESS)  # cpu: small stacks, for tests of this program.
    return parser.parse_args(arguments)


def main(arguments):
    options = parse_arguments(arguments)
    device = measure.choose_device(options.device, options.allow_no_gpu)
    measure.check_writable(options.out)
    device.repeats = options.repeats
    torch.manual_seed(measure.SEED)
    stacks = [with_positions(model if device.is_gpu else shrink(model),
                             options.seq) for model in STACKS]
    with open(options.out, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, restval="")
        writer.writeheader()
        runs = [(model, variant) for model in stacks for variant in VARIANTS]
        for number, (model, variant) in enumerate(runs, 1):
            row = measure_row(device, model, variant, options)
            writer.writerow({"row_id": f"train_steps-{number:04d}", **row})
            file.flush()  # Keeps earlier rows if a later run fails.
            print(f"{number}/{len(runs)} {model.name}, microbatch "
                  f"{variant[0]}, recompute {variant[2]}: "
                  f"{row.get('iteration_s') or row['flag']} s",
                  file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
