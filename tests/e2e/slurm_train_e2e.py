"""Tests examples/slurm/train.sbatch, from sbatch to the ranks of a framework.

Runs on a real Slurm. Ranks are stubs that write down how they were started. If
TANGRAM_FRAMEWORK_CHECKOUTS has Megatron-LM and FlagScale, the parser of the
first and the runner of the second read the result.
"""

import json
import os
import sys
import tempfile
import unittest

import framework_ranks
import harness
import slurm_cluster
from harness import SOURCE

sys.path.insert(0, os.path.join(SOURCE, "tests/frameworks"))
import megatron_arguments

SCRIPT = os.path.join(SOURCE, "examples/slurm/train.sbatch")
SERVICE = os.path.join(SOURCE, "deploy/slurm/tangram.sbatch")
CHECKOUTS = os.environ.get("TANGRAM_FRAMEWORK_CHECKOUTS", "")
NODES = {"t1": ("t4", 4), "t2": ("t4", 4), "v1": ("v100", 2), "v2": ("v100", 2)}
DATA = ["--mock-data", "--lr", "0.0001", "--train-iters", "10"]
JOB = ["--model", "llama2-7b", "--layers", "16", "--global-batch", "64",
       "--seq", "1024", "--parallelizer", "uniform"]
# Does what FlagScale's run.py does, without Hydra.
FLAGSCALE_RUN = """import sys
from omegaconf import OmegaConf
from flagscale.runner.runner_train import SSHTrainRunner
folder = sys.argv[sys.argv.index("--config-path") + 1]
config = OmegaConf.load(f"{folder}/experiment.yaml")
config.train = OmegaConf.load(f"{folder}/train/plan.yaml")
SSHTrainRunner(config).run(dryrun="action=dryrun" in sys.argv)
"""


@slurm_cluster.needed
@framework_ranks.needed
class SlurmTrainTest(harness.Folder):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.cluster = slurm_cluster.SlurmCluster(folder.name, NODES)
        cls.addClassCleanup(cls.cluster.close)

    def setUp(self):
        super().setUp()
        framework_ranks.prepare(self.folder)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def train(self, *arguments, nodes, **environment):
        """Submits the script. Returns how each rank was started."""
        job = self.cluster.submit(
            f"--nodes={len(nodes)}", "--nodelist=" + ",".join(nodes), SCRIPT,
            *JOB, *arguments, folder=self.folder,
            **framework_ranks.environment(self.folder), **environment)
        state = self.cluster.end_of(job, timeout_s=600)
        self.log = self.read(f"slurm-{job}.out")
        self.assertEqual(state, "COMPLETED", self.log)
        self.work = f"train-{job}"
        self.plan = json.loads(self.read(f"{self.work}/plan.json"))
        return framework_ranks.started(self.folder)

    def checkout(self, name):
        path = os.path.join(CHECKOUTS, name)
        if not CHECKOUTS or not os.path.isdir(path):
            self.skipTest(f"TANGRAM_FRAMEWORK_CHECKOUTS has no {name}")
        return path

    def megatron(self):
        """Makes a checkout whose program is the stub."""
        os.mkdir(self.path("megatron"))
        self.write("megatron/pretrain_gpt.py", framework_ranks.PROGRAM)
        return self.path("megatron")

    def flagscale(self):
        """Makes a checkout whose program is the stub."""
        package = os.path.join(self.checkout("FlagScale"), "flagscale")
        os.makedirs(self.path("flagscale/flagscale/train"))
        for name in set(os.listdir(package)) - {"train"}:
            os.symlink(os.path.join(package, name),
                       self.path("flagscale/flagscale", name))
        self.write("flagscale/flagscale/train/train_gpt.py",
                   framework_ranks.PROGRAM)
        self.write("flagscale/run.py", FLAGSCALE_RUN)
        return self.path("flagscale")

    def stages(self):
        return framework_ranks.devices_of(self.plan["plan"])

    def assert_ranks_follow_the_stages(self, ranks):
        self.assertEqual([rank["rank"] for rank in ranks],
                         list(range(len(ranks))))
        hosts = [span["node"] for stage in self.stages()
                 for span in stage["gpus"] for _ in range(span["count"])]
        # Not the order in which Slurm lists them.
        self.assertEqual([rank["host"] for rank in ranks], hosts)
        self.assertEqual({rank["world_size"] for rank in ranks}, {len(hosts)})

    def test_megatron_ranks_follow_the_plan(self):
        ranks = self.train(nodes=["t1", "t2"], MEGATRON_LM=self.megatron(),
                           TRAIN_OPTIONS=" ".join(DATA))
        self.assert_ranks_follow_the_stages(ranks)
        for rank in ranks:
            self.assertEqual(rank["arguments"],
                             self.read(f"{self.work}/launch/megatron.args")
                             .split() + DATA)
        self.assertIn("cluster: 8 GPUs in 2 nodes", self.log)
        with self.subTest("Megatron-LM accepts them"):
            self.megatron_accepts(ranks)

    def megatron_accepts(self, ranks):
        arguments = megatron_arguments.load(self.checkout("Megatron-LM"))
        degrees = self.stages()[0]["plan"]["parallelism"]
        for rank in (ranks[0], ranks[-1]):
            args, _ = megatron_arguments.parse(
                arguments, rank["arguments"], rank["rank"], rank["world_size"])
            self.assertEqual(
                (args.tensor_model_parallel_size, args.data_parallel_size,
                 args.pipeline_model_parallel_size, args.num_layers),
                (degrees["tp_degree"], degrees["dp_degree"],
                 len(self.stages()), 16))

    def test_flagscale_runs_unlike_nodes(self):
        ranks = self.train(nodes=list(NODES),
                           FLAGSCALE=self.flagscale(), DATA_PATH="data",
                           TOKENIZER_MODEL="tokenizer")
        self.assert_ranks_follow_the_stages(ranks)
        # Not the order in which Slurm lists them.
        self.assertEqual([rank["host"] for rank in ranks],
                         ["v1"] * 2 + ["v2"] * 2 + ["t1"] * 4 + ["t2"] * 4)
        for rank in ranks:
            words = rank["arguments"]
            kind = words[words.index("--hetero-current-device-type") + 1]
            self.assertEqual(kind[0].lower(), rank["host"][0])

    def test_a_service_makes_the_plan(self):
        self.train(nodes=["t1", "t2"], MEGATRON_LM=self.megatron())
        here = self.plan
        service = self.cluster.submit("--nodelist=v1,v2", "--nodes=2", SERVICE,
                                      folder=self.folder)
        address = self.path(f"tangram-{service}.address")
        self.cluster.wait(lambda: os.path.exists(address), "the service")
        address = self.read(address).strip()
        self.train(nodes=["t1", "t2"], MEGATRON_LM=self.path("megatron"),
                   TANGRAM_COORDINATOR=address)
        jobs = self.cluster.run("tangram", "job", "list", "--coordinator",
                                address)
        self.assertRegex(jobs, rf"slurm-\d+-0 .*succeeded")
        self.assertEqual(self.plan["plan"], here["plan"])
        self.cluster.run("scancel", service)
        self.cluster.end_of(service)


if __name__ == "__main__":
    harness.main()
