#!/usr/bin/env python3
"""Measures this machine's GPU and writes a profile (docs/profile-file.md).

See README.md beside this file.
"""

import argparse
import datetime
import json
import platform
import sys

try:
    import torch
except ImportError:
    print("torch is not installed: nothing measured; install PyTorch for this "
          "machine's GPU", file=sys.stderr)
    sys.exit(2)

import collectives
import measure
import pieces
from model_table import load_model

LARGEST_COLLECTIVE_BYTES = 1 << 30
PARTS = ("gemms", "layers", "operators", "collectives", "p2p")


def positive_ints(text):
    return sorted({measure.positive_int(part) for part in text.split(",")})


def part_names(text):
    names = text.split(",")
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        raise argparse.ArgumentTypeError(
            f"{unknown[0]}; expected some of {', '.join(PARTS)}")
    return names


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--out", required=True, metavar="FILE", help="profile to write, JSON")
    add("--gpu", metavar="TYPE",
        help="GPU type as in your cluster files [the driver's name]")
    add("--models", default="gpt3-1.3b", metavar="NAME,...",
        help="built-in names or JSON model files [gpt3-1.3b]")
    add("--dtype", default="bf16", choices=list(measure.DTYPES))
    add("--seq", type=measure.positive_int,
        help="tokens a sample [the model's usual number]")
    add("--samples", type=positive_ints, default=[1, 2, 4, 8],
        metavar="N,...", help="batch sizes [1,2,4,8]")
    add("--tp", type=positive_ints, default=[1], metavar="N,...",
        help="tensor-parallel degrees; above 1 under torchrun [1]")
    add("--no-flash-attention", action="store_true",
        help="time attention as separate kernels")
    add("--skip", type=part_names, default=[], metavar="PART,...",
        help="parts to leave out: " + ", ".join(PARTS))
    add("--largest-gemm", type=measure.positive_int, default=16384, metavar="N",
        help="edge of the largest square matrix product [16384]")
    add("--largest-collective", type=measure.positive_int,
        default=LARGEST_COLLECTIVE_BYTES, metavar="BYTES",
        help="largest message of a collective [1 GiB]")
    add("--repeats", type=measure.positive_int, default=10,
        help="timed rounds [10]")
    add("--allow-no-gpu", action="store_true",
        help="without a GPU: measure nothing and exit with 0 instead of 2")
    add("--device", default="gpu", choices=["gpu", "cpu"],
        help=argparse.SUPPRESS)  # cpu: for tests of this program.
    return parser.parse_args(arguments)


def main(arguments):
    options = parse_arguments(arguments)
    try:
        models = [load_model(name) for name in options.models.split(",")]
    except ValueError as error:
        measure.fail(str(error))
    for model, length in models:
        if not (options.seq or length):
            measure.fail(f"{model.name}: no usual number of tokens; give --seq")
    ranks = collectives.Ranks()
    for tp in options.tp:
        if ranks.count % tp:
            measure.fail(f"--tp {tp}: does not divide the {ranks.count} ranks "
                         "that there are; start more with torchrun")
        for model, _ in models:
            if model.heads % tp or model.ffn_hidden_size % tp:
                measure.fail(f"--tp {tp}: does not divide the heads or the MLP "
                             f"of {model.name}")
    device = measure.choose_device(options.device, options.allow_no_gpu,
                                   ranks.local)
    device.repeats = options.repeats
    if ranks.is_first:
        measure.check_writable(options.out)
    ranks.connect(device.is_gpu)
    torch.manual_seed(measure.SEED)
    profile = measure_all(device, ranks, models, options)
    if ranks.is_first:
        with open(options.out, "w", encoding="utf-8") as file:
            write_profile(profile, file)
    ranks.close()


def measure_all(device, ranks, models, options):
    def log(text):
        if ranks.is_first:
            print(text, file=sys.stderr)

    skipped = options.skip
    profile = describe(device, models, options)
    cuts = [ranks.tensor_parallel(tp) for tp in options.tp]
    for model, length in models:
        sample = pieces.Sample(options.seq or length, options.dtype,
                               not options.no_flash_attention
                               and device.has_flash_attention)
        for tp in cuts:
            if "layers" not in skipped:
                profile["layers"] += pieces.measure_layers(
                    device, model, sample, tp, options.samples, log)
            if "operators" not in skipped:
                profile["operators"] += pieces.measure_operators(
                    device, model, sample, tp, options.samples[0], log)
    if "gemms" not in skipped:
        shapes = pieces.gemm_shapes(models, options)
        profile["gemms"] = pieces.measure_gemms(device, shapes, options.dtype)
    if ranks.count > 1:
        largest = options.largest_collective
        if "collectives" not in skipped:
            profile["collectives"] = collectives.measure_collectives(
                device, ranks, largest, log)
        if "p2p" not in skipped:
            profile["p2p"] = collectives.measure_p2p(device, ranks, largest,
                                                     log)
    context = device.context_bytes()
    if context:
        profile["memory"] = {"context_bytes": context}
    return profile


def describe(device, models, options):
    today = datetime.date.today().isoformat()
    runtime = torch.version.cuda or getattr(torch.version, "hip", None)
    return {
        "tangram_profile": 1,
        "device": options.gpu or device.name,
        "source": f"measured on {device.name} of {platform.node()}, {today}",
        "framework": f"PyTorch {torch.__version__}"
                     + (f", CUDA {runtime}" if runtime else ""),
        "models": [{**model.source, "name": model.name}
                   for model, _ in models],
        "layers": [], "operators": [], "gemms": [], "collectives": [],
        "p2p": []}


def write_profile(profile, file):
    """Writes JSON with one entry a line, so that profiles can be compared."""
    lines = []
    for key, value in profile.items():
        if isinstance(value, list) and value:
            entries = ",\n".join("    " + json.dumps(e) for e in value)
            lines.append(f"  {json.dumps(key)}: [\n{entries}\n  ]")
        else:
            lines.append(f"  {json.dumps(key)}: {json.dumps(value)}")
    file.write("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
