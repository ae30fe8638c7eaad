"""Measures the pieces of a model: layers, operators and matrix products."""

from dataclasses import dataclass

import torch
from torch.utils.checkpoint import checkpoint

from layers import Embedding, Head, Recorder, Transformer
from measure import DTYPES, is_out_of_memory, saved_bytes, time_passes
from optimizer import MixedPrecisionAdam


@dataclass
class Sample:
    """Length and precision of a sequence, and the kind of attention."""
    tokens: int
    precision: str
    flash: bool


def _on(device, module, precision):
    return module.to(device=device.torch, dtype=DTYPES[precision])


def _hidden(device, model, sample, samples):
    return torch.randn(samples, sample.tokens, model.hidden_size,
                       device=device.torch, dtype=DTYPES[sample.precision])


def _tokens(device, model, sample, samples):
    return torch.randint(model.vocab_size, (samples, sample.tokens),
                         device=device.torch)


def _layers(device, model, sample, tp):
    """Returns (layer, index among transformer layers, maker of its input)."""
    pieces = [(Embedding(model, tp), None, _tokens),
              (Head(model, tp), None, _hidden)]
    for index in model.distinct_layers():
        experts = model.experts if model.has_experts(index) else None
        if experts and tp.degree > 1:
            continue  # Layers with experts are only measured uncut.
        pieces.append((Transformer(model, tp, sample.flash, experts), index,
                       _hidden))
    for layer, index, make_input in pieces:
        yield _on(device, layer, sample.precision), index, make_input


def _name(model, layer, index, tp):
    place = "" if index is None else f" {index}"
    return f"{model.name} {layer.kind}{place}, tp {tp.degree}"


def _identity(model, sample, tp, index):
    entry = {"model": model.name, "precision": sample.precision,
             "sequence_length": sample.tokens, "tp": tp.degree,
             "flash_attention": sample.flash}
    if index:
        entry["layer"] = index
    return entry


def measure_layers(device, model, sample, tp, batch_sizes, log):
    """Returns entries of `layers`."""
    entries = []
    for layer, index, make_input in _layers(device, model, sample, tp):
        entry = {"kind": layer.kind, **_identity(model, sample, tp, index)}
        if tp.degree > 1:
            entry["collectives_included"] = True
        name = _name(model, layer, index, tp)
        entry["points"] = []
        for samples in batch_sizes:
            point = _measure_point(
                device, layer, samples,
                lambda: make_input(device, model, sample, samples))
            if point is None:
                log(f"{name}: {samples} samples do not fit")
                break
            entry["points"].append(point)
            log(f"{name}, {samples} samples: {_describe(point)}")
        if layer.kind == "transformer" and entry["points"]:
            samples = entry["points"][0]["samples"]
            recomputed_s = _backward_with_recomputation(
                device, layer, make_input(device, model, sample, samples))
            log(f"{name}, {samples} samples: backward with recomputation "
                f"{1e3 * recomputed_s:.3f} ms")
        if not entry["points"]:
            continue
        if layer.kind == "transformer":
            entry.update(_optimizer(device, layer))
        entries.append(entry)
        layer.zero_grad(set_to_none=True)
        device.forget()
    return entries


def _measure_point(device, layer, samples, make_input):
    try:
        inputs = [make_input()]
        # Allocates gradients first, so that only saved activations are new.
        forward_s, backward_s = time_passes(device, layer, inputs)
        saved = saved_bytes(device, layer, inputs)
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        device.forget()
        return None
    point = {"samples": samples, "forward_s": forward_s,
             "backward_s": backward_s}
    if saved is not None:
        point["saved_bytes"] = saved
    return point


def _describe(point):
    return (f"forward {1e3 * point['forward_s']:.3f} ms, "
            f"backward {1e3 * point['backward_s']:.3f} ms")


def _backward_with_recomputation(device, layer, x):
    """Returns seconds. Profiles do not store it, since plans derive it."""
    def recomputing(y):
        return checkpoint(layer, y, use_reentrant=False)

    _, backward_s = time_passes(device, recomputing, [x])
    return backward_s


def _optimizer(device, layer):
    """Returns the seconds of an optimizer step and the bytes of its state."""
    optimizer = MixedPrecisionAdam(layer.parameters())
    (seconds,) = device.medians(optimizer.step)
    return {"optimizer_s": seconds, "state_bytes": optimizer.state_bytes()}


def measure_operators(device, model, sample, tp, samples, log):
    """Returns entries of `operators`, each run alone on its inputs."""
    entries = []
    for layer, index, make_input in _layers(device, model, sample, tp):
        recorder = layer.run = Recorder()
        with torch.no_grad():
            layer(make_input(device, model, sample, samples))
        for op, (function, inputs) in recorder.calls.items():
            forward_s, backward_s = time_passes(device, function, inputs)
            entries.append({
                "op": op, **_identity(model, sample, tp, index),
                "points": [{"samples": samples, "forward_s": forward_s,
                            "backward_s": backward_s}]})
        log(f"{_name(model, layer, index, tp)}: {len(recorder.calls)} "
            "operators")
        recorder.calls.clear()
        device.forget()
    return entries


def gemm_shapes(models, options):
    """Returns (m, k, n): squares of powers of two, and the models' products."""
    shapes = []
    edge = 256
    while edge <= options.largest_gemm:
        shapes.append((edge, edge, edge))
        edge *= 2
    for model, length in models:
        tokens = options.seq or length
        hidden, width = model.hidden_size, model.ffn_hidden_size
        query = model.heads * model.head_dim
        key = model.kv_heads * model.head_dim
        products = [(hidden, query + 2 * key), (query, hidden)]
        if width:
            products += [(hidden, width), (width, hidden)]
        shapes += [(samples * tokens, k, n) for samples in options.samples
                   for k, n in products]
    return sorted(set(shapes))


def measure_gemms(device, shapes, precision):
    """Returns entries of `gemms`."""
    dtype = DTYPES[precision]
    entries = []
    for m, k, n in shapes:
        a = torch.randn(m, k, device=device.torch, dtype=dtype)
        b = torch.randn(k, n, device=device.torch, dtype=dtype)
        c = torch.empty(m, n, device=device.torch, dtype=dtype)
        (seconds,) = device.medians(lambda: torch.mm(a, b, out=c))
        entries.append({"m": m, "k": k, "n": n, "precision": precision,
                        "seconds": seconds})
    return entries
