#!/usr/bin/env python3
"""Reads the config.json of many models and compares their parameters.

Usage: python3 tests/bench/model_configs <tangram> [<folder>...]

Without folders, reads those of the environment variable TANGRAM_MODEL_CONFIGS,
separated by colons: checkouts of any repositories. Every JSON file below them
that has a model_type, architectures or a _class_name is read by `tangram import
model`, and every dictionary MODEL_PRESETS of a Python file, entry by entry.

A file is
  right     if its parameters equal a count that is known: that of
            published.json, or that of model.safetensors.index.json beside it;
  near      if they are within 1 % of the rounded size that the model's page
            states, which may count parts that a plan does not;
  read      if no count is known;
  refused   if Tangram says that it cannot plan the model;
  wrong     if the count differs, or the file was not understood.

An index counts what a plan does not: a stored copy of a tied head, buffers of
rotary positions, vision parts. It is no known count for quantized models, those
of several parts and those with modules for multi-token prediction. The counts
of published.json are those that the pages of the models state.
"""

import ast
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
SKIPPED = re.compile(r"(processor|tokenizer|generation|quant|special_tokens)")
# "mistral_7b_4L_config.json" keeps a few layers of the model.
CUT = re.compile(r"_\d+_?l(ayers?)?[_.]", re.IGNORECASE)


def configs(folder):
    """Yields names and contents of the models below a folder."""
    for path in sorted(pathlib.Path(folder).rglob("*")):
        if path.suffix == ".json" and not SKIPPED.search(path.name):
            try:
                content = json.loads(path.read_text(errors="replace"))
            except ValueError:
                continue
            if isinstance(content, dict) and (
                    {"model_type", "architectures", "_class_name"} & set(content)):
                name = path.parent.name + "/" + path.name
                yield name, content, index_count(path.parent, content)
        elif path.suffix == ".py" and path.stat().st_size < 1 << 20:
            text = path.read_text(errors="replace")
            if "MODEL_PRESETS" not in text:
                continue
            for name, content in presets(text).items():
                yield name + ".json", content, None


def presets(text):
    """Returns the dictionary MODEL_PRESETS that a Python file assigns."""
    for node in ast.walk(ast.parse(text)):
        targets = getattr(node, "targets", None) or [getattr(node, "target", None)]
        named = any(getattr(t, "id", "") == "MODEL_PRESETS" for t in targets)
        if named and isinstance(node.value, ast.Dict):
            return ast.literal_eval(node.value)
    return {}


def index_count(folder, content):
    """Returns the parameters that an index beside the file counts, if it counts
    the planned ones alone."""
    parts = {"vision_config", "text_config", "audio_config", "visual",
             "language_config", "quantization_config", "img_processor"}
    if parts & set(content) or content.get("num_nextn_predict_layers"):
        return None
    for name in ("model.safetensors.index.json", "pytorch_model.bin.index.json"):
        path = folder / name
        if not path.exists():
            continue
        try:
            metadata = json.loads(path.read_text()).get("metadata") or {}
        except ValueError:
            continue
        dtype = str(content.get("torch_dtype") or content.get("dtype"))
        size = 4 if "float32" in dtype else 2
        if metadata.get("total_parameters"):
            return int(metadata["total_parameters"])
        if metadata.get("total_size"):
            return int(metadata["total_size"]) / size
    return None


def published_entry(name, published):
    """Returns the entry of the longest known name that the file's begins with,
    or that its parts contain."""
    if CUT.search(name):
        return None
    best = None
    for entry in published:
        for known in entry["files"]:
            exact = name.split("/")[-1] == known + ".json"
            inside = "-" in known and known.lower() in name.lower()
            if "_" in known and known.lower() in name.lower().replace("--", "/"):
                inside = inside or len(known) > 8
            if (exact or inside) and (best is None or exact or
                                      (len(known) > best[0] and not best[2])):
                best = (len(known), entry, exact)
    return best[1] if best else None


def same(counted, known, content, from_index):
    """Whether counts agree. An index may hold a tied head twice, and buffers."""
    if counted == known:
        return True
    if not from_index:
        return False
    head = content.get("vocab_size", 0) * content.get("hidden_size", 0)
    return any(abs(known - counted - more) < 1e-5 * counted
               for more in (0, head))


def read(tangram, content):
    """Returns the parameters, or what Tangram says against the file."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "config.json"
        path.write_text(json.dumps(content))
        run = subprocess.run([tangram, "import", "model", path, "-o", "-"],
                             capture_output=True, text=True, timeout=60)
    found = re.search(r": ([\d,]+) parameters", run.stderr)
    if run.returncode == 0 and found:
        return int(found[1].replace(",", "")), ""
    return None, run.stderr.strip().split("config.json: ", 1)[-1]


def judge(tangram, name, content, indexed, published):
    counted, message = read(tangram, content)
    entry = published_entry(name, published) or {}
    known = entry.get("parameters")
    if counted is None:
        refused = any(word in message for word in (
            "modelled", "nearest family", "diffusion", "transformers"))
        return "refused" if refused else "wrong", message[:150]
    if indexed is None and "rounded" in entry:
        is_near = abs(counted / entry["rounded"] - 1) <= 0.01
        return ("near" if is_near else "wrong"), f"{counted:,}"
    if indexed is None and known is None:
        return "read", f"{counted:,}"
    against = indexed if indexed is not None else known
    if same(counted, against, content, indexed is not None):
        return "right", f"{counted:,}"
    return "wrong", f"{counted:,}, known are {against:,.0f}"


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    tangram = os.path.abspath(sys.argv[1])
    folders = sys.argv[2:] or [
        folder for folder in
        os.environ.get("TANGRAM_MODEL_CONFIGS", "").split(":") if folder]
    if not folders:
        sys.exit("no folder; expected one, or TANGRAM_MODEL_CONFIGS")
    published = json.loads((HERE / "published.json").read_text())
    totals = {"right": 0, "near": 0, "read": 0, "refused": 0, "wrong": 0}
    seen = set()
    for folder in folders:
        for name, content, indexed in configs(folder):
            key = (name, json.dumps(content, sort_keys=True))
            if key in seen:
                continue
            seen.add(key)
            verdict, text = judge(tangram, name, content, indexed, published)
            totals[verdict] += 1
            print(f"{verdict:8}{name[-60:]:62}{text}")
    print(f"{sum(totals.values())} files:",
          ", ".join(f"{count} {verdict}" for verdict, count in totals.items()))
    sys.exit(1 if totals["wrong"] else 0)


if __name__ == "__main__":
    main()
