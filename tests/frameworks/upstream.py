"""Finds the checkouts of the frameworks, and makes plans to export to them.

Run a test as <test>.py <bin folder> <sources>. TANGRAM_FRAMEWORK_CHECKOUTS names
a folder with checkouts called Megatron-LM, FlagScale, SuperScaler (branch
Aceso), Hetu-Galvatron, sailor, FlashFlex, torchtitan, alpa, Hetu, gavel and sia
(siasosp23/artifacts); tests whose checkout is absent are skipped.
"""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import types
import unittest

BIN, SOURCE = sys.argv[1:3]
sys.path.insert(0, os.path.join(SOURCE, "scripts"))
import exporting_table  # noqa: E402  It reads the same arguments.

sys.path.append(os.path.join(SOURCE, "tests/testing"))
import plan_parts  # noqa: E402
import report_skips  # noqa: E402
from plan_parts import equal, replica, uneven  # noqa: E402,F401

TANGRAM = os.path.join(BIN, "tangram")
CLUSTERS = os.path.join(SOURCE, "deploy/clusters")
CHECKOUTS = os.environ.get("TANGRAM_FRAMEWORK_CHECKOUTS", "")


def checkout(name):
    """Returns the path of a checkout, or skips the test."""
    path = os.path.join(CHECKOUTS, name)
    if not CHECKOUTS or not os.path.isdir(path):
        raise unittest.SkipTest(
            f"TANGRAM_FRAMEWORK_CHECKOUTS has no {name}")
    return path


def stub_module(name, **members):
    """Makes a module of that name with these members."""
    module = types.ModuleType(name)
    module.__dict__.update(members)
    sys.modules[name] = module
    parent, _, child = name.rpartition(".")
    if parent:
        if parent not in sys.modules:
            stub_module(parent, __path__=[])
        setattr(sys.modules[parent], child, module)
    return module


def num_layers(plan):
    """Returns the number of layers without embedding and head."""
    return plan["plan"]["stages"][-1]["plan"]["end"]["layer"] - 2


class _Anything(type):
    """A class that has every attribute."""

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _anything(name)

    def __getitem__(cls, _):
        return cls

    def __iter__(cls):
        return iter(())

    def __or__(cls, _):
        return cls

    __ror__ = __or__


def _anything(name):
    """As decorators, its objects and their methods change nothing."""
    def same(*args, **_):
        return args[0] if args else None

    def method(_, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return same

    return _Anything(name, (), {
        "__init__": lambda self, *_, **__: None,
        "__call__": lambda self, *args, **_: same(*args), "__getattr__": method})


class _Stub(types.ModuleType):

    def __init__(self, name, stubs):
        super().__init__(name)
        self._stubs = stubs

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        full = f"{self.__name__}.{name}"
        if self._stubs.is_real(full):
            return importlib.import_module(full)
        setattr(self, name, _anything(name))
        return getattr(self, name)


class Stubs(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Replaces the packages `stubbed` with modules that have every attribute.
    `real` modules, with all their members, come from a checkout.
    """

    def __init__(self, root, stubbed, real):
        self.root, self.stubbed, self.real = root, stubbed, real
        sys.meta_path.insert(0, self)

    def is_real(self, name):
        return any(f"{name}.".startswith(f"{real}.") for real in self.real)

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] not in self.stubbed:
            return None
        if not self.is_real(name):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        file = os.path.join(self.root, *name.split("."))
        if not os.path.isdir(file):
            return importlib.util.spec_from_file_location(name, f"{file}.py")
        return importlib.util.spec_from_file_location(
            name, f"{file}/__init__.py", submodule_search_locations=[file])

    def create_module(self, spec):
        return _Stub(spec.name, self)

    def exec_module(self, module):
        pass


def stage(begin, end, tp, dp, gpus, recomputed=False):
    """Makes a stage of a plan file; `gpus` are (node, first, count)."""
    mask = 1023 if recomputed else 0  # All ten operators of a dense layer.
    runs = [{"num_layers": end - begin, "mask": mask}]
    if begin == 0 and recomputed:  # The embedding is not recomputed.
        runs = [{"num_layers": 1}, {"num_layers": end - 1, "mask": mask}]
    return plan_parts.stage(begin, end, tp, gpus, dp, runs)


def spans(gpus):
    """Returns the GPUs of a stage of a plan file, as `stage` takes them."""
    return [(g["node"], g["first"], g["count"]) for g in gpus]


# Plans of a base for several pipelines of 8 layers on C2: A100 and H100.
PIPELINES_OF = ["--cluster", f"{CLUSTERS}/c2-modern-het.yaml", "--model",
                "llama2-7b", "--layers", "8", "--seq", "4096",
                "--global-batch", "64", "--precision", "bf16", "--runtime",
                "any", "--parallelizer", "uniform"]


def three_shapes(layers):
    """A replicated pipeline on hosts that its replicas share, and two others;
    tp 2 and 1 in the same layers, shares of 32, 24 and 8."""
    return [replica(4, 8, stage(0, 4, 2, 2, [("a100-0", 0, 4)]),
                    stage(4, layers + 2, 1, 2, [("a100-1", 0, 2)])),
            replica(2, 12, stage(0, 7, 1, 1, [("h100-0", 0, 1)]),
                    stage(7, layers + 2, 2, 1, [("h100-1", 0, 2)])),
            replica(2, 4, stage(0, layers + 2, 1, 1, [("h100-2", 0, 1)]))]


def crossing(layers):
    """Two pipelines from each of two hosts to the other."""
    return [replica(2, 16, stage(0, 5, 1, 1, [("a100-0", 0, 1)]),
                    stage(5, layers + 2, 1, 1, [("h100-0", 0, 1)])),
            replica(2, 16, stage(0, 5, 1, 1, [("h100-0", 1, 1)]),
                    stage(5, layers + 2, 1, 1, [("a100-0", 1, 1)]))]


def make_plan(folder, arguments):
    """Plans; returns the plan file and leaves it in the folder."""
    file = os.path.join(folder, "plan.json")
    subprocess.run([TANGRAM, "plan", *arguments, "--quiet", "--output", file],
                   check=True, timeout=120)
    with open(file, encoding="utf-8") as f:
        return json.load(f)


def several(base, pipelines):
    """Returns a plan of these pipelines, for the job of another plan."""
    document = {key: base[key] for key in
                ("format_version", "cluster", "model", "training")}
    if len(pipelines) == 1:  # The form of a plan of one pipeline.
        document["plan"] = pipelines[0]["plan"]
    else:
        document["replicated_plan"] = {"pipelines": pipelines}
    return document


class Exports(unittest.TestCase):
    """Tests of exports of one plan that tangram made."""

    plan_arguments = ["--cluster", f"{CLUSTERS}/c1-compute-het.yaml",
                      "--nodes", "t4=2,v100=2", "--model", "gpt3-6.7b",
                      "--layers", "16", "--global-batch", "128",
                      "--runtime", "any", "--parallelizer", "uniform"]

    @classmethod
    def setUpClass(cls):
        cls._folder = tempfile.TemporaryDirectory()
        cls.folder = cls._folder.name
        cls.plan = make_plan(cls.folder, cls.plan_arguments)
        cls.plan_file = os.path.join(cls.folder, "plan.json")

    def two_islands(self, tp=2, dp=4):
        """Returns a plan: 8 T4 with tp 4, dp 2 and recomputation; 8 V100 with
        these degrees."""
        plan = json.loads(json.dumps(self.plan))
        for layer in plan["model"]["layer_types"]:
            layer["tied_embeddings"] = False
        plan["plan"] = {
            "pipeline_microbatch_size": 4, "stages": [
                stage(0, 6, 4, 2, [("t4-0", 0, 4), ("t4-1", 0, 4)], True),
                stage(6, 18, tp, dp, [("v100-0", 0, 4), ("v100-1", 0, 4)])]}
        return plan

    @classmethod
    def tearDownClass(cls):
        cls._folder.cleanup()

    def export(self, target, plan=None, *options):
        """Exports the plan or another document; returns the folder."""
        file = self.plan_file
        if plan is not None:
            file = os.path.join(self.folder, "changed.json")
            with open(file, "w", encoding="utf-8") as f:
                json.dump(plan, f)
        folder = tempfile.mkdtemp(dir=self.folder)
        run = subprocess.run(
            [TANGRAM, "export", file, "--to", target, "-o", folder, *options],
            capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        return folder


def check_table(test, target, check):
    """Calls `check`(folder of the export, plan) for each plan of the table of
    docs/exporting.md that `target` does not refuse."""
    count = 0
    for name in exporting_table.PLANS:
        with test.subTest(name), tempfile.TemporaryDirectory() as folder:
            test.assertTrue(exporting_table.make_plan(name, folder))
            verdict, _ = exporting_table.verdict(target, folder)
            if verdict == "refused":
                continue
            count += 1
            check(os.path.join(folder, target),
                  json.loads(read(folder, "plan.json")))
            if target in exporting_table.IMPORTED:
                check_round_trip(test, target, folder, verdict == "exported")
    test.assertGreater(count, 0)


def check_round_trip(test, target, folder, lossless):
    """Checks that the export is imported as a plan, and that its export is
    the same."""
    names = exporting_table.IMPORTED[target]
    files = [os.path.join(folder, target, name) for name in names]
    back = os.path.join(folder, "back.json")
    for arguments in (
            ["import", "plan", "--from", target, *files, "--like",
             f"{folder}/plan.json", "-o", back],
            ["export", back, "--to", target, "-o", f"{folder}/again",
             *([] if lossless else ["--allow-lossy"])]):
        run = subprocess.run([TANGRAM, *arguments], capture_output=True,
                             text=True, timeout=60, check=False)
        # 3: the plan was read, but the losses of the target made it too large.
        test.assertIn(run.returncode, (0,) if lossless else (0, 3),
                      run.stdout + run.stderr)
    for name in names:
        test.assertEqual(read(f"{folder}/again", name),
                         read(f"{folder}/{target}", name))


def launched(folder, variable, checkout_name, **environment):
    """Returns the program and arguments that launch.sh on the first host
    gives to torchrun."""
    host = read(folder, "hostfile").split()[0]
    with tempfile.TemporaryDirectory() as programs:
        torchrun = os.path.join(programs, "torchrun")
        with open(torchrun, "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\nprintf '%s\\0' \"$@\"\n")
        os.chmod(torchrun, 0o755)
        run = subprocess.run(
            ["bash", os.path.join(folder, "launch.sh")], check=True,
            stdout=subprocess.PIPE, text=True, timeout=60, env={
                **os.environ, "PATH": f"{programs}:{os.environ['PATH']}",
                "TANGRAM_HOST": host, variable: checkout(checkout_name),
                **environment})
    words = run.stdout.split("\0")[:-1]
    return words[words.index("--master_port") + 2:]


def read(folder, name):
    with open(os.path.join(folder, name), encoding="utf-8") as f:
        return f.read()


def main():
    report_skips.main(sys.argv[3:], verbosity=2)
