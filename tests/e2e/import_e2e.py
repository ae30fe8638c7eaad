"""`tangram import` from the files of schedulers and drivers to a plan."""

import json
import subprocess

import harness

NODES = """\
NodeName=v1 Gres=gpu:v100:2(S:0-1) State=IDLE Partitions=all
NodeName=v2 Gres=gpu:v100:2(S:0-1) State=IDLE+DRAIN Reason=fan [root@now]
NodeName=t1 Gres=gpu:t4:2 State=MIXED Partitions=all
"""
NCCL = """\
# Collective test starting: all_reduce_perf
#  Rank  0 Group  0 Pid 1 on t1 device 0 [0000:16:00] Tesla T4
#  Rank  1 Group  0 Pid 1 on t1 device 1 [0000:17:00] Tesla T4
#       size  count type redop root  time algbw busbw #wrong
     1048576 262144 float  sum   -1 200.0  5.24  5.24      0
     2097152 524288 float  sum   -1 380.0  5.52  5.52      0
     4194304 524288 float  sum   -1 740.0  5.67  5.67      0
"""
OWN = """\
links:
  - {from: V100-32, to: T4, bandwidth: 10 Gbit/s}
"""
CONFIG = {"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12,
          "n_positions": 1024, "vocab_size": 50257}


class ImportTest(harness.Folder):
    def setUp(self):
        super().setUp()
        self.write("nodes.txt", NODES)
        self.write("nccl.txt", NCCL)
        self.write("own.yaml", OWN)
        self.write("config.json", json.dumps(CONFIG))

    def test_plans_on_what_was_imported(self):
        out = self.tangram("import", "cluster", "--slurm", "nodes.txt",
                           "--nccl-tests", "nccl.txt", "--cluster", "own.yaml",
                           "-o", "c.yaml")
        self.assertIn("c: 4 GPUs in 2 nodes", out)
        self.assertIn("v2: drain: fan", out)
        self.assertIn("measured, nccl.txt: all_reduce over 2 GPUs",
                      self.read("c.yaml"))
        out = self.tangram("import", "model", "config.json", "-o", "m.yaml")
        self.assertEqual(out, "m: 124,439,808 parameters, 12 layers\n")
        arguments = ("--cluster", "c.yaml", "--global-batch", "8",
                     "--seq", "1024", "--output", "-")
        by_file = self.tangram("plan", "--model", "m.yaml", *arguments)
        by_config = self.tangram("plan", "--model", "config.json", *arguments)
        plan = json.loads(by_file)
        self.assertEqual(plan["plan"],
                         json.loads(by_config)["plan"])

    def test_reads_standard_input(self):
        run = subprocess.run(
            [harness.TANGRAM, "import", "cluster", "-", "-o", "-"],
            cwd=self.folder, input=NODES, capture_output=True, text=True,
            timeout=60)
        self.assertEqual(run.returncode, harness.OK, run.stderr)
        self.assertIn("node_names: [t1]", run.stdout)
        self.assertIn("# standard input: GPU t4", run.stdout)
        self.assertIn("4 GPUs in 2 nodes", run.stderr)

    def test_says_what_is_wrong_and_writes_nothing(self):
        write = ("-o", "new.yaml")
        self.fails(harness.BAD_INPUT, "no file; expected an inventory",
                   "import", "cluster", *write)
        self.fails(harness.BAD_INPUT,
                   "--kubernetes: nodes.txt looks like the output of scontrol",
                   "import", "cluster", "--kubernetes", "nodes.txt", *write)
        self.fails(harness.BAD_INPUT, "config.json: a model; expected by --model",
                   "import", "cluster", "config.json", *write)
        self.fails(harness.BAD_INPUT, "gone.txt: no such file",
                   "import", "cluster", "gone.txt", *write)
        self.fails(harness.BAD_INPUT, "own.yaml: model_type: missing",
                   "import", "model", "own.yaml", *write)


if __name__ == "__main__":
    harness.main()
