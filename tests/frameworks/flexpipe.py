"""Trains exports for Aceso's runtime with the runtime itself, on CPU.

flexpipe_ranks.py is what runs. Here sizes shrink, structure stays: operators of
each stage, degrees, recomputation, the samples of a microbatch.
"""

import json
import os
import subprocess
import tempfile

import upstream

MICROBATCHES = 4
# The second shows what a first leaves behind. Weights stay: with one stage,
# FlexPipe's optimizer moves the shared embedding twice in float32.
STEPS = 2
# float32 gives 1e-6; a gradient that lacks a term, or has a wrong factor, 1e-1.
TOLERANCE = 1e-4


def tiny(config):
    """Returns the configuration of a model that a CPU trains at once."""
    heads = max(tp for stage in config["model_parallel_size_of_each_op"]
                for tp in stage)
    return {**config, "hidden_size": 4 * max(heads, 2),
            "num_attention_heads": max(heads, 2), "seq_length": 8,
            "max_position_embeddings": 8,
            "global_batch_size": MICROBATCHES * config["micro_batch_size"]}


def one_process(config):
    """Returns the configuration that trains the same on one GPU."""
    operators = sum(config["num_ops_in_each_stage"])
    return {**config, "num_stages": 1, "num_gpus": [1],
            "num_ops_in_each_stage": [operators],
            "model_parallel_size_of_each_op": [[1] * operators],
            "data_parallel_size_of_each_op": [[1] * operators],
            "algo_of_each_op": [[0] * operators],
            "recompute_ops": [[0] * operators],
            "checkpoint_activations": [False], "resharding_stages": [False]}


def train(config, words):
    """Returns what each rank recorded. `words` are those of launch.sh."""
    import torch
    # PyTorch 1 has no float16 on CPU. bfloat16 brings sums in float32 buffers.
    words = ["--accumulate-allreduce-grads-in-fp32" if word == "--bf16"
             else word for word in words if word != "--fp16"]
    hidden, heads = config["hidden_size"], config["num_attention_heads"]
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "tiny.json")
        with open(file, "w", encoding="utf-8") as f:
            json.dump(config, f)
        os.makedirs(f"{folder}/logs/csv")
        run = subprocess.run(
            ["/usr/bin/python3",
             os.path.join(os.path.dirname(__file__), "flexpipe_ranks.py"),
             os.path.join(upstream.checkout("SuperScaler"), "runtime"), folder,
             *words, "--flexpipe-config", file, "--log-path", f"{folder}/logs/",
             "--train-iters", str(STEPS), "--lr", "0", "--min-lr", "0",
             "--hidden-dropout", "0", "--attention-dropout", "0", "--ffn-hidden-size", str(2 * hidden),
             "--kv-channels", str(hidden // heads)],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"}, timeout=240,
            check=False)
        if run.returncode:
            raise RuntimeError(run.stdout[-3000:])
        return [torch.load(f"{folder}/ranks/{rank}.pt")
                for rank in range(sum(config["num_gpus"]))]


def difference(gradient, whole, dimension, tp_rank, tp):
    """Returns how far a rank's gradient is from its part of the whole."""
    if gradient is None:
        return float("inf")
    part = whole if dimension < 0 else whole.chunk(tp, dimension)[tp_rank]
    scale = whole.abs().max()
    return float((gradient - part).abs().max() / scale)


def clipping(rank, words):
    """Returns the factors by which a rank scales the gradients of the steps."""
    clip = float(words[words.index("--clip-grad") + 1])
    return [clip / norm for norm in rank["norm"]]


def far(values, others):
    return any(abs(a - b) > TOLERANCE * abs(b) for a, b in zip(values, others))


def compare(config, words):
    """Returns {what differs from one process: how far}, the number of
    parameters, and the greatest difference of a gradient."""
    config = tiny(config)
    ranks = train(config, words)
    words_alone = list(words)  # A launch on one GPU clips norms above 1.
    words_alone[words.index("--clip-grad") + 1] = "1"
    (alone,) = train(one_process(config), words_alone)
    worst, wrong = {}, {}
    for rank in ranks:
        for step, gradients in enumerate(rank["gradients"]):
            for name, (gradient, *part) in gradients.items():
                whole = alone["gradients"][step][name][0]
                worst[name] = max(worst.get(name, 0.0),
                                  difference(gradient, whole, *part))
        if rank["loss"] and far(rank["loss"], alone["loss"]):
            wrong["loss"] = rank["loss"]
        if far(clipping(rank, words), clipping(alone, words_alone)):
            wrong["clipping"] = clipping(rank, words)
    worst.update({name: float("inf") for name in alone["gradients"][0]
                  if name not in worst})
    wrong.update({name: value for name, value in worst.items()
                  if not value < TOLERANCE})
    return wrong, len(worst), max(worst.values())


def compare_export(folder):
    """As compare(), of the folder that `tangram export --to aceso` wrote."""
    _, *words = upstream.launched(folder, "ACESO", "SuperScaler",
                                  LOG_PATH=f"{folder}/logs/")
    return compare(json.loads(upstream.read(folder, "flexpipe.json")), words)
