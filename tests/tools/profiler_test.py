"""Runs the profiler on a CPU: what it writes, and how it ends without a GPU.

Usage: profiler_test.py <repository root>
"""

import csv
import importlib.util
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import unittest

HAS_TORCH = importlib.util.find_spec("torch") is not None

DENSE = {"layers": 2, "hidden_size": 64, "heads": 4, "ffn_hidden_size": 128,
         "vocab_size": 256, "max_positions": 64, "bias": "all",
         "norm_bias": True, "tied_embeddings": True}
MIXED = {"layers": 3, "hidden_size": 64, "heads": 4, "kv_heads": 2,
         "ffn_hidden_size": 128, "gated_mlp": True, "qk_norm": True,
         "experts": {"count": 4, "per_token": 2, "ffn_hidden_size": 96,
                     "shared_ffn_hidden_size": 32, "first_layer": 1},
         "vocab_size": 256}
DENSE_OPERATORS = {
    "embedding", "attention_norm", "qkv_projection", "attention_core",
    "output_projection", "attention_residual", "mlp_norm", "mlp_up",
    "mlp_activation", "mlp_down", "mlp_residual", "final_norm", "head"}
EXPERT_OPERATORS = {"router", "expert_dispatch", "expert_up",
                    "expert_activation", "expert_down", "expert_combine"}


class ProfilerTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "",
                            "OMP_NUM_THREADS": "1"}

    def run_program(self, name, *arguments, **environment):
        return subprocess.run(
            [sys.executable, str(PROFILER / name), *map(str, arguments)],
            env={**self.environment, **environment}, capture_output=True,
            text=True, check=False)

    def on_cpu(self, models, *arguments):
        """Arguments of a small profile of `models`."""
        files = []
        for i, model in enumerate(models):
            file = self.folder / f"model{i}.json"
            file.write_text(json.dumps(model))
            files.append(str(file))
        return ["--device", "cpu", "--dtype", "fp32", "--seq", "32",
                "--samples", "1,2", "--repeats", "1", "--largest-gemm", "256",
                "--models", ",".join(files), *arguments]

    def profile(self, *arguments, **environment):
        out = self.folder / "profile.json"
        run = self.run_program("tangram_profile.py", "--out", out, *arguments,
                               **environment)
        self.assertEqual(run.returncode, 0, run.stderr)
        return json.loads(out.read_text())


@unittest.skipIf(HAS_TORCH, "not applicable: PyTorch is installed")
class WithoutTorchTest(ProfilerTest):

    def test_both_programs_say_so(self):
        for name in "tangram_profile.py", "train_steps.py":
            run = self.run_program(name, "--out", self.folder / "x")
            self.assertEqual(run.returncode, 2)
            self.assertIn("torch is not installed", run.stderr)


@unittest.skipUnless(HAS_TORCH, "PyTorch is not installed")
class WithTorchTest(ProfilerTest):

    def test_numbers_must_be_positive(self):
        for name in "tangram_profile.py", "train_steps.py":
            for option in "--repeats", "--seq":
                run = self.run_program(name, "--out", self.folder / "x",
                                       "--device", "cpu", option, "0")
                self.assertEqual(run.returncode, 2)
                self.assertIn(
                    f"argument {option}: 0; expected a positive integer",
                    run.stderr)

    def test_no_gpu_is_an_error_unless_allowed(self):
        for name in "tangram_profile.py", "train_steps.py":
            out = self.folder / "x"
            run = self.run_program(name, "--out", out)
            self.assertEqual(run.returncode, 2)
            self.assertIn("no GPU found: nothing measured", run.stderr)
            run = self.run_program(name, "--out", out, "--allow-no-gpu")
            self.assertEqual(run.returncode, 0)
            self.assertEqual(run.stdout, "no GPU found: nothing measured\n")
            self.assertFalse(out.exists())

    def test_unknown_models_and_degrees_are_explained(self):
        for arguments, message in (
                (["--models", "gpt9"], "gpt9: no such file; known models: "
                                       "gpt3-1.3b, "),
                (["--tp", "2"], "--tp 2: does not divide the 1 ranks"),
                (["--skip", "gemm"], "gemm; expected some of gemms, layers"),
                (["--device", "cpu", "--out", "/no/where"],
                 "--out /no/where: No such file")):
            run = self.run_program("tangram_profile.py", "--out", "/dev/null",
                                   *arguments)
            self.assertEqual(run.returncode, 2)
            self.assertIn(message, run.stderr)

    def test_models_that_it_cannot_run_are_refused(self):
        for change, key in (
                ({"sliding_window": 8}, "sliding_window"),
                ({"experts": {**MIXED["experts"], "latent_size": 32}},
                 "experts.latent_size")):
            run = self.run_program(
                "tangram_profile.py", "--out", "/dev/null",
                *self.on_cpu([{**MIXED, **change}]))
            self.assertEqual(run.returncode, 2)
            self.assertIn(f"{key}: this program cannot run it", run.stderr)

    def test_a_profile_has_every_layer_and_operator(self):
        profile = self.profile(*self.on_cpu([DENSE, MIXED], "--gpu", "T4"))
        self.assertEqual(profile["tangram_profile"], 1)
        self.assertEqual(profile["device"], "T4")
        self.assertEqual(profile["models"], [{**DENSE, "name": "model0"},
                                             {**MIXED, "name": "model1"}])
        layers = [(e["model"], e["kind"], e.get("layer", 0))
                  for e in profile["layers"]]
        self.assertEqual(layers, [
            ("model0", "embedding", 0), ("model0", "head", 0),
            ("model0", "transformer", 0), ("model1", "embedding", 0),
            ("model1", "head", 0), ("model1", "transformer", 0),
            ("model1", "transformer", 1)])
        operators = {(e["model"], e["op"]) for e in profile["operators"]}
        self.assertEqual({op for m, op in operators if m == "model0"},
                         DENSE_OPERATORS)
        self.assertEqual({op for m, op in operators if m == "model1"},
                         DENSE_OPERATORS | EXPERT_OPERATORS)
        self.assertIn((256, 256, 256), {(e["m"], e["k"], e["n"])
                                        for e in profile["gemms"]})

    def test_every_point_has_positive_times(self):
        profile = self.profile(*self.on_cpu([MIXED]))
        for entry in profile["layers"]:
            self.assertEqual([p["samples"] for p in entry["points"]], [1, 2])
        for entry in profile["layers"] + profile["operators"]:
            self.assertEqual(entry["sequence_length"], 32)
            for point in entry["points"]:
                self.assertGreater(point["forward_s"], 0)
                self.assertGreater(point["backward_s"], 0)
        # fp32: a weight has 4 bytes, and so have its gradient and 2 moments.
        # Layer 0: 64 x (64 + 2·32) + 64² of attention, 3 x 64 x 128 of the
        # MLP, two norms of 64 and two of 16.
        parameters = 64 * 128 + 64 * 64 + 3 * 64 * 128 + 2 * 64 + 2 * 16
        self.assertEqual(profile["layers"][2]["state_bytes"], 16 * parameters)

    def test_two_ranks_add_cut_layers_and_collectives(self):
        arguments = self.on_cpu([DENSE], "--tp", "1,2", "--skip",
                                "operators,gemms", "--largest-collective",
                                "65536", "--out", self.folder / "two.json")
        self.assertEqual(self.run_ranks(2, arguments), [0, 0])
        profile = json.loads((self.folder / "two.json").read_text())
        self.assertEqual(
            [(e["kind"], e["tp"], e.get("collectives_included", False))
             for e in profile["layers"]],
            [("embedding", 1, False), ("head", 1, False),
             ("transformer", 1, False), ("embedding", 2, True),
             ("head", 2, True), ("transformer", 2, True)])
        # gloo has no reduce-scatter.
        self.assertEqual([(e["op"], e["ranks"], e["nodes"])
                          for e in profile["collectives"]],
                         [("all_reduce", 2, 1), ("all_gather", 2, 1)])
        sizes = [p["bytes"] for p in profile["p2p"][0]["points"]]
        self.assertEqual(sizes, [4096, 16384, 65536])

    def run_ranks(self, count, arguments):
        """Exit codes of `count` ranks, started as torchrun starts them."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        ranks = [subprocess.Popen(
            [sys.executable, str(PROFILER / "tangram_profile.py"),
             *map(str, arguments)], stderr=subprocess.DEVNULL,
            env={**self.environment, "RANK": str(rank),
                 "LOCAL_RANK": str(rank), "WORLD_SIZE": str(count),
                 "LOCAL_WORLD_SIZE": str(count), "MASTER_ADDR": "127.0.0.1",
                 "MASTER_PORT": str(port)}) for rank in range(count)]
        return [rank.wait() for rank in ranks]

    def test_training_steps_become_rows(self):
        out = self.folder / "steps.csv"
        run = self.run_program("train_steps.py", "--out", out, "--device",
                               "cpu", "--dtype", "fp32", "--seq", "32",
                               "--repeats", "1", "--gpu", "T4")
        self.assertEqual(run.returncode, 0, run.stderr)
        with open(out, newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        self.assertGreaterEqual(len(rows), 20)
        self.assertEqual(len({row["row_id"] for row in rows}), len(rows))
        self.assertEqual({row["recompute"] for row in rows}, {"none", "full"})
        self.assertEqual({row["experts"] for row in rows}, {"", "4"})
        for row in rows:
            self.assertEqual(row["gpu"], "T4")
            self.assertEqual(int(row["gbs"]), 4 * int(row["mbs"]))
            self.assertGreater(float(row["iteration_s"]), 0)


if __name__ == "__main__":
    ROOT = pathlib.Path(sys.argv.pop(1))
    PROFILER = ROOT / "tools" / "profiler"
    sys.path.append(str(ROOT / "tests/testing"))
    import report_skips
    report_skips.main(sys.argv[1:], verbosity=2)
