"""Runs ranks that torchrun (package python3-torch) really starts.

Their program writes down how it was started.
"""

import json
import os
import shutil
import unittest

from harness import BIN

needed = unittest.skipUnless(shutil.which("torchrun"), "no torchrun")

PROGRAM = """import json, os, socket, sys
path = os.path.join(os.environ["RANKS"], os.environ["RANK"] + ".json")
with open(path, "w") as file:
    json.dump({"host": os.environ.get("TANGRAM_HOST", socket.gethostname()),
               "arguments": sys.argv[1:],
               **{name.lower(): int(os.environ[name]) for name in
                  ("RANK", "LOCAL_RANK", "WORLD_SIZE")}}, file)
"""
# Debian's PyTorch 1.13 does not find the values of its own --redirects under
# Python 3.11.
_TORCHRUN = """#!/usr/bin/python3
from torch.distributed import run
from torch.distributed.elastic.multiprocessing.api import Std
Std.from_str = classmethod(lambda cls, text: cls(int(text)))
run.main()
"""


def prepare(folder):
    for name in ("ranks", "bin"):
        os.mkdir(f"{folder}/{name}")
    with open(f"{folder}/bin/torchrun", "w", encoding="utf-8") as file:
        file.write(_TORCHRUN)
    os.chmod(f"{folder}/bin/torchrun", 0o755)
    os.symlink("/usr/bin/python3", f"{folder}/bin/python")


def environment(folder):
    """Returns variables that lead to the prepared files."""
    return {"RANKS": f"{folder}/ranks",
            "PATH": f"{folder}/bin:{BIN}:{os.environ['PATH']}"}


def started(folder):
    """Returns what each rank wrote down, by rank."""
    ranks = []
    for rank in range(len(os.listdir(f"{folder}/ranks"))):
        with open(f"{folder}/ranks/{rank}.json", encoding="utf-8") as file:
            ranks.append(json.load(file))
        os.remove(f"{folder}/ranks/{rank}.json")
    return ranks


def devices_of(plan):
    """Returns the first stage of each device of a plan: an interleaved one has several
    on the same GPUs."""
    stages = plan["stages"]
    return stages[:len(stages) // plan.get("virtual_stages", 1)]
